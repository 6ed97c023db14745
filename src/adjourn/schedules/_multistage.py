"""Multistage: Revolve over RAM and disk, its busiest stack positions in RAM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import ClassVar, TypeAlias

from .._sizes import as_count
from ..errors import BadValue
from ..optimum import revolve_advances
from ..optimum._positions import position_table, split_range
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._binomial import split
from ._schedule import Counts, Reversal, Schedule

__all__ = ["Multistage", "multistage"]

_MOST_SLOTS = 10**5
_MOST_CELLS = 20_000  # of the table of splits: a tenth of a second

_Spans: TypeAlias = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Multistage(Schedule):
    """Revolve over two tiers; made by `multistage`."""

    family: ClassVar[str] = "multistage"
    steps: int
    ram: int
    disk: int
    _tiers: bytes = field(init=False, repr=False, compare=False)
    _spans: _Spans = field(init=False, repr=False, compare=False)
    _counts: Counts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters and allot the stack positions."""
        steps = as_count(self.steps, "steps")
        ram = as_count(self.ram, "ram", least=0)
        disk = as_count(self.disk, "disk", least=0)
        if steps > 1 and ram + disk == 0:
            raise BadValue(
                f"ram=0 and disk=0 hold no snapshot, and {steps} steps need the initial state "
                "kept. Pass ram=1 or more, or disk=1 or more."
            )
        tiers, spans, counts = _allot(steps, ram, disk)
        for name, value in (("steps", steps), ("ram", ram), ("disk", disk)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_tiers", tiers)
        object.__setattr__(self, "_spans", spans)
        object.__setattr__(self, "_counts", counts)

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """Snapshots in RAM and on disk."""
        return (self.ram, self.disk)

    @property
    def counts(self) -> Counts:
        """Counts of each stack position, summed when the schedule was made."""
        return self._counts

    @property
    def restarts(self) -> int:
        """Advances that begin at step 0, along the splits of the ranges that begin there."""
        left, slots, found = self.steps, len(self._tiers), 0
        while left > 1:
            if slots == 1:
                return found + left - 1
            left = self._spans[left, slots]
            found += 1
        return found

    def __iter__(self) -> Iterator[Action]:
        tiers, spans = self._tiers, self._spans
        slots = len(tiers)
        top = self.steps
        kept: list[int] = []
        if top > 1:
            kept.append(0)
            yield Save(0, tiers[0])
        at = 0
        turned = False
        while True:
            start = at
            if top - at > 1:
                left, free = top - at, slots - len(kept) + 1
                at += spans[left, free] if free > 1 else left - 1
                yield Advance(start, at)
                if top - at > 1:
                    yield Save(at, tiers[len(kept)])
                    kept.append(at)
                    continue
            elif kept:
                kept.pop()
                yield Drop(at, tiers[len(kept)])
            yield Record(at, top)
            if not turned:
                turned = True
                yield Turn()
            yield Reverse(at, top)
            top = at
            if not top:
                return
            at = kept[-1]
            yield Load(at, tiers[len(kept) - 1])


def multistage(steps: int, ram: int, disk: int) -> Multistage:
    """Return Revolve on ``ram + disk`` snapshots, its busiest stack positions in RAM [1]_.

    Takes t(n, ram + disk) plain advances, the fewest possible, whatever reads and writes cost.
    The positions of the stack of snapshots are ranked by their writes and reads: the busiest are
    kept in RAM (tier 0), the others on disk (tier 1). Of the splits with so few advances those
    are taken that use the disk least: exactly so up to ``steps * disk = 20 000``; beyond, the
    shortest advance, which uses it 7% more on average (43% at worst, in a study of 150 cases).
    Where the disk is dear, `hrevolve` is cheaper, for it weighs disk against advances. Making
    it takes a tenth of a second at most, iterating constant time an action and memory for the
    stack.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    ram, disk : int
        Snapshots held at once in RAM and on disk; more than ``steps - 1`` are of no use.

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, is negative, or no snapshot can be kept at all.

    References
    ----------
    .. [1] P. Stumm and A. Walther, "MultiStage approaches for optimal offline checkpointing",
       SIAM J. Sci. Comput. 31 (2009) 1946-1967, doi 10.1137/080718036.

    Examples
    --------
    >>> schedule = multistage(100, ram=5, disk=10)
    >>> schedule.advances, schedule.counts.writes
    (183, (50, 34))
    """
    return Multistage(steps, ram, disk)


def _allot(steps: int, ram: int, disk: int) -> tuple[bytes, _Spans, Counts]:
    """Return the tier of each stack position, the splits, and the counts of the schedule."""
    slots = min(ram + disk, steps - 1)
    if slots > _MOST_SLOTS:
        raise BadValue(
            f"ram={ram} and disk={disk} make a stack of {slots} snapshots, more than "
            f"{_MOST_SLOTS}. Take fewer, or segments() for so many."
        )
    if not slots:
        return b"", {}, Counts(0, 1, 1, (0, 0), (0, 0), (0, 0), 1)
    spans, writes, reads = _visit(steps, slots, min(disk, slots))
    busiest = sorted(range(slots), key=lambda at: (writes[at] + reads[at], at), reverse=True)
    tiers = bytearray([1]) * slots
    for at in busiest[:ram]:
        tiers[at] = 0
    by_tier = [[0, 0], [0, 0], [0, 0]]
    for at, tier in enumerate(tiers):
        by_tier[0][tier] += writes[at]
        by_tier[1][tier] += reads[at]
        by_tier[2][tier] += writes[at] > 0
    written, read, held = (tuple(counts) for counts in by_tier)
    advances = revolve_advances(steps, slots)
    return bytes(tiers), spans, Counts(advances, steps, steps, written, read, held, 1)


def _visit(steps: int, slots: int, low: int) -> tuple[_Spans, list[int], list[int]]:
    """Return the split of each sub-problem, and the writes and reads of each stack position.

    Equal sub-problems are visited together, the longest first, so that the cost is that of the
    distinct ones: hundreds for 10^6 steps in 30 slots.
    """
    high = slots - low
    table = position_table(steps, low, high) if 0 < steps * low <= _MOST_CELLS else None
    writes, reads = [0] * slots, [0] * slots
    visits = {(steps, slots): [1, 1]}  # (steps, slots): times run, times its start is saved
    longest = [(-steps, slots)]
    spans: _Spans = {}
    while longest:
        key = (-longest[0][0], longest[0][1])
        heappop(longest)
        left, free = key
        times, saves = visits.pop(key)
        at = slots - free
        writes[at] += saves
        if free == 1:
            reads[at] += times * (left - 1)
            continue
        reads[at] += times
        if free <= high:
            span = split(left, free)
        else:
            span = table.split(left, free) if table else split_range(left, free)[0]
        spans[key] = span
        for part, room, saved in ((left - span, free - 1, times), (span, free, 0)):
            if part > 1:
                if (part, room) not in visits:
                    visits[part, room] = [0, 0]
                    heappush(longest, (-part, room))
                visit = visits[part, room]
                visit[0] += times
                visit[1] += saved
    return spans, writes, reads
