"""The optimum in bytes as a schedule: cost, bytes, gap, JSON, and what nonsense meets."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import Costs, Recording, check
from adjourn.errors import BadValue, BudgetTooSmall, WrongType
from adjourn.optimum import Effort, step_table
from adjourn.schedules import OptimalSearch, optimal, schedule_from_json
from optimum.costs import costs, random_costs
from playing import agrees

EFFORTS = [
    Effort(),
    Effort(work=10, cells=50, units=8, radix=2),
    Effort(work=300, cells=1000, units=20, radix=3),
    Effort(work=5000, cells=5000, units=60, radix=5),
]
NAMES = ("advance", "recordings", "snapshot", "write", "read")


def named(case):
    """Return the arguments of `optimal` and the costs for the checker."""
    _, menu, snapshot, write, read, advance = case
    values = dict(zip(NAMES, (advance, menu, snapshot, write, read), strict=True))
    recordings = [Recording(*option) for option in menu]
    return values, Costs(**(values | {"recordings": recordings}))


@given(case=costs(), budget=st.integers(0, 1500), effort=st.sampled_from(EFFORTS))
def test_played_it_takes_and_holds_what_was_promised(case, budget, effort):
    """The checker counts the promised seconds and bytes, within the budget and the gap."""
    values, checked = named(case)
    search = OptimalSearch(case[0], **values, most=budget, effort=effort)
    optimum = step_table(*case, budget).seconds
    if search.seconds(budget) is None:
        assert budget < search.least
        with pytest.raises(BudgetTooSmall) as failed:
            search.plan(budget)
        assert failed.value.least == search.least
        return
    found = search.plan(budget)
    seen = check(found.schedule, costs=checked)
    agrees(found.schedule)
    assert seen.seconds == found.seconds == search.seconds(budget)
    assert seen.peak_bytes == found.peak_bytes <= budget
    assert found.seconds >= optimum
    if found.gap is None:
        assert min(t for t, _, _ in case[1]) == 0
    else:
        assert optimum >= found.seconds / (1 + found.gap) * (1 - 1e-9)
        assert found.gap or found.seconds == optimum


@given(
    case=costs(),
    budgets=st.lists(st.integers(0, 1500), min_size=2, max_size=5),
    effort=st.sampled_from(EFFORTS),
)
def test_a_larger_budget_is_never_slower(case, budgets, effort):
    """With Revolve among the candidates too, time does not rise with the budget."""
    values, _ = named(case)
    last = None
    for budget in sorted(budgets):
        search = OptimalSearch(case[0], **values, most=budget, effort=effort)
        seconds = search.seconds(budget)
        assert last is None or (seconds is not None and seconds <= last)
        last = seconds


def test_the_least_budget_does():
    """The budget named in the error is enough, at whatever effort and size."""
    for effort in EFFORTS:
        for steps, snapshot in ((1, 10), (2, 1000), (50, 2016), (5000, 2016), (20, 10**6)):
            search = OptimalSearch(
                steps,
                advance=1.0,
                recordings=[(2.5, 1000, 1100), (4.0, 900, 950)],
                snapshot=snapshot,
                most=10**9,
                effort=effort,
            )
            assert search.seconds(search.least) is not None


def test_everything_recorded_is_one_rule():
    """A budget for all recordings gives one record and one reverse, of the fastest option."""
    menu = [(3.0, 1, 1), (2.5, 2, 5)]
    found = optimal(10**6, advance=1.0, recordings=menu, snapshot=2, budget=2 * 10**6 + 3)
    assert [str(action) for action in found.schedule] == [
        "Record(start=0, stop=1000000, option=1)",
        "Turn()",
        "Reverse(start=0, stop=1000000)",
    ]
    assert (found.seconds, found.peak_bytes, found.gap) == (2.5e6, 2 * 10**6 + 3, 0.0)


def test_runs_of_equal_recordings_are_one_action():
    """Neighbouring steps recorded with the same option share a record and a reverse."""
    found = optimal(298, advance=1, recordings=[(2.5, 1, 1)], snapshot=2, budget=115)
    actions = list(found.schedule)
    assert len(actions) < 40
    for first, second in pairwise(actions):
        assert type(first) is not type(second) or type(first).__name__ != "Record"


@pytest.mark.parametrize("steps", [100_003, 999_983])
def test_long_runs_are_planned_with_their_gap(steps):
    """Long runs in any sizes are within 10% of any schedule, as the checker counts."""
    menu = [(2.5, 1000, 1100)]
    found = optimal(steps, advance=1, recordings=menu, snapshot=2016, budget=130_100)
    assert found.block > 1
    assert found.gap is not None
    assert 0 < found.gap < 0.1
    counts = found.schedule.counts
    assert counts.reverses == counts.records == steps
    assert counts.advances + 2.5 * counts.records == found.seconds
    assert found.peak_bytes <= 130_100
    assert "at most" in found.words
    assert "blocks" in found.words


def test_a_plan_is_data():
    """The rules are in the JSON, short, and play without planning again."""
    found = optimal(1000, advance=1, recordings=[(2.5, 1, 1)], snapshot=2, budget=54)
    text = json.dumps(found.schedule.to_json(), separators=(",", ":"))
    assert len(text) < 60_000
    again = schedule_from_json(json.loads(text))
    assert again == found.schedule
    assert list(again) == list(found.schedule)
    broken = json.loads(text)
    broken["encoded"][0][0][0] = "X"
    with pytest.raises(BadValue, match="not understood"):
        schedule_from_json(broken)
    broken["encoded"] = [[["U", 0, 0]]]
    with pytest.raises(BadValue, match="not earlier"):
        schedule_from_json(broken)


def test_little_memory_for_many_steps_is_revolve():
    """Where the units are too coarse for the budget, Revolve's closed forms still give a plan."""
    menu = [(9.0, 5000, 9000), (2.5, 1000, 1100)]
    found = optimal(30_000, advance=1, recordings=menu, snapshot=2016, budget=1100 + 3 * 2016)
    assert found.seconds <= 30_000 * 2.5 + 1_600_000
    assert found.peak_bytes <= 1100 + 3 * 2016
    check(optimal(40, advance=1, recordings=menu, snapshot=2016, budget=3116).schedule)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"steps": 0}, BadValue, "too small"),
        ({"steps": 2.0}, WrongType, "integer"),
        ({"recordings": []}, BadValue, "at least one"),
        ({"recordings": [3.0]}, WrongType, "no recording"),
        ({"recordings": [(0.5, 1, 1)]}, BadValue, "measure both"),
        ({"recordings": [(2.0, 3, 1)]}, BadValue, "includes what is left"),
        ({"advance": -1}, BadValue, "not a cost"),
        ({"snapshot": -1}, BadValue, "negative"),
        ({"budget": "much"}, BadValue, "not a size"),
        ({"budget": 1}, BudgetTooSmall, "or more"),
    ],
)
def test_nonsense_is_refused(change, error, words):
    """Each argument that cannot be used is an error that names it."""
    case = {"steps": 9, "advance": 1, "recordings": [(2.0, 1, 1)], "snapshot": 1, "budget": 5}
    with pytest.raises(error, match=words):
        optimal(**(case | change))


def test_random_small_cases_agree_with_the_table():
    """The search for one budget is the exact table's entry when it is affordable."""
    rng = random.Random(21)
    for _ in range(100):
        *case, budget = random_costs(rng, 30)
        values, _ = named(case)
        wanted = step_table(*case, budget).seconds
        search = OptimalSearch(case[0], **values, most=budget)
        assert search.seconds(budget) == (None if wanted == float("inf") else wanted)
