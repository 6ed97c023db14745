"""The optimum in bytes for a loop that is reversed at once: C0 and C1 of THEORY 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._menu import Floats, MenuRow, Option, check_costs, menu_rows

__all__ = ["Choice", "StepTable", "fill_tables", "step_table"]

CHUNK = 1 << 14  # elements of the scratch rows: 128 KiB stay in the second-level cache


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


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Least seconds to reverse any number of steps in any number of units, with the choices.

    Attributes
    ----------
    steps, units : int
        The largest number of steps and of units.
    free : ndarray of float, shape (steps + 1, units + 1)
        C0(n, m): start state live and not stored, m units free; infinite where nothing fits.
    stored : ndarray of float, shape (steps + 1, units + 1)
        C1(n, m - snapshot): start state live and stored, m units *with* its snapshot; infinite
        where m < snapshot.
    """

    steps: int
    units: int
    free: Floats
    stored: Floats
    snapshot: int
    write: float
    read: float
    advance: float
    rows: tuple[MenuRow, ...]

    @property
    def seconds(self) -> float:
        """The optimum for all steps and units; infinite if nothing fits."""
        return float(self.free[self.steps, self.units])

    def choose(self, steps: int, units: int, *, stored: bool) -> Choice:
        """Return the best next action; costs one look at each option and each span.

        Parameters
        ----------
        steps : int
            Steps in the range, 1 or more.
        units : int
            Units that the range may use, its own snapshot's included if it is stored.
        stored : bool
            Whether the start state is held by a snapshot.

        Returns
        -------
        Choice
            Record: a stored start is given up first, the rest is
            ``(steps - 1, units - left, stored=False)``. Advance: the start is stored unless it
            is; then ``(steps - span, units - snapshot, stored=False)``, load, and
            ``(span, units, stored=True)``.
        """
        target = (self.stored if stored else self.free)[steps, units]
        for row in self.rows:
            if row.left <= units:
                seconds = row.seconds[units] + self.free[steps - 1, units - row.left]
                if seconds == target and np.isfinite(seconds):
                    return Choice(int(row.option[units]), row.left, 0)
        if steps == 1 or units < self.snapshot or not np.isfinite(target):
            raise ValueError(f"{steps} steps do not fit {units} units.")
        rest = self.free[steps - 1 : 0 : -1, units - self.snapshot]
        spans = np.arange(1, steps) * self.advance + self.read
        spans += self.stored[1:steps, units]
        return Choice(-1, 0, int(np.argmin(rest + spans)) + 1)


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
    two tables of ``(steps + 1) (budget + 1)`` doubles. Optimal where recordings survive later
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
    rows = tuple(menu_rows(menu, budget))
    free, stored = fill_tables(steps, rows, snapshot, write, read, advance, budget)
    return StepTable(
        steps, budget, free, stored, snapshot, float(write), float(read), float(advance), rows
    )


def fill_tables(
    steps: int,
    rows: Sequence[MenuRow],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    units: int,
) -> tuple[Floats, Floats]:
    """Return C0 and the shifted C1, row by row of steps."""
    free = np.full((steps + 1, units + 1), np.inf)
    stored = np.full((steps + 1, units + 1), np.inf)
    free[0] = 0.0
    stored[0, snapshot:] = 0.0
    width = max(0, units + 1 - snapshot)
    spans = np.empty((steps + 1, width))  # j p + r + C1(j, m)
    block = max(1, CHUNK // max(1, width))
    scratch = np.empty((block, width))
    for n in range(1, steps + 1):
        record = free[n]
        for row in rows:
            ahead = free[n - 1, : units + 1 - row.left] + row.seconds[row.left :]
            np.minimum(record[row.left :], ahead, out=record[row.left :])
        if not width:
            continue
        best = stored[n, snapshot:]
        best[:] = record[snapshot:]
        if n > 1:
            split = np.full(width, np.inf)
            for j in range(1, n, block):
                stop = min(n, j + block)
                part = scratch[: stop - j]
                np.add(free[n - j : n - stop : -1, :width], spans[j:stop], out=part)
                np.minimum(split, part.min(axis=0), out=split)
            np.minimum(best, split, out=best)
            np.minimum(record[snapshot:], write + split, out=record[snapshot:])
        np.add(best, n * advance + read, out=spans[n])
    return free, stored
