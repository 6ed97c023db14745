"""An executor that goes on when a snapshot fails: what is lost is run again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import CorruptSnapshot, DiskFull, TierFull
from ..problem import Problem
from ..schedules import Drop, Load, Save
from ._executor import Executor
from ._storage import Storage

__all__ = ["TolerantExecutor", "restart"]

_FULL = (DiskFull, TierFull)


class TolerantExecutor(Executor):
    """Plays as `Executor` does; a snapshot that is lost is rebuilt when it is needed.

    A lost state is run again from the nearest snapshot before it, in any tier, or from the
    beginning, and saved again if there is room. The bits are the same; ``told`` says what it
    cost. Nothing is held beyond the plan.

    Parameters
    ----------
    problem, tiers, **options
        As for `Executor`.
    storage : Storage
        Says which failures to go on after.
    """

    def __init__(self, problem: Problem, tiers: Any, *, storage: Storage, **options: Any) -> None:
        super().__init__(problem, tiers, **options)
        self._storage = storage
        self.told: list[str] = []

    def _save(self, action: Save) -> None:
        self._try_save(action)

    def _load(self, action: Load) -> None:
        tier, step = self._tiers[action.tier], action.step
        if step in tier.held():
            try:
                super()._load(action)
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
                    self.told.append(f"the snapshot of step {action.step} was not kept: {error}")
                    return False
            else:
                return True
        return False

    def _forgive(self, error: Exception) -> None:
        """Raise what was not to be forgiven."""
        rule = self._storage.on_full if isinstance(error, _FULL) else self._storage.on_corrupt
        if rule == "raise":
            raise error

    def _rebuild(self, action: Load) -> None:
        """Make the lost state of a step live by running to it again."""
        step = action.step
        found = self._nearest(step)
        if found is None:
            restart(self._problem)
            start = 0
        else:
            start = found.step
        if start < step:
            self._forward(self._problem.advance, "advance", start, step)
        whence = "the beginning" if found is None else f"the snapshot of step {start}"
        self.told.append(f"the state of step {step} was lost, and run again from {whence}")
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
