"""Running steps again: whether they repeat, and whether a replay leaves the rest alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

from .._sizes import as_count
from ..errors import BadValue
from ..problem import Problem
from ._driver import Driver, Kept
from ._watch import Picture, changed, picture

__all__ = ["Reproducibility", "reproducible"]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Reproducibility:
    """What `reproducible` found.

    Attributes
    ----------
    steps : int
        Steps that were run again.
    step : int or None
        The first step that did not repeat, or whose replay changed something; None if none.
    finding : str
        What was seen there; empty if nothing.
    names : tuple of str
        The arrays concerned: those that a replay spoilt, or those that changed between the
        first time and the second and that the step may have read.
    """

    steps: int
    step: int | None = None
    finding: str = ""
    names: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every step repeated bit for bit and left the rest alone."""
        return self.step is None

    def __str__(self) -> str:
        if self.step is None:
            return f"all {self.steps} steps repeat bit for bit"
        names = ", ".join(self.names[:_SHOWN])
        more = f" and {len(self.names) - _SHOWN} more" if len(self.names) > _SHOWN else ""
        return f"step {self.step}: {self.finding}" + (f": {names}{more}" if names else "")


def reproducible(problem: Problem, *, steps: int | None = None) -> Reproducibility:
    """Run every step again and name the first that is not deterministic.

    Four sweeps are compared step by step, bit for bit: a first run, a second run from
    ``begin()``, a replay from the initial state before the turn, and one after it. The last
    also finds a replay that *writes* what it should not: the trap where the residual is made
    in the array of the traces, which recomputation overwrites, so that the gradient is wrong
    by orders of magnitude and nothing else tells. Where a replay *reads* something that has
    changed, what changed is named.

    It takes four forward runs and one snapshot; the problem is left as after ``begin``.

    Parameters
    ----------
    problem : Problem
        The problem, its data set.
    steps : int, optional
        Steps to run, from 0; by default all. The turn needs all: with fewer, the replay after
        the turn is left out.

    Returns
    -------
    Reproducibility
        ``passed``, and otherwise the step, what was seen and the arrays concerned.

    Raises
    ------
    BadValue
        More steps than the problem has.
    """
    driver = Driver(problem, lambda _: {})
    steps = driver.steps if steps is None else as_count(steps, "steps")
    if steps > driver.steps:
        raise BadValue(f"steps={steps}; the problem has {driver.steps}. Pass that or fewer.")
    finding = _find(driver, steps)
    driver.begin(1)
    return finding or Reproducibility(steps)


def _find(driver: Driver, steps: int) -> Reproducibility | None:
    driver.begin(1)
    initial, origin = driver.keep(0), picture(driver.problem)
    first = list(_sweep(driver, steps, replay=False))
    driver.begin(1)
    again = _differs(driver, first, replay=False)
    if again is not None:
        return Reproducibility(steps, again, "a second run from begin() reaches another state")
    found = _replay(driver, initial, first, before=origin, seed=set(), when="before the turn")
    if found is not None or steps < driver.steps:
        return found
    before = picture(driver.problem)
    driver.problem.turn()
    seed = changed(before, picture(driver.problem))
    return _replay(driver, initial, first, before=before, seed=seed, when="after the turn")


def _replay(
    driver: Driver, initial: Kept, first: list[int], *, before: Picture, seed: set[str], when: str
) -> Reproducibility | None:
    steps = len(first)
    driver.put(initial)
    watched = {path: digest for path, digest in picture(driver.problem).items() if path in seed}
    suspects = tuple(sorted(seed or changed(before, picture(driver.problem))))
    for step, digest in enumerate(_sweep(driver, steps, replay=True)):
        if digest != first[step]:
            text = f"its replay {when} reaches another state; changed since the first time"
            return Reproducibility(steps, step, text, suspects)
        if watched:
            spoilt = changed(
                watched, {k: v for k, v in picture(driver.problem).items() if k in seed}
            )
            if spoilt:
                text = f"its replay {when} overwrites what turn() made"
                return Reproducibility(steps, step, text, tuple(sorted(spoilt)))
    return None


def _sweep(driver: Driver, steps: int, *, replay: bool) -> Iterator[int]:
    for step in range(steps):
        driver.problem.advance(step, step + 1, replay=replay)
        state = driver.state(step + 1)
        yield xxh3_64_intdigest(b"".join(array.tobytes() for array in state.values()))


def _differs(driver: Driver, first: list[int], *, replay: bool) -> int | None:
    for step, digest in enumerate(_sweep(driver, len(first), replay=replay)):
        if digest != first[step]:
            return step
    return None
