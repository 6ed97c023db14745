"""A schedule played for the eye: what each column and row of a picture shows.

However long the schedule, the result is bounded by the columns and rows asked for. The time axis
is predicted time, so that long actions are long and the memory below lies under what causes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..planning import Costs
from ..schedules import Action, Advance, Drop, Load, Record, Reverse, Save, Schedule, Turn

__all__ = ["Hold", "Stretch", "Trace", "actions_in", "trace"]

_LONGEST = 2_000_000  # actions played for a picture, about four seconds


@dataclass(frozen=True, slots=True)
class Stretch:
    """One action that takes steps: ``kind`` is "advance", "record" or "reverse"."""

    kind: str
    began: float
    ended: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Hold:
    """One snapshot, from when it was saved until it was dropped."""

    tier: int
    step: int
    began: float
    ended: float


@dataclass(slots=True)
class Trace:
    """What a picture of a schedule shows.

    Attributes
    ----------
    steps : int
        Steps of the schedule.
    columns, rows : int
        Columns of time and rows of steps.
    seconds : float
        Predicted time from the first action to the last.
    turn : float
        When the reverse sweep begins.
    stretches, holds : list
        Every stretch and every snapshot; empty for a long schedule.
    cells : dict of str to list of int
        For each kind, and for each column, the rows touched, as bits.
    held : dict of int to list of int
        For each tier, and for each row, the columns in which a snapshot is held, as bits.
    memory : list of (int, int)
        For each column, bytes of snapshots and of recordings where their sum is largest.
    standing : int
        Bytes held throughout: a fixed window, staging.
    """

    steps: int
    columns: int
    rows: int
    seconds: float
    turn: float = 0.0
    stretches: list[Stretch] = field(default_factory=list[Stretch])
    holds: list[Hold] = field(default_factory=list[Hold])
    cells: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    held: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    memory: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    standing: int = 0


def actions_in(schedule: Schedule) -> int:
    """Return about how many actions a schedule has, from its counts."""
    counts = schedule.counts
    moved = sum(counts.writes) + sum(counts.reads)
    return 4 * moved + 3 if moved else 2 * counts.records + 3


def trace(
    schedule: Schedule,
    costs: Costs | None = None,
    peak: int | None = None,
    *,
    columns: int = 600,
    rows: int = 200,
    few: int = 1200,
) -> Trace | None:
    """Play a schedule and return what its picture shows; None if it is too long to be drawn.

    Takes about three microseconds an action, and memory for the picture.

    Parameters
    ----------
    schedule : Schedule
        What to play.
    costs : Costs, optional
        Seconds and bytes; without them a step takes one second, and nothing has bytes.
    peak : int, optional
        The plan's peak: what it exceeds the moving part by stands throughout.
    columns, rows : int
        The resolution of the picture.
    few : int
        Actions up to which every stretch is kept by itself.
    """
    if actions_in(schedule) > _LONGEST:
        return None
    rates = _Rates(schedule, costs)
    seconds = rates.total(schedule)
    player = _Player(Trace(schedule.steps, columns, rows, seconds or 1.0), rates, few)
    for action in schedule:
        player.play(action)
    made = player.finish()
    if peak is not None and costs is not None:
        made.standing = max(peak - max(sum(pair) for pair in made.memory), 0)
    return made


class _Rates:
    """Seconds and bytes of each action."""

    def __init__(self, schedule: Schedule, costs: Costs | None) -> None:
        self.snapshot = 0
        self.advance = self.reverse = 1.0
        self.write, self.read = [0.0] * len(schedule.limits), [0.0] * len(schedule.limits)
        self.record, self.left = [1.0], [0]
        self.survives = schedule.reversal == "tape"
        if costs is None:
            return
        self.snapshot = costs.snapshot
        self.advance = costs.advance
        self.reverse = costs.reverse
        if not costs.reverse and costs.recordings:
            self.reverse = costs.recordings[0].seconds - costs.advance
        self.record = [max(r.seconds - self.reverse, 0.0) for r in costs.recordings] or [0.0]
        if self.survives or costs.window is None:  # else they lie inside a standing window
            self.left = [r.left for r in costs.recordings] or [0]
        else:
            self.left = [0] * len(self.record)
        used = [bool(n) for n in schedule.counts.writes]
        self.write = [costs.write_seconds(i) if u else 0.0 for i, u in enumerate(used)]
        self.read = [costs.read_seconds(i) if u else 0.0 for i, u in enumerate(used)]

    def total(self, schedule: Schedule) -> float:
        """Return the seconds of the whole schedule; played only if steps differ."""
        if len(self.record) > 1:
            return sum(self.seconds(action) for action in schedule)
        counts = schedule.counts
        total = counts.advances * self.advance + counts.records * self.record[0]
        total += counts.reverses * self.reverse
        total += sum(n * s for n, s in zip(counts.writes, self.write, strict=True))
        return total + sum(n * s for n, s in zip(counts.reads, self.read, strict=True))

    def seconds(self, action: Action) -> float:
        match action:
            case Advance(start, stop):
                return (stop - start) * self.advance
            case Record(start, stop, option):
                return (stop - start) * self.record[option]
            case Reverse(start, stop):
                return (stop - start) * self.reverse
            case Save(_, tier):
                return self.write[tier]
            case Load(_, tier):
                return self.read[tier]
            case _:
                return 0.0


class _Player:
    """Plays actions and fills the trace."""

    def __init__(self, made: Trace, rates: _Rates, few: int) -> None:
        self.made = made
        self.rates = rates
        self.few = few
        self.now = 0.0
        self.actions = 0
        self.snapshots = 0
        self.tapes: list[tuple[int, int, int]] = []
        self.recorded = 0
        self.since: dict[tuple[int, int], float] = {}
        made.memory = [(0, 0)] * made.columns
        for kind in ("advance", "record", "reverse"):
            made.cells[kind] = [0] * made.columns

    def play(self, action: Action) -> None:
        self.actions += 1
        seconds = self.rates.seconds(action)
        before = self.recorded
        match action:
            case Advance(start, stop):
                self._overwritten()
                kept = self.recorded
                self._stretch("advance", seconds, (start, stop), (kept, kept))
            case Record(start, stop, option):
                self.tapes.append((start, stop, option))
                self.recorded += (stop - start) * self.rates.left[option]
                self._stretch("record", seconds, (start, stop), (before, self.recorded))
            case Reverse(start, stop):
                self._consume(start)
                self._stretch("reverse", seconds, (stop, start), (before, self.recorded))
            case Turn():
                self.made.turn = self.now
            case Save(step, tier):
                self.since[tier, step] = self.now
                self.snapshots += self.rates.snapshot if tier == 0 else 0
                self._wait(seconds)
            case Drop(step, tier):
                self.snapshots -= self.rates.snapshot if tier == 0 else 0
                self._dropped(tier, step)
            case _:
                self._overwritten()
                self._wait(seconds)

    def finish(self) -> Trace:
        made = self.made
        if self.actions > self.few:
            made.stretches.clear()
            made.holds.clear()
        return made

    def _overwritten(self) -> None:
        """Forget what was recorded in a window: an advance or a load overwrites it."""
        if not self.rates.survives:
            self.tapes.clear()
            self.recorded = 0

    def _consume(self, start: int) -> None:
        while self.tapes and self.tapes[-1][1] > start:
            low, high, option = self.tapes.pop()
            self.recorded -= (high - max(low, start)) * self.rates.left[option]
            if low < start:
                self.tapes.append((low, start, option))

    def _dropped(self, tier: int, step: int) -> None:
        began = self.since.pop((tier, step))
        made = self.made
        first, last = self._column(began), self._column(self.now)
        row = self._row(step)
        held = made.held.setdefault(tier, [0] * made.rows)
        held[row] |= ((1 << (last - first + 1)) - 1) << first
        if self.actions <= self.few:
            made.holds.append(Hold(tier, step, began, self.now))

    def _wait(self, seconds: float) -> None:
        self._fill(self.now, self.now + seconds, self.recorded, self.recorded)
        self.now += seconds

    def _stretch(
        self, kind: str, seconds: float, steps: tuple[int, int], recorded: tuple[int, int]
    ) -> None:
        made, began, (start, stop) = self.made, self.now, steps
        self.now += seconds
        if self.actions <= self.few:
            made.stretches.append(Stretch(kind, began, self.now, start, stop))
        cells = made.cells[kind]
        for column, low, high in self._pieces(began, self.now):
            a = self._row(round(start + (stop - start) * low))
            b = self._row(round(start + (stop - start) * high))
            a, b = min(a, b), max(a, b)
            cells[column] |= ((1 << (b - a + 1)) - 1) << a
        self._fill(began, self.now, *recorded)

    def _fill(self, began: float, ended: float, before: int, after: int) -> None:
        memory = self.made.memory
        for column, low, high in self._pieces(began, ended):
            share = high if after >= before else low
            recorded = round(before + (after - before) * share)
            if self.snapshots + recorded > sum(memory[column]):
                memory[column] = (self.snapshots, recorded)

    def _pieces(self, began: float, ended: float) -> Iterator[tuple[int, float, float]]:
        """Yield each column touched, with the shares of the stretch at its two edges."""
        first, last = self._column(began), self._column(ended)
        if first == last:
            yield first, 0.0, 1.0
            return
        scale = self.made.seconds / self.made.columns
        length = ended - began
        for column in range(first, last + 1):
            low = max((column * scale - began) / length, 0.0)
            high = min(((column + 1) * scale - began) / length, 1.0)
            if high >= low:
                yield column, low, high

    def _column(self, at: float) -> int:
        return min(int(at / self.made.seconds * self.made.columns), self.made.columns - 1)

    def _row(self, step: int) -> int:
        return min(step * self.made.rows // self.made.steps, self.made.rows - 1)
