"""The optimal splits of Revolve that use the lowest stack positions least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._binomial import binomial, repetitions

__all__ = ["PositionTable", "position_table", "split_range"]

_EVENT = 1 << 32  # one read or write of a low position outweighs all writes of high ones


def split_range(steps: int, slots: int) -> tuple[int, int]:
    """Return the shortest and the longest advance that still reach t(steps, slots) [1]_.

    All advances between them do. ``steps`` is 2 or more, ``slots`` 1 or more.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.

    Examples
    --------
    >>> split_range(15, 5), split_range(10, 1)
    ((1, 6), (9, 9))
    """
    if slots == 1:
        return steps - 1, steps - 1
    r = repetitions(steps, slots)
    low = max(binomial(slots, r - 2) if r > 1 else 1, steps - binomial(slots - 1, r))
    return low, min(binomial(slots, r - 1), steps - binomial(slots - 1, r - 1))


class PositionTable:
    """Where to split so that the lowest ``low`` stack positions are read and written least.

    Made by `position_table`. Row f - high holds, for each number of steps, the cost with f free
    slots of which ``high`` are high positions: low reads and writes first, then all writes.
    """

    __slots__ = ("_high", "_rows")

    def __init__(self, high: int, rows: list[NDArray[np.int64]]) -> None:
        self._high = high
        self._rows = rows

    def split(self, steps: int, slots: int) -> int:
        """Return how far to advance; ``slots`` free ones are more than the high positions."""
        return _best(self._rows, steps, slots - self._high, slots)[0]


def position_table(steps: int, low: int, high: int) -> PositionTable:
    """Return the table for up to ``steps`` steps in ``low + high`` slots.

    Takes ``steps * low`` short rows of NumPy and 8 bytes for each. Exact among the schedules
    with t(steps, low + high) plain advances.
    """
    rows = [_writes(steps, high)]
    for level in range(1, low + 1):
        rows.append(np.zeros(steps + 1, np.int64))
        for n in range(2, steps + 1):
            rows[level][n] = _best(rows, n, level, level + high)[1]
    return PositionTable(high, rows)


def _best(rows: list[NDArray[np.int64]], steps: int, level: int, slots: int) -> tuple[int, int]:
    """Return the best advance from a stored state, and its cost."""
    first, last = split_range(steps, slots)
    head = rows[level][first : last + 1]
    rest = rows[level - 1][steps - last : steps - first + 1][::-1]
    saved = 1 if level == 1 else _EVENT + 1
    total = head + rest + saved
    if last == steps - 1:
        total[-1] -= saved  # one step left: recorded at once, not saved
    best = int(total.argmin())
    return first + best, int(total[best]) + _EVENT


def _writes(steps: int, slots: int) -> NDArray[np.int64]:
    """Return the fewest writes of Revolve but the start's, for each number of steps."""
    row = np.zeros(steps + 1, np.int64)
    for n in range(2, steps + 1):
        if slots:
            r = repetitions(n, slots)
            full = binomial(slots, r - 1)
            half = binomial(slots - 1, r - 1)
            row[n] = (half if n <= full + half else n - full) - 1
    return row
