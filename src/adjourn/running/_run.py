"""From a problem and a budget to an exact gradient and a record of what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import BadValue, BudgetTooSmall, WrongType
from ..planning import Costs, Plan, plan, plan_schedule
from ..problem import Problem
from ..schedules import Schedule
from ._directory import require_path
from ._measure import measure
from ._measure_storage import encoding_words, hold_beside, measure_storage
from ._play import play
from ._progress import spinner
from ._protocol import require_problem
from ._record import RunRecord
from ._resume import run_in
from ._stage import set_up
from ._storage import Storage

__all__ = ["run"]


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
        costs = measure(problem, room=budget, progress=progress) if costs is None else costs
        if place is not None or (storage is not None and (storage.tolerant or storage.encoder)):
            costs = _without_held_states(costs)
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
