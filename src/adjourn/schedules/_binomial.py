"""Binomial checkpointing on blocks of equal steps: what `revolve`, `window`, `segments` share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb

from ..optimum import binomial, repetitions, revolve_advances
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._schedule import Counts, Reversal, Schedule

__all__ = ["BinomialBlocks", "revolve_writes", "split"]


@lru_cache(maxsize=4096)
def split(steps: int, slots: int) -> int:
    """Return how far to advance before the next snapshot, so that the fewest are written.

    Of all splits that reach t(steps, slots) this one writes the fewest snapshots [1]_. Costs
    two or three binomial coefficients.

    Parameters
    ----------
    steps : int
        Steps to reverse from a stored state, 2 or more.
    slots : int
        Snapshots, the stored state's included, 1 or more.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.
    """
    if slots == 1:
        return steps - 1
    r = repetitions(steps, slots)
    if r == 1:
        return 1
    if steps <= binomial(slots, r - 1) + binomial(slots - 2, r - 1):
        return binomial(slots, r - 2)
    tail = binomial(slots - 3, r) if slots > 2 else 0
    if steps >= binomial(slots, r) - tail:
        return binomial(slots, r - 1)
    return steps - binomial(slots - 1, r - 1) - binomial(slots - 2, r - 1)


def _longest(steps: int, slots: int) -> int:
    """Return the longest advance that still reaches t(steps, slots)."""
    if slots == 1:
        return steps - 1
    r = repetitions(steps, slots)
    return min(binomial(slots, r - 1), steps - binomial(slots - 1, r - 1))


def revolve_writes(steps: int, slots: int) -> int:
    """Return the fewest snapshots written by a schedule of t(steps, slots) plain advances.

    The initial state's is included; one step needs none.
    """
    if steps == 1:
        return 0
    r = repetitions(steps, slots)
    if steps <= binomial(slots, r - 1) + binomial(slots - 1, r - 1):
        return binomial(slots - 1, r - 1)
    return steps - binomial(slots, r - 1)


class BinomialBlocks(Schedule):
    """Revolve on blocks of ``block`` steps, the short block first.

    With blocks of one step this is Revolve; with room for every block it is plain segments. A
    block is recorded into the window and reversed at once. The split of the blocks is the one
    that writes fewest snapshots, but in sub-sweeps that start at step 0 with a short first
    block: there it is the longest optimal advance, so that the short block is the one which is
    run again most often.
    """

    __slots__ = ()

    @property
    def block(self) -> int:
        """Steps of a block, but perhaps the first."""
        raise NotImplementedError

    @property
    def capacity(self) -> int:
        """Snapshots that may be held at once, 1 or more."""
        raise NotImplementedError

    @property
    def reversal(self) -> Reversal:
        """Recordings lie in one window."""
        return "retape"

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.steps // self.block)

    @property
    def limits(self) -> tuple[int, ...]:
        """Snapshots that may be held at once, in RAM."""
        return (self.capacity,)

    @property
    def counts(self) -> Counts:
        """Counts from closed forms; costs O(r) binomial coefficients."""
        blocks, block, slots = self.blocks, self.block, self.capacity
        short = block - (self.steps - (blocks - 1) * block)
        advances = block * revolve_advances(blocks, slots)
        writes = revolve_writes(blocks, slots)
        if short:
            first_advances, writes = _first_block(blocks, slots)
            advances -= short * first_advances
        records = 1 if self.reversal == "state" else self.steps
        held = min(blocks - 1, slots) if blocks > 1 else 0
        return Counts(
            advances,
            records,
            self.steps,
            (writes,),
            (blocks - 1,),
            (held,),
            min(block, self.steps),
        )

    def __iter__(self) -> Iterator[Action]:
        block, top, slots = self.block, self.blocks, self.capacity
        offset = self.steps - top * block  # block b > 0 starts at offset + b * block
        short = offset != 0
        record_all = self.reversal != "state"
        turned = False
        kept: list[int] = []
        if top > 1:
            kept.append(0)
            yield Save(0)
        at = 0
        while True:
            start = offset + at * block if at else 0
            left = top - at
            if left > 1:
                free = slots - len(kept) + 1
                step = _longest(left, free) if short and not at else split(left, free)
                at += step
                stop = offset + at * block
                yield Advance(start, stop)
                if left - step > 1:
                    kept.append(at)
                    yield Save(stop)
                    continue
                start = stop
            elif kept:
                kept.pop()
                yield Drop(start)
            stop = offset + top * block
            if record_all or not turned:
                yield Record(start, stop)
            if not turned:
                turned = True
                yield Turn()
            yield Reverse(start, stop)
            top = at
            if not top:
                return
            at = kept[-1]
            yield Load(offset + at * block if at else 0)


def _first_block(blocks: int, slots: int) -> tuple[int, int]:
    """Return how often the first block is advanced, and the writes, with the longest advances."""
    if blocks == 1:
        return 0, 0
    if slots == 1:
        return blocks - 1, 1
    r = repetitions(blocks, slots)
    times, writes = 0, 1
    while blocks > 1:
        # The closed form below holds while blocks > beta(s, r - 1); r falls by one a turn.
        step = min(comb(slots + r - 1, slots), blocks - comb(slots + r - 2, slots - 1))
        right = blocks - step
        writes += revolve_writes(right, slots - 1) if right > 1 else 0
        times += 1
        blocks = step
        if comb(slots + r - 1, slots) >= blocks:
            r -= 1
    return times, writes
