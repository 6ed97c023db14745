"""Multi-stage time stepping: recordings that hold the state they reach (CAMS)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import ClassVar

from .._sizes import as_count
from ..errors import BadValue
from ..optimum._stages import StageCosts, StageTable, stage_table
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._checks import as_cost, refuse_unplannable
from ._grammar import Body, Part, Planned, grow
from ._schedule import Reversal

__all__ = ["Stages", "stages"]

_HELD = 1  # the tier of states that lie in recordings
_UNMARKED, _NOWHERE = 2, 3


@dataclass(frozen=True, slots=True)
class Stages(Planned):
    """Optimal for recordings that hold the state they reach; made by `stages`."""

    family: ClassVar[str] = "stages"
    steps: int
    units: int
    record: int
    snapshot: int = 1
    stiffly_accurate: bool = True
    advance: float = 1.0
    recording: float | None = None
    write: float = 0.0
    read: float = 0.0
    recording_peak: int | None = None
    option: int = 0

    def __post_init__(self) -> None:
        """Check the parameters and plan."""
        steps = as_count(self.steps, "steps")
        record = as_count(self.record, "record")
        snapshot = as_count(self.snapshot, "snapshot")
        units = as_count(self.units, "units", least=0)
        advance = as_cost(self.advance, "advance", zero=False)
        recording = advance if self.recording is None else as_cost(self.recording, "recording")
        if recording < advance:
            raise BadValue(
                f"recording={recording} is less than advance={advance}: recording and discarding "
                "would be a cheaper advance. Pass the whole cost of a recorded step."
            )
        write, read = as_cost(self.write, "write"), as_cost(self.read, "read")
        option = as_count(self.option, "option", least=0)
        peak = self.recording_peak
        if peak is not None:
            peak = as_count(peak, "recording_peak", least=record)
        useful = min(units, steps * record + snapshot + (peak or 0))
        refuse_unplannable(
            f"stages of {steps} steps in {useful} units",
            cells=5 * (steps + 1) * (useful + 1),
            work=20 * steps * steps * (useful + 1),
            instead="Take larger units, or group steps.",
        )
        costs = StageCosts(
            record, snapshot, bool(self.stiffly_accurate), advance, recording, write, read, peak
        )
        table = stage_table(steps, useful, costs)
        if isinf(table.live[steps, useful]):
            raise BadValue(
                f"units={units} hold neither a snapshot of {snapshot} nor a recording of {record}. "
                f"Pass units={(peak or 0) + min(record, snapshot)} or more."
            )
        ranges = _Ranges(table, option)
        rules = grow(ranges.live(steps, useful, 0), ranges.expand)
        self._settle(
            rules,
            2,
            steps=steps,
            units=units,
            record=record,
            snapshot=snapshot,
            stiffly_accurate=bool(self.stiffly_accurate),
            advance=advance,
            recording=recording,
            write=write,
            read=read,
            recording_peak=peak,
            option=option,
        )

    @property
    def held(self) -> int:
        """The tier of states that lie in recordings."""
        return _HELD

    @property
    def reversal(self) -> Reversal:
        """Recordings stay until they are reversed."""
        return "tape"

    @property
    def limits(self) -> tuple[int, ...]:
        """What is held at most: snapshots, and states inside recordings."""
        return self.counts.snapshots


def stages(
    steps: int,
    units: int,
    record: int,
    *,
    snapshot: int = 1,
    stiffly_accurate: bool = True,
    advance: float = 1.0,
    recording: float | None = None,
    write: float = 0.0,
    read: float = 0.0,
    recording_peak: int | None = None,
    option: int = 0,
) -> Stages:
    """Return the optimal schedule for multi-stage time stepping (Runge-Kutta methods).

    A recorded step keeps its stages; of a stiffly accurate method the last of them is the state
    that the step reaches, so that the model can be restarted from a recording. Snapshots and
    recordings share ``units``; the step that is reversed right after it was recorded takes
    none. Equal to exhaustive search on small cases, and lower than the published recurrence
    [1]_ where ``record > 1``, for a snapshot is given up for the recording of its step.
    Planning takes O(n^2 units) operations.

    A state that lies in a recording is marked by ``Save(step, 1)`` and read by ``Load(step, 1)``:
    tier 1 takes no storage of its own if it reads from the recordings; an executor without such
    a tier may keep copies there.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    units : int
        Units of storage. With bytes as units: divide all sizes by a common grain.
    record : int
        Units of a recorded step: its number of stages, where a state is one unit.
    snapshot : int
        Units of a snapshot.
    stiffly_accurate : bool
        Whether a recording holds the state its step reaches.
    advance, recording : float
        Cost of advancing and of recording a step; the latter not less, by default equal.
    write, read : float
        Cost of saving and loading a state.
    recording_peak : int, optional
        Units held while a step is recorded or reversed, the last one of a range too; by default
        a step that is reversed right after it was recorded takes none [1]_.
    option : int
        The index of the recording in the problem's menu.

    Raises
    ------
    BadValue, WrongType
        A parameter cannot be used, or planning would not fit in memory.

    References
    ----------
    .. [1] H. Zhang and E. Constantinescu, "Optimal checkpointing for adjoint of multistage
       time-stepping schemes" (2021), arXiv 2106.13879.

    Examples
    --------
    >>> stages(50, 10, record=2).recomputed_steps  # 67 by the published recurrence
    63
    """
    return Stages(
        steps,
        units,
        record,
        snapshot,
        stiffly_accurate,
        advance,
        recording,
        write,
        read,
        recording_peak,
        option,
    )


class _Ranges:
    """What to do in each range, for `grow`.

    A sub-problem is (where, steps, units), its start live and in that tier as well; or in the
    recording before it and not marked; or nowhere.
    """

    def __init__(self, table: StageTable, option: int) -> None:
        self._table = table
        self._option = option
        self._costs = table.costs
        self._most = table.live.shape[1] - 1

    def live(self, steps: int, units: int, at: int) -> list[Action | Part]:
        """Return how to reverse steps from a live start at ``at`` that is not stored."""
        if steps == 1:
            return [Record(at, at + 1, self._option), Reverse(at, at + 1)]
        return [Part((_NOWHERE, steps, units), at)]

    def expand(self, key: tuple[int, int, int]) -> Body:
        """Return what to do in a sub-problem, its start at 0."""
        where, steps, units = key
        if where == _NOWHERE:
            if self._table.saves(steps, units):
                return [Save(0, 0), Part((0, steps, units - self._costs.snapshot), 0)]
            return self._recorded(steps, units)
        if where == _UNMARKED:
            return self._recorded(steps, units)
        if steps == 1:
            return [Drop(0, where), Record(0, 1, self._option), Reverse(0, 1)]
        held = where == _HELD
        span = self._table.split(steps, units, held=held)
        if span:
            rest = self.live(steps - span, units, span)
            return [Advance(0, span), *rest, Load(0, where), Part((where, span, units), 0)]
        freed = 0 if held else self._costs.snapshot
        return [Drop(0, where), *self._recorded(steps, units + freed)]

    def _recorded(self, steps: int, units: int) -> list[Action | Part]:
        """Record the first step, reverse the others, and then it."""
        left = min(units - self._costs.record, self._most)
        return [Record(0, 1, self._option), *self._after(steps - 1, left), Reverse(0, 1)]

    def _after(self, steps: int, units: int) -> list[Action | Part]:
        """Return how to reverse steps after a recording, which may hold their start."""
        if steps == 1 or not self._costs.held:
            return self.live(steps, units, 1)
        if self._table.split(steps, units, held=True):
            return [Save(1, _HELD), Part((_HELD, steps, units), 1)]
        return [Part((_UNMARKED, steps, units), 1)]
