"""The laws of what is kept: window, tape, live state, carried arrays."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Mapping

from .._sizes import format_bytes
from ..problem import Array
from ._driver import Driver, Kept, differing
from ._law import Law, broken

__all__ = ["STORAGE_LAWS"]

_SLACK = 4096  # bytes of Python's own objects in a measurement


def _compare(law: Law, left: Mapping[str, Array], right: Mapping[str, Array], when: str) -> None:
    difference = differing(left, right)
    if difference is not None:
        broken(law, f"{when}, {difference}")


def _recompute(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    for length in sorted({1, min(3, driver.longest), max(1, driver.longest // 2)}):
        when = f"recomputed from snapshots each {length} steps"
        _compare(law, reference, driver.gradient(length), when)
    _compare(law, reference, _from_the_start(driver), "recomputed from the initial state alone")


def _from_the_start(driver: Driver) -> Mapping[str, Array]:
    length = max(1, driver.longest // 3)
    driver.begin(length)
    initial = driver.keep(0)
    driver.problem.advance(0, driver.steps, replay=False)
    driver.problem.turn()
    for stop in range(driver.steps, 0, -length):
        start = max(0, stop - length)
        driver.put(initial)
        driver.problem.advance(0, start, replay=True)
        driver.problem.record(start, stop, replay=True)
        driver.problem.reverse(start, stop)
    return driver.outputs()


def _live_reverse(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    driver.begin(1)
    kept = driver.forward(0, driver.steps, 1, record_last=False)
    driver.problem.turn()
    elsewhere = min(3, driver.steps)
    for state in reversed(kept):
        driver.put(kept[0])  # what the steps above left in a ring must not help
        driver.problem.advance(0, elsewhere, replay=True)
        driver.put(state)
        driver.problem.reverse(state.step, state.step + 1)
    _compare(law, reference, driver.outputs(), "each step reversed from its loaded state")


def _reads_nothing(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    driver.begin()
    initial = driver.keep(0)
    driver.problem.advance(0, driver.steps, replay=False)
    driver.problem.turn()
    driver.put(initial)
    driver.problem.reverse(0, driver.steps)
    _compare(law, reference, driver.outputs(), "another state being loaded before the reverse")


def _window_survives(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    first, second = driver.steps // 3, 2 * driver.steps // 3
    driver.begin(max(first + driver.steps - second, second))
    problem = driver.problem
    problem.record(0, first, replay=False)
    middle = driver.keep(first)
    problem.advance(first, second, replay=False)
    problem.record(second, driver.steps, replay=False)
    problem.turn()
    problem.reverse(second, driver.steps)
    driver.put(middle)
    problem.record(first, second, replay=True)
    problem.reverse(first, second)
    problem.reverse(0, first)
    when = f"[0, {first}) recorded, kept through an advance and a load, and reversed last"
    _compare(law, reference, driver.outputs(), when)


def _tape_round_trip(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    half = driver.steps - driver.steps // 2
    if half > driver.longest:
        return
    driver.begin(half)
    problem = driver.problem
    problem.record(0, half, replay=False)
    moved = Kept(0, tuple(array.copy() for array in problem.tape(0, half)), {})
    driver.settle(half)
    problem.record(half, driver.steps, replay=False)
    problem.turn()
    problem.reverse(half, driver.steps)
    for view, array in zip(problem.tape(0, half), moved.arrays, strict=True):
        view[...] = array
    problem.reverse(0, half)
    when = f"the tape of [0, {half}) moved out, written back and reversed"
    _compare(law, reference, driver.outputs(), when)


def _carried_resumes(law: Law, driver: Driver) -> None:
    reference = driver.gradient()
    when = "carried() saved, begin() called and carried() written back in the reverse sweep"
    _compare(law, reference, _interrupted(driver, 0), when)


def _carried_current(law: Law, driver: Driver) -> None:
    """Change the arrays' places between save and restore by one step, and by two."""
    reference = driver.gradient()
    for further in (1, 2):
        steps = f"{further} step{'s' * (further > 1)}"
        when = f"carried() saved, {steps} more reversed, begin() called and carried() written back"
        _compare(law, reference, _interrupted(driver, further), when)


