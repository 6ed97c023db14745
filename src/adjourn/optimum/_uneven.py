"""The optimum for steps of uneven cost, and for snapshots of uneven size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._binomial import binomial

__all__ = [
    "SizedTable",
    "UnevenTable",
    "alone_costs",
    "least_uneven_cost",
    "sized_table",
    "uneven_table",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class UnevenTable:
    """Where to put the next snapshot in any range of units, with any number of slots.

    Attributes
    ----------
    cost : float
        The optimum for all units and slots, the start being stored.
    splits : tuple of ndarray of int, each of shape (units + 1, units + 1)
        ``splits[s - 2][i, j]``: where the next snapshot lies in [i, j) with s slots.
    """

    cost: float
    splits: tuple[NDArray[np.int16], ...]

    def split(self, start: int, stop: int, slots: int) -> int:
        """Return the unit of the next snapshot, or of the last step if it needs none.

        ``start`` itself, with one slot, means that there is none.
        """
        if slots == 1:
            return start
        return int(self.splits[slots - 2][start, stop])


def uneven_table(ahead: Floats, leaves: Floats, alone: Floats) -> UnevenTable:
    """Return the table of T(i, j, s) = min over k of C(i, k) + T(i, k, s) + T(k, j, s - 1).

    An optimal k lies between that of (i, j - 1) and that of (i + 1, j), the window of Knuth:
    O(n^2 s) operations, done for all ranges of one length at once in NumPy; 2 n^2 s bytes.
    ``tests`` guard the window by full search.

    Parameters
    ----------
    ahead : ndarray of float, shape (units + 1,)
        Cost of advancing from the start to each unit.
    leaves : ndarray of float, shape (slots + 1, units)
        Cost of reversing one unit from its start in s slots, the start's included; 0 for single
        steps, whose starts need no slot.
    alone : ndarray of float, shape (units + 1, units + 1)
        Cost of reversing [i, j) from i in one slot; see `alone_costs`.
    """
    units, slots = leaves.shape[1], leaves.shape[0] - 1
    width = units + 1
    flat: Ints = np.arange(units, dtype=np.int64)
    before = alone.ravel().copy()
    before[flat * width + flat + 1] = leaves[1]
    splits: list[NDArray[np.int16]] = []
    for s in range(2, slots + 1):
        now = np.zeros(width * width)
        now[flat * width + flat + 1] = leaves[s]
        split = np.zeros(width * width, np.int16)
        split[flat * width + flat + 1] = flat + 1
        for length in range(2, units + 1):
            starts: Ints = np.arange(units - length + 1, dtype=np.int64)
            cells: Ints = starts * width + starts + length
            low = np.maximum(split[cells - 1].astype(np.int64), starts + 1)
            high = np.minimum(split[cells + width].astype(np.int64), starts + length - 1)
            now[cells], split[cells] = _search(
                ahead, now, before, starts, starts + length, low, np.maximum(low, high)
            )
        splits.append(split.reshape(width, width))
        before = now
    return UnevenTable(float(before[units]), tuple(splits))


def _search(
    ahead: Floats, now: Floats, before: Floats, start: Ints, stop: Ints, low: Ints, high: Ints
) -> tuple[Floats, Ints]:
    """Return the least cost of each range, and the first split that reaches it."""
    width = len(ahead)
    counts = high - low + 1
    ends = np.cumsum(counts)
    firsts = ends - counts
    at = np.arange(int(ends[-1])) + np.repeat(low - firsts, counts)
    start, stop = np.repeat(start, counts), np.repeat(stop, counts)
    cost = ahead[at] - ahead[start]
    cost += now[start * width + at]
    cost += before[at * width + stop]
    least = np.minimum.reduceat(cost, firsts)
    at[cost > np.repeat(least, counts)] = width
    return least, np.minimum.reduceat(at, firsts)


def least_uneven_cost(costs: Floats, slots: int) -> float:
    """Return a lower bound on the plain advances' cost of any schedule in ``slots`` slots.

    At most beta(s, q) steps are advanced q times or fewer, whatever the schedule: leave the
    other steps out, and it is a schedule for these. The bound gives the dearest steps the fewest
    repetitions. For equal costs it is t(n, s), the optimum.

    Examples
    --------
    >>> least_uneven_cost(np.ones(10), 3)
    15.0
    """
    dearest = np.sort(costs)[::-1]
    total, done, times = 0.0, 0, 0
    while done < len(dearest):
        most = min(binomial(slots, times), len(dearest))
        total += times * float(dearest[done:most].sum())
        done, times = most, times + 1
    return total


@dataclass(frozen=True, slots=True, eq=False)
class SizedTable:
    """As `UnevenTable`, for snapshots of uneven size in parts of memory.

    Attributes
    ----------
    least : ndarray of float, shape (units + 1, units + 1, parts + 1)
        ``least[i, j, m]``: cost of reversing [i, j) from i, stored, with m parts free.
    """

    ahead: Floats
    sizes: Ints
    least: Floats
    single: NDArray[np.bool_]

    @property
    def cost(self) -> float:
        """The optimum for all units and parts, the start being stored."""
        return float(self.least[0, -1, -1])

    def split(self, start: int, stop: int, free: int) -> int:
        """Return the unit of the next snapshot, or of the last step if it needs none.

        ``start`` itself means that the range is best reversed without another snapshot.
        """
        at = np.arange(start + 1, stop)
        room = free - self.sizes[at]
        rest = np.where(room >= 0, self.least[at, stop, np.maximum(room, 0)], np.inf)
        if self.single[stop - 1]:
            rest[-1] = 0.0
        cost = self.least[start, at, free] + rest + (self.ahead[at] - self.ahead[start])
        best = int(cost.argmin())
        return start + 1 + best if cost[best] <= self.least[start, stop, free] else start


def sized_table(
    ahead: Floats, sizes: Ints, leaves: Floats, single: NDArray[np.bool_], alone: Floats
) -> SizedTable:
    """Return the table of T(i, j, m) = min over k of C(i, k) + T(i, k, m) + T(k, j, m - size_k).

    Full search over k: O(n^3 m) operations in rows of NumPy, and 16 n^2 m bytes. The window of
    Knuth does not hold for uneven sizes.

    Parameters
    ----------
    ahead : ndarray of float, shape (units + 1,)
        Cost of advancing from the start to each unit.
    sizes : ndarray of int, shape (units,)
        Parts that the snapshot at the start of each unit takes.
    leaves : ndarray of float, shape (units, parts + 1)
        Cost of reversing one unit from its start, stored, with m parts free.
    single : ndarray of bool, shape (units,)
        Units of one step: their starts need no snapshot.
    alone : ndarray of float, shape (units + 1, units + 1)
        Cost of reversing [i, j) from i without another snapshot.
    """
    units, parts = leaves.shape[0], leaves.shape[1] - 1
    least = np.zeros((units + 1, units + 1, parts + 1))
    right = np.full((units + 1, units + 1, parts + 1), np.inf)  # T(k, j, m - size_k), by [j, k]
    for length in range(1, units + 1):
        for start in range(units - length + 1):
            stop = start + length
            if length == 1:
                least[start, stop] = leaves[start]
            else:
                inner = slice(start + 1, stop)
                cost = least[start, inner] + right[stop, inner]
                cost += (ahead[inner] - ahead[start])[:, None]
                least[start, stop] = np.minimum(cost.min(axis=0), alone[start, stop])
            size = int(sizes[start])
            if length == 1 and single[start]:
                right[stop, start] = 0.0
            elif size <= parts:
                right[stop, start, size:] = least[start, stop, : parts + 1 - size]
    return SizedTable(ahead, sizes, least, single)


def alone_costs(costs: Floats, bounds: Ints) -> Floats:
    """Return the cost of reversing each range of units from its start without a snapshot.

    ``costs`` are those of single steps, ``bounds`` the first step of each unit and the end.
    """
    ahead = np.concatenate([[0.0], np.cumsum(costs)])
    sums = np.concatenate([[0.0], np.cumsum(ahead)])  # sums[b] - sums[a]: of ahead[a:b]
    low, high = np.meshgrid(bounds, bounds, indexing="ij")
    found = sums[high] - sums[np.minimum(low + 1, high)] - (high - low - 1) * ahead[low]
    return np.where(high > low + 1, found, 0.0)
