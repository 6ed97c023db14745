"""Binomial reversal as one compiled program over stacked snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..optimum import binomial
from ._body import Body
from ._compat import jnp, lax
from ._lanes import only

__all__ = ["Given", "Player", "Stack", "at_all", "chooser", "keep", "put_all", "slots_for"]

Leaves: TypeAlias = list[Any]
_MOST = 2**30  # entries of the table above this are only compared


class Stack(NamedTuple):
    """Snapshots in stacked arrays, the last taken on top.

    The one at the bottom is the carry that the loop was given: it is held anyway, by whoever
    gave it, and is not copied.

    Attributes
    ----------
    kept : list of arrays
        The slots, stacked along the first axis, that of the bottom left out.
    order : array of int32
        The slot of each position of the stack, 0 for the bottom; those from ``depth`` on are
        free.
    places : array of int32
        The block at whose start each snapshot was taken, by position.
    depth : int32 scalar
        The number of snapshots.
    """

    kept: Leaves
    order: Any
    places: Any
    depth: Any

    def top(self, first: Leaves) -> tuple[Any, Leaves]:
        """Return the block and the leaves of the snapshot on top; ``first`` is the bottom."""
        last = self.depth - 1
        if len(self.order) == 1:
            return self.places[last], first
        above = at_all(self.kept, jnp.maximum(self.order[last] - 1, 0))
        leaves = [jnp.where(last == 0, one, two) for one, two in zip(first, above, strict=True)]
        return self.places[last], leaves

    def push(self, block: Any, leaves: Leaves) -> Stack:
        """Return the stack with one snapshot more."""
        kept = keep(self.kept, leaves, self.order[self.depth], len(self.order))
        places = lax.dynamic_update_index_in_dim(self.places, block, self.depth, 0)
        return Stack(kept, self.order, places, self.depth + 1)

    def give_up(self, position: Any) -> Stack:
        """Return the stack without the snapshot at a position; with all of them for 0."""
        last = self.depth - 1
        at = jnp.arange(len(self.order), dtype=jnp.int32)
        take = jnp.where((at >= position) & (at < last), at + 1, at)
        take = jnp.where(at == last, position, take)
        moved = Stack(self.kept, self.order[take], self.places[take], last)
        none = position == 0
        return moved._replace(
            order=jnp.where(none, self.order, moved.order),
            places=jnp.where(none, self.places, moved.places),
            depth=jnp.where(none, self.depth, last),
        )

    def drop(self, when: Any) -> Stack:
        """Return the stack without its top, if ``when``."""
        return self._replace(depth=jnp.where(when, self.depth - 1, self.depth))


class Given(NamedTuple):
    """What a step reads besides its carry, and the cotangents of the outputs.

    Attributes
    ----------
    consts, xs : list of arrays
        The constants; the inputs of all steps.
    fixed : list of arrays
        Residuals that are the same for all steps.
    first : list of arrays
        The live carry before the first step.
    by_ys : list of arrays or None
        The cotangents of the outputs that have one, of all steps; None where they are zero.
    steps : int32 scalar, optional
        The steps of this lane under vmap, where lanes may differ; those beyond change nothing.
    """

    consts: Leaves
    xs: Leaves
    fixed: Leaves
    first: Leaves
    by_ys: Leaves
    steps: Any = None


class Sums(NamedTuple):
    """Cotangents as far as they are known: of constants, of the live carry, of the inputs."""

    consts: Leaves
    carry: Leaves
    xs: Leaves


@dataclass(frozen=True)
class Player:
    """Reverses blocks of steps by Revolve, deciding in the compiled program.

    Where the next snapshot lies comes from the closed form of [1]_ on a table of binomial
    coefficients, so that neither code nor compile time depends on the number of steps, which
    may be known at run time only. Every optional part is a loop of no turns or some: loops
    work in place, branches copy.

    Attributes
    ----------
    body : Body
        The step.
    place : callable
        From a step to where it reads ``xs`` and writes ``ys``.
    start : callable
        From a block to its first step.
    window : int
        The most steps of a block: with more than one, their residuals are kept while the block
        is reversed; with one, recording and pulling a step are one piece of code.
    slots : int
        Snapshots held at once.
    choose : callable
        From the blocks left, the slots free, the one on top included, and whether to go as far
        as may be, to the blocks to advance before the next snapshot.
    short : bool
        Whether the first block is a short one: the longest advances then run it most often.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.
    """

    body: Body
    place: Callable[[Any], Any]
    start: Callable[[Any], Any]
    window: int
    slots: int
    choose: Callable[[Any, Any, Any], Any]
    short: bool = False

    def advance(self, given: Given, carry: Leaves, first: Any, last: Any) -> Leaves:
        """Run the blocks [first, last) on the live carry."""

        def step(number: Any, carry: Leaves) -> Leaves:
            xs = at_all(given.xs, self.place(number))
            new = self.body.advance(given.consts, carry, xs)
            return new if given.steps is None else only(number < given.steps, new, carry)

        return lax.fori_loop(self.start(first), self.start(last), step, carry)

    def tape(self) -> Leaves:
        """Return room for the residuals of a block."""
        if self.window == 1:
            return []
        return [jnp.zeros((self.window, *a.shape), a.dtype) for a in self.body.residuals]

    def reverse(self, given: Given, block: Any, carry: Leaves, tape: Leaves, sums: Sums) -> Any:
        """Record a block from its start and take the cotangents back over it."""
        first, last = self.start(block), self.start(block + 1)
        if self.window == 1:
            _, residuals = self._record(given, carry, first)
            return tape, self._pull(given, first, residuals, sums)

        def record(number: Any, now: Any) -> Any:
            carry, tape = now
            carry, residuals = self._record(given, carry, number)
            return carry, put_all(tape, residuals, number - first)

        def pull(back: Any, sums: Sums) -> Sums:
            number = last - 1 - back
            return self._pull(given, number, at_all(tape, number - first), sums)

        _, tape = lax.fori_loop(first, last, record, (carry, tape))
        return tape, lax.fori_loop(0, last - first, pull, sums)

    def play(self, given: Given, stack: Stack, top: Any, tape: Leaves, sums: Sums) -> Sums:
        """Reverse all blocks below ``top``."""

        def ahead(at: Any, top: Any, stack: Stack) -> Any:
            free = self.slots - stack.depth + 1
            return self.choose(top - at, free, self.short & (at == 0))

        def unfinished(now: Any) -> Any:
            at, _, top, stack = now
            return (top - at > 1) & (top - at - ahead(at, top, stack) > 1)

        def descend(now: Any) -> Any:
            """Advance to where the next snapshot lies, and keep it."""
            at, carry, top, stack = now
            stop = at + ahead(at, top, stack)
            carry = self.advance(given, carry, at, stop)
            return stop, carry, top, stack.push(stop, carry)

        def turn(now: Any) -> Any:
            """Reverse the block below ``top`` from the topmost snapshot."""
            top, stack, tape, sums = now
            at, carry = stack.top(given.first)
            stack = stack.drop(top - at == 1)  # its last use
            at, carry, top, stack = lax.while_loop(unfinished, descend, (at, carry, top, stack))
            carry = self.advance(given, carry, at, top - 1)
            tape, sums = self.reverse(given, top - 1, carry, tape, sums)
            return top - 1, stack, tape, sums

        def going(now: Any) -> Any:
            return now[0] > 0

        return lax.while_loop(going, turn, (top, stack, tape, sums))[-1]

    def _record(self, given: Given, carry: Leaves, number: Any) -> tuple[Leaves, Leaves]:
        return self.body.record(given.consts, carry, at_all(given.xs, self.place(number)))

    def _pull(self, given: Given, number: Any, residuals: Leaves, sums: Sums) -> Sums:
        place = self.place(number)
        by_y = [
            jnp.zeros(aval.shape, aval.dtype) if by is None else at_all([by], place)[0]
            for by, aval in zip(given.by_ys, self.body.moved_outputs, strict=True)
        ]
        consts, carry, x = self.body.pull(given.fixed, residuals, sums.carry, by_y)
        added = [one + two for one, two in zip(sums.consts, consts, strict=True)]
        if given.steps is not None:
            here = number < given.steps
            added, carry = only(here, added, sums.consts), only(here, carry, sums.carry)
        return Sums(added, carry, put_all(sums.xs, x, place))


def chooser(slots: int, most: int) -> Callable[[Any, Any, Any], Any]:
    """Return ``choose(left, free, far)``: where Revolve puts the next snapshot, traced.

    It is the split that writes the fewest snapshots of those that take the fewest steps, or
    with ``far`` the longest of them. Exact as far as ``most`` repetitions reach; beyond, it is a
    split that works and is not the best.
    """
    rows = [[min(binomial(k, r), _MOST) for r in range(most + 2)] for k in range(slots + 1)]
    numbers = np.array(rows, np.int32)

    def choose(left: Any, free: Any, far: Any) -> Any:
        table = jnp.asarray(numbers)
        row = table[free]
        r = jnp.clip(jnp.sum(row < left, dtype=jnp.int32), 2, most)
        below = table[jnp.maximum(free - 1, 0)]  # with one slot less
        two = table[jnp.maximum(free - 2, 0), r - 1]
        tail = jnp.where(free > 2, table[jnp.maximum(free - 3, 0), r], 0)
        step = left - below[r - 1] - two
        step = jnp.where(left >= row[r] - tail, row[r - 1], step)
        step = jnp.where(left <= row[r - 1] + two, row[r - 2], step)
        step = jnp.where(left <= free + 1, 1, step)  # one repetition reaches
        longest = jnp.minimum(row[r - 1], left - below[r - 1])
        step = jnp.where(far & (left > free + 1), longest, step)
        step = jnp.where(left > row[r], left - below[r], step)  # more than `most` repetitions
        return jnp.where(free == 1, left - 1, step)

    return choose


def slots_for(leaves: Leaves, count: int) -> Leaves:
    """Return room for so many snapshots, the one at the bottom included, which takes none."""
    return [lax.broadcast(leaf, (count - 1,)) for leaf in leaves]


def keep(kept: Leaves, leaves: Leaves, slot: Any, count: int) -> Leaves:
    """Return ``count`` slots with a snapshot written; for slot 0, the bottom, nothing of use is."""
    return put_all(kept, leaves, jnp.maximum(slot - 1, 0)) if count > 1 else kept


def at_all(stacks: Sequence[Any], index: Any) -> Leaves:
    """Return what lies at an index of stacked leaves."""
    return [lax.dynamic_index_in_dim(stack, index, keepdims=False) for stack in stacks]


def put_all(stacks: Leaves, leaves: Leaves, index: Any) -> Leaves:
    """Return stacked leaves with those at an index replaced."""
    return [
        lax.dynamic_update_index_in_dim(stack, leaf, index, 0)
        for stack, leaf in zip(stacks, leaves, strict=True)
    ]
