"""Lower bounds on what any schedule takes, for the gap of plans that are not proven optimal.

Both bounds were compared with the exact recurrence, itself equal to exhaustive search, on
millions of small cases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._binomial import revolve_advances
from ._menu import Floats, Ints, MenuRow, Option, menu_rows
from ._tables import Rates

__all__ = ["closed_bound", "grid_bound", "lower_bound"]

_UNITS = 400  # of the grid bound
_DENSE = (128, 96, 64, 48, 32, 16)  # steps one by one, then points for each factor e
_WORK = 6e8  # additions of the grid bound, about half a second
_SLACK = 1 - 1e-12  # rounding of sums


def lower_bound(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
) -> float:
    """Return the better of `closed_bound` and `grid_bound`; the arguments of `step_table`.

    Costs up to half a second and a few megabytes.
    """
    closed = closed_bound(steps, menu, snapshot, advance, budget)
    if not np.isfinite(closed):
        return closed
    unit = _bound_unit(menu, snapshot, budget)
    if unit is None:
        return closed
    units = budget // unit
    dense = next((d for d in _DENSE if 12 * len(_grid(steps, d)) ** 2 * units <= _WORK), _DENSE[-1])
    rounded = [(t, left // unit, peak // unit) for t, left, peak in menu]
    grid = grid_bound(steps, rounded, snapshot // unit, write, read, advance, units, dense)
    return max(closed, grid)


def closed_bound(
    steps: int, menu: Sequence[Option], snapshot: int, advance: float, budget: int
) -> float:
    """Return n min t + p max(0, t(n, q) - (n - 1)), below what any schedule takes.

    Here q = floor((budget - min K) / min(snapshot, min R)) and t(n, q) is Revolve's number of
    plain advances. Each step must be recorded once, for at least min t. When a step is
    reversed, its recording takes at least min K, so at most q snapshots and recordings are held
    besides. Put the stored state of step i in place of each of them, snapshot or recording of
    step i: what results reverses n steps from stored states in q slots, the live state apart,
    and such a schedule runs at least t(n, q) - (n - 1) steps beyond the n of one plain run [1]_;
    each of those costs an advance or a recording, hence at least p. Costs microseconds.

    Parameters
    ----------
    steps, menu, snapshot, advance, budget
        As in `step_table`.

    Returns
    -------
    float
        The bound; infinite if nothing fits.

    References
    ----------
    .. [1] J. Grimm, L. Pottier and N. Rostaing-Schmidt, "Optimal time and minimum space-time
       product for reversing a certain class of programs", INRIA RR-2794 (1996).

    Examples
    --------
    >>> round(closed_bound(298, [(2.5, 1, 1)], 2, 1.0, 54))
    989
    """
    fitting = [option for option in menu if option[2] <= budget]
    if not steps:
        return 0.0
    if not fitting:
        return float("inf")
    alone = steps * min(t for t, _, _ in fitting)
    smallest = min(snapshot, *(left for _, left, _ in fitting))
    if steps == 1 or not smallest:
        return alone
    held = (budget - min(peak for _, _, peak in fitting)) // smallest
    if not held:
        return float("inf")
    again = advance * max(0, revolve_advances(steps, held) - (steps - 1))
    return alone + again * _SLACK if again else alone


def grid_bound(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
    dense: int = 128,
) -> float:
    """Return a bound from the recurrence on a grid of step counts, filled in from below.

    Removing any one step from a schedule of n + 1 steps leaves a schedule of n steps. The times
    of the steps, writes and reads apart, add up to at least A(n + 1), the optimum without them;
    so one of the steps takes at least A(n + 1) / (n + 1), and C(n + 1) >= C(n) + A(n + 1) /
    (n + 1), whose last term never falls with n. Between two points of the grid the bound grows
    by that; the best split of a range then lies where either part is on the grid or next to it.

    Costs O(G^2 budget) for the G = O(dense log(steps / dense)) points of the grid; a finer grid
    gives a better bound (within 0.3% for 1600 steps and ``dense=128``).

    Parameters
    ----------
    steps, menu, snapshot, write, read, advance, budget
        As in `step_table`, but needs rounded down to units, never up.
    dense : int
        Step counts taken one by one, and grid points for each factor e beyond.

    Returns
    -------
    float
        The bound; 0 where a recording leaves nothing.

    Examples
    --------
    >>> round(grid_bound(298, [(2.5, 1, 1)], 2, 0.0, 0.0, 1.0, 54) / (298 * 2.5), 2)
    1.34
    """
    rows = menu_rows(menu, budget)
    if not rows:
        return float("inf")
    if min(row.left for row in rows) == 0:
        return 0.0
    free_rates = Rates(snapshot, 0.0, 0.0, advance)
    bound, slopes = _fill(steps, rows, free_rates, budget, dense, None)
    if write or read:
        rates = Rates(snapshot, write, read, advance)
        bound = max(bound, _fill(steps, rows, rates, budget, dense, slopes)[0])
    return bound * _SLACK


def _grid(steps: int, dense: int) -> Ints:
    points = list(range(min(steps, dense) + 1))
    while points[-1] < steps:
        points.append(min(steps, points[-1] + points[-1] // dense))
    return np.array(points, dtype=np.intp)


def _fill(
    steps: int,
    rows: Sequence[MenuRow],
    rates: Rates,
    units: int,
    dense: int,
    slopes: tuple[Floats, Floats] | None,
) -> tuple[float, tuple[Floats, Floats]]:
    """Return the bound and the least growth by a step at each point of the grid."""
    snapshot, write, read, advance = rates
    grid = _grid(steps, dense)
    shape = (len(grid), units + 1)
    width = max(0, units + 1 - snapshot)
    free, stored = np.full(shape, np.inf), np.full(shape, np.inf)
    free[0] = 0.0
    stored[0, snapshot:] = 0.0
    grow_free, grow_stored = slopes or (np.zeros(shape), np.zeros(shape))
    longest = units // min(row.left for row in rows) + 1  # no more steps are recorded in a row
    latest = free[0]  # C0 of the step count before
    split = np.full(units + 1, np.inf)
    for i in range(1, len(grid)):
        n, before = int(grid[i]), int(grid[i - 1])
        if n - 1 - before > longest:
            latest = np.full(units + 1, np.inf)
        for between in range(max(before + 1, n - longest), n):
            kept = write + split + (between - before) * grow_free[i - 1]
            latest = np.minimum(_record(latest, rows), kept)
        record = _record(latest, rows)
        split = np.full(units + 1, np.inf)
        if n > 1 and width:
            spans = _spans(grid[:i], n)
            low = np.searchsorted(grid[:i], spans, "right") - 1
            rest = np.searchsorted(grid[:i], n - spans, "right") - 1
            sums = (spans - grid[low])[:, None] * grow_stored[low, snapshot:]
            sums += stored[low, snapshot:]
            sums += (n - spans - grid[rest])[:, None] * grow_free[rest, :width]
            sums += free[rest, :width]
            sums += (spans * advance + read)[:, None]
            split[snapshot:] = sums.min(axis=0)
        free[i] = np.minimum(record, write + split)
        stored[i, snapshot:] = np.minimum(record, split)[snapshot:]
        latest = free[i]
        if slopes is None:
            np.divide(free[i], n, out=grow_free[i], where=np.isfinite(free[i]))
            np.divide(stored[i], n, out=grow_stored[i], where=np.isfinite(stored[i]))
    return float(free[-1, -1]), (grow_free, grow_stored)


def _spans(grid: Ints, steps: int) -> Ints:
    """Return where a sum of two functions, linear between the points, can be least."""
    spans = np.unique(np.concatenate([grid, grid - 1, steps - grid, steps - grid + 1]))
    return spans[(spans >= 1) & (spans < steps)]


def _record(latest: Floats, rows: Sequence[MenuRow]) -> Floats:
    best = np.full(len(latest), np.inf)
    for row in rows:
        ahead = latest[: len(latest) - row.left] + row.seconds[row.left :]
        np.minimum(best[row.left :], ahead, out=best[row.left :])
    return best


def _bound_unit(menu: Sequence[Option], snapshot: int, budget: int) -> int | None:
    """Return the unit in which rounding down loses least; None if any loses too much."""
    fitting = [option for option in menu if option[2] <= budget]
    needs = [need for need in (snapshot, min(left for _, left, _ in fitting)) if need]
    smallest = min(needs, default=0)
    if not smallest or smallest * _UNITS < budget:
        return None
    least = max(1, -(-budget // _UNITS))
    units = {max(1, need // parts) for need in needs for parts in range(1, need // least + 1)}
    return min(
        (unit for unit in units if least <= unit <= smallest),
        key=lambda unit: (max(need % unit / need for need in needs), -unit),
        default=None,
    )
