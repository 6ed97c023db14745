"""Schedules for tests of the disk: those of one tier, with some snapshots moved to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from adjourn.schedules import Drop, Load, Save, Schedule, schedule_from_json


@dataclass(frozen=True, slots=True)
class OnDisk(Schedule):
    """Another schedule with every ``stride``-th step's snapshots on disk, the others in RAM."""

    family: ClassVar[str] = "on_disk_for_tests"
    steps: int
    inner: Schedule
    stride: int = 1

    @property
    def reversal(self):
        return self.inner.reversal

    @property
    def counts(self):
        held, most = ({0: set(), 1: set()}, [0, 0])
        writes, reads = [0, 0], [0, 0]
        for action in self:
            if isinstance(action, Save):
                held[action.tier].add(action.step)
                most[action.tier] = max(most[action.tier], len(held[action.tier]))
                writes[action.tier] += 1
            elif isinstance(action, Load):
                reads[action.tier] += 1
            elif isinstance(action, Drop):
                held[action.tier].discard(action.step)
        return replace(
            self.inner.counts, writes=tuple(writes), reads=tuple(reads), snapshots=tuple(most)
        )

    @property
    def limits(self):
        return self.counts.snapshots

    def __iter__(self):
        for action in self.inner:
            if isinstance(action, Save | Load | Drop) and action.step % self.stride == 0:
                yield type(action)(action.step, 1)
            else:
                yield action

    def to_json(self):
        return {
            "family": self.family,
            "steps": self.steps,
            "inner": self.inner.to_json(),
            "stride": self.stride,
        }

    @classmethod
    def _from_json(cls, values):
        return cls(values["steps"], schedule_from_json(values["inner"]), values["stride"])
