"""The best plan within a budget of bytes: exact where that is affordable, else with a gap.

A plan on units is never slower with a larger budget, as long as the units and blocks are the
same. So those never depend on the budget itself: there is one grid for each power of two of
bytes, used up to that many bytes, and beyond them at that many; the best over the grids up to
the budget's own is then never slower either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from ._bound import closed_bound, lower_bound
from ._layers import Grid, Layer, build_layers
from ._loops import Run
from ._menu import Option, check_costs, common_unit

__all__ = ["Effort", "Found", "Search", "least_bytes"]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much planning may cost.

    Attributes
    ----------
    work : int
        Steps^2 times units of a table, in half as many additions: 4 10^8 take 0.25 s.
    cells : int
        Entries of a table; 4 10^6 take 96 MB with the companions of the table.
    units : int
        Units in a table of blocks.
    radix : int
        Blocks in a block of the next layer.
    """

    work: int = 4 * 10**8
    cells: int = 4 * 10**6
    units: int = 512
    radix: int = 16


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A plan found.

    Attributes
    ----------
    seconds : float
        What it takes.
    layers : tuple of Layer
        Its tables, lowest layer first; none if every step is recorded in the first sweep.
    units : int
        Units of the top layer that it needs: the least for this time.
    runs : tuple of (start, stop, option)
        Which steps are recorded with which option, if there are no layers.
    exact : bool
        True if it is the optimum.
    """

    seconds: float
    layers: tuple[Layer, ...]
    units: int
    runs: tuple[Run, ...]
    exact: bool


class Search:
    """Plans for one number of steps and one set of costs, for any number of budgets.

    Tables are kept between budgets, so that a curve costs little more than its largest budget;
    one plan costs up to a second, and 100 MB at the most.

    Parameters
    ----------
    steps, menu, snapshot, write, read, advance
        As in `step_table`, sizes in bytes.
    most : int
        The largest budget that will be asked for, in bytes.
    effort : Effort, optional
        How much planning may cost.

    Raises
    ------
    ValueError
        A number is outside the theory; see `step_table`.

    Examples
    --------
    >>> search = Search(1000, [(2.5, 8000, 8000)], 16016, 0.0, 0.0, 1.0, most=1_000_000)
    >>> found = search.find(1_000_000)
    >>> found.exact, found.layers[-1].unit
    (False, 8008)
    >>> round(found.seconds), round(search.bound(1_000_000))
    (3392, 3383)
    """

    def __init__(
        self,
        steps: int,
        menu: Sequence[Option],
        snapshot: int,
        write: float,
        read: float,
        advance: float,
        most: int,
        effort: Effort | None = None,
    ) -> None:
        check_costs(steps, menu, snapshot, write, read, advance, most)
        self._steps = steps
        self._menu = menu
        self._snapshot = snapshot
        self._times = (float(write), float(read), float(advance))
        self._most = most
        self._effort = Effort() if effort is None else effort
        self._unit = common_unit(menu, snapshot)
        self._tables: dict[tuple[Grid, ...], tuple[int, tuple[Layer, ...]]] = {}

    def bound(self, budget: int) -> float:
        """Return a time below which no schedule within ``budget`` bytes can come."""
        return lower_bound(self._steps, self._menu, self._snapshot, *self._times, budget)

    def find(self, budget: int) -> Found | None:
        """Return the fastest plan found within ``budget`` bytes; None if none fits."""
        fitting = [option for option in self._menu if option[2] <= budget]
        if not fitting:
            return None
        steps = self._steps
        least = min(t for t, _, _ in fitting)
        stored = self._recorded(budget, least)
        if stored is not None and stored.exact:
            return stored
        exact = self._exact_most()
        if budget <= exact:
            found = self._plan(((1, self._unit),), budget, exact)
            return found and self._floor(found, steps * least, exact=True)
        found = self._best(budget, exact, steps * least)
        if stored is None or (found is not None and found.seconds <= stored.seconds):
            return found
        return stored

    def _recorded(self, budget: int, least: float) -> Found | None:
        """Return the fastest of some plans that record every step in the first sweep.

        Each option by itself, and the mixture that holds least.
        """
        steps = self._steps
        found: Found | None = None
        chains: list[tuple[Run, ...]] = [
            ((0, steps, index),)
            for index, (_, left, peak) in enumerate(self._menu)
            if (steps - 1) * left + peak <= budget
        ]
        held, leanest = _leanest(steps, self._menu)
        if held <= budget:
            chains.append(leanest)
        for runs in chains:
            seconds = sum((stop - start) * self._menu[o][0] for start, stop, o in runs)
            if found is None or seconds < found.seconds:
                found = Found(seconds, (), 0, runs, exact=seconds == steps * least)
        return found

    def _exact_most(self) -> int:
        """Return the bytes up to which the exact table is affordable."""
        steps, effort = self._steps, self._effort
        return self._unit * min(effort.work // steps**2, effort.cells // (steps + 1))

    def _best(self, budget: int, exact: int, floor: float) -> Found | None:
        """Return the best over the grids of all powers of two up to the budget's own."""
        power = max(0, (budget - 1).bit_length())
        tried: list[tuple[tuple[Grid, ...], int]] = []
        last: tuple[Grid, ...] = ()
        for exponent in range(power, -1, -1):
            nominal = 1 << exponent
            if nominal <= exact or nominal < min(peak for _, _, peak in self._menu):
                break
            grids = self._grids(self._steps, nominal)
            if grids != last:
                tried.append((grids, min(budget, nominal)))
            last = grids
        if exact >= min(peak for _, _, peak in self._menu):
            tried.append((((1, self._unit),), exact))
        best: Found | None = None
        for grids, allowed in tried:
            if best is not None:
                reach = closed_bound(
                    self._steps, self._menu, self._snapshot, self._times[2], allowed
                )
                if reach * (1 - 1e-9) > best.seconds:
                    break
            found = self._plan(grids, allowed, min(self._most, _round_up(allowed, exact)))
            if found is not None and (best is None or found.seconds < best.seconds):
                best = found
        return best and self._floor(best, floor, exact=False)

    def _floor(self, found: Found, floor: float, *, exact: bool) -> Found:
        """Return the plan with sums that are rounded below n min t lifted to it."""
        seconds = max(found.seconds, floor)
        return Found(seconds, found.layers, found.units, (), exact)

    def _plan(self, grids: tuple[Grid, ...], budget: int, most: int) -> Found | None:
        """Return the plan on given grids, from tables made for ``most`` bytes."""
        most = max(budget, min(most, self._most))
        known = self._tables.get(grids)
        if known is None or known[0] < budget:
            layers = build_layers(
                self._steps, self._menu, self._snapshot, *self._times, most, grids
            )
            known = self._tables[grids] = most, layers
        layers = known[1]
        top = layers[-1]
        row = top.last
        units = min(budget // top.unit, top.table.units)
        seconds = float(row[units])
        if not np.isfinite(seconds):
            return None
        return Found(seconds, layers, int(np.argmax(row == seconds)), (), exact=False)

    def _grids(self, steps: int, nominal: int) -> tuple[Grid, ...]:
        """Return the layers for ``steps`` steps and up to ``nominal`` bytes."""
        effort = self._effort
        left, needs = self._needs()
        units = min(effort.work // steps**2, effort.cells // (steps + 1))
        if units:
            unit, waste = _unit(needs, self._unit, nominal, units)
            if waste <= 0.02:
                return ((1, unit),)
        unit = _finest(needs[0], self._unit, nominal, effort.units)
        blocks = max(2, isqrt(effort.work // 4 // max(1, nominal // unit)))
        span = max(2, -(-steps // blocks))
        return (*self._inner(span, left, needs, nominal), (self._multiple(span), unit))

    def _inner(self, span: int, left: int, needs: Sequence[int], most: int) -> list[Grid]:
        """Return the layers below blocks of ``span`` steps, for up to ``most`` bytes."""
        radix, units = self._effort.radix, self._effort.units // 2
        grids: list[Grid] = []
        step = 1
        while True:
            block = span if step * radix * 2 > span else step * radix
            nominal = min(most, block * left + 2 * max(needs))
            if step == 1:
                unit, _ = _unit(needs, self._unit, nominal, units)
            else:
                unit = _finest(needs[0], self._unit, nominal, units)
            grids.append((step, unit))
            if block == span:
                return grids
            step = block

    def _multiple(self, span: int) -> int:
        """Return the multiple of the layer below that is nearest ``span`` from above."""
        step = 1
        radix = self._effort.radix
        while step * radix * 2 <= span:
            step *= radix
        return -(-span // step) * step

    def _needs(self) -> tuple[int, list[int]]:
        """Return what a fastest recording leaves, and the sizes that count, the first most."""
        least = min(t for t, _, _ in self._menu)
        left = min(left for t, left, _ in self._menu if t == least)
        sizes = {left, *(left for _, left, _ in self._menu), *(k for _, _, k in self._menu)}
        return left, [max(1, self._snapshot or left), *sorted(size for size in sizes if size)]


def least_bytes(steps: int, menu: Sequence[Option], snapshot: int) -> int:
    """Return the least budget in which ``steps`` steps can be reversed.

    One snapshot and the peak of one recording, or all steps recorded with the options that hold
    least, whichever is less. Costs microseconds.
    """
    held, _ = _leanest(steps, menu)
    return min(held, snapshot + min(peak for _, _, peak in menu)) if steps > 1 else held


def _leanest(steps: int, menu: Sequence[Option]) -> tuple[int, tuple[Run, ...]]:
    """Return the least bytes in which all steps can be recorded, and the options that do it.

    With L the bytes that the steps above need, a step needs the least of max(K, R + L).
    """
    smallest = min(menu, key=lambda option: (option[1], option[2]))
    choices: list[int] = []  # from the last step down
    held = 0
    while len(choices) < steps:
        needs = [(max(peak, left + held), t) for t, left, peak in menu]
        choices.append(needs.index(min(needs)))
        held = min(needs)[0]
        if held >= smallest[2]:  # from here on nothing needs less than the smallest left
            break
    below = steps - len(choices)
    fitting = [i for i, (_, left, peak) in enumerate(menu) if left == smallest[1] and peak <= held]
    runs: list[Run] = []
    if below:
        runs.append((0, below, min(fitting, key=lambda i: menu[i][0])))
    for step, option in enumerate(reversed(choices), start=below):
        if runs and runs[-1][2] == option:
            runs[-1] = (runs[-1][0], step + 1, option)
        else:
            runs.append((step, step + 1, option))
    return held + below * smallest[1], tuple(runs)


def _round_up(budget: int, exact: int) -> int:
    return exact if budget <= exact else 1 << max(0, (budget - 1).bit_length())


def _unit(needs: Sequence[int], whole: int, nominal: int, units: int) -> tuple[int, float]:
    """Return the unit of at least ``nominal / units`` that wastes least, and what it wastes.

    ``whole`` is a unit in which every need is whole. The waste is the largest relative growth
    of a need by rounding up.
    """
    least = max(1, -(-nominal // units))
    if whole >= least:
        return whole, 0.0
    choices = {least, -(-least // whole) * whole}
    for need in needs:
        most = need // least
        for parts in range(1, min(most, 64) + 1):
            choices.add(-(-need // parts))
    best = min(choices, key=lambda unit: (_waste(needs, unit), -unit))
    return best, _waste(needs, best)


def _finest(need: int, whole: int, nominal: int, units: int) -> int:
    """Return the finest unit of at least ``nominal / units`` in which a need is nearly whole."""
    least = max(1, -(-nominal // units))
    if whole >= least:
        return whole
    return -(-need // (need // least)) if need >= least else least


def _waste(needs: Sequence[int], unit: int) -> float:
    return max(-(-need // unit) * unit / need - 1 for need in needs)
