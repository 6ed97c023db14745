"""What every family must do when it is played by the checker."""

from __future__ import annotations

import json

from adjourn.checker import Check, check
from adjourn.schedules import Schedule, schedule_from_json


def agrees(schedule: Schedule) -> Check:
    """Play the schedule, compare what is counted with what it states, and return the check."""
    seen = check(schedule)
    counts = schedule.counts
    assert seen.reversed == range(schedule.steps)[::-1]
    assert seen.reversed == range(counts.reverses)[::-1]
    assert (seen.advances, seen.records) == (counts.advances, counts.records), schedule
    assert (seen.writes, seen.reads) == (counts.writes, counts.reads), schedule
    assert seen.peaks == counts.snapshots, schedule
    assert seen.peak_recorded == counts.recorded, schedule
    assert schedule.restarts == Schedule.restarts.fget(schedule), schedule
    assert all(most <= limit for most, limit in zip(seen.peaks, schedule.limits, strict=True))
    assert schedule_from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
    return seen
