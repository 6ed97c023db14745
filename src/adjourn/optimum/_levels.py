"""The optimum over several levels of storage: H-Revolve and Disk-Revolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._binomial import binomial

__all__ = ["LevelTable", "level_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """Least cost to reverse any number of steps with any number of slots at each level.

    Attributes
    ----------
    free : tuple of ndarray of float, each of shape (slots + 1, steps + 1)
        ``free[k][m, n]``: n steps, start state live and not stored, m slots of level k and all
        slots of the levels below it; infinite where it cannot be done.
    stored : tuple of ndarray of float, each of shape (slots + 1, steps + 1)
        ``stored[k][m, n]``: the same with the start state stored in one of the m slots.
    unlimited : tuple of bool
        Whether a level has as many slots as there are steps; its tables then have the rows 0
        (none) and 1 (any number).
    reads : tuple of float
        Cost of one read at each level.
    advance : float
        Cost of one plain advance.
    saved : float
        What an advance over the very first step costs less than one over any other.
    start_free, start_stored : tuple of ndarray of float
        As ``free`` and ``stored``, for ranges that begin with the very first step; the same
        arrays where nothing is saved there.
    """

    free: tuple[Floats, ...]
    stored: tuple[Floats, ...]
    unlimited: tuple[bool, ...]
    reads: tuple[float, ...]
    advance: float
    saved: float
    start_free: tuple[Floats, ...]
    start_stored: tuple[Floats, ...]

    @property
    def cost(self) -> float:
        """The optimum for all steps and slots; infinite where it cannot be done."""
        return float(self.start_free[-1][-1, -1])

    @property
    def slots(self) -> tuple[int, ...]:
        """The number of slots of each level that is of use; 1 for a level without limit."""
        return tuple(len(table) - 1 for table in self.free)

    def fewer(self, level: int, slots: int) -> int:
        """Return the number of slots left at ``level`` when one of ``slots`` is taken."""
        return slots if self.unlimited[level] else slots - 1

    def stores(self, level: int, slots: int, steps: int, *, start: bool = False) -> bool:
        """Return whether to store a live state at ``level``, not at one below it.

        ``start``: it is that of the very first step.
        """
        if slots == 0:
            return False
        free = self.start_free if start else self.free
        return bool(free[level][slots, steps] < self._below(level, steps, start=start))

    def split(self, level: int, slots: int, steps: int, *, start: bool = False) -> int:
        """Return how far to advance from a state stored at ``level``.

        0 means to advance no further with it: give it up and go on with the levels below.
        Costs one look at each split.
        """
        spans = np.arange(1, steps)
        stored = self.start_stored if start else self.stored
        each = spans * self.advance + (self.reads[level] - (self.saved if start else 0.0))
        total = self.free[level][self.fewer(level, slots), steps - 1 : 0 : -1] + (
            stored[level][slots, 1:steps] + each
        )
        best = int(total.argmin())
        return best + 1 if total[best] <= self._below(level, steps, start=start) else 0

    def _below(self, level: int, steps: int, *, start: bool) -> float:
        free = self.start_free if start else self.free
        return float(free[level - 1][-1, steps]) if level else _without(steps)


def _without(steps: int) -> float:
    return 0.0 if steps <= 1 else np.inf


def level_table(
    steps: int,
    levels: Sequence[tuple[int | None, float, float]],
    advance: float = 1.0,
    first: float | None = None,
) -> LevelTable:
    """Return the H-Revolve table for up to ``steps`` steps.

    With u the cost of an advance, w and r those of a write and a read at level k, and F of a
    level without slots being F of the level below it with all of its slots::

        F(k, m, n) = min{ F(k - 1, all, n),  w + S(k, m, n) }
        S(k, m, n) = min{ F(k - 1, all, n),
                          over 1 <= j < n: j u + F(k, m - 1, n - j) + r + S(k, m, j) }

    The cost of recording and reversing each step is left out: it is the same for all
    schedules. Where the very first step is cheaper by d, ranges that begin with it have tables
    of their own, with j u - d for j u. Takes O(n^2 sum of slots) operations in rows of NumPy,
    16 n (sum of slots) bytes; twice that with a cheaper first step. A level without limit counts
    as one slot, and a fastest level without costs as none in the operations, for it is Revolve's
    closed form. The table is not convex, and its argmin not monotone: there is no exact short
    cut.

    With RAM below a disk without limit this is Disk-Revolve [2]_, whose own recurrence forbids
    further writes to disk in a range that is run again; none of those would pay.

    Parameters
    ----------
    steps : int
        The largest number of steps, 1 or more.
    levels : sequence of (slots, write, read)
        From the fastest level to the slowest; None slots for a level without limit.
    advance : float
        Cost of one plain advance.
    first : float, optional
        That of the very first step, if it is less.

    References
    ----------
    .. [1] J. Herrmann and G. Pallez, "H-Revolve: a framework for adjoint computation on
       synchronous hierarchical platforms", ACM TOMS 46 (2020), doi 10.1145/3378672.
    .. [2] G. Aupy, J. Herrmann, P. Hovland and Y. Robert, "Optimal multistage algorithm for
       adjoint computation", SIAM J. Sci. Comput. 38 (2016) C232-C255,
       doi 10.1137/15M1019222.

    Examples
    --------
    >>> level_table(100, [(5, 0, 0), (10, 2, 2)]).cost
    242.0
    """
    below = np.full(steps + 1, np.inf)
    below[:2] = 0.0
    free: list[Floats] = []
    stored: list[Floats] = []
    for slots, write, read in levels:
        if slots is None:
            live, kept = _fill_unlimited(below, write, read, advance)
        elif not free and write == read == 0:
            live = kept = _binomial(steps, min(slots, steps), advance)
        else:
            live, kept = _fill(below, min(slots, steps), write, read, advance)
        free.append(live)
        stored.append(kept)
        below = live[-1]
    saved = 0.0 if first is None else advance - first
    begins = _starts(levels, free, advance, saved) if saved else (free, stored)
    return LevelTable(
        tuple(free),
        tuple(stored),
        tuple(level[0] is None for level in levels),
        tuple(level[2] for level in levels),
        advance,
        saved,
        tuple(begins[0]),
        tuple(begins[1]),
    )


def _starts(
    levels: Sequence[tuple[int | None, float, float]],
    free: list[Floats],
    advance: float,
    saved: float,
) -> tuple[list[Floats], list[Floats]]:
    """Return F and S of the ranges that begin with the very first step."""
    steps = free[0].shape[1] - 1
    below = np.full(steps + 1, np.inf)
    below[:2] = 0.0
    all_live: list[Floats] = []
    all_kept: list[Floats] = []
    for (slots, write, read), other in zip(levels, free, strict=True):
        rest = np.ascontiguousarray((other[1:] if slots is None else other[:-1])[:, ::-1])
        rows = len(rest)
        live = np.empty((rows + 1, steps + 1))
        kept = np.full((rows + 1, steps + 1), np.inf)
        live[0] = below
        live[:, :2] = 0.0
        kept[1:, :2] = 0.0
        head = np.empty((rows, steps + 1))
        head[:, 1] = advance + read - saved
        for n in range(2, steps + 1):
            total = rest[:, steps - n + 1 : steps] + head[:, 1:n]
            best = np.minimum(total.min(axis=1, initial=np.inf), below[n])
            kept[1:, n] = best
            head[:, n] = best + (n * advance + read - saved)
            live[1:, n] = np.minimum(below[n], best + write)
        all_live.append(live)
        all_kept.append(kept)
        below = live[-1]
    return all_live, all_kept


def _binomial(steps: int, slots: int, advance: float) -> Floats:
    """Return u t(n, m): F and S of a fastest level whose writes and reads are free."""
    table = np.full((slots + 1, steps + 1), np.inf)
    table[:, :2] = 0.0
    numbers = np.arange(steps + 1)
    for m in range(1, slots + 1):
        most = [1]
        while most[-1] < steps:
            most.append(binomial(m, len(most)))
        repeats = np.searchsorted(most, numbers)
        offsets = np.array([binomial(m + 1, r - 1) if r else 0 for r in range(len(most))])
        table[m] = (repeats * numbers - offsets[repeats]) * advance
    return table


def _fill(
    below: Floats, slots: int, write: float, read: float, advance: float
) -> tuple[Floats, Floats]:
    """Fill F and S of one level, all numbers of slots at once for each number of steps."""
    steps = len(below) - 1
    live = np.empty((slots + 1, steps + 1))
    kept = np.full((slots + 1, steps + 1), np.inf)
    live[0] = below
    live[:, :2] = 0.0
    kept[1:, :2] = 0.0
    # The two terms of a split as contiguous rows: F of the rest counted from the end of the
    # row, and S of the beginning together with the advance and the read.
    rest = np.empty((slots, steps + 1))
    rest[:, steps - 1 :] = 0.0
    rest[:1] = below[::-1]
    head = np.empty((slots, steps + 1))
    head[:, 1] = advance + read
    scratch = np.empty((slots, steps + 1))
    for n in range(2, steps + 1):
        total = scratch[:, : n - 1]
        np.add(rest[:, steps - n + 1 : steps], head[:, 1:n], out=total)
        best = np.minimum(total.min(axis=1, initial=np.inf), below[n])
        kept[1:, n] = best
        head[:, n] = best + (n * advance + read)
        live[1:, n] = np.minimum(below[n], best + write)
        rest[1:, steps - n] = live[1:-1, n]
    return live, kept


def _fill_unlimited(
    below: Floats, write: float, read: float, advance: float
) -> tuple[Floats, Floats]:
    """Fill F and S of a level whose slots never run out: one row each."""
    steps = len(below) - 1
    live = np.empty((2, steps + 1))
    kept = np.full((2, steps + 1), np.inf)
    live[0] = below
    live[:, :2] = 0.0
    kept[1, :2] = 0.0
    rest = np.empty(steps + 1)
    rest[steps - 1 :] = 0.0
    head = np.empty(steps + 1)
    head[1] = advance + read
    for n in range(2, steps + 1):
        total = rest[steps - n + 1 : steps] + head[1:n]
        best = min(float(total.min()), float(below[n]))
        kept[1, n] = best
        head[n] = best + (n * advance + read)
        live[1, n] = rest[steps - n] = min(float(below[n]), best + write)
    return live, kept
