"""A problem played by hand, without schedules, plans or tiers: the oracle of the laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..errors import BadValue
from ..problem import Array, Clock, Problem, Window

__all__ = ["Driver", "Kept", "Outputs", "differing", "same_bits"]

Outputs: TypeAlias = Callable[[Any], Mapping[str, Array]]
"""A function that takes a problem to its outputs by name: gradient, adjoint, traces, ..."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A copy of the state at a step."""

    step: int
    arrays: tuple[Array, ...]
    clock: Clock


def same_bits(left: Array, right: Array) -> bool:
    """Return whether two arrays agree bit for bit: signed zeros and NaNs too."""
    return (
        left.shape == right.shape
        and left.dtype == right.dtype
        and left.tobytes() == right.tobytes()
    )


def differing(left: Mapping[str, Array], right: Mapping[str, Array]) -> str | None:
    """Return what differs between two sets of arrays in words, or None if nothing does."""
    if left.keys() != right.keys():
        return f"the names {sorted(left)} became {sorted(right)}"
    for name, one in left.items():
        other = right[name]
        if same_bits(one, other):
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{name} is {other.dtype}{other.shape} instead of {one.dtype}{one.shape}"
        return f"{name} differs{_distance(one, other)}"
    return None


def _distance(one: Array, other: Array) -> str:
    count = int(np.sum(one != other))
    text = f" in {count} of {one.size} values"
    if np.issubdtype(one.dtype, np.number) and count:
        with np.errstate(all="ignore"):
            largest = float(np.nanmax(np.abs(one)))
            distance = float(np.nanmax(np.abs(other.astype(one.dtype) - one)))
        if largest > 0:
            text += f", by {distance / largest:.1e} of the largest"
    return text


class Driver:
    """Takes a problem through begin, forward sweep, turn and reverse, step by step.

    Parameters
    ----------
    problem : Problem
        The problem.
    outputs : callable, optional
        Takes the problem to its outputs; by default what ``carried()`` returns.

    Raises
    ------
    BadValue
        There are no outputs to compare.
    """

    def __init__(self, problem: Problem, outputs: Outputs | None = None):
        self.problem: Any = problem
        self.steps = problem.steps
        if outputs is None and not hasattr(problem, "carried"):
            raise BadValue(
                f"{type(problem).__name__} has no carried(), so its gradient cannot be seen. "
                "Pass outputs=, a function from the problem to a dict of arrays."
            )
        self._outputs: Outputs = outputs or (lambda problem: problem.carried())
        self.window: Window | None = self.problem.window() if self.has("window") else None

    def has(self, name: str) -> bool:
        """Return whether the problem offers an optional method."""
        return hasattr(self.problem, name)

    @property
    def records(self) -> bool:
        """Whether the problem must record before it can reverse."""
        return self.problem.reads != "nothing"

    @property
    def verbs(self) -> tuple[str, ...]:
        """The forward verbs that matter to the problem, record last."""
        return ("advance", "record") if self.records else ("advance",)

    @property
    def longest(self) -> int:
        """The most steps that one window holds."""
        most = self.window.max_steps if self.window else None
        return self.steps if most is None else min(most, self.steps)

    def begin(self, window: int | None = None) -> None:
        """Reserve a window, by default the longest, and go to step 0."""
        if self.has("reserve"):
            self.problem.reserve(self.longest if window is None else window)
        self.problem.begin()

    def outputs(self) -> dict[str, Array]:
        """Return copies of the outputs."""
        return {name: np.array(a) for name, a in self._outputs(self.problem).items()}

    def state(self, step: int) -> dict[str, Array]:
        """Return copies of the state's arrays, named by their place."""
        views: Sequence[Array] = self.problem.state(step)
        return {f"state[{i}]": np.array(a) for i, a in enumerate(views)}

    def keep(self, step: int) -> Kept:
        """Return a copy of the live state, which is at ``step``."""
        clock: Clock = dict(self.problem.clock(step)) if self.has("clock") else {}
        return Kept(step, tuple(np.array(a) for a in self.problem.state(step)), clock)

    def put(self, kept: Kept) -> None:
        """Make a kept state the live one."""
        views: Sequence[Array] = self.problem.state(kept.step)
        for view, array in zip(views, kept.arrays, strict=True):
            view[...] = array
        if self.has("loaded"):
            self.problem.loaded(kept.step, kept.clock)

    def settle(self, step: int) -> None:
        """Load the live state onto itself, which begins a new recorded range."""
        self.put(self.keep(step))

    def forward(self, start: int, stop: int, every: int, *, record_last: bool) -> list[Kept]:
        """Run [start, stop), keeping the states at each ``every`` steps from ``start``."""
        kept: list[Kept] = []
        for step in range(start, stop, every):
            kept.append(self.keep(step))
            reach = min(step + every, stop)
            if record_last and reach == stop:
                self.problem.record(step, reach, replay=False)
            else:
                self.problem.advance(step, reach, replay=False)
        return kept

    def gradient(self, length: int | None = None) -> dict[str, Array]:
        """Return the outputs of a whole run in segments of ``length`` steps, by default one.

        With one segment as long as the run, nothing is run twice.
        """
        length = self.longest if length is None else min(length, self.longest)
        self.begin(length)
        if not self.records:
            self.problem.advance(0, self.steps, replay=False)
            self.problem.turn()
            self.problem.reverse(0, self.steps)
            return self.outputs()
        kept = self.forward(0, self.steps, length, record_last=True)
        self.problem.turn()
        for index, start in reversed(list(enumerate(kept))):
            stop = min(start.step + length, self.steps)
            if index < len(kept) - 1:
                self.put(start)
                self.problem.record(start.step, stop, replay=True)
            self.problem.reverse(start.step, stop)
        return self.outputs()
