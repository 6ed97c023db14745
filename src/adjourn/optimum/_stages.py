"""The optimum where a recorded step also holds the state that it reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["StageCosts", "StageTable", "stage_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StageCosts:
    """What steps, recordings and snapshots cost, in time and in units of memory.

    Attributes
    ----------
    record, snapshot : int
        Units that the recording of a step, and a snapshot, take.
    held : bool
        Whether the recording of a step holds the state that the step reaches.
    advance, recording : float
        Cost of a plain advance, and of recording (and reversing) a step; not less.
    write, read : float
        Cost of saving and loading a snapshot.
    peak : int, optional
        Units held while a step is recorded or reversed, at least ``record``. None: a step that is
        reversed right after it was recorded takes none, as in the reference.
    """

    record: int
    snapshot: int = 1
    held: bool = True
    advance: float = 1.0
    recording: float = 1.0
    write: float = 0.0
    read: float = 0.0
    peak: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StageTable:
    """Least cost of reversing n steps in m free units, with the choices.

    Attributes
    ----------
    live : ndarray of float, shape (steps + 1, units + 1)
        C0(n, m): the start state is live and nowhere stored.
    stored : ndarray of float, shape (steps + 1, units + 1)
        C1(n, m): the start state is in a snapshot, which is not counted in m.
    held : ndarray of float, shape (steps + 1, units + 1)
        S(n, m): the start state is in the recording of the step before, not counted in m.
    """

    costs: StageCosts
    live: Floats
    stored: Floats
    held: Floats

    def saves(self, steps: int, units: int) -> bool:
        """Return whether a live start is best saved; otherwise its step is recorded."""
        return self._record(steps, units) > self.live[steps, units]

    def split(self, steps: int, units: int, *, held: bool) -> int:
        """Return how far to advance from a start that can be loaded again; 0: record its step."""
        table = self.held if held else self.stored
        room = units if held else units + self.costs.snapshot
        if self._record(steps, room) <= table[steps, units]:
            return 0
        spans = np.arange(1, steps)
        cost = self.live[steps - 1 : 0 : -1, units] + table[1:steps, units]
        cost = cost + (spans * self.costs.advance + self.costs.read)
        return 1 + int(cost.argmin())

    def _record(self, steps: int, units: int) -> float:
        """Return the cost of recording the first step, ``units`` being free before."""
        costs = self.costs
        left = units - costs.record
        if left < 0 or units < (costs.peak or 0):
            return np.inf
        rest = self.held if costs.held else self.live
        # with a snapshot given up, more may be left than the table counts: more than is of use
        return costs.recording + float(rest[steps - 1, min(left, rest.shape[1] - 1)])


def stage_table(steps: int, units: int, costs: StageCosts) -> StageTable:
    """Return the table for up to ``steps`` steps and ``units`` units.

    With p, t the costs of an advance and a recording, R and s the units of a recording and a
    snapshot, and the last step of any range free of units, for it is reversed at once::

        C0(n, m) = min{ t + S(n - 1, m - R),  w + C1(n, m - s) }
        C1(n, m) = min{ t + S(n - 1, m + s - R),
                        over 1 <= j < n: j p + C0(n - j, m) + r + C1(j, m) }
        S(n, m)  = min{ t + S(n - 1, m - R),
                        over 1 <= j < n: j p + C0(n - j, m) + r + S(j, m) }

    The first line of C1 gives the snapshot up for the recording. The published recurrence [1]_
    does not, and is above the optimum where R > 1. Where a recording does not hold the state it
    reaches, C0 stands for S after a recording. With a peak K, each recording needs K units free,
    that of the last step too. O(n^2 m) operations in NumPy, 24 n m bytes.

    References
    ----------
    .. [1] H. Zhang and E. Constantinescu, "Optimal checkpointing for adjoint of multistage
       time-stepping schemes" (2021), arXiv 2106.13879.

    Examples
    --------
    >>> table = stage_table(10, 3, StageCosts(record=2))
    >>> float(table.live[10, 3]) - 10
    13.0
    """
    live = np.full((steps + 1, units + 1), np.inf)
    stored, held = live.copy(), live.copy()
    record, snapshot = costs.record, costs.snapshot
    peak = record if costs.peak is None else costs.peak
    alone = costs.peak or 0  # units for the last step of a range
    for table, more in ((live, 0), (stored, snapshot), (held, 0)):
        table[0] = 0.0
        table[1, max(alone - more, 0) :] = costs.recording
    after = held if costs.held else live
    spans = np.arange(steps + 1)[:, None] * costs.advance + costs.read
    for n in range(2, steps + 1):
        right = live[n - 1 : 0 : -1] + spans[1:n]
        kept, inside = stored[n], held[n]
        np.minimum.reduce(right + stored[1:n], axis=0, out=kept)
        np.minimum.reduce(right + held[1:n], axis=0, out=inside)
        least = max(0, peak - snapshot)  # units free besides the snapshot that is given up
        room = np.minimum(np.arange(least, units + 1) + (snapshot - record), units)
        kept[least:] = np.minimum(kept[least:], costs.recording + after[n - 1, room])
        if peak <= units:
            taken = costs.recording + after[n - 1, peak - record : units + 1 - record]
            inside[peak:] = np.minimum(inside[peak:], taken)
            live[n, peak:] = taken
        if snapshot <= units:
            saved = costs.write + kept[: units + 1 - snapshot]
            live[n, snapshot:] = np.minimum(live[n, snapshot:], saved)
    return StageTable(costs, live, stored, held)
