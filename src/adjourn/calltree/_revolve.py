"""A loop the way users have it today: Revolve, or every iteration recorded in place."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..optimum import StepTable, step_table
from ._held import ending_of
from ._loopset import LoopSet
from ._sets import Columns, columns
from ._tree import Loop

__all__ = ["recorded_set", "revolve_set"]


def recorded_set(loop: Loop, body: Columns) -> LoopSet:
    """Return the options of a loop whose iterations are all recorded in place, all alike."""
    options = Columns(
        body.seconds * loop.steps,
        body.left * loop.steps,
        body.left * (loop.steps - 1) + body.peak,
    )
    return LoopSet(options, False, menu=tuple(range(len(body))), recorded=True)


def revolve_set(loop: Loop, body: Columns, rest: Columns, cap: int) -> LoopSet:
    """Return the options of a loop reversed by Revolve, each recording dropped at once.

    Free memory is counted in snapshots. A recording is declared larger than all snapshots
    together, so that no second one fits beside it: the table's optimum is then Revolve's.
    """
    fitting = np.nonzero(body.peak <= cap)[0]
    if not len(fitting):
        return LoopSet(columns(), True)
    row = int(fitting[np.argmin(body.seconds[fitting])])
    size, steps = loop.snapshot, loop.steps
    reach = int(body.peak[row])  # bytes free when every slot is taken
    beyond = max(0, int(rest.peak.max()) - reach) if len(rest) else 0
    slots = min(steps + -(-beyond // size), (cap - reach) // size) if size else steps
    recording = slots + 1
    advance = float(sum(item.primal for item in loop.body))
    table = _table(steps, slots, float(loop.write), float(loop.read), advance)
    need = [
        0 if not peak else recording + max(0, -(-(peak - reach) // size) if size else 0)
        for peak in rest.peak.tolist()
    ]
    at = np.searchsorted(need, np.arange(table.units + 1), side="right") - 1
    end = np.where(at >= 0, rest.seconds[np.maximum(at, 0)], np.inf)
    ending = ending_of(table, end)
    last = ending[steps]
    units = [m for m in range(recording, table.units + 1) if np.isfinite(last[m])]
    more = steps * (float(body.seconds[row]) - advance)
    options = columns(*((float(last[m]) + more, 0, reach + (m - recording) * size) for m in units))
    return LoopSet(
        options,
        True,
        "",
        table,
        (ending,),
        (0,) * len(units),
        tuple(units),
        (row,),
        tuple(need),
    )


@lru_cache(maxsize=8)
def _table(steps: int, slots: int, write: float, read: float, advance: float) -> StepTable:
    recording = slots + 1
    menu = [(advance, recording, recording)]
    return step_table(steps, menu, 1, write, read, advance, slots + recording)
