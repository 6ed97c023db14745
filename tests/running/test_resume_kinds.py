"""Resume for every way to reverse a step: tapes that lie anywhere, states, windows, nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from adjourn import ProblemFailed, Recording, plan
from adjourn.models import synthetic
from adjourn.planning import plan_schedule
from adjourn.running import Storage, measure, resume, run
from adjourn.running._journal import Journal
from adjourn.schedules import revolve, segments, spread, store_all, window

STEPS = 40


class StopError(Exception):
    """The run ends here."""


def shot(stop_at=None):
    """Return a small shot that stops when its calls have taken so many steps."""
    problem = synthetic(shape=(12, 14), steps=STEPS, absorbing=4)
    if stop_at is not None:
        count = 0

        def counted(verb):
            def call(start, stop, **options):
                nonlocal count
                count += stop - start
                if count > stop_at:
                    raise StopError
                return verb(start, stop, **options)

            return call

        for name in ("advance", "record", "reverse"):
            setattr(problem, name, counted(getattr(problem, name)))
    return problem


@pytest.fixture(scope="module")
def exact():
    problem = shot()
    run(problem, budget="1 GiB", progress=False)
    return problem.gradient.copy()


@pytest.fixture(scope="module")
def costs():
    seen = measure(shot(), disk=True, progress=False)
    (recording,) = seen.recordings
    times = {"advance": 1.0, "reverse": 1.0, "write": 0.01, "read": 0.01, "tape_copy": 0.01}
    recordings = [Recording(2.0, recording.left, recording.peak)]
    return replace(seen, recordings=recordings, disk_write=0.1, disk_read=0.1, **times)


PLANS = {
    "tapes anywhere": None,
    "window": window(STEPS, 3, 4),
    "window and disk": spread(window(STEPS, 3, 4), 3),
    "segments": segments(STEPS, 7),
    "states": revolve(STEPS, 5, reversal="state"),
    "states and disk": spread(revolve(STEPS, 5, reversal="state"), 4),
    "whole history": store_all(STEPS),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_run_of_any_kind_resumes_from_any_step(tmp_path, exact, costs, kind):
    """Stopped after any number of steps, twice, the gradient has the same bits."""
    schedule = PLANS[kind]
    kept = Storage(overhead=math.inf, direct=False)
    sizes = range(2 * costs.snapshot, 20 * costs.snapshot, costs.snapshot // 2)
    tapes = [b for b in sizes if plan(STEPS, costs, b).schedule.reversal == "tape"]
    fresh = shot()
    fresh.begin()
    budget = tapes[len(tapes) // 3] + Journal.memory_for(fresh)
    options = (
        {"budget": budget, "costs": costs}
        if schedule is None
        else {"plan": plan_schedule(schedule, costs)}
    )
    kinds = set()
    for stop_at in range(3, 160, 13):
        directory = tmp_path / f"run{stop_at}"
        try:
            record = run(
                shot(stop_at), directory=directory, storage=kept, progress=False, **options
            )
        except ProblemFailed:
            pass
        else:
            kinds.add(record.plan.schedule.reversal)
            continue
        try:
            resume(directory, shot(11), storage=kept, progress=False)
        except ProblemFailed:
            last = shot()
            record = resume(directory, last, storage=kept, progress=False)
            assert np.array_equal(last.gradient, exact)
            kinds.add(record.plan.schedule.reversal)
            if schedule is None:
                assert record.peak_bytes <= budget
        assert not directory.exists()
    if kind == "tapes anywhere":
        assert kinds == {"tape"}
    else:
        assert kinds == {schedule.reversal}
