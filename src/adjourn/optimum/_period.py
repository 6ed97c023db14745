"""The period of writes to disk that costs least in the long run."""

from __future__ import annotations

from math import isqrt

import numpy as np

from ._binomial import binomial, repetitions
from ._levels import level_table

__all__ = ["LONGEST_TABLE", "best_period"]

_DEAR = 1e30  # advances: a disk so dear is never written
LONGEST_TABLE = 1 << 14  # steps of a period up to which its table is filled: a tenth of a second


def best_period(ram: int, write: float, read: float, advance: float = 1.0) -> int:
    """Return the period m that minimises (w + r + S(m)) / m, the cost of a step in the long run.

    S(m) is the least cost of reversing m steps from a start on disk with ``ram`` slots, the
    start read again where that pays; it depends on (ram, w, r) alone, and so does the period.
    An optimal offline schedule has this period but for a bounded number of writes [1]_.
    Periods up to 16 384 steps are compared one by one; where longer ones could be best, the
    start is read once, and m = C(c + t, c) with the least t for which C(c + 1 + t, t) exceeds
    (w + r) / u.

    Parameters
    ----------
    ram : int
        Slots in RAM, 0 or more.
    write, read : float
        Cost of one write to disk and one read from it, 0 or more.
    advance : float
        Cost of one plain advance, more than 0.

    References
    ----------
    .. [1] G. Aupy and J. Herrmann, "Periodicity in optimal hierarchical checkpointing schemes
       for adjoint computations", Optim. Methods Softw. 32 (2017) 594-624,
       doi 10.1080/10556788.2016.1230612.

    Examples
    --------
    >>> best_period(ram=1, write=2, read=2), best_period(ram=10, write=50, read=50)
    (3, 286)
    """
    longest = _longest(ram, min(write / advance, _DEAR), min(read / advance, _DEAR))
    if longest > LONGEST_TABLE and ram:
        traffic = min((write + read) / advance, _DEAR)
        return binomial(ram, repetitions(int(traffic) + 1, ram + 1))
    table = level_table(longest, [(ram, 0.0, 0.0), (None, write, read)], advance)
    cost = (table.stored[1][1, 1:] + (write + read)) / np.arange(1, longest + 1)
    return longest - int(cost[::-1].argmin())


def _longest(ram: int, write: float, read: float) -> int:
    """Return a bound on the best period (section 4 of the reference)."""
    if ram == 0:
        return min(isqrt(int(2 * write)) + 3, LONGEST_TABLE)
    both = repetitions(int(write + read) + 1, ram)
    alone = repetitions(int(write) + 1, ram)
    return max(binomial(ram, both + 1), 2 * binomial(ram, alone) + 1)