def _interrupted(driver: Driver, further: int) -> Mapping[str, Array]:
    """Return the outputs of a reverse sweep that begins anew at each segment.

    It goes on by ``further`` steps after what it carries was saved, as a process does that is
    killed later; a new process has its arrays in other places than those had.
    """
    length = max(1, driver.longest // 2)
    problem = driver.problem
    driver.begin(length)
    kept = driver.forward(0, driver.steps, length, record_last=False)
    problem.turn()
    for state in reversed(kept):
        stop = min(state.step + length, driver.steps)
        carried = {name: array.copy() for name, array in problem.carried().items()}
        if further:
            _reverse_segment(driver, state, stop, max(stop - further, state.step))
        problem.begin()
        for name, array in problem.carried().items():
            array[...] = carried[name]
        _reverse_segment(driver, state, stop, state.step)
    return driver.outputs()


def _reverse_segment(driver: Driver, state: Kept, stop: int, down_to: int) -> None:
    driver.put(state)
    if driver.records:
        driver.problem.record(state.step, stop, replay=True)
    driver.problem.reverse(down_to, stop)


def _window_bytes(law: Law, driver: Driver) -> None:
    window = driver.window
    if window is None:
        return
    few, many = max(1, driver.longest // 4), driver.longest
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        driver.begin(1)  # what was allocated before is not traced: let it go
        small, _ = _traced(driver, few, "record")
        large, recording = _traced(driver, many, "record")
        _, advancing = _traced(driver, many, "advance")
    finally:
        if not tracing:
            tracemalloc.stop()
    took, declared = large - small, (many - few) * window.step_bytes
    asked = f"{many} recorded steps instead of {few}"
    if took > 1.01 * declared + _SLACK:
        broken(law, f"{asked} took {format_bytes(took)} more, {format_bytes(declared)} declared")
    objects = max(_SLACK, declared / 16)  # of arrays that lie in other memory than NumPy's
    if objects < took < 0.99 * declared - _SLACK:
        broken(law, f"{asked} took only {format_bytes(took)}, {format_bytes(declared)} declared")
    transient = recording - advancing
    if transient > 1.01 * window.transient_bytes + _SLACK:
        broken(
            law,
            f"recording took {format_bytes(transient)} more than advancing, "
            f"{format_bytes(window.transient_bytes)} declared as transient",
        )


def _traced(driver: Driver, steps: int, verb: str) -> tuple[int, int]:
    """Return bytes held after recording so many steps, and the most a further step took."""
    driver.begin(steps)
    gc.collect()
    getattr(driver.problem, verb)(0, steps, replay=False)
    held = tracemalloc.get_traced_memory()[0]
    driver.problem.begin()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    getattr(driver.problem, verb)(0, steps, replay=False)
    return held, tracemalloc.get_traced_memory()[1] - before


def _no_overlap(driver: Driver) -> bool:
    window = driver.window
    return window is None or (window.before == 0 and window.after == 0)


STORAGE_LAWS = (
    Law(
        "recompute",
        "the gradient is the same whether a part is recorded in the first sweep or run again",
        _recompute,
        lambda driver: driver.records,
    ),
    Law(
        "reads nothing",
        "a problem with reads='nothing' is reversed without its forward state",
        _reads_nothing,
        lambda driver: not driver.records,
    ),
    Law(
        "live reverse",
        "with reads='state' and no overlap, reverse(i, i + 1) may follow a load of step i",
        _live_reverse,
        lambda driver: driver.problem.reads == "state" and _no_overlap(driver),
    ),
    Law(
        "window bytes",
        "the window takes what window() declares, no more and no less",
        _window_bytes,
        lambda driver: driver.records and driver.longest > 1,
    ),
    Law(
        "window survives",
        "where survives_advance is declared, recordings outlast advances and loads",
        _window_survives,
        lambda driver: (
            driver.window is not None
            and driver.window.survives_advance
            and driver.longest == driver.steps > 2
        ),
    ),
    Law(
        "tape round trip",
        "what tape() returns can be copied, written back through tape() and reversed",
        _tape_round_trip,
        lambda driver: driver.has("tape") and driver.steps > 1,
    ),
    Law(
        "carried resumes",
        "carried() and a snapshot are all that a resumed reverse sweep needs",
        _carried_resumes,
        lambda driver: driver.has("carried"),
    ),
    Law(
        "carried is current",
        "carried() returns the arrays that have these roles now, whatever changed places since",
        _carried_current,
        lambda driver: driver.has("carried"),
    ),
)
"""Laws of windows, tapes and what a resumed run needs."""
