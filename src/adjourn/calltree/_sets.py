"""Pareto sets of options (seconds, bytes left, peak bytes) as columns."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Floats", "Ints", "columns", "pareto", "pool", "thin"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_DENSE = 128  # cells a row for which the dense dominance test is the faster one


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Options as three columns of one length.

    Attributes
    ----------
    seconds : ndarray of float, shape (options,)
    left, peak : ndarray of int, shape (options,)
        Bytes.
    """

    seconds: Floats
    left: Ints
    peak: Ints

    def __len__(self) -> int:
        return len(self.seconds)

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """Return the rows with these numbers."""
        return Columns(self.seconds[rows], self.left[rows], self.peak[rows])


def columns(*options: tuple[float, int, int]) -> Columns:
    """Return options given as (seconds, left, peak)."""
    return Columns(
        np.array([option[0] for option in options], dtype=np.float64),
        np.array([option[1] for option in options], dtype=np.int64),
        np.array([option[2] for option in options], dtype=np.int64),
    )


def pareto(options: Columns, cap: int) -> NDArray[np.intp]:
    """Return the rows that fit ``cap`` and that no other row beats in all three columns.

    One of several equal rows is kept. Sorted by peak, then by what is left. Costs a sort, and
    one pass over a dense grid or a staircase.
    """
    rows = np.nonzero(options.peak <= cap)[0]
    if len(rows) < 2:
        return rows
    t, left, peak = options.seconds[rows], options.left[rows], options.peak[rows]
    order = np.lexsort((t, left, peak))
    rows, t, left, peak = rows[order], t[order], left[order], peak[order]
    if left[0] == left[-1] and bool((left == left[0]).all()):
        before = np.minimum.accumulate(t)
        keep = np.ones(len(t), dtype=bool)
        keep[1:] = t[1:] < before[:-1]
        return rows[keep]
    lefts, l_at = np.unique(left, return_inverse=True)
    first = np.ones(len(peak), dtype=bool)
    first[1:] = peak[1:] != peak[:-1]
    k_at = np.cumsum(first) - 1
    if len(lefts) * (int(k_at[-1]) + 1) <= _DENSE * len(t):
        keep = _dense(t, l_at, k_at, len(lefts))
    else:
        keep = _staircase(t, left)
    return rows[keep]


def _dense(
    t: Floats, l_at: NDArray[np.intp], k_at: NDArray[np.intp], width: int
) -> NDArray[np.bool_]:
    grid = np.full((int(k_at[-1]) + 1, width), np.inf)
    first = np.ones(len(t), dtype=bool)  # rows are sorted: the fastest of a cell comes first
    first[1:] = (k_at[1:] != k_at[:-1]) | (l_at[1:] != l_at[:-1])
    grid[k_at[first], l_at[first]] = t[first]
    best = np.minimum.accumulate(np.minimum.accumulate(grid, axis=0), axis=1)
    bound = np.full_like(best, np.inf)
    bound[1:] = best[:-1]
    bound[:, 1:] = np.minimum(bound[:, 1:], best[:, :-1])
    return first & (t < bound[k_at, l_at])


def _staircase(t: Floats, left: Ints) -> NDArray[np.bool_]:
    keep = np.zeros(len(t), dtype=bool)
    lefts: list[int] = []
    times: list[float] = []
    for row, (seconds, bytes_left) in enumerate(zip(t.tolist(), left.tolist(), strict=True)):
        at = bisect_right(lefts, bytes_left)
        if at and times[at - 1] <= seconds:
            continue
        keep[row] = True
        stop = at
        while stop < len(lefts) and times[stop] >= seconds:
            stop += 1
        if at and lefts[at - 1] == bytes_left:
            at -= 1
        lefts[at:stop] = [bytes_left]
        times[at:stop] = [seconds]
    return keep


def thin(options: Columns, limit: int) -> NDArray[np.intp]:
    """Return rows of a Pareto set, at most about ``limit``, that cover it.

    Of each cell of a grid over the two sizes the fastest row is kept; besides, of the rows that
    nothing beats in both sizes, up to a quarter of ``limit``: what fits at all is never lost.
    """
    cell = _cells(options, limit)
    order = np.lexsort((options.left, options.peak, options.seconds, cell))
    first = np.ones(len(order), dtype=bool)
    first[1:] = cell[order][1:] != cell[order][:-1]
    keep = np.zeros(len(options), dtype=bool)
    keep[order[first]] = True
    small = np.lexsort((options.left, options.peak))
    before = np.minimum.accumulate(options.left[small])
    stair = np.ones(len(small), dtype=bool)
    stair[1:] = options.left[small][1:] < before[:-1]
    steps = small[stair]
    most = max(2, limit // 4)
    if len(steps) > most:
        steps = steps[np.linspace(0, len(steps) - 1, most).astype(np.intp)]
    keep[steps] = True
    return np.nonzero(keep)[0]


def pool(options: Columns, limit: int) -> Columns:
    """Return a set that is nowhere worse than ``options``: each cell's least in each column."""
    cell = _cells(options, limit)
    order = np.argsort(cell, kind="stable")
    starts = np.nonzero(np.diff(cell[order], prepend=-1))[0]
    return Columns(
        np.minimum.reduceat(options.seconds[order], starts),
        np.minimum.reduceat(options.left[order], starts),
        np.minimum.reduceat(options.peak[order], starts),
    )


def _cells(options: Columns, limit: int) -> Ints:
    """Return a cell number for each row, of a grid fine enough for about ``limit`` cells."""
    flat = bool((options.left == options.left[0]).all())
    side = limit if flat else 2 * limit
    while True:
        across = 1 if flat else side
        cell = _bins(options.peak, side) * across + _bins(options.left, across)
        if side <= 2 or len(np.unique(cell)) <= limit:
            return cell
        side = side * 3 // 4


def _bins(values: Ints, count: int) -> Ints:
    low, high = int(values.min()), int(values.max())
    if count == 1 or high == low:
        return np.zeros(len(values), dtype=np.int64)
    return np.minimum((values - low) * (count / (high - low)), count - 1).astype(np.int64)
