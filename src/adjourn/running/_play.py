"""Playing a schedule on a problem and its open tiers, beside what was predicted."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

from ..planning import Plan
from ..planning._candidates import copy_seconds
from ..problem import Problem
from ..schedules import Action, Schedule
from ._executor import Executor, Journal
from ._progress import progress_bar
from ._record import RunRecord, Verb
from ._recovery import TolerantExecutor
from ._stage import Stage
from ._waiting import tier_uses

__all__ = ["play"]

_STRIDE_SECONDS = 0.25


def play(
    problem: Problem,
    stage: Stage,
    schedule: Schedule,
    *,
    journal: Journal | None = None,
    progress: bool = True,
    far: int = 0,
    actions: Iterable[Action] | None = None,
    fallbacks: Sequence[str] = (),
) -> RunRecord:
    """Play a schedule on a stage that is set up, and return the record.

    ``actions`` are the schedule's, if something is to be done between them.
    """
    made, costs = stage.plan, stage.plan.costs
    counts = schedule.counts
    forward = costs.advance
    reverse = costs.reverse
    total = counts.advances * forward + counts.records * forward + counts.reverses * reverse
    resident = _resident()
    began = process_time(), perf_counter()
    with progress_bar("gradient", total, forward, reverse, enabled=progress) as bar:
        options: dict[str, Any] = {
            "tapes": stage.tapes,
            "stride": int(_STRIDE_SECONDS / forward) if forward else 2**62,
            "progress": bar,
            "journal": journal,
            "far": far,
        }
        told: list[str] = []
        if stage.storage.tolerant or stage.storage.encoder is not None:
            executor = TolerantExecutor(
                problem,
                stage.tiers,
                made=replace(made, schedule=schedule),
                storage=stage.storage,
                follow=stage.follow,
                **options,
            )
            told = executor.told
        else:
            executor = Executor(problem, stage.tiers, **options)
        stage.follow(schedule)
        executor.play(schedule if actions is None else actions)
    wall = perf_counter() - began[1]
    cpu = process_time() - began[0]
    grown = _resident()
    steps, seconds = executor.steps, executor.seconds
    return RunRecord(
        plan=made,
        cpu_seconds=cpu,
        wall_seconds=wall,
        peak_bytes=stage.nbytes + getattr(journal, "nbytes", 0),
        resident_growth=None if grown is None or resident is None else grown - resident,
        advances=steps["advance"],
        records=steps["record"],
        reverses=steps["reverse"],
        writes=steps["save"],
        reads=steps["load"],
        verbs=tuple(
            Verb(name, steps[name], seconds[name], predicted)
            for name, predicted in _predicted(made, schedule).items()
        ),
        own_seconds=max(wall - sum(seconds.values()), 0.0),
        fallbacks=(
            *fallbacks,
            *told,
            *getattr(journal, "told", ()),
            *_beyond_plan(stage, getattr(journal, "nbytes", 0)),
        ),
        tiers=tuple(tier_uses(stage.tiers, executor.waits, schedule, costs)),
    )


def _beyond_plan(stage: Stage, beside: int) -> Iterable[str]:
    """Yield what a plan that was given did not know of."""
    made, storage = stage.plan, stage.storage
    if storage.encoder is not None and storage.encode == "disk" and len(stage.tiers) == 1:
        yield (
            "nothing was encoded: the encoder is for snapshots on disk, and the plan has none; "
            'encode="memory" is for those in main memory'
        )
    if storage.encodes("memory") and made.costs.encoding is None:
        yield (
            "snapshots in main memory were kept as they are: the plan was made without the encoder"
        )
    if made.budget is not None and stage.nbytes + beside > made.budget:
        yield (
            f"commits took {beside} bytes of staging beside a plan that was made without a "
            "directory, and together they exceed its budget"
        )


def _predicted(made: Plan, schedule: Schedule) -> dict[str, float]:
    """Return the predicted seconds of each kind of action."""
    costs, counts = made.costs, schedule.counts
    record = costs.recordings[0].seconds if costs.recordings else 0.0
    moved = costs.tape_copy / 2 if schedule.reversal == "tape" else 0.0
    save, load = copy_seconds(schedule, costs)
    return {
        "advance": counts.advances * costs.advance,
        "record": counts.records * (max(record - costs.reverse, 0.0) + moved),
        "save": save,
        "load": load,
        "turn": 0.0,
        "reverse": counts.reverses * (costs.reverse + moved),
    }


def _resident() -> int | None:
    """Return the peak resident set of this process in bytes."""
    if not sys.platform.startswith("linux"):
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
