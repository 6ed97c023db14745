"""Plans where recordings may lie anywhere: the optimum, monotone in the budget, proven."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BudgetTooSmall, Costs, Recording, check, plan


def test_the_reference_cases(shared):
    """`plan` finds the optimum of every reference case, or refuses where nothing fits."""
    cases = json.loads((shared / "cases" / "loop_cases.json").read_text())
    for case in cases:
        costs = Costs(
            advance=case["advance"],
            recordings=[
                Recording(seconds=o["time"], left=o["left"], peak=o["peak"])
                for o in case["record_options"]
            ],
            snapshot=case["snapshot"],
            write=case["write"],
            read=case["read"],
        )
        if case["optimum"] is None:
            with pytest.raises(BudgetTooSmall):
                plan(case["steps"], costs, case["budget"])
            continue
        made = plan(case["steps"], costs, case["budget"])
        assert made.seconds == case["optimum"], case
        assert made.gap == 0
        assert made.checked
        seen = check(made.schedule, costs=costs)
        assert seen.seconds == case["optimum"]
        assert seen.peak_bytes <= made.peak_bytes <= case["budget"]


@st.composite
def menus(draw):
    """Draw costs with a menu of recordings, in whole numbers."""
    advance = draw(st.integers(0, 6))
    menu = []
    for _ in range(draw(st.integers(1, 3))):
        left = draw(st.integers(0, 9))
        seconds = advance + draw(st.integers(0, 9))
        menu.append(Recording(seconds, left, left + draw(st.integers(0, 4))))
    return Costs(
        advance=advance,
        recordings=menu,
        snapshot=draw(st.integers(0, 9)),
        write=draw(st.integers(0, 4)),
        read=draw(st.integers(0, 4)),
        tape_copy=draw(st.integers(0, 2)),
        standing=draw(st.integers(0, 5)),
    )


@given(menus(), st.integers(1, 40), st.lists(st.integers(0, 150), min_size=2, max_size=6))
def test_a_larger_budget_never_gives_a_slower_plan(costs, steps, budgets):
    """For random menus, plans fit, are proven, and get no slower with a larger budget."""
    last = float("inf")
    for budget in sorted(budgets):
        try:
            made = plan(steps, costs, budget)
        except BudgetTooSmall as error:
            assert last == float("inf")
            assert error.least > budget
            assert plan(steps, costs, error.least).peak_bytes <= error.least
            with pytest.raises(BudgetTooSmall):
                plan(steps, costs, error.least - 1)
            continue
        assert made.checked
        assert made.peak_bytes <= budget
        assert made.seconds <= last
        last = made.seconds


def test_long_runs_state_their_gap():
    """A plan for 10^5 steps says how far it can be from the optimum."""
    costs = Costs(advance=1, recordings=[Recording(2.5, 1)], snapshot=2)
    made = plan(10**5, costs, 500)
    assert made.gap is not None
    assert 0 <= made.gap < 0.2
