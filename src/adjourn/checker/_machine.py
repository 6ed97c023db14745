"""The abstract machine: what is live, what is held and what is recorded, action by action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from ..errors import ScheduleError
from ..schedules import Action, Advance, Drop, Load, Record, Reverse, Save, Turn

__all__ = ["Check", "CheckedCosts", "Machine"]


class _Recording(Protocol):
    @property
    def seconds(self) -> float: ...
    @property
    def left(self) -> int: ...
    @property
    def peak(self) -> int: ...


class _Window(Protocol):
    def nbytes(self, steps: int) -> int: ...


class CheckedCosts(Protocol):
    @property
    def advance(self) -> float: ...
    @property
    def recordings(self) -> Sequence[_Recording]: ...
    @property
    def reverse(self) -> float: ...
    @property
    def snapshot(self) -> int: ...
    @property
    def window(self) -> _Window | None: ...
    def write_seconds(self, tier: int) -> float: ...
    def read_seconds(self, tier: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Check:
    """What the checker saw; every figure was counted action by action.

    Attributes
    ----------
    actions : int
        Number of actions played.
    advances, records : int
        Steps run without and with recording.
    reversed : range
        The steps in the order in which they were reversed: ``range(n)[::-1]``.
    writes, reads : tuple of int
        Snapshots saved and loaded, for each tier.
    peaks : tuple of int
        Most snapshots held at once, for each tier.
    peak_slots : int
        Most snapshots held at once, over all tiers together.
    peak_recorded : int
        Most recorded steps held at once.
    seconds : float or None
        Cost by the costs given, in their unit.
    peak_bytes : int or None
        Most bytes held in main memory (tier 0, recordings, window) by the costs given.
    timeline : tuple of (int, int, int)
        For each action, where asked for: the step that is live after it (-1 for none),
        snapshots held and recorded steps held.
    """

    actions: int
    advances: int
    records: int
    reversed: range
    writes: tuple[int, ...]
    reads: tuple[int, ...]
    peaks: tuple[int, ...]
    peak_slots: int
    peak_recorded: int
    seconds: float | None = None
    peak_bytes: int | None = None
    timeline: tuple[tuple[int, int, int], ...] = ()

    @property
    def forward_steps(self) -> int:
        """Forward steps of either kind."""
        return self.advances + self.records


class Machine:
    """Live state, snapshots and recordings; one method an action."""

    def __init__(
        self,
        steps: int,
        reversal: str,
        limits: Sequence[int] | None,
        costs: CheckedCosts | None,
        inside: int | None = None,
    ) -> None:
        self.inside = inside  # the tier of states that lie in recordings
        self.steps = steps
        self.reversal = reversal
        self.limits = limits
        self.costs = costs
        self.live = 0  # -1: no live state
        self.held = 0
        self.recorded = 0
        self.snapshots: list[set[int]] = [set() for _ in limits or (0,)]
        self.tapes: list[tuple[int, int, int]] = []  # start, stop, option; ascending
        self.tape_bytes = 0
        self.begin(more=False)

    def begin(self, *, more: bool) -> None:
        """Begin a reverse sweep with what is held; ``more``: others come after it."""
        self.more = more
        self.index = -1
        self.next = self.steps  # the next step to reverse is next - 1
        self.turned = False
        self.dead = 0
        self.advances = self.records = self.peak_recorded = 0
        self.peak_slots = self.held
        self.writes = [0] * len(self.snapshots)
        self.reads = [0] * len(self.snapshots)
        self.peaks = [len(kept) for kept in self.snapshots]
        self.peak_bytes = 0
        self.seconds: float = 0
        self._measure(0)

    def play(self, action: Action) -> None:
        self.index += 1
        if self.dead and not isinstance(action, Drop):
            self._refuse(action, f"{self.dead} snapshots of steps already reversed are held")
        match action:
            case Advance(start, stop):
                self._forward(action, start, stop)
                self.advances += stop - start
                if self.reversal != "tape":
                    self._clear()
                if self.costs:
                    self.seconds += (stop - start) * self.costs.advance
            case Record(start, stop, option):
                self._record(action, start, stop, option)
            case Save(step, tier):
                self._save(action, step, tier)
            case Load(step, tier):
                self._tier(action, tier)
                if step not in self.snapshots[tier]:
                    self._refuse(action, "that snapshot is not held")
                self.reads[tier] += 1
                self.live = step
                if self.reversal != "tape":
                    self._clear()
                if tier == self.inside and not any(stop == step for _, stop, _ in self.tapes):
                    self._refuse(action, "the recording that holds that state is gone")
                if self.costs:
                    kept = 0 if tier == self.inside else tier
                    self.seconds += self.costs.read_seconds(kept)
            case Drop(step, tier):
                self._tier(action, tier)
                if step not in self.snapshots[tier]:
                    self._refuse(action, "that snapshot is not held")
                self.snapshots[tier].remove(step)
                self.held -= 1
                if self.dead and step >= self.next:
                    self.dead -= 1
            case Turn():
                if self.turned:
                    self._refuse(action, "the turn was made before")
                if self.live != self.steps:
                    self._refuse(action, f"the live state is at {self.live}, not at the end")
                self.turned = True
            case Reverse(start, stop):
                self._reverse(action, start, stop)
            case _:
                self._refuse(action, "that is no action")

    def finish(self, timeline: tuple[tuple[int, int, int], ...]) -> Check:
        if self.next:
            self._fail(f"the schedule ends with steps 0 to {self.next - 1} not reversed")
        if self.held and not self.more:
            self._fail(f"the schedule ends with {self.held} snapshots held")
        if self.tapes and self.reversal == "tape":
            self._fail(f"the schedule ends with {self.recorded} recorded steps held")
        costs = self.costs
        seconds = peak_bytes = None
        if costs is not None:
            seconds, peak_bytes = self.seconds, self.peak_bytes
            if costs.window is not None and self.peak_recorded and self.reversal != "tape":
                peak_bytes += costs.window.nbytes(self.peak_recorded)
        return Check(
            actions=self.index + 1,
            advances=self.advances,
            records=self.records,
            reversed=range(self.steps)[::-1],
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            peaks=tuple(self.peaks),
            peak_slots=self.peak_slots,
            peak_recorded=self.peak_recorded,
            seconds=seconds,
            peak_bytes=peak_bytes,
            timeline=timeline,
        )

    def _forward(self, action: Action, start: int, stop: int) -> None:
        if not 0 <= start < stop <= self.steps:
            self._refuse(action, f"the range is empty or outside the {self.steps} steps")
        if start != self.live:
            self._refuse(action, f"the live state is at {self.live}")
        if stop > self.next:
            self._refuse(action, f"steps from {self.next} on are reversed already")
        self.live = stop

    def _record(self, action: Action, start: int, stop: int, option: int) -> None:
        self._forward(action, start, stop)
        if self.tapes and self.tapes[-1][1] > start:
            self._refuse(action, f"steps {self.tapes[-1][0]} and up are recorded already")
        if self.reversal != "tape" and self.tapes and self.tapes[-1][1] != start:
            self._clear()
        self.tapes.append((start, stop, option))
        steps = stop - start
        self.records += steps
        self.recorded += steps
        self.peak_recorded = max(self.peak_recorded, self.recorded)
        costs = self.costs
        if costs is None:
            return
        recording = costs.recordings[option] if costs.recordings else None
        if recording is None:
            return
        self.seconds += steps * recording.seconds
        if self.reversal == "state":
            self.seconds -= steps * costs.reverse
        if self.reversal == "tape" or costs.window is None:
            self.tape_bytes += (steps - 1) * recording.left
            self._measure(recording.peak)
            self.tape_bytes += recording.left
            self._measure(0)

    def _save(self, action: Action, step: int, tier: int) -> None:
        self._tier(action, tier)
        if step != self.live:
            self._refuse(action, f"the live state is at {self.live}")
        kept = self.snapshots[tier]
        if step in kept:
            self._refuse(action, "that snapshot is held already")
        if step >= self.next:
            self._refuse(action, f"steps from {self.next} on are reversed already")
        if tier == self.inside and (not self.tapes or self.tapes[-1][1] != step):
            self._refuse(action, "no recording ends there that could hold the state")
        kept.add(step)
        self.held += 1
        if self.limits is not None and len(kept) > self.limits[tier]:
            self._refuse(action, f"tier {tier} may hold {self.limits[tier]} snapshots")
        self.writes[tier] += 1
        self.peaks[tier] = max(self.peaks[tier], len(kept))
        self.peak_slots = max(self.peak_slots, self.held)
        if self.costs and tier != self.inside:
            self.seconds += self.costs.write_seconds(tier)
            self._measure(0)

    def _reverse(self, action: Action, start: int, stop: int) -> None:
        if not self.turned:
            self._refuse(action, "the turn was not made")
        if stop != self.next or not 0 <= start < stop:
            self._refuse(action, f"the next step to reverse is {self.next - 1}")
        if self.reversal == "nothing":
            pass
        elif self.tapes and self.tapes[-1][1] == stop:
            self._consume(action, start)
        elif not (self.reversal == "state" and self.live == start and stop == start + 1):
            self._refuse(action, f"step {stop - 1} is not recorded")
        self.live = -1
        self.next = start
        if not self.more:
            self.dead = sum(
                sum(step in kept for step in range(start, stop)) for kept in self.snapshots
            )
        if self.costs and self.reversal in ("nothing", "state"):
            self.seconds += (stop - start) * self.costs.reverse

    def _consume(self, action: Action, start: int) -> None:
        """Take the recordings of [start, next) off the top."""
        while True:
            if not self.tapes:
                self._refuse(action, f"step {start} is not recorded")
            low, high, option = self.tapes.pop()
            taken = high - max(low, start)
            self.recorded -= taken
            costs = self.costs
            if costs and costs.recordings and (self.reversal == "tape" or not costs.window):
                recording = costs.recordings[option]
                self.tape_bytes -= recording.left
                self._measure(recording.peak)
                self.tape_bytes -= (taken - 1) * recording.left
            if low < start:
                self.tapes.append((low, start, option))
                return
            if low == start:
                return
            if not self.tapes or self.tapes[-1][1] != low:
                self._refuse(action, f"step {low - 1} is not recorded")

    def _clear(self) -> None:
        """Overwrite the window: what was recorded is lost."""
        if self.tapes:
            self.tapes.clear()
            self.recorded = 0
            self.tape_bytes = 0

    def _measure(self, transient: int) -> None:
        costs = self.costs
        if costs is not None:
            held = len(self.snapshots[0]) * costs.snapshot + self.tape_bytes + transient
            self.peak_bytes = max(self.peak_bytes, held)

    def _tier(self, action: Action, tier: int) -> None:
        if tier < 0 or (self.limits is not None and tier >= len(self.limits)):
            self._refuse(action, f"there is no tier {tier}")
        while tier >= len(self.snapshots):
            self.snapshots.append(set())
            self.writes.append(0)
            self.reads.append(0)
            self.peaks.append(0)

    def _refuse(self, action: Any, why: str) -> NoReturn:
        raise ScheduleError(f"action {self.index}, {action}, cannot be played: {why}.", self.index)

    def _fail(self, why: str) -> NoReturn:
        raise ScheduleError(f"{why}.", self.index)
