"""Runs whose number of steps is not known before they end."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

from .._sizes import as_bytes, as_count, format_bytes
from ..errors import BadValue, BudgetTooSmall
from ..planning import Costs, Recording, plan_schedule
from ..problem import Problem, Window
from ..schedules import OnlineSchedule, online, revolve
from ..tiers import RamPool, specs_of, state_bytes
from ._executor import Executor
from ._progress import spinner
from ._protocol import require_problem, window_of
from ._record import RunRecord, Verb

__all__ = ["run_until"]

_STRETCH = 1000  # steps asked for at once, at most, so that progress and Ctrl-C are timely


def run_until(
    problem: Problem,
    *,
    budget: int | str | None = None,
    slots: int | None = None,
    progress: bool = True,
) -> RunRecord:
    """Compute the gradient of a simulation that itself decides when it ends.

    ``problem.advance(start, stop, replay=False)`` returns less than ``stop`` when the simulation
    ended there; ``problem.steps`` is not read. Step sizes chosen on the way belong into
    ``clock(step)``: a replay is given them through ``loaded(step, clock)`` and must not choose
    again. Snapshots are placed so that the total for the steps seen so far stays least, and each
    gap is reversed by optimal Revolve: for fewer than 1500 steps at worst 1.18, 1.10 and 1.03
    times the steps of a schedule that knows the number, with 5, 10 and 30 slots.

    Parameters
    ----------
    problem : Problem
        What to reverse.
    budget : int or str, optional
        Bytes for snapshots and the window of one recorded step.
    slots : int, optional
        Snapshots instead of a budget.
    progress : bool
        Show on a terminal that the run is at work.

    Returns
    -------
    RunRecord
        Its plan is the schedule that the run turned out to be, with costs measured on the way;
        the last of its fallbacks says what knowing the number of steps would have saved.

    Raises
    ------
    BadValue
        Both or neither of ``budget`` and ``slots`` are given, or the simulation has no steps.
    BudgetTooSmall
        The budget does not hold one snapshot and one recorded step.
    ProblemFailed, LawBroken
        As for `run`.
    """
    require_problem(problem, known_steps=False)
    if (budget is None) == (slots is None):
        raise BadValue("pass either budget= or slots=, and not both.")
    reserve = getattr(problem, "reserve", None)
    if reserve is not None:
        reserve(1)
    problem.begin()
    frame = window_of(problem)
    specs = specs_of(problem.state(0))
    snapshot = state_bytes(specs)
    frame_bytes = frame.nbytes(1) if frame is not None else 0
    if slots is None:
        count = _slots(as_bytes(budget or 0), snapshot, frame_bytes)
    else:
        count = as_count(slots, "slots")
    pool = RamPool(grow=True)
    try:
        pool.open(specs, count)
        with spinner("running until the end", enabled=progress) as shown:
            executor = Executor(problem, [pool], stride=_STRETCH)
            began = process_time(), perf_counter()
            steps = _play(problem, executor, count, shown)
            cpu, wall = process_time() - began[0], perf_counter() - began[1]
        return _record(
            problem, executor, (steps, count), (cpu, wall), (snapshot, pool.nbytes, frame)
        )
    finally:
        pool.close()


def _slots(budget: int, snapshot: int, frame_bytes: int) -> int:
    count = (budget - frame_bytes) // max(snapshot, 1)
    if count < 1:
        least = frame_bytes + snapshot
        raise BudgetTooSmall(
            f"budget={budget} ({format_bytes(budget)}) does not hold one snapshot and one "
            f"recorded step, {least} bytes. Pass budget={least} or more.",
            least,
        )
    return count


def _play(problem: Problem, executor: Executor, slots: int, shown: Any) -> int:
    """Run forward until the problem ends, then reverse; return the number of steps."""
    driver = online(slots).start()
    step = 0
    while True:
        executor.play(driver.forward(step))
        due = min(driver.due, step + _STRETCH)
        reached = executor.explore(step, due)
        ended = reached < due
        step = reached
        if ended:
            break
    if not step:
        raise BadValue(
            f"{type(problem).__name__}.advance(0, {due}) reached no step. A gradient needs 1 or "
            "more."
        )
    shown.update(f"reversing {step} steps")
    executor.play(driver.reverse(step))
    return step


def _record(
    problem: Problem,
    executor: Executor,
    sizes: tuple[int, int],
    times: tuple[float, float],
    bytes_: tuple[int, int, Window | None],
) -> RunRecord:
    steps, slots = sizes
    snapshot, held, frame = bytes_
    done, seconds = executor.steps, executor.seconds
    advance = seconds["advance"] / max(done["advance"], 1)
    record = seconds["record"] / max(done["record"], 1)
    reverse = seconds["reverse"] / max(done["reverse"], 1)
    left = frame.step_bytes if frame is not None else 0
    costs = Costs(
        advance=advance,
        recordings=[Recording(max(record + reverse, advance), left)],
        snapshot=snapshot,
        write=seconds["save"] / max(done["save"], 1),
        read=seconds["load"] / max(done["load"], 1),
        reverse=reverse,
        reads=problem.reads,
        window=None if frame is None else replace(frame, survives_advance=False),
    )
    schedule = OnlineSchedule(steps, slots)
    made = plan_schedule(schedule, costs)
    known = revolve(steps, slots).forward_steps
    more = schedule.forward_steps / known - 1
    told = (
        f"the number of steps, {steps}, was not known: {schedule.forward_steps} forward steps, "
        f"{more:.1%} more than the {known} of a schedule that knows it"
    )
    return RunRecord(
        plan=made,
        cpu_seconds=times[0],
        wall_seconds=times[1],
        peak_bytes=held + (frame.nbytes(1) if frame is not None else 0),
        resident_growth=None,
        advances=done["advance"],
        records=done["record"],
        reverses=done["reverse"],
        writes=done["save"],
        reads=done["load"],
        verbs=tuple(Verb(name, done[name], seconds[name], seconds[name]) for name in done),
        own_seconds=max(times[1] - sum(seconds.values()), 0.0),
        fallbacks=(told,),
    )
