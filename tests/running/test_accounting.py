"""Own accounting stays within the budget, exactly, whatever a problem's sizes and ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn import BudgetTooSmall, Costs, Recording, Window, plan, run


class Stamped:
    """A problem of any sizes whose bytes carry the number of their step.

    The state at step n is full of n; a recording of step n is full of n; the reverse refuses
    any other, so that a snapshot or tape that was overwritten cannot pass.
    """

    def __init__(self, steps, state, tape, way, extra):
        self.steps = steps
        self.way = way
        self.reads = "state" if way == "states" else "tape"
        self.arrays = [np.zeros(n, np.int16) for n in state]
        self.tape_items = tape
        self.extra = extra
        self.buffer = np.zeros((1, tape), np.int16)
        self.at = -1
        self.order = []
        self.replayed_far = 0
        self.far = 0
        if way == "moved":
            self.tape = self._tape
        self.begin()

    def window(self):
        return Window(
            step_bytes=2 * self.tape_items,
            before=self.extra if self.way == "ring" else 0,
            transient_bytes=self.extra,
            survives_advance=self.way in ("kept", "moved"),
        )

    def reserve(self, steps):
        self.buffer = np.full((steps, self.tape_items), -1, np.int16)
        self.where = {}

    def begin(self):
        self.at = 0
        self.order = []
        self.far = 0
        self.where = {}
        for array in self.arrays:
            array[:] = 0

    def state(self, step):
        return self.arrays

    def _go(self, start, stop, replay, record):
        assert all((array == start).all() for array in self.arrays)
        assert replay == (start < self.far)
        for step in range(start, stop):
            if record:
                self._slot(step)[:] = step
        for array in self.arrays:
            array[:] = stop
        self.far = max(self.far, stop)
        return stop

    def _slot(self, step):
        if step not in self.where:
            free = sorted(set(range(len(self.buffer))) - set(self.where.values()))
            if not free:
                free = [self.where.pop(next(iter(self.where)))]
            self.where[step] = free[0]
        return self.buffer[self.where[step]]

    def advance(self, start, stop, *, replay):
        if self.way in ("ring", "states"):
            self.where = {}
        return self._go(start, stop, replay, record=False)

    def record(self, start, stop, *, replay):
        return self._go(start, stop, replay, record=True)

    def _tape(self, start, stop):
        return [self._slot(step) for step in range(start, stop)]

    def turn(self):
        assert all((array == self.steps).all() for array in self.arrays)

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            if step in self.where:
                assert (self.buffer[self.where.pop(step)] == step).all()
            else:
                assert self.reads == "state"
                assert all((array == step).all() for array in self.arrays)
            self.order.append(step)


@st.composite
def cases(draw):
    """Draw a problem, its stated costs, and a budget between nothing and plenty."""
    steps = draw(st.integers(1, 25))
    state = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    tape = draw(st.integers(1, 20))
    way = draw(st.sampled_from(["ring", "states", "kept", "moved"]))
    problem = Stamped(steps, state, tape, way, draw(st.integers(0, 3)))
    frame = problem.window()
    advance = draw(st.integers(1, 10))
    reverse = draw(st.integers(0, 10))
    costs = Costs(
        advance=advance,
        recordings=[
            Recording(
                advance + reverse + draw(st.integers(0, 3)),
                frame.step_bytes,
            )
        ],
        snapshot=2 * sum(state),
        write=draw(st.integers(0, 3)),
        read=draw(st.integers(0, 3)),
        reverse=reverse,
        reads=problem.reads,
        window=frame if way == "moved" else replace(frame, survives_advance=False),
        tape_copy=draw(st.integers(0, 2)) if way == "moved" else 0,
        standing=frame.nbytes(1) if way == "moved" else 0,
    )
    whole = steps * frame.step_bytes + costs.snapshot + 40
    return problem, costs, draw(st.integers(0, whole))


@given(cases())
@settings(max_examples=1000)
def test_own_accounting_is_never_over_the_budget(case):
    """For random problems and budgets: each step reversed once from the right bytes, within."""
    problem, costs, budget = case
    try:
        made = plan(problem.steps, costs, budget)
    except BudgetTooSmall as error:
        assert error.least > budget
        assert plan(problem.steps, costs, error.least).peak_bytes <= error.least
        return
    record = run(problem, made)
    assert problem.order == list(range(problem.steps))[::-1]
    assert record.peak_bytes <= made.peak_bytes <= budget
    assert record.forward_steps == made.schedule.forward_steps


@pytest.mark.nightly
@given(cases())
@settings(max_examples=10_000)
def test_own_accounting_is_never_over_the_budget_at_length(case):
    """The same over ten thousand random cases."""
    test_own_accounting_is_never_over_the_budget.hypothesis.inner_test(case)
