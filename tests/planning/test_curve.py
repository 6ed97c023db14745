"""Time against budget: the curve agrees with the planner and never rises."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjourn
from adjourn import (
    BadValue,
    BudgetTooSmall,
    Costs,
    Curve,
    Recording,
    Window,
    WrongType,
    curve,
    plan,
)

RING = Costs(
    advance=1.0,
    recordings=[Recording(seconds=2.5, left=1)],
    snapshot=2,
    write=0.05,
    read=0.05,
    reverse=1.4,
    reads="state",
    window=Window(step_bytes=1, after=1),
)


@given(steps=st.integers(1, 300), budget=st.integers(4, 400))
def test_the_point_of_a_budget_is_the_plan_of_that_budget(steps, budget):
    """At the budget asked for, the curve shows what `plan` returns."""
    made = plan(steps, RING, budget)
    seen = curve(steps, RING, budget, points=5)
    assert seen.chosen is not None
    assert seen.chosen.budget == budget
    assert seen.chosen.seconds == made.seconds


@given(steps=st.integers(2, 300), points=st.integers(2, 30))
def test_time_never_rises_with_the_budget(steps, points):
    """Budgets ascend; the times of the curve and of every family never rise."""
    seen = curve(steps, RING, points=points)
    for row in (seen.points, *(family.points for family in seen.families)):
        budgets = [point.budget for point in row]
        assert budgets == sorted(set(budgets))
        assert all(a.seconds >= b.seconds for a, b in itertools.pairwise(row))
        assert all(point.peak_bytes <= point.budget for point in row)
    best = {
        p.budget: min(q.seconds for f in seen.families for q in f.points if q.budget == p.budget)
        for p in seen.points
    }
    assert all(point.seconds == best[point.budget] for point in seen.points)


def test_the_ends_are_the_least_budget_and_the_whole_history():
    """The curve begins where `plan` begins to work, and ends where nothing is run twice."""
    seen = curve(200, RING)
    assert plan(200, RING, seen.least_budget).seconds == seen.points[0].seconds
    with pytest.raises(BudgetTooSmall):
        plan(200, RING, seen.least_budget - 1)
    assert plan(200, RING, seen.whole_budget).schedule.recomputed_steps == 0
    assert seen.points[-1].seconds == seen.store_all_seconds
    assert seen.knee in seen.points[1:-1]


def test_a_linear_problem_needs_no_memory():
    """Where the reverse reads nothing, the curve is one point at no bytes."""
    costs = Costs(advance=1, recordings=[], snapshot=8, reverse=1.5, reads="nothing")
    seen = curve(10, costs)
    assert [p.budget for p in seen.points] == [0]
    assert (seen.points[0].seconds, seen.knee) == (25.0, seen.points[0])


def test_one_step_is_one_point():
    """A single step is recorded; there is nothing to choose."""
    seen = curve(1, RING)
    assert [p.budget for p in seen.points] == [2]


def test_a_curve_goes_through_json_unchanged():
    """`from_json` of what `to_json` wrote is the same curve; another schema is refused."""
    seen = curve(50, RING, budget="30 B", points=6)
    value = json.loads(json.dumps(seen.to_json()))
    assert Curve.from_json(value) == seen
    with pytest.raises(BadValue, match="the curve has schema 99, and this version reads 1"):
        Curve.from_json(value | {"schema": 99})


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"steps": 0}, BadValue, "steps=0 is too small."),
        ({"costs": None}, WrongType, "costs=None is not a Costs."),
        ({"points": 1}, BadValue, "points=1 is too small. Pass points=2 or more."),
        ({"budget": "many"}, BadValue, "budget='many' is not a size."),
        ({"budget": 3}, BudgetTooSmall, "budget=3 is below the least that works, 4 bytes."),
        ({"disk": -1}, BadValue, "disk=-1 is negative."),
    ],
)
def test_nonsense_is_refused(arguments, error, words):
    """What cannot be used is named, with what to do."""
    with pytest.raises(error) as caught:
        adjourn.curve(**{"steps": 50, "costs": RING} | arguments)
    assert str(caught.value).startswith(words)
