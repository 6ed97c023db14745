"""Properties of the planner: fits, never slower with more, proven, JSON both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjourn
from adjourn import BudgetTooSmall, Costs, Plan, Recording, Window, check, plan

MIB = 2**20
RING = Costs(
    advance=0.003,
    recordings=[Recording(seconds=0.006, left=MIB // 2)],
    snapshot=MIB,
    write=0.0003,
    read=0.0003,
    reverse=0.003,
    reads="state",
    window=Window(step_bytes=MIB // 2, after=1),
)


@st.composite
def ring_costs(draw):
    """Costs of random problems with a fixed window, in whole numbers."""
    advance = draw(st.integers(0, 20))
    reverse = draw(st.integers(0, 20))
    step = draw(st.integers(1, 8))
    window = Window(
        step_bytes=step,
        before=draw(st.integers(0, 2)),
        after=draw(st.integers(0, 2)),
        transient_bytes=draw(st.integers(0, 4)),
        fixed_bytes=draw(st.integers(0, 4)),
        max_steps=draw(st.none() | st.integers(1, 30)),
    )
    return Costs(
        advance=advance,
        recordings=[Recording(advance + reverse + draw(st.integers(0, 5)), step)],
        snapshot=draw(st.integers(0, 9)),
        write=draw(st.integers(0, 60)),
        read=draw(st.integers(0, 9)),
        reverse=reverse,
        reads=draw(st.sampled_from(["state", "tape"])),
        window=window,
    )


def test_predicted_time_never_rises_over_30_growing_budgets():
    """With 30 growing budgets the predicted time falls and the plan stays within each."""
    last = float("inf")
    for number in range(30):
        budget = ceil(3 * MIB * 1.27**number)
        made = plan(2000, RING, budget)
        assert made.seconds <= last
        assert made.peak_bytes <= budget
        last = made.seconds
    assert last == pytest.approx(2000 * 0.006)


@given(ring_costs(), st.integers(1, 60), st.lists(st.integers(0, 250), min_size=2, max_size=8))
def test_a_larger_budget_never_gives_a_slower_plan(costs, steps, budgets):
    """For random problems with a window, plans fit, are proven, and get no slower."""
    last = float("inf")
    for budget in sorted(budgets):
        try:
            made = plan(steps, costs, budget)
        except BudgetTooSmall as error:
            assert last == float("inf")
            assert error.least > budget
            plan(steps, costs, error.least)
            continue
        assert made.checked
        seen = check(made.schedule, costs=costs)
        assert seen.peak_bytes <= made.peak_bytes <= budget
        assert seen.seconds == pytest.approx(made.seconds, rel=1e-12, abs=1e-12)
        assert made.seconds <= last
        last = made.seconds


def test_a_plan_survives_json():
    """A plan written as JSON text and read again is the same plan."""
    for budget in ("4 MiB", "64 MiB", "2 GiB"):
        made = plan(2000, RING, budget)
        assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_a_plan_of_another_schema_is_refused():
    """A plan of an unknown schema is refused with both numbers."""
    value = plan(10, RING, "64 MiB").to_json() | {"schema": 99}
    with pytest.raises(adjourn.BadValue, match=r"schema 99, and this version reads 1"):
        Plan.from_json(value)


def test_a_linear_problem_needs_no_bytes():
    """Where the reverse reads nothing, a budget of zero bytes is enough."""
    costs = Costs(advance=1, recordings=[], snapshot=8, reverse=2, reads="nothing")
    made = plan(10, costs, 0)
    assert (made.family, made.peak_bytes, made.seconds) == ("store_nothing", 0, 30)


def test_the_refusal_names_the_least_budget():
    """Too small a budget is refused with what is so and the least that works."""
    with pytest.raises(BudgetTooSmall) as caught:
        plan(2000, RING, "1 MiB")
    assert caught.value.least == 2 * MIB
    assert str(caught.value) == (
        "budget='1 MiB' (1.0 MiB) holds 1 snapshot of 1.0 MiB; reversing 2000 steps needs 2.0 "
        "MiB for one snapshot and one recorded step. Pass budget=2097152 (bytes) or more."
    )
    assert isinstance(caught.value, ValueError)
    more = replace(RING, window=replace(RING.window, fixed_bytes=MIB))
    with pytest.raises(BudgetTooSmall, match=r"one recorded step and 1\.0 MiB held throughout"):
        plan(2000, more, "1 MiB")


def test_the_plan_says_why():
    """The reasons name the family, the bytes, what is run again and the runners-up."""
    made = plan(2000, RING, "64 MiB")
    assert made.reasons[0].startswith("segments")
    assert "1000.5 MiB, which the budget does not hold" in made.reasons[1]
    assert any("would take" in reason for reason in made.reasons)


@given(
    ring_costs(),
    st.integers(1, 40),
    st.lists(st.integers(0, 120), min_size=2, max_size=4),
    st.lists(st.integers(0, 200), min_size=2, max_size=4),
    st.integers(0, 30),
)
def test_more_memory_or_more_disk_never_gives_a_slower_plan(costs, steps, budgets, disks, price):
    """With a disk too, plans fit both limits, are proven, and get no slower with more of either."""
    costs = replace(
        costs,
        snapshot=costs.snapshot + 1,
        disk_write=price,
        disk_read=price,
        disk_snapshot=costs.snapshot + 2,
        disk_staging=2,
    )
    seen: list[tuple[int, int, float]] = []
    for budget in sorted(budgets):
        for disk in sorted(disks):
            try:
                made = plan(steps, costs, budget, disk)
            except BudgetTooSmall:
                seconds = float("inf")
            else:
                seconds = made.seconds
                assert made.checked
                assert made.peak_bytes <= budget
                used = sum(made.schedule.counts.snapshots[1:])
                assert used * costs.disk_snapshot <= disk
                played = check(made.schedule, costs=costs)
                assert played.seconds == pytest.approx(made.seconds, rel=1e-9, abs=1e-9)
            for less, smaller, before in seen:
                if less <= budget and smaller <= disk:
                    assert seconds <= before * (1 + 1e-12)
            seen.append((budget, disk, seconds))
