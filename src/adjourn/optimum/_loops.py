"""The optimum for a loop inside a routine, with memory held at its end: F and G."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from ._menu import Floats, Option, check_costs, common_unit, menu_rows
from ._tables import Choice, Rates, StepTable, least_sum, make_table

__all__ = ["LoopTable", "Run", "loop_options", "loop_table", "make_loop"]

Run = tuple[int, int, int]
"""(start, stop, option): steps recorded with the same option."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopTable:
    """Least seconds of a loop for each pair of bytes held at its end and at its worst.

    Sizes here are in the caller's unit (bytes, say); the arrays are in units of ``unit``.

    Attributes
    ----------
    steps : int
        Iterations of the loop.
    unit : int
        Size of a unit of free memory: every need is a multiple of it.
    stride : int
        Units between two values of what is held at the end.
    held : ndarray of float, shape (levels, steps + 1, units + 1)
        F(n, l, m) at ``[l // stride, n, m]``, for l <= m.
    kept : ndarray of float, shape (levels, units + 1)
        The last row of ``held`` where the loop's start is stored already, and may stay so.
    inner : StepTable
        C0 and C1 for the parts that are reversed at once, on units.
    """

    steps: int
    unit: int
    stride: int
    held: Floats
    kept: Floats
    inner: StepTable

    def seconds(self, left: int, peak: int) -> float:
        """Return F for at most ``left`` held at the end and ``peak`` at the worst."""
        level, units = self._place(left, peak)
        return float(self.held[level, self.steps, units])

    def options(self) -> list[Option]:
        """Return the Pareto options (seconds, left, peak), by seconds falling, then by sizes."""
        last = self.held[:, self.steps, :]
        finite = np.isfinite(last)
        finite[:, 1:] &= last[:, 1:] < last[:, :-1]
        finite[1:] &= last[1:] < last[:-1]
        found = [
            (float(last[i, m]), int(i) * self.stride * self.unit, int(m) * self.unit)
            for i, m in zip(*np.nonzero(finite), strict=True)
        ]
        return sorted(found, key=lambda option: (-option[0], option[1], option[2]))

    def recordings(self, left: int, peak: int) -> list[Run]:
        """Return which option records each iteration in the end, as runs of equal options.

        Costs O(steps^2) look-ups at most.
        """
        runs: list[Run] = []
        for step, option in self._recorded(left, peak):
            if runs and runs[-1][2] == option and runs[-1][1] == step:
                runs[-1] = (runs[-1][0], step + 1, option)
            else:
                runs.append((step, step + 1, option))
        return runs

    def choose(self, steps: int, left: int, peak: int) -> Choice:
        """Return the best next action in the loop's forward pass; sizes in ``unit``.

        Parameters
        ----------
        steps : int
            Iterations still to run forward, 1 or more.
        left, peak : int
            Units that may be held at the end and at the worst by these iterations.

        Returns
        -------
        Choice
            Record: the rest is ``(steps - 1, left - choice.left, peak - choice.left)``.
            Advance: the start is stored; the rest is ``(steps - span, left - snapshot,
            peak - snapshot)``, nothing if the span is all; in the reverse pass the span is
            ``inner`` with ``(span, peak, stored=True)``.
        """
        level = min(left, peak) // self.stride
        target = self.held[level, steps, peak]
        if not np.isfinite(target):
            raise ValueError(f"{steps} iterations do not fit {left} held and {peak} at the worst.")
        for row in self.inner.rows:
            lower = level - row.left // self.stride
            if lower >= 0:
                seconds = row.seconds[peak] + self.held[lower, steps - 1, peak - row.left]
                if seconds == target:
                    return Choice(int(row.option[peak]), row.left, 0)
        return self._advance(level, steps, peak)

    def choose_kept(self, left: int, peak: int) -> Choice | None:
        """Return the choice for all iterations where their start is stored and best stays so.

        ``None`` where giving the snapshot up is as good as anything: `choose` then says what
        follows.
        """
        level = min(left, peak) // self.stride
        if level * self.stride < self.inner.rates.snapshot:
            return None
        if self._split(level, self.steps, peak).min() > self.kept[level, peak]:
            return None
        return self._advance(level, self.steps, peak)

    def _split(self, level: int, steps: int, peak: int) -> Floats:
        snapshot = self.inner.rates.snapshot
        ahead = self.held[level - snapshot // self.stride, :steps, peak - snapshot][::-1]
        return ahead + self.inner.spans[1 : steps + 1, peak]

    def _advance(self, level: int, steps: int, peak: int) -> Choice:
        return Choice(-1, 0, int(np.argmin(self._split(level, steps, peak))) + 1)

    def _place(self, left: int, peak: int) -> tuple[int, int]:
        units = min(peak // self.unit, self.inner.units)
        level = min(left // (self.unit * self.stride), len(self.held) - 1, units // self.stride)
        return level, units

    def _recorded(self, left: int, peak: int) -> list[tuple[int, int]]:
        """Return (step, option) in forward order."""
        found: list[tuple[int, int]] = []
        level, units = self._place(left, peak)
        held = level * self.stride
        at, steps = 0, self.steps
        while steps:
            choice = self.choose(steps, held, units)
            if choice.span:
                found += _recorded_at_once(self.inner, at, choice.span, units)
                held -= self.inner.rates.snapshot
                units -= self.inner.rates.snapshot
            else:
                found.append((at, choice.option))
                held -= choice.left
                units -= choice.left
            at += choice.span or 1
            steps -= choice.span or 1
        return found


def _recorded_at_once(table: StepTable, at: int, steps: int, units: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    todo = [(at, steps, units, True)]
    while todo:
        at, steps, units, stored = todo.pop()
        if not steps:
            continue
        choice = table.choose(steps, units, stored=stored)
        if choice.span:
            todo.append(
                (at + choice.span, steps - choice.span, units - table.rates.snapshot, False)
            )
            todo.append((at, choice.span, units, True))
        else:
            found.append((at, choice.option))
            todo.append((at + 1, steps - 1, units - choice.left, False))
    return sorted(found)


def loop_table(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
) -> LoopTable:
    """Return the optimum of a loop that other work follows before it is reversed.

    What follows the loop runs, forward and back, while the loop's snapshots and recordings are
    held; so the loop is described by its seconds, by what it holds at its end, and by its peak.
    Costs O(steps^2 units levels / 4) additions in NumPy rows and ``steps units levels`` doubles,
    where a unit is the largest in which each need is whole and the levels are the multiples of
    the largest size that divides snapshot and recordings. Optimal under the terms of
    `step_table`.

    Parameters
    ----------
    steps : int
        Number of equal iterations.
    menu : sequence of (seconds, left, peak)
        Ways to record an iteration: the options of the loop's body.
    snapshot : int
        Size of a snapshot, in any unit, as the menu's sizes and the budget.
    write, read, advance : float
        Seconds to write and to read a snapshot, and to run one iteration forward.
    budget : int
        Most that may be held at once.

    Returns
    -------
    LoopTable
        Seconds, Pareto options and choices.

    Raises
    ------
    ValueError
        A number is outside the theory: negative, not whole, or a recording cheaper than an
        advance.

    References
    ----------
    .. [1] L. Hascoët, J.-L. Bouchot, S. S. Gaikwad, S. H. K. Narayanan and J. Hückelheim,
       "Profiling checkpointing schedules in adjoint ST-AD", arXiv 2405.15590, for the
       trade-off between calls that this makes exact for loops.

    Examples
    --------
    >>> table = loop_table(2, [(4.0, 1, 2), (3.0, 2, 2)], 1, 0.0, 0.0, 1.0, 3)
    >>> table.options()
    [(9.0, 1, 3), (8.0, 2, 3), (7.0, 3, 3)]
    >>> table.recordings(2, 3)
    [(0, 2, 0)]
    """
    check_costs(steps, menu, snapshot, write, read, advance, budget)
    unit = common_unit(menu, snapshot)
    units = min(budget, _enough(steps, menu, snapshot, budget)) // unit
    rows = menu_rows([(t, left // unit, peak // unit) for t, left, peak in menu], units)
    rates = Rates(snapshot // unit, float(write), float(read), float(advance))
    return make_loop(make_table(steps, rows, rates, units), unit)


def _enough(steps: int, menu: Sequence[Option], snapshot: int, budget: int) -> int:
    """Return a size beyond which nothing gets faster, however little is left at the end."""
    fitting = [option for option in menu if option[2] <= budget]
    if not fitting or not steps:
        return budget
    most = max(left for _, left, _ in fitting)
    return snapshot + (steps - 1) * most + max(peak for _, _, peak in fitting)


def make_loop(inner: StepTable, unit: int) -> LoopTable:
    """Return the table of a loop on units; the work of `loop_table`."""
    steps, units, rates = inner.steps, inner.units, inner.rates
    size = rates.snapshot
    stride = gcd(size, *(row.left for row in inner.rows)) or 1
    levels = units // stride + 1
    held = np.full((levels, steps + 1, units + 1), np.inf)  # infinite where l > m: never read
    kept = np.full((levels, units + 1), np.inf)
    scratch = np.empty(max(1 << 14, units + 1))
    for level in range(levels):
        held[level, 0, level * stride :] = 0.0
    for n in range(1, steps + 1):
        for level in range(levels):
            low = level * stride
            best = held[level, n, low:]
            for row in inner.rows:
                lower = level - row.left // stride
                if lower >= 0:
                    ahead = held[lower, n - 1, low - row.left : units + 1 - row.left]
                    np.minimum(best, ahead + row.seconds[low:], out=best)
            lower = level - size // stride
            if lower >= 0:
                ahead = held[lower, :n, low - size : units + 1 - size][::-1]
                split = least_sum(ahead, inner.spans[1 : n + 1, low:], scratch)
                if n == steps:
                    kept[level, low:] = split
                np.minimum(best, rates.write + split, out=best)
    np.minimum(kept, held[:, steps], out=kept)
    return LoopTable(steps, unit, stride, held, kept, inner)


def loop_options(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
) -> list[Option]:
    """Return the Pareto options (seconds, left, peak) of a loop for its caller.

    The options of `loop_table`, whose arguments, cost and terms apply; the table itself also
    says which decisions an option takes.

    Examples
    --------
    >>> loop_options(2, [(3.0, 2, 2)], 1, 0.0, 0.0, 1.0, 4)
    [(9.0, 1, 3), (8.0, 1, 4), (8.0, 2, 3), (7.0, 3, 3), (6.0, 4, 4)]
    """
    return loop_table(steps, menu, snapshot, write, read, advance, budget).options()
