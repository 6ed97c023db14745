"""The optimum in bytes for a loop that is reversed at once: C0 and C1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._menu import Floats, MenuRow, Option, check_costs, menu_rows

__all__ = ["Choice", "Rates", "StepTable", "fill_ending", "least_sum", "make_table", "step_table"]

_CHUNK = 1 << 14  # elements of the scratch rows: 128 KiB stay in the second-level cache


class Choice(NamedTuple):
    """What is best to do next with a range of steps whose start state is live.

    Attributes
    ----------
    option : int
        Record the first step with this option; -1 to advance instead.
    left : int
        Units that the recording leaves.
    span : int
        Keep the start state and advance this many steps; 0 to record instead.
    """

    option: int
    left: int
    span: int


class Rates(NamedTuple):
    """Units of a snapshot; seconds to write and read it, and to advance one step."""

    snapshot: int
    write: float
    read: float
    advance: float


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Least seconds to reverse any number of steps in any number of units, with the choices.

    Attributes
    ----------
    steps, units : int
        The largest number of steps and of units.
    rates : Rates
        The units and seconds of snapshots and advances.
    rows : tuple of MenuRow
        The menu.
    kept : tuple of MenuRow
        The menu where the first step's start is stored and the recording may use it; the menu
        itself unless steps are blocks.
    free : ndarray of float, shape (steps + 1, units + 1)
        C0(n, m): start state live and not stored, m units free; infinite where nothing fits.
    stored : ndarray of float, shape (steps + 1, units + 1)
        C1(n, m - snapshot): start state live and stored, m units *with* its snapshot; infinite
        where m < snapshot.
    spans : ndarray of float, shape (steps + 1, units + 1)
        The above with the time to advance over the steps and to load their start again.
    """

    steps: int
    units: int
    rates: Rates
    rows: tuple[MenuRow, ...]
    kept: tuple[MenuRow, ...]
    free: Floats
    stored: Floats
    spans: Floats

    @property
    def seconds(self) -> float:
        """The optimum for all steps and units; infinite if nothing fits."""
        return float(self.free[self.steps, self.units])

    def choose(
        self, steps: int, units: int, *, stored: bool = False, ending: Floats | None = None
    ) -> Choice:
        """Return the best next action; costs one look at each option and each span.

        Parameters
        ----------
        steps : int
            Steps in the range, 1 or more.
        units : int
            Units that the range may use, its own snapshot's included if it is stored.
        stored : bool
            Whether the start state is held by a snapshot.
        ending : ndarray, optional
            The table of `fill_ending`, where more follows the range.

        Returns
        -------
        Choice
            Record: a stored start is given up first, the rest is
            ``(steps - 1, units - left, stored=False)``. Advance: the start is stored unless it
            is; then ``(steps - span, units - snapshot, stored=False)``, load, and
            ``(span, units, stored=True)``.
        """
        free = self.free if ending is None else ending
        target = (self.stored if stored else free)[steps, units]
        if not np.isfinite(target):
            raise ValueError(f"{steps} steps do not fit {units} units.")
        for row in self.kept if stored else self.rows:
            if row.left <= units:
                seconds = row.seconds[units] + free[steps - 1, units - row.left]
                if seconds == target:
                    return Choice(int(row.option[units]), row.left, 0)
        last = steps if ending is None else steps + 1
        ahead = free[:steps, units - self.rates.snapshot][::-1]
        sums = ahead[: last - 1] + self.spans[1:last, units]
        return Choice(-1, 0, int(np.argmin(sums)) + 1)


