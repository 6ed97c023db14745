"""From a problem and a budget to an exact gradient and a record of what it took."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from ..errors import BadValue, BudgetTooSmall, WrongType
from ..planning import Costs, Plan, plan, plan_schedule
from ..planning._candidates import copy_seconds
from ..problem import Problem
from ..schedules import Action, Schedule
from ._directory import require_path
from ._executor import Executor, Journal
from ._measure import measure
from ._measure_storage import encoding_words, hold_beside, measure_storage
from ._progress import progress_bar, spinner
from ._protocol import require_problem
from ._record import RunRecord, Verb
from ._stage import Stage, set_up
from ._storage import Storage
from ._waiting import tier_uses

__all__ = ["play", "run"]

_STRIDE_SECONDS = 0.25


def run(
    problem: Problem,
    plan: Plan | Schedule | None = None,
    *,
    budget: int | str | None = None,
    disk: int | str | None = None,
    costs: Costs | None = None,
    directory: str | Path | None = None,
    storage: Storage | None = None,
    progress: bool = True,
) -> RunRecord:
    """Compute the gradient of a problem within a budget; the problem then holds it.

    Measures the problem unless a plan or costs are given, plans, and plays the plan. A second
    run with the same object starts afresh.

    Parameters
    ----------
    problem : Problem
        What to reverse.
    plan : Plan or Schedule, optional
        Made before; otherwise ``budget`` is needed.
    budget : int or str, optional
        Bytes for snapshots, recorded steps, transients and staging, such as ``"2 GiB"``.
    disk : int or str, optional
        Bytes of disk for further snapshots.
    costs : Costs, optional
        Measured before.
    directory : str or Path, optional
        Where a ledger and the disk tiers are kept, so that `resume` can go on after the process
        or the machine has gone down; removed after success. The problem needs ``carried()``.
    storage : Storage, optional
        How the disk is used: background transfer, encoders, durability, what to do when a
        snapshot fails.
    progress : bool
        Show a bar on a terminal (needs the ``progress`` extra).

    Returns
    -------
    RunRecord
        Predicted and measured time and bytes, counts, and reasons.

    Raises
    ------
    BudgetTooSmall
        No plan fits.
    ProblemFailed
        The problem raised; its exception is the cause, and everything held was released.
    LawBroken
        The problem did not do what the protocol promises.
    DiskFull
        The disk cannot hold what the plan needs; met before the run.
    CorruptSnapshot
        A snapshot read back differs from what was written.
    DirectoryBusy
        Another process runs in the directory.
    """
    require_problem(problem)
    if storage is not None and not isinstance(storage, Storage):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"storage={storage!r} is not a Storage. Pass adjourn.Storage(...).")
    if directory is not None:
        directory = require_path(directory)

    kept = storage or Storage()

    def make(place: str | None = None, beside: int = 0) -> Plan:
        return make_plan(
            problem,
            plan,
            budget=budget,
            disk=disk,
            costs=costs,
            progress=progress,
            storage=kept,
            place=place,
            beside=beside,
        )

    if directory is not None:
        from ._resume import run_in  # noqa: PLC0415 - heavy, and not needed by most runs

        return run_in(directory, problem, make, kept, progress=progress)
    made = make()
    stage = set_up(problem, made, kept)
    try:
        return play(problem, stage, made.schedule, progress=progress)
    finally:
        stage.close()


def make_plan(
    problem: Problem,
    made: Plan | Schedule | None,
    *,
    budget: int | str | None,
    disk: int | str | None,
    costs: Costs | None,
    progress: bool,
    storage: Storage | None = None,
    place: str | None = None,
    beside: int = 0,
) -> Plan:
    """Return the plan to play: the one given, or one for the budget.

    ``place`` is where the disk is measured, ``beside`` the bytes of main memory that a run in a
    directory takes beside what it is planned with.
    """
    if made is None:
        if budget is None:
            raise BadValue('neither a plan nor a budget is given. Pass budget="2 GiB", or a plan.')
        costs = measure(problem, progress=progress) if costs is None else costs
        if place is not None or (storage is not None and (storage.tolerant or storage.encoder)):
            costs = _without_held_states(
                costs
            )  # a run that is mended or resumed has no use for them
        choices: tuple[Costs, ...] = (costs,)
        if disk is not None or (storage is not None and storage.encoder is not None):
            with spinner("measuring the storage", enabled=progress):
                choices = measure_storage(
                    problem, costs, storage or Storage(), directory=place, disk=disk is not None
                )
        return _fastest(problem.steps, choices, budget, disk, beside)
    if isinstance(made, Schedule):
        costs = measure(problem, progress=progress) if costs is None else costs
        made = plan_schedule(made, costs)
    elif not isinstance(made, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"plan={made!r} is neither a Plan nor a Schedule. Pass adjourn.plan(...).")
    if budget is not None:
        raise BadValue("a plan and a budget are given. Pass one: a plan was made for its budget.")
    if made.steps != problem.steps:
        raise BadValue(
            f"the plan is for {made.steps} steps, and the problem has {problem.steps}. Make a "
            "plan for this problem."
        )
    return made


def _without_held_states(costs: Costs) -> Costs:
    """Return the costs of recordings from which the model is not restarted.

    A run that is mended or resumed plans anew from snapshots alone.
    """
    return replace(costs, recordings=[replace(one, holds_state=False) for one in costs.recordings])


def _fastest(
    steps: int, choices: Sequence[Costs], budget: int | str, disk: int | str | None, beside: int
) -> Plan:
    """Return the fastest plan by any of the costs; it says what the encoder does."""
    plans: list[Plan] = []
    refusal: BudgetTooSmall | None = None
    for costs in choices:
        try:
            plans.append(plan(steps, hold_beside(costs, beside), budget, disk))
        except BudgetTooSmall as error:
            refusal = error
    if not plans:
        raise refusal or BadValue("there is nothing to choose from")
    best = min(plans, key=lambda made: made.seconds)
    return replace(best, reasons=(*best.reasons, *encoding_words(best, plans, refusal)))


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
            from ._recovery import TolerantExecutor  # noqa: PLC0415 - rare

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
