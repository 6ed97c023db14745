"""An executor that goes on when a snapshot fails: what is lost is run again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from ..errors import AdjournError, BudgetTooSmall, CorruptSnapshot, DiskFull, TierFull
from ..planning import Plan
from ..problem import Problem
from ..schedules import Action, Drop, Load, Reverse, Save, Schedule
from ..tiers import Tier
from ._executor import Executor
from ._rest import Rest, plan_rest
from ._storage import Storage, encoded_tier

__all__ = ["TolerantExecutor", "restart"]

_FULL = (DiskFull, TierFull)
_TOLD = 20
_PLANS = 20  # further snapshots without room are done without


class _ReplanError(AdjournError):
    """The plan no longer fits what is there; caught in `TolerantExecutor.play`."""


class TolerantExecutor(Executor):
    """Plays as `Executor` does, and goes on when a snapshot fails or does not fit.

    A lost state is run again from the nearest snapshot before it, in any tier, or from the
    beginning, and saved again if there is room. Where a snapshot finds no room, what is left of
    the run is planned anew from what is held; so it is at the first load after the turn, if
    encoded snapshots turned out smaller than planned and a plan with more of them is faster. The
    bits are the same; ``told`` says what it cost. Nothing is held beyond the plan.

    Parameters
    ----------
    problem, tiers, **options
        As for `Executor`.
    made : Plan
        What is played.
    storage : Storage
        Says which failures to go on after.
    follow : callable
        Tells the tiers of a new schedule.
    """

    def __init__(
        self,
        problem: Problem,
        tiers: Sequence[Tier],
        *,
        made: Plan,
        storage: Storage,
        follow: Callable[[Schedule], None],
        **options: Any,
    ) -> None:
        super().__init__(problem, tiers, **options)
        self._made = made
        self._storage = storage
        self._follow = follow
        self._live: int | None = 0
        self._frontier = made.steps
        self._before = dict(self.steps)
        self._may_replan = options.get("tapes") is None and made.schedule.reversal != "tape"
        self._may_gain = self._may_replan and any(encoded_tier(tier) for tier in tiers)
        self._plans = 0
        self._refused = -1
        self._untold = 0
        self._gained = False  # what was hoped for then is no reason to fail
        self.told: list[str] = []

    def play(self, actions: Iterable[Action]) -> None:
        """Play all actions, or others in their place."""
        left = iter(actions)
        while True:
            try:
                super().play(left)
            except _ReplanError:
                left = self._replanned() or left
            else:
                return

    def _replanned(self) -> Iterator[Action] | None:
        """Return the actions of a new plan for what is left; None if there is none."""
        self._plans += 1
        try:
            rest = self._plan(full=True)
        except BudgetTooSmall:
            self._may_replan = False
            return None
        schedule = cast("Rest", rest.schedule)
        wanted = {(part.start, part.tier) for part in schedule.parts}
        for number, tier in enumerate(self._tiers):
            for step in tier.held():
                if (step, number) not in wanted:
                    tier.drop(step)
        self._made = rest
        self._before = dict(self.steps)
        self._follow(schedule)
        self._tell_of(
            f"the rest was planned anew: {schedule.counts.advances + schedule.counts.records} "
            f"forward steps, snapshots held: {sorted(start for start, _ in wanted)}"
        )
        live = self._live
        return self._parts(schedule, live)

    def _parts(self, schedule: Rest, live: int | None) -> Iterator[Action]:
        for number, part in enumerate(schedule.parts):
            if part.tier is None and (number or part.start != live):
                restart(self._problem)
            yield from part.actions()

    def _plan(self, *, full: bool) -> Plan:
        """Return a plan for what is left; ``full``: no tier takes more than it holds now."""
        turned = self.steps["turn"] > 0
        held = [(step, n) for n, tier in enumerate(self._tiers) for step in tier.held()]
        planned = self._made.schedule.counts.snapshots[0]

        def slots(kept: Collection[tuple[int, int]]) -> list[int]:
            found: list[int] = []
            for number, tier in enumerate(self._tiers):
                steps = [step for step, where in kept if where == number]
                encoded = encoded_tier(tier)
                if encoded is not None:
                    found.append(len(steps) + int(0.9 * encoded.room_beside(steps)))
                elif number == 0:
                    found.append(planned)
                else:
                    found.append(len(tier.held()) if full else 10**6)
            return found

        live = self._live
        if turned and (live is None or live >= self._frontier):
            live = None
        return plan_rest(self._made, self._frontier, held, live=live, turned=turned, slots=slots)

    def _look_for_gain(self) -> None:
        """Plan anew if there is room for more snapshots than planned, and that is faster."""
        self._may_gain = False
        try:
            rest = self._plan(full=False)
        except BudgetTooSmall:
            return
        counts, costs = self._made.schedule.counts, self._made.costs
        left = {
            name: getattr(counts, f"{name}s") - self.steps[name] + self._before[name]
            for name in ("advance", "record")
        }
        new = rest.schedule.counts
        seconds = costs.advance
        if (new.advances + new.records) * seconds < 0.97 * sum(left.values()) * seconds:
            self._tell_of("encoded snapshots leave room for more of them than planned")
            self._gained = True
            raise _ReplanError

    def _tell_of(self, words: str) -> None:
        """Keep what happened for the record: the first of it in words, the rest in number."""
        if len(self.told) < _TOLD:
            self.told.append(words)
        else:
            self._untold += 1
            self.told[_TOLD:] = [f"and {self._untold} more such events"]

    def _forward(self, verb: Callable[..., int], name: str, start: int, stop: int) -> None:
        super()._forward(verb, name, start, stop)
        self._live = stop

    def _reverse(self, action: Reverse) -> None:
        super()._reverse(action)
        self._frontier = action.start
        self._live = None

    def _save(self, action: Save) -> None:
        if self._try_save(action):
            return
        # A new plan for the same step would meet the same end.
        if self._may_replan and self._plans < _PLANS and action.step != self._refused:
            self._refused = action.step
            raise _ReplanError

    def _load(self, action: Load) -> None:
        tier, step = self._tiers[action.tier], action.step
        if self._may_gain and self.steps["turn"]:
            self._look_for_gain()
        if step in tier.held():
            try:
                super()._load(action)
                self._live = step
            except (OSError, TierFull) as error:
                self._forgive(error)
                # Background transfer may report here what failed earlier: only then is the
                # snapshot itself still good.
                if step in tier.held() and getattr(error, "step", step) != step:
                    self._load(action)
                    return
                if step in tier.held():
                    tier.drop(step)
            else:
                return
        self._rebuild(action)

    def _drop(self, action: Drop) -> None:
        tier = self._tiers[action.tier]
        if action.step in tier.held():
            try:
                tier.drop(action.step)
            except (OSError, TierFull) as error:
                self._forgive(error)
                if action.step in tier.held():
                    tier.drop(action.step)

    def _try_save(self, action: Save) -> bool:
        """Save, twice if the first failure was of an earlier save; return whether it is there."""
        for last in (False, True):
            try:
                super()._save(action)
            except (OSError, TierFull) as error:
                self._forgive(error)
                if last or isinstance(error, _FULL):
                    self._tell_of(f"the snapshot of step {action.step} was not kept: {error}")
                    return False
            else:
                return True
        return False

    def _forgive(self, error: Exception) -> None:
        """Raise what was not to be forgiven."""
        full = isinstance(error, _FULL)
        rule = self._storage.on_full if full else self._storage.on_corrupt
        if rule == "raise" and not (full and self._gained):
            raise error

    def _rebuild(self, action: Load) -> None:
        """Make the lost state of a step live by running to it again."""
        step = action.step
        found = self._nearest(step)
        if found is None:
            restart(self._problem)
            start = self._live = 0
        else:
            start = found.step
        if start < step:
            self._forward(self._problem.advance, "advance", start, step)
        whence = "the beginning" if found is None else f"the snapshot of step {start}"
        self._tell_of(f"the state of step {step} was lost, and run again from {whence}")
        if step not in self._tiers[action.tier].held():
            self._try_save(Save(step, action.tier))

    def _nearest(self, step: int) -> Load | None:
        """Load the last snapshot up to ``step`` that can be read; return how it was had."""
        held = [
            (other, number)
            for number, tier in enumerate(self._tiers)
            for other in tier.held()
            if other <= step
        ]
        for other, number in sorted(held, reverse=True):
            load = Load(other, number)
            try:
                Executor._load(self, load)
            except CorruptSnapshot:
                self._tiers[number].drop(other)
            else:
                self._live = other
                return load
        return None


def restart(problem: Problem) -> None:
    """Bring the problem back to step 0 in the middle of a run, keeping what it carries."""
    from ._journal import carried_of  # noqa: PLC0415 - rare, and heavy to import

    carried = carried_of(problem)
    kept = {name: array.copy() for name, array in carried.items()}
    problem.begin()
    for name, array in carried_of(problem).items():
        np.copyto(array, kept[name])
