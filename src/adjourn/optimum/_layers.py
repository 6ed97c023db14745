"""Blocks of equal steps: the recurrence on blocks whose own menu comes from the recurrence.

A layer plans in blocks of ``span`` steps and units of ``unit`` bytes. The menu of its blocks is
what the layer below can do with one block (F); the lowest layer's blocks are steps.
Needs are rounded up to units and what is free is rounded down, so that whatever a layer plans
fits. Every plan is a valid schedule; it is the best of those that keep to the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._loops import LoopTable, make_loop
from ._menu import Floats, MenuRow, Option, menu_rows
from ._tables import Rates, StepTable, fill_ending, make_table

__all__ = ["Grid", "Layer", "build_layers"]

Grid = tuple[int, int]
"""(span, unit): steps in a block, bytes in a unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The tables of one layer.

    Attributes
    ----------
    span, unit : int
        Steps in a block, bytes in a unit.
    table : StepTable
        C0 and C1 on blocks and units.
    loop : LoopTable or None
        F on blocks and units, for one block of the layer above; None at the top.
    rest : int
        Blocks of this layer after the last whole block of the layer above.
    ending : ndarray of float or None
        C0 of up to ``rest`` blocks and what follows them below; None if nothing follows.
    """

    span: int
    unit: int
    table: StepTable
    loop: LoopTable | None
    rest: int
    ending: Floats | None

    @property
    def last(self) -> Floats:
        """C0 of what is left at the end of the steps, for each number of units."""
        return (self.table.free if self.ending is None else self.ending)[self.rest]

    def below(self, units: int, lower: Layer) -> int:
        """Return what ``units`` of this layer are in the units of the one below."""
        return min(units * self.unit // lower.unit, lower.table.units)


def build_layers(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
    grids: Sequence[Grid],
) -> tuple[Layer, ...]:
    """Return the layers, lowest first; `Layer.last` of the last one is the plan's seconds.

    Costs, for each layer, what `make_table` and `make_loop` cost for its blocks and units.

    Parameters
    ----------
    steps, menu, snapshot, write, read, advance, budget
        As in `step_table`, sizes in bytes.
    grids : sequence of (span, unit)
        Steps in a block and bytes in a unit, lowest layer first; the first span is 1, and each
        divides the next.
    """
    layers: list[Layer] = []
    need = 0  # bytes beyond which a block gets no faster
    for index, (span, unit) in enumerate(grids):
        top = index == len(grids) - 1
        blocks = steps // span if top else grids[index + 1][0] // span
        rest = blocks if top else steps % grids[index + 1][0] // span
        lower = layers[-1] if layers else None
        if lower is None:
            need = _need(blocks, [(t, -(-left // unit), -(-k // unit)) for t, left, k in menu])
        else:
            need = blocks * -(-need // unit)
        units = min(budget // unit, need)
        if lower is None:
            rounded = [(t, -(-left // unit), -(-peak // unit)) for t, left, peak in menu]
            rows = menu_rows(rounded, units)
            kept = None
        else:
            rows, kept = _block_rows(lower, unit, units)
        rates = Rates(-(-snapshot // unit), write, read, advance * span)
        table = make_table(blocks, rows, rates, units, kept)
        ending = None
        if lower is not None and steps % span:
            at = np.arange(units + 1) * unit // lower.unit
            end = lower.last[np.minimum(at, lower.table.units)]
            ending = fill_ending(table, rest, end)
        loop = None if top else make_loop(table, unit)
        layers.append(Layer(span, unit, table, loop, rest, ending))
        need *= unit
    return tuple(layers)


def _need(blocks: int, menu: Sequence[Option]) -> int:
    least = min(option[0] for option in menu)
    return min((blocks - 1) * left + peak for t, left, peak in menu if t == least)


def _block_rows(lower: Layer, unit: int, units: int) -> tuple[list[MenuRow], list[MenuRow]]:
    """Return the menu of one block, and that where its start state is stored already."""
    loop = lower.loop
    if loop is None:
        raise ValueError("The layer below has no table of held memory.")
    free = np.minimum(np.arange(units + 1) * unit // lower.unit, lower.table.units)
    every = np.zeros(units + 1, dtype=np.intp)
    plain: list[MenuRow] = []
    kept: list[MenuRow] = []
    for rows, table in ((plain, loop.held[:, loop.steps]), (kept, loop.kept)):
        best = np.full(units + 1, np.inf)
        for left in range(units + 1):
            level = np.minimum(left * unit // lower.unit, free) // loop.stride
            seconds = table[np.minimum(level, len(table) - 1), free]
            seconds[:left] = np.inf
            if bool((seconds < best).any()):
                rows.append(MenuRow(left, seconds, every))
                np.minimum(best, seconds, out=best)
            if left * unit // lower.unit >= lower.table.units:
                break
    return plain, kept