def step_table(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
) -> StepTable:
    """Return the optimum over all schedules of snapshots, restores, recordings and deletions.

    Costs O(steps^2 budget / 2) additions in NumPy rows (0.2 s for 1615 steps and 130 units) and
    three tables of ``(steps + 1) (budget + 1)`` doubles. Optimal where recordings survive later
    advances, lie anywhere, and cost at least an advance each; larger budgets are never slower,
    also in floating point, since each candidate is a rounded sum of terms that do not grow.

    Parameters
    ----------
    steps : int
        Number of equal steps.
    menu : sequence of (seconds, left, peak)
        Ways to record a step: record and reverse seconds, units left, peak units meanwhile.
    snapshot : int
        Units of a snapshot.
    write, read, advance : float
        Seconds to write and to read a snapshot, and to advance one step.
    budget : int
        Units that may be held at once, beyond the live state.

    Returns
    -------
    StepTable
        Values and choices for every smaller number of steps and units as well.

    Raises
    ------
    ValueError
        A number is outside the theory: negative, not whole, or a recording cheaper than an
        advance.

    References
    ----------
    .. [1] A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, ch. 12,
       doi 10.1137/1.9780898717761, for the recurrence of equal snapshots.
    .. [2] J. R. Maddison, "Step-based checkpointing with high-level algorithmic
       differentiation", J. Comput. Sci. 82 (2024) 102405, doi 10.1016/j.jocs.2024.102405, for
       recordings of the size of a snapshot.

    Examples
    --------
    A wave needs two levels to restart and one to reverse a step:

    >>> table = step_table(298, [(2.5, 1, 1)], 2, 0.0, 0.0, 1.0, 54)
    >>> round(table.seconds / (298 * 2.5), 3)
    1.344
    """
    check_costs(steps, menu, snapshot, write, read, advance, budget)
    rates = Rates(snapshot, float(write), float(read), float(advance))
    return make_table(steps, menu_rows(menu, budget), rates, budget)


def make_table(
    steps: int,
    rows: Sequence[MenuRow],
    rates: Rates,
    units: int,
    kept: Sequence[MenuRow] | None = None,
) -> StepTable:
    """Return the table for a menu in rows; the work of `step_table`."""
    snapshot = rates.snapshot
    free = np.full((steps + 1, units + 1), np.inf)
    stored = np.full((steps + 1, units + 1), np.inf)
    spans = np.full((steps + 1, units + 1), np.inf)  # j p + r + C1(j, m)
    free[0] = 0.0
    stored[0, snapshot:] = 0.0
    kept = rows if kept is None else kept
    width = max(0, units + 1 - snapshot)
    scratch = np.empty(max(_CHUNK, width))
    for n in range(1, steps + 1):
        _record(free[n], free[n - 1], rows)
        if not width:
            continue
        if kept is rows:
            stored[n, snapshot:] = free[n, snapshot:]
        else:
            _record(stored[n], free[n - 1], kept)
            stored[n, :snapshot] = np.inf
        if n > 1:
            split = least_sum(free[n - 1 : 0 : -1, :width], spans[1:n, snapshot:], scratch)
            best = stored[n, snapshot:]
            np.minimum(best, split, out=best)
            best = free[n, snapshot:]
            np.minimum(best, rates.write + split, out=best)
        np.add(stored[n], n * rates.advance + rates.read, out=spans[n])
    return StepTable(steps, units, rates, tuple(rows), tuple(kept), free, stored, spans)


def fill_ending(table: StepTable, steps: int, end: Floats) -> Floats:
    """Return C0 for up to ``steps`` steps of the table followed by something that costs ``end``.

    ``end`` holds the seconds of what follows for each number of free units; the result has
    shape (steps + 1, units + 1), its first row being ``end``.
    """
    snapshot = table.rates.snapshot
    width = max(0, table.units + 1 - snapshot)
    scratch = np.empty(max(_CHUNK, width))
    ending = np.full((steps + 1, table.units + 1), np.inf)
    ending[0] = end
    for n in range(1, steps + 1):
        _record(ending[n], ending[n - 1], table.rows)
        if width:
            ahead = ending[:n, :width][::-1]
            split = least_sum(ahead, table.spans[1 : n + 1, snapshot:], scratch)
            best = ending[n, snapshot:]
            np.minimum(best, table.rates.write + split, out=best)
    return ending


def least_sum(ahead: Floats, spans: Floats, scratch: Floats) -> Floats:
    """Return the least of ``ahead + spans`` in each column, without an array of that size."""
    width = spans.shape[1]
    block = max(1, _CHUNK // width)
    best = np.full(width, np.inf)
    for first in range(0, len(spans), block):
        part = spans[first : first + block]
        sums = scratch[: part.size].reshape(part.shape)
        np.add(ahead[first : first + block], part, out=sums)
        np.minimum(best, sums.min(axis=0), out=best)
    return best


def _record(best: Floats, rest: Floats, rows: Sequence[MenuRow]) -> None:
    """Lower ``best`` to the least of recording one step and going on with ``rest``."""
    for row in rows:
        ahead = rest[: len(rest) - row.left] + row.seconds[row.left :]
        np.minimum(best[row.left :], ahead, out=best[row.left :])
