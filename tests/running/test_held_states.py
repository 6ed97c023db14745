"""Runs that restart the model from recordings: same bits, the bytes planned, and no disk."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import LawBroken, measure, plan, run
from adjourn.planning import Costs, Recording
from problems.nonlinear import Reaction


class Staged(Reaction):
    """A recording ends with the state that its step reaches."""

    tape_holds_state = True
    window = None

    def reserve(self, steps):
        self.tapes = np.zeros((steps, 3, self.u.size))
        self.where = {}

    def tape(self, start, stop):
        found = []
        for step in range(start, stop):
            slot = self.slot(step)
            found += [slot[:2], slot[2]]
        return found

    def record(self, start, stop, *, replay):
        for step in range(start, stop):
            slot = self.slot(step)
            w, sine = self.step(step, replay)
            slot[0], slot[1], slot[2] = sine, np.cos(w), self.u
        return stop

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            sine, cosine, _ = self.tapes[self.where.pop(step)]
            self.by_coefficient += self.dt * sine * self.adjoint
            self.adjoint[:] = self.diffuse(
                self.adjoint * (1.0 + self.dt * self.coefficient * cosine)
            )


class Pretending(Staged):
    """The recording does not end with the state that its step reaches."""

    def record(self, start, stop, *, replay):
        super().record(start, stop, replay=replay)
        for step in range(start, stop):
            self.slot(step)[2] += 1.0
        return stop


def costs(problem, *, holds=True):
    nbytes = problem.initial.nbytes
    return Costs(
        advance=1.0,
        recordings=[Recording(2.5, 3 * nbytes, 3 * nbytes, holds)],
        snapshot=nbytes,
        reverse=1.0,
    )


@pytest.mark.parametrize("states", [6, 9, 14, 20, 33])
def test_restarting_from_recordings_gives_the_same_bits(states):
    """Within any budget the gradient is that of stored history, in the bytes planned."""
    whole = Staged(steps=24)
    run(whole, budget="1 GiB", costs=costs(whole), progress=False)
    problem = Staged(steps=24)
    budget = states * problem.initial.nbytes
    made = plan(problem.steps, costs(problem), budget)
    record = run(problem, made, progress=False)
    assert np.array_equal(problem.gradient, whole.gradient)
    assert record.peak_bytes <= made.peak_bytes <= budget
    assert (record.advances, record.records) == (
        made.schedule.counts.advances,
        made.schedule.counts.records,
    )
    assert record.tiers == ()


def test_restarting_is_planned_where_it_is_faster():
    """Somewhere among the budgets it is, nowhere slower; and measuring finds that it may be."""
    problem = Staged(steps=24)
    families = set()
    for states in range(5, 60):
        budget = states * problem.initial.nbytes
        made = plan(problem.steps, costs(problem), budget)
        plain = plan(problem.steps, costs(problem, holds=False), budget)
        assert made.seconds <= plain.seconds
        if made.family == "stages":
            assert made.seconds < plain.seconds
            assert any("restarted from recordings too" in reason for reason in made.reasons)
        families.add(made.family)
    assert {"stages", "optimal"} <= families
    assert measure(problem, progress=False).recordings[0].holds_state
    assert not measure(Reaction(), progress=False).recordings[0].holds_state


def test_a_recording_that_does_not_hold_the_state():
    """A problem that says so and does not keep its word is named before anything is reversed."""
    problem = Pretending(steps=24)
    for states in range(5, 60):
        made = plan(problem.steps, costs(problem), states * problem.initial.nbytes)
        if made.family == "stages":
            with pytest.raises(LawBroken, match="does not end with the state at"):
                run(problem, made, progress=False)
            return
    pytest.fail("no budget is best restarted from recordings")
