"""Measuring what a step of a problem costs, politely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from .._sizes import as_bytes
from ..errors import AdjournError, BadValue, LawBroken, ProblemFailed
from ..planning import Costs, Recording
from ..problem import Array, Problem
from ._measure_storage import measure_disk
from ._polite import COPIED_BYTES, LEAST_SECONDS, RECORDED_BYTES, SHARE
from ._progress import Spinner, spinner
from ._protocol import live_state, require_problem, window_of

__all__ = ["measure", "measure_disk"]


def measure(
    problem: Problem,
    *,
    effort: float = 1.0,
    disk: bool | str = False,
    room: int | str | None = None,
    progress: bool = True,
) -> Costs:
    """Measure what a step of a problem costs, in processor seconds and bytes.

    Runs a few steps forward, recording and backward from step 0, copies a few states, and
    leaves the problem as after ``begin()``. Takes at most 5% of one forward run or 5 s,
    whichever is larger, and usually less than a second.

    Parameters
    ----------
    problem : Problem
        The problem; ``begin()`` is called first and last.
    effort : float
        Seconds to spend on each of the three verbs, where the limit allows.
    disk : bool or str
        Measure the disk too: in the system's directory for temporary files, or in this one.
        Nothing is left there.
    room : int or str, optional
        Bytes that measuring may hold: recorded steps and copies of states, at least one of each.
        128 MiB by default; `run` passes its budget.
    progress : bool
        Show on a terminal that measuring is at work.

    Raises
    ------
    WrongType
        The object lacks a method of the protocol.
    LawBroken
        A call returned something it should not.
    ProblemFailed
        The problem raised; its exception is the cause.
    DiskFull
        The disk has no room for one snapshot.
    """
    require_problem(problem)
    if type(effort) not in (int, float) or not effort > 0:
        raise BadValue(f"effort={effort!r} is no time. Pass a number of seconds above 0.")
    half = RECORDED_BYTES if room is None else as_bytes(room, "room") // 2
    with spinner("measuring one step", enabled=progress) as shown:
        try:
            costs = _Stopwatch(problem, effort, shown, half).costs()
        except (AdjournError, MemoryError):
            raise
        except Exception as error:
            raise ProblemFailed(
                f"{type(problem).__name__} raised {type(error).__name__} while it was measured: "
                f"{error}. Mend the problem and measure again."
            ) from error
        if disk and costs.snapshot:
            shown.update("measuring the disk")
            costs = measure_disk(problem, costs, None if disk is True else disk)
        return costs


class _Stopwatch:
    """Times the verbs of one problem."""

    def __init__(self, problem: Problem, effort: float, shown: Spinner, half: int) -> None:
        self.problem = problem
        self.effort = effort
        self.shown = shown
        self.copied = min(COPIED_BYTES, half)
        self.at = 0
        self.reserve: Callable[[int], None] | None = getattr(problem, "reserve", None)
        self.frame = window_of(problem)
        self.held = 1
        self.option = 0
        self.slow = False  # a step takes so long that each verb is run once only
        if self.frame is not None:
            most = min(RECORDED_BYTES, half) // max(self.frame.step_bytes, 1)
            self.held = max(1, min(8, most, problem.steps, self.frame.max_steps or 8))

    def costs(self) -> Costs:
        problem = self.problem
        reads = problem.reads
        self._reserve(1)
        problem.begin()
        state = live_state(problem, 0) if reads != "nothing" else problem.state(0)
        snapshot = sum(a.nbytes for a in state)
        advance = self._first_advance()
        if not self.slow:
            self._warm_up()
            advance = self._advance()
        self.shown.update("measuring the reverse")
        recordings: list[Recording] = []
        reverse = tape_copy = 0.0
        for option in range(getattr(problem, "menu", 1) if reads != "nothing" else 1):
            self._choose(option)
            record, back, left, copy = self._record_and_reverse()
            transient = self.frame.transient_bytes if self.frame is not None else 0
            peak = left if hasattr(problem, "tape") else left + transient
            holds = hasattr(problem, "tape") and getattr(problem, "tape_holds_state", False)
            recordings.append(Recording(max(record + back, advance), left, peak, holds))
            if not option:
                reverse, tape_copy = back, copy
        self._choose(0)
        write, read = self._copies()
        problem.begin()
        frame, standing = self.frame, 0
        if frame is not None and hasattr(problem, "tape"):
            standing = frame.nbytes(1)
        elif frame is not None:  # one buffer of its own: the window is what it takes
            frame = replace(frame, survives_advance=False)
        return Costs(
            advance=advance,
            recordings=recordings if reads != "nothing" else (),
            snapshot=snapshot,
            write=write,
            read=read,
            reverse=reverse,
            reads=reads,
            window=frame,
            tape_copy=tape_copy,
            standing=standing,
        )

    def _reserve(self, steps: int) -> None:
        if self.reserve is not None and self.problem.reads != "nothing":
            self.reserve(steps)

    def _choose(self, option: int) -> None:
        choose = getattr(self.problem, "choose", None)
        if choose is not None:
            self._begin_again()
            self.option = option
            choose(option)

    def _first_advance(self) -> float:
        """Return the seconds of the very first step, and settle how much the others may take."""
        steps = self.problem.steps
        began = process_time(), perf_counter()
        self._run(self.problem.advance, "advance", 1)
        cpu, wall = process_time() - began[0], perf_counter() - began[1]
        limit = max(LEAST_SECONDS, SHARE * steps * wall)
        self.slow = 10 * wall > limit
        if wall:
            self.held = max(1, min(self.held, int(limit / (10 * wall))))
        if self.held > 1:
            self._reserve(self.held)
        self._begin_again()
        return cpu

    def _warm_up(self) -> None:
        """Record and reverse once: first calls compile, allocate and fault pages in."""
        if self.problem.reads != "nothing":
            self._run(self.problem.record, "record", min(self.held, self.problem.steps))
            self._reverse(self.held)
        self._begin_again()

    def _advance(self) -> float:
        """Return the median seconds of a forward step over growing ranges."""
        problem, steps = self.problem, self.problem.steps
        samples: list[tuple[float, int]] = []
        count, spent, ran = 1, 0.0, 0
        limit = self.effort
        while spent < limit:
            if self.at + count > steps:
                self._begin_again()
                count = min(count, steps)
            began = process_time(), perf_counter()
            self._run(problem.advance, "advance", count)
            cpu, wall = process_time() - began[0], perf_counter() - began[1]
            samples.append((cpu / count, count))
            spent += wall
            ran += count
            limit = min(self.effort, max(LEAST_SECONDS, SHARE * steps * wall / count) / 4)
            if wall < limit / 20:
                count *= 2
            if len(samples) > 200:
                break
        largest = max(n for _, n in samples)
        return median(s for s, n in samples if n >= largest / 2)

    def _record_and_reverse(self) -> tuple[float, float, int, float]:
        """Return seconds to record and reverse a step, bytes left, seconds to move a tape."""
        problem = self.problem
        held = min(self.held, problem.steps)
        tape: Callable[[int, int], Sequence[Array]] | None = getattr(problem, "tape", None)
        recorded: list[float] = []
        reversed_: list[float] = []
        copies: list[float] = []
        left = self.frame.step_bytes if self.frame is not None else 0
        spent = 0.0
        while spent < self.effort and len(recorded) < 200:
            if self.at + held > problem.steps:
                self._begin_again()
            began = perf_counter()
            if problem.reads != "nothing":
                t0 = process_time()
                self._run(problem.record, "record", held)
                recorded.append((process_time() - t0) / held)
            if tape is not None:
                arrays = tape(self.at - 1, self.at)
                left = sum(a.nbytes for a in arrays)
                copies.append(sum(self._copy_seconds(arrays)) if len(copies) < 3 else copies[-1])
            t0 = process_time()
            self._reverse(held)
            reversed_.append((process_time() - t0) / held)
            spent += perf_counter() - began
            if problem.reads == "nothing":
                recorded.append(0.0)
            if self.problem.reads == "nothing" or len(recorded) == 1:
                self._begin_again()
            if self.slow:
                break
        return median(recorded), median(reversed_), left, median(copies) if copies else 0.0

    def _copies(self) -> tuple[float, float]:
        """Return the seconds of saving and of loading a state in main memory."""
        arrays = self.problem.state(self.at)
        if not sum(a.nbytes for a in arrays):
            return 0.0, 0.0
        return self._copy_seconds(arrays)

    def _copy_seconds(self, arrays: Sequence[Array]) -> tuple[float, float]:
        """Return the seconds of copying arrays out, and back in.

        The copies go round so many buffers that each is out of the processor's caches when its turn
        comes, as a slot is when a run loads it.
        """
        nbytes = sum(a.nbytes for a in arrays)
        rounds = min(max(self.copied // max(nbytes, 1), 1), 16)
        slots = [[np.empty(a.shape, a.dtype) for a in arrays] for _ in range(rounds)]
        samples: tuple[list[float], list[float]] = ([], [])
        for attempt in range(3):
            for out, pairs in ((True, slots), (False, slots)):
                for slot in pairs:
                    began = process_time()
                    for kept, live in zip(slot, arrays, strict=True):
                        np.copyto(kept if out else live, live if out else kept, casting="no")
                    if attempt:  # the first round faults the pages in
                        samples[not out].append(process_time() - began)
        return median(samples[0]), median(samples[1])

    def _run(self, verb: Callable[..., int], name: str, count: int) -> None:
        start, stop = self.at, self.at + count
        while start < stop:
            reached: Any = verb(start, stop, replay=False)
            if not isinstance(reached, int) or not start < reached <= stop:
                raise LawBroken(
                    "reach",
                    f"{type(self.problem).__name__}.{name}({start}, {stop}) returned {reached!r} "
                    "and not the step reached. Return the step at which the state is.",
                )
            start = reached
        self.at = stop

    def _reverse(self, count: int) -> None:
        if self.problem.reads == "nothing":
            count = min(count, self.problem.steps)
            self.problem.reverse(0, count)
            return
        self.problem.reverse(self.at - min(count, self.at), self.at)

    def _begin_again(self) -> None:
        self.problem.begin()
        self.at = 0
        if self.option:
            self.problem.choose(self.option)  # type: ignore[attr-defined]
