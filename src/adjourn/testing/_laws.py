"""The laws of the problem protocol that are checked bit for bit, one function each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from ..problem import Array
from ._driver import Driver, differing
from ._law import Law, broken
from ._watch import changed, picture

__all__ = ["FORWARD_LAWS"]


def _compare(law: Law, left: Mapping[str, Array], right: Mapping[str, Array], when: str) -> None:
    difference = differing(left, right)
    if difference is not None:
        broken(law, f"{when}, {difference}")


def _cuts(start: int, stop: int) -> list[list[int]]:
    """Return ways to cut [start, stop): at a third, before the last, after each step."""
    length = stop - start
    ways = [[start + length // 3], [stop - 1], list(range(start + 1, stop))]
    return [cut for cut in ways if cut and start < cut[0] < stop]


def _pieces(start: int, cuts: list[int], stop: int) -> list[tuple[int, int]]:
    ends = [start, *cuts, stop]
    return list(pairwise(ends))


def _begin_twice(law: Law, driver: Driver) -> None:
    driver.begin()
    state, outputs = driver.state(0), driver.outputs()
    driver.problem.begin()
    _compare(law, state, driver.state(0), "after a second begin()")
    _compare(law, outputs, driver.outputs(), "after a second begin()")
    first = driver.gradient()
    driver.problem.begin()
    _compare(law, state, driver.state(0), "after begin() following a whole run")
    _compare(law, outputs, driver.outputs(), "after begin() following a whole run")
    _compare(law, first, driver.gradient(), "in a second whole run")


def _returns(law: Law, driver: Driver) -> None:
    for verb in driver.verbs:
        driver.begin()
        for start, stop in _pieces(0, [driver.longest // 2] * (driver.longest > 1), driver.longest):
            reached = getattr(driver.problem, verb)(start, stop, replay=False)
            if isinstance(reached, bool) or not isinstance(reached, (int, np.integer)):
                broken(law, f"{verb}({start}, {stop}) returned {reached!r}, not an integer")
            if reached != stop:
                broken(law, f"{verb}({start}, {stop}) returned {reached}, not {stop}")


def _advance_split(law: Law, driver: Driver) -> None:
    driver.begin()
    driver.problem.advance(0, driver.steps, replay=False)
    state, outputs = driver.state(driver.steps), driver.outputs()
    for cuts in _cuts(0, driver.steps):
        driver.begin()
        for start, stop in _pieces(0, cuts, driver.steps):
            driver.problem.advance(start, stop, replay=False)
        when = f"advance(0, {driver.steps}) cut at {_text(cuts)}"
        _compare(law, state, driver.state(driver.steps), when)
        _compare(law, outputs, driver.outputs(), when)


def _record_split(law: Law, driver: Driver) -> None:
    start, stop = driver.steps - driver.longest, driver.steps

    def run(cuts: list[int]) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
        driver.begin()
        driver.problem.advance(0, start, replay=False)
        for lower, upper in _pieces(start, cuts, stop):
            driver.problem.record(lower, upper, replay=False)
        state = driver.state(stop)
        driver.problem.turn()
        driver.problem.reverse(start, stop)
        return state, driver.outputs()

    state, outputs = run([])
    for cuts in _cuts(start, stop):
        new_state, new_outputs = run(cuts)
        when = f"record({start}, {stop}) cut at {_text(cuts)}"
        _compare(law, state, new_state, when)
        _compare(law, outputs, new_outputs, when + " and reversed")


def _reverse_split(law: Law, driver: Driver) -> None:
    start, stop = driver.steps - driver.longest, driver.steps

    def run(cuts: list[int]) -> Mapping[str, Array]:
        driver.begin()
        driver.problem.advance(0, start, replay=False)
        getattr(driver.problem, driver.verbs[-1])(start, stop, replay=False)
        driver.problem.turn()
        for lower, upper in reversed(_pieces(start, cuts, stop)):
            driver.problem.reverse(lower, upper)
        return driver.outputs()

    outputs = run([])
    for cuts in _cuts(start, stop):
        _compare(law, outputs, run(cuts), f"reverse({start}, {stop}) cut at {_text(cuts)}")


def _record_is_advance(law: Law, driver: Driver) -> None:
    length = max(1, driver.longest // 3)
    pieces = _pieces(0, list(range(length, driver.steps, length)), driver.steps)
    driver.begin()
    states: list[Mapping[str, Array]] = []
    for start, stop in pieces:
        driver.problem.advance(start, stop, replay=False)
        states.append(driver.state(stop))
    outputs = driver.outputs()
    driver.begin(length)
    for (start, stop), state in zip(pieces, states, strict=True):
        driver.settle(start)
        driver.problem.record(start, stop, replay=False)
        when = f"record({start}, {stop}) instead of advance"
        _compare(law, state, driver.state(stop), when)
    _compare(law, outputs, driver.outputs(), "the whole run recorded instead of advanced")


def _replay_repeats(law: Law, driver: Driver) -> None:
    driver.begin()
    start = driver.keep(0)
    states = [driver.state(0)]
    for step in range(driver.steps):
        driver.problem.advance(step, step + 1, replay=False)
        states.append(driver.state(step + 1))
    for when in ("before the turn", "after the turn"):
        for verb in driver.verbs:
            driver.put(start)
            for step in range(driver.steps):
                if verb == "record" and step % driver.longest == 0:
                    driver.settle(step)
                getattr(driver.problem, verb)(step, step + 1, replay=True)
                reached = driver.state(step + 1)
                text = f"after the replay of step {step} by {verb} {when}"
                _compare(law, states[step + 1], reached, text)
        if when == "before the turn":
            driver.problem.turn()


def _replay_silent(law: Law, driver: Driver) -> None:
    driver.begin()
    kept = driver.forward(0, driver.steps, max(1, driver.steps // 3), record_last=False)
    last = driver.keep(driver.steps)
    for when in ("before the turn", "after the turn"):
        if when == "after the turn":
            driver.put(last)
            before = picture(driver.problem)
            driver.problem.turn()
            seed = changed(before, picture(driver.problem))
        else:
            seed = set[str]()
        outputs, image = driver.outputs(), picture(driver.problem)
        for start in kept:
            for verb in driver.verbs:
                driver.put(start)
                stop = min(start.step + driver.longest, driver.steps)
                getattr(driver.problem, verb)(start.step, stop, replay=True)
                text = f"after {verb}({start.step}, {stop}, replay=True) {when}"
                _compare(law, outputs, driver.outputs(), text)
                spoilt = sorted(seed & changed(image, picture(driver.problem)))
                if spoilt:
                    broken(law, f"{text}, what turn() wrote was changed: {', '.join(spoilt)}")


def _state_round_trip(law: Law, driver: Driver) -> None:
    middle = driver.steps // 2
    driver.begin(1)
    views = driver.problem.state(0)
    kinds = [(view.shape, view.dtype) for view in views]
    for index, view in enumerate(views):
        if not view.flags.writeable:
            broken(law, f"state(0)[{index}] cannot be written, so a load has no effect")
        for other in range(index):
            if np.may_share_memory(view, views[other]) and np.shares_memory(view, views[other]):
                broken(law, f"state(0)[{other}] and state(0)[{index}] are the same memory")
    for step in range(driver.steps):
        driver.problem.advance(step, step + 1, replay=False)
        now = [(view.shape, view.dtype) for view in driver.problem.state(step + 1)]
        if now != kinds:
            broken(law, f"state({step + 1}) has {now}, but state(0) has {kinds}")
    for elsewhere in (False, True):
        driver.begin(1)
        initial = driver.keep(0)
        driver.problem.advance(0, middle, replay=False)
        kept, state = driver.keep(middle), driver.state(middle)
        driver.problem.advance(middle, driver.steps, replay=False)
        final = driver.state(driver.steps)
        if elsewhere:  # not garbage: a stencil may rely on the zeros around a true state
            driver.put(initial)
        driver.put(kept)
        _compare(law, state, driver.state(middle), f"saved and loaded at step {middle}")
        driver.problem.advance(middle, driver.steps, replay=True)
        when = f"run again from the snapshot of step {middle} to step {driver.steps}"
        _compare(law, final, driver.state(driver.steps), when)


def _text(cuts: list[int]) -> str:
    return f"step {cuts[0]}" if len(cuts) == 1 else f"steps {cuts[0]} to {cuts[-1]}"


FORWARD_LAWS = (
    Law(
        "begin twice",
        "begin() goes to step 0 and zeroes every output, whatever ran before",
        _begin_twice,
    ),
    Law(
        "return values", "advance and record return the step they reached, which is stop", _returns
    ),
    Law(
        "state round trip",
        "state(step) is all that restarts the model: writable views of constant shape and type",
        _state_round_trip,
    ),
    Law(
        "advance split",
        "advancing over a range in pieces is advancing over it at once",
        _advance_split,
    ),
    Law(
        "record is advance",
        "record reaches the same state and outputs as advance",
        _record_is_advance,
        lambda driver: driver.records,
    ),
    Law(
        "record split",
        "recording a range in pieces is recording it at once",
        _record_split,
        lambda driver: driver.records,
    ),
    Law(
        "reverse split",
        "reversing a range in pieces, the last first, is reversing it at once",
        _reverse_split,
    ),
    Law(
        "replay repeats",
        "a step run again from the same state reaches the same state; it reads nothing changed",
        _replay_repeats,
    ),
    Law(
        "replay is silent",
        "a replay writes only to state and window: no traces, counters, residuals or outputs",
        _replay_silent,
    ),
)
"""Laws of the verbs and of the state."""
