"""`reproducible` names the first step that does not repeat, and what a replay spoilt."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import BadValue
from adjourn.models import synthetic
from adjourn.testing import reproducible
from problems import Advection, Leapfrog, Reaction
from problems.broken import (
    ReadsACounter,
    ReadsTheResidual,
    SharesHiddenResidual,
    SharesResidual,
)


class Noisy(Advection):
    """From step 7 on, noise that is different in each run."""

    def begin(self):
        super().begin()
        self.rng = getattr(self, "rng", np.random.default_rng(0))

    def advance(self, start, stop, *, replay):
        for step in range(start, stop):
            super().advance(step, step + 1, replay=replay)
            if step >= 7:
                self.u[3] += 1e-16 * self.rng.standard_normal()
        return stop


@pytest.mark.parametrize("make", [Advection, Reaction, Leapfrog])
def test_a_good_problem_passes(make):
    """Every step repeats, in a second run and in replays before and after the turn."""
    report = reproducible(make())
    assert report.passed
    assert str(report) == "all 20 steps repeat bit for bit"


def test_the_acoustic_problem_passes_and_is_left_at_its_beginning():
    """The built-in model is deterministic."""
    shot = synthetic(shape=(16, 16), steps=10, absorbing=4)
    assert reproducible(shot).passed
    assert not shot.traces.any()
    assert reproducible(shot, steps=4).steps == 4


def test_the_first_step_that_is_not_deterministic_is_named():
    """Noise of one part in 1e16 from step 7 on is found at step 7."""
    report = reproducible(Noisy())
    assert (report.step, report.passed) == (7, False)
    assert str(report) == "step 7: a second run from begin() reaches another state"


@pytest.mark.parametrize("kind", [SharesResidual, SharesHiddenResidual])
def test_the_trap_of_the_shared_residual_is_found_and_the_array_named(kind):
    """The residual in the array of the traces: a replay overwrites it, and it is named."""
    report = reproducible(kind())
    assert report.step == 0
    assert report.names == (f"{kind.__name__}.traces",)
    assert "overwrites what turn() made" in report.finding


def test_the_trap_ruins_the_gradient():
    """What the trap does where nobody looks: the recomputed gradient is far off."""
    problem = SharesResidual(steps=40)
    problem.data *= 0.0
    problem.data += 1.0

    def gradient(length):
        problem.reserve(length)
        problem.begin()
        kept = {}
        for start in range(0, 40, length):
            kept[start] = [np.array(a) for a in problem.state(start)]
            problem.record(start, start + length, replay=False)
        problem.turn()
        for start in reversed(range(0, 40, length)):
            if start + length < 40:
                for view, array in zip(problem.state(start), kept[start], strict=True):
                    view[...] = array
                problem.record(start, start + length, replay=True)
            problem.reverse(start, start + length)
        return problem.gradient

    right, wrong = gradient(40), gradient(10)
    assert np.abs(wrong - right).max() > 0.5 * np.abs(right).max()


def test_a_replay_that_reads_what_the_turn_changed_is_found():
    """The array that the step reads is among those named."""
    report = reproducible(ReadsTheResidual())
    assert report.step == 0
    assert "after the turn reaches another state" in report.finding
    assert "ReadsTheResidual.drive" in report.names


def test_a_step_that_counts_for_itself_is_found():
    """The counter is named: numbers are looked at as arrays are."""
    report = reproducible(ReadsACounter())
    assert "before the turn reaches another state" in report.finding
    assert "ReadsACounter.count" in report.names


def test_more_steps_than_there_are_is_an_error():
    """Asking for too many says how many there are."""
    with pytest.raises(BadValue, match="steps=21; the problem has 20"):
        reproducible(Advection(), steps=21)
    with pytest.raises(BadValue):
        reproducible(Advection(), steps=0)
