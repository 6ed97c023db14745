"""Runs of unknown length: the same bits as a run that knows, and step sizes never chosen twice."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import BadValue, BudgetTooSmall, Costs, ProblemFailed, Recording, run
from adjourn.running import run_until


class Pendulum:
    """An adaptive pendulum: the step size follows the speed, the end is a time.

    The state carries time and step size in its clock; a replay takes the recorded step size.
    """

    reads = "tape"

    def __init__(self, end=6.0, length=1.3):
        self.end = end
        self.length = length
        self.u = np.zeros(2)
        self.adjoint = np.zeros(2)
        self.by_length = np.zeros(1)
        self.sizes = {}
        self.chosen = []

    def begin(self):
        self.u[:] = 0.8, 0.1
        self.adjoint[:] = 0
        self.by_length[:] = 0
        self.time = 0.0
        self.sizes = {}
        self.chosen = []

    def state(self, step):
        return (self.u,)

    def clock(self, step):
        return {"time": self.time}

    def loaded(self, step, clock):
        self.time = clock["time"]

    def size(self, step, replay):
        if not replay:
            assert step not in self.sizes, "a step size was chosen twice"
            self.chosen.append(step)
            wanted = 0.02 / (1.0 + abs(self.u[1]))
            self.sizes[step] = min(wanted, self.end - self.time)
        return self.sizes[step]

    def advance(self, start, stop, *, replay):
        for step in range(start, stop):
            if not replay and self.time >= self.end:
                return step
            h = self.size(step, replay)
            angle, speed = self.u
            self.u[:] = angle + h * speed, speed - h * np.sin(angle) / self.length
            self.time += h
        return stop

    def record(self, start, stop, *, replay):
        assert stop == start + 1
        before = self.u.copy()
        reached = self.advance(start, stop, replay=replay)
        self.kept = before, self.sizes[start]
        return reached

    def turn(self):
        self.adjoint[:] = self.u - (0.1, 0.2)

    def reverse(self, start, stop):
        (angle, _), h = self.kept
        a, b = self.adjoint
        self.by_length += b * h * np.sin(angle) / self.length**2
        self.adjoint[:] = a - b * h * np.cos(angle) / self.length, b + a * h

    def carried(self):
        return {"adjoint": self.adjoint, "by_length": self.by_length}

    @property
    def misfit(self):
        return 0.5 * float(np.sum((self.u - (0.1, 0.2)) ** 2))


class Known(Pendulum):
    """The same with the number of steps given."""

    def __init__(self, steps, **kwargs):
        super().__init__(**kwargs)
        self.steps = steps


@pytest.mark.parametrize("slots", [1, 3, 10, 40])
def test_the_gradient_has_the_bits_of_a_run_that_knows_its_length(slots):
    """Without knowing the number of steps the gradient is equal bit for bit."""
    problem = Pendulum(end=2.0)
    record = run_until(problem, slots=slots)
    steps = record.plan.steps
    assert steps == len(problem.chosen) == record.reverses
    assert record.peak_bytes == 16 * slots
    assert "was not known" in record.fallbacks[-1]
    known = Known(steps, end=2.0)
    costs = Costs(advance=1, recordings=[Recording(2, 8)], snapshot=16)
    from adjourn import revolve  # noqa: PLC0415

    run(known, revolve(steps, slots), costs=costs)
    assert known.by_length.tobytes() == problem.by_length.tobytes()
    assert (record.advances, record.writes) == (
        record.plan.schedule.advances,
        record.plan.schedule.writes,
    )


def test_the_gradient_is_that_of_the_fixed_step_sizes():
    """The gradient agrees with differences where the step sizes are held."""
    problem = Pendulum(end=2.0)
    run_until(problem, budget=16 * 7)
    sizes = dict(problem.sizes)

    def loss(length):
        other = Pendulum(end=2.0, length=length)
        other.begin()
        other.sizes = sizes
        other.advance(0, len(sizes), replay=True)
        return other.misfit

    slope = (loss(1.3 + 1e-6) - loss(1.3 - 1e-6)) / 2e-6
    assert problem.by_length[0] == pytest.approx(slope, rel=1e-6)


class Stopped(Pendulum):
    """Has no steps at all."""

    def __init__(self):
        super().__init__(end=0.0)


def test_bad_input():
    """Both or neither of budget and slots, too small a budget and an empty run are refused."""
    with pytest.raises(BadValue, match="either budget= or slots="):
        run_until(Pendulum())
    with pytest.raises(BadValue, match="either budget= or slots="):
        run_until(Pendulum(), budget=100, slots=3)
    with pytest.raises(BudgetTooSmall, match="Pass budget=16 or more"):
        run_until(Pendulum(), budget=15)
    with pytest.raises(BadValue, match="reached no step"):
        run_until(Stopped(), slots=2)


class Breaks(Pendulum):
    """Raises on the way."""

    def advance(self, start, stop, *, replay):
        if start > 20:
            raise ArithmeticError("too fast")
        return super().advance(start, stop, replay=replay)


def test_a_problem_that_raises_is_named():
    """The error names the problem and the action."""
    with pytest.raises(ProblemFailed, match="Breaks raised ArithmeticError while Advance"):
        run_until(Breaks(), slots=5)
