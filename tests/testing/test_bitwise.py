"""The gradient has the same bits whatever the budget, on every problem of the tests."""

from __future__ import annotations

import pytest

from adjourn import BadValue, BudgetTooSmall, Costs, LawBroken, Recording
from adjourn.models import synthetic
from adjourn.testing import bitwise_test
from problems import Advection, Leapfrog, Reaction
from problems.broken import HidesOverlap, ReadsTheResidual, SharesResidual


def costs_of(problem):
    """Costs stated instead of measured: a test needs no stopwatch."""
    window = problem.window() if hasattr(problem, "window") else None
    left = window.step_bytes if window else 0
    recordings = () if problem.reads == "nothing" else (Recording(2.5, left),)
    standing = window.nbytes(1) if hasattr(problem, "tape") else 0
    return Costs(
        advance=1.0,
        reverse=1.4,
        recordings=recordings,
        snapshot=sum(array.nbytes for array in problem.state(0)),
        reads=problem.reads,
        window=window,
        standing=standing,
    )


@pytest.mark.parametrize(
    "make",
    [
        Advection,
        Reaction,
        Leapfrog,
        lambda: synthetic(shape=(20, 24), steps=40, absorbing=4, smoothing=3),
        lambda: synthetic(shape=(10, 11, 12), steps=21, absorbing=3, dtype="f8"),
    ],
    ids=["advection", "reaction", "leapfrog", "acoustic 2-D", "acoustic 3-D"],
)
def test_every_budget_gives_the_same_bits(make):
    """From the least budget to the whole history; own accounting stays within each."""
    problem = make()
    records = bitwise_test(problem, costs=costs_of(problem))
    assert all(record.peak_bytes <= record.plan.budget for record in records)
    if problem.reads != "nothing":
        assert len(records) == 5
        assert records[0].recomputed_steps > 0
        assert records[-1].recomputed_steps == 0


def test_the_costs_may_be_measured_and_the_budgets_given():
    """Texts with units are budgets, in the order given."""
    shot = synthetic(shape=(20, 24), steps=12, absorbing=4, smoothing=3)
    small, large = bitwise_test(shot, ["25 KiB", "1 MiB"])
    assert (small.plan.budget, large.plan.budget) == (25 * 1024, 2**20)
    assert small.recomputed_steps > large.recomputed_steps == 0


@pytest.mark.parametrize("kind", [SharesResidual, HidesOverlap])
def test_wrong_gradients_are_found(kind):
    """Where a law is broken the bits differ, and the budget and the array are named."""
    problem = kind()
    with pytest.raises(LawBroken, match=r"'same bits' is broken: within \d+ B, by ") as caught:
        bitwise_test(problem, costs=costs_of(problem))
    assert "differs in" in str(caught.value)


def test_what_no_recomputation_touches_passes():
    """A problem that is reversed without running anything again cannot go wrong by replays."""
    assert len(bitwise_test(ReadsTheResidual(), costs=costs_of(ReadsTheResidual()))) == 1


def test_budgets_that_cannot_be_used_are_refused():
    """None at all, and one too small."""
    problem = Leapfrog()
    with pytest.raises(BadValue, match="budgets is empty"):
        bitwise_test(problem, [], costs=costs_of(problem))
    with pytest.raises(BudgetTooSmall):
        bitwise_test(problem, [10], costs=costs_of(problem))
