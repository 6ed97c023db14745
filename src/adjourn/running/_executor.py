"""The executor: plays the actions of a schedule on a problem and its tiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, Protocol

from ..errors import AdjournError, LawBroken, ProblemFailed
from ..problem import Array, Clock, Problem
from ..schedules import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ..tiers import Arena, Tier

__all__ = ["Executor", "Journal", "Progress"]


class Progress(Protocol):
    """Is told now and then how far the run is."""

    def update(self, forward: int, reverse: int) -> None:
        """Note that so many forward and reverse steps were run."""
        ...


class Journal(Protocol):
    """Is told what a resumed run would need to know."""

    def advanced(self, step: int) -> None:
        """Note that the first sweep reached ``step``."""
        ...

    def turned(self) -> None:
        """Note that the turn was made."""
        ...

    def reversed(self, step: int) -> None:
        """Note that everything from ``step`` on is reversed."""
        ...


class Executor:
    """Plays actions on a problem; holds all the state of a run.

    Own work is a few dictionary look-ups and clock readings an action; nothing is allocated for
    the state of the problem.

    Parameters
    ----------
    problem : Problem
        Begun and, where it has a window, reserved.
    tiers : sequence of Tier
        Open; tier 0 is main memory.
    tapes : Arena, optional
        Where recordings are moved to; the problem then has ``tape()``.
    stride : int
        Longest range passed to the problem at once, so that progress and Ctrl-C are timely.
    progress, journal : optional
        Observers.
    far : int
        The step up to which the forward model has run before (a resumed run).
    """

    def __init__(
        self,
        problem: Problem,
        tiers: Sequence[Tier],
        *,
        tapes: Arena | None = None,
        stride: int = 2**62,
        progress: Progress | None = None,
        journal: Journal | None = None,
        far: int = 0,
    ) -> None:
        self._problem = problem
        self._tiers = tiers
        self._tapes = tapes
        self._stride = max(stride, 1)
        self._progress = progress
        self._journal = journal
        self._far = far
        self._clock: Callable[[int], Clock] | None = getattr(problem, "clock", None)
        self._loaded: Callable[[int, Clock], None] | None = getattr(problem, "loaded", None)
        self.steps = {"advance": 0, "record": 0, "save": 0, "load": 0, "turn": 0, "reverse": 0}
        self.seconds = dict.fromkeys(self.steps, 0.0)
        self.waits = [0.0] * len(tiers)  # wall seconds in each tier's copies
        self._next_update = 0.0
        self._option = 0
        self._options: list[int] = []  # of the recordings in the arena, in their order
        self._play: dict[type, Callable[[Any], None]] = {
            Advance: self._advance,
            Record: self._record if tapes is None else self._record_out,
            Save: self._save,
            Load: self._load,
            Drop: self._drop,
            Turn: self._turn,
            Reverse: self._reverse if tapes is None else self._reverse_in,
        }

    def play(self, actions: Iterable[Action]) -> None:
        """Play all actions.

        Raises
        ------
        ProblemFailed
            The problem raised; its exception is the cause.
        LawBroken
            The problem did not do what it promises.
        """
        handlers = self._play
        action: Action | None = None
        try:
            for action in actions:
                handlers[type(action)](action)
        except (AdjournError, MemoryError):
            raise
        except Exception as error:
            raise self._failed(error, action) from error

    def explore(self, start: int, most: int) -> int:
        """Run the model from ``start`` where it was never before; return the step reached.

        Less than ``most`` is reached only if the simulation ended there.

        Raises
        ------
        ProblemFailed, LawBroken
            As for `play`.
        """
        began = perf_counter()
        try:
            reached = self._problem.advance(start, most, replay=False)
        except (AdjournError, MemoryError):
            raise
        except Exception as error:
            raise self._failed(error, Advance(start, most)) from error
        if not start <= reached <= most:
            self._explain_reach("advance", start, most, reached)
        now = perf_counter()
        self.steps["advance"] += reached - start
        self.seconds["advance"] += now - began
        self._far = max(self._far, reached)
        if now >= self._next_update:
            self._tell(now)
        return reached

    def _failed(self, error: Exception, action: Action | None) -> ProblemFailed:
        return ProblemFailed(
            f"{type(self._problem).__name__} raised {type(error).__name__} while {action} was "
            f"played: {error}. What was held is released; mend the problem and run again."
        )

    def _advance(self, action: Advance) -> None:
        self._forward(self._problem.advance, "advance", action.start, action.stop)

    def _record(self, action: Record) -> None:
        if action.option != self._option:
            self._choose(action.option)
        self._forward(self._problem.record, "record", action.start, action.stop)

    def _choose(self, option: int) -> None:
        """Tell the problem which of its ways to record comes next."""
        choose: Callable[[int], None] | None = getattr(self._problem, "choose", None)
        if choose is None:
            raise LawBroken(
                "menu",
                f"the plan records with option {option}, and {type(self._problem).__name__} has "
                "no choose(option). Give it one, or state one recording in the costs.",
            )
        choose(option)
        self._option = option

    def _forward(self, verb: Callable[..., int], name: str, start: int, stop: int) -> None:
        began = perf_counter()
        self.steps[name] += stop - start
        far, stride = self._far, self._stride
        while start < stop:
            replay = start < far
            end = min(stop, start + stride, far) if replay else min(stop, start + stride)
            reached = verb(start, end, replay=replay)
            if reached != end:
                self._explain_reach(name, start, end, reached)
            start = end
            if end > far:
                self._far = far = end
                if self._journal is not None:
                    self.seconds[name] += perf_counter() - began
                    self._journal.advanced(end)
                    began = perf_counter()
        now = perf_counter()
        self.seconds[name] += now - began
        if now >= self._next_update:
            self._tell(now)

    def _record_out(self, action: Record) -> None:
        """Record step by step, moving each recording into the arena."""
        problem, tapes = self._problem, self._tapes
        if action.option != self._option:
            self._choose(action.option)
        for step in range(action.start, action.stop):
            self._options.append(action.option)
            self._forward(problem.record, "record", step, step + 1)
            began = perf_counter()
            tapes.push_tape(problem.tape(step, step + 1))  # type: ignore[union-attr,attr-defined]
            self.seconds["record"] += perf_counter() - began

    def _reverse_in(self, action: Reverse) -> None:
        """Move each recording back and reverse it, from the top."""
        problem, tapes = self._problem, self._tapes
        for step in range(action.stop - 1, action.start - 1, -1):
            option = self._options.pop()
            if option != self._option:
                self._choose(option)
            began = perf_counter()
            tapes.pop_tape(problem.tape(step, step + 1))  # type: ignore[union-attr,attr-defined]
            self.seconds["reverse"] += perf_counter() - began
            self._reverse(Reverse(step, step + 1))

    def _save(self, action: Save) -> None:
        step = action.step
        clock: Clock = self._clock(step) if self._clock is not None else {}
        arrays = self._problem.state(step)
        began = perf_counter()
        self._tiers[action.tier].save(step, arrays, clock)
        took = perf_counter() - began
        self.steps["save"] += 1
        self.seconds["save"] += took
        self.waits[action.tier] += took

    def _load(self, action: Load) -> None:
        step = action.step
        arrays: Sequence[Array] = self._problem.state(step)
        began = perf_counter()
        clock = self._tiers[action.tier].load(step, arrays)
        took = perf_counter() - began
        self.steps["load"] += 1
        self.seconds["load"] += took
        self.waits[action.tier] += took
        if self._loaded is not None:
            self._loaded(step, clock)

    def _drop(self, action: Drop) -> None:
        self._tiers[action.tier].drop(action.step)

    def _turn(self, action: Turn) -> None:  # noqa: ARG002
        began = perf_counter()
        self._problem.turn()
        self.steps["turn"] += 1
        self.seconds["turn"] += perf_counter() - began
        if self._journal is not None:
            self._journal.turned()

    def _reverse(self, action: Reverse) -> None:
        began = perf_counter()
        start, stop = action.start, action.stop
        stride = self._stride
        while stop > start:
            low = max(start, stop - stride)
            self._problem.reverse(low, stop)
            self.steps["reverse"] += stop - low
            stop = low
            if self._journal is not None:
                self.seconds["reverse"] += perf_counter() - began
                self._journal.reversed(stop)
                began = perf_counter()
        now = perf_counter()
        self.seconds["reverse"] += now - began
        if now >= self._next_update:
            self._tell(now)

    def _tell(self, now: float) -> None:
        self._next_update = now + 0.1
        if self._progress is None:
            self._next_update = float("inf")
        else:
            forward = self.steps["advance"] + self.steps["record"]
            self._progress.update(forward, self.steps["reverse"])

    def _explain_reach(self, name: str, start: int, end: int, reached: object) -> None:
        kind = type(self._problem).__name__
        raise LawBroken(
            "reach",
            f"{kind}.{name}({start}, {end}) returned {reached!r} and not the step reached, "
            f"{end}. Return the step at which the state is when the call ends; a run whose "
            "number of steps is not known goes through adjourn.run_until.",
        )
