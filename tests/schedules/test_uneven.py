"""Steps of uneven cost and snapshots of uneven size."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, BudgetTooSmall, WrongType
from adjourn.optimum import revolve_advances
from adjourn.optimum._uneven import alone_costs, least_uneven_cost, uneven_table
from adjourn.schedules import Advance, Drop, Save, revolve, uneven
from playing import agrees
from search_schedules import cheapest, draws

COSTS = st.one_of(
    st.lists(st.floats(0, 1), min_size=1, max_size=24),
    st.lists(st.integers(0, 3), min_size=1, max_size=24),
    st.lists(st.sampled_from([1e-3, 1.0, 1e3]), min_size=1, max_size=24),
)


def walked(schedule, costs, sizes=None):
    """Return the cost of the plain advances and the most held, action by action."""
    ahead = [0, *accumulate(costs)]
    cost = held = most = 0
    for action in schedule:
        if isinstance(action, Advance):
            cost += ahead[action.stop] - ahead[action.start]
        elif isinstance(action, Save):
            held += sizes[action.step] if sizes else 1
            most = max(most, held)
        elif isinstance(action, Drop):
            held -= sizes[action.step] if sizes else 1
    return cost, most


def full_search(costs, slots):
    """T(0, n, s) by the recurrence of THEORY 7, every split tried."""
    ahead = [0, *accumulate(costs)]

    @cache
    def least(i, j, s):
        if j - i <= 1:
            return 0
        if s == 0:
            return float("inf")
        return min(
            ahead[k] - ahead[i] + least(i, k, s) + least(k, j, s - 1) for k in range(i + 1, j)
        )

    return least(0, len(costs), slots)


@given(COSTS, st.integers(1, 7))
def test_the_window_of_the_search_loses_nothing(costs, slots):
    """The table by Knuth's window has the cost of the full search."""
    ahead = np.array([0.0, *accumulate(costs)])
    bounds = np.arange(len(costs) + 1)
    alone = alone_costs(np.array(costs, float), bounds)
    table = uneven_table(ahead, np.zeros((slots + 1, len(costs))), alone)
    assert table.cost == pytest.approx(full_search(costs, slots), rel=1e-9, abs=1e-9)


@pytest.mark.nightly
def test_the_window_loses_nothing_at_length():
    """The same for 400 longer vectors of random costs, every range of each."""
    for rng in draws(7, 400):
        steps, slots = rng.randint(20, 60), rng.randint(2, 8)
        power = rng.choice([1, 2, 6])
        costs = [rng.random() ** power for _ in range(steps)]
        schedule = uneven(costs, slots)
        assert schedule.advance_cost == pytest.approx(full_search(costs, slots))


@given(COSTS, st.integers(1, 8))
def test_uneven_keeps_its_word(costs, slots):
    """Played by the checker, within the slots, at the stated cost."""
    schedule = uneven(costs, slots)
    agrees(schedule)
    cost, most = walked(schedule, costs)
    assert cost == pytest.approx(schedule.advance_cost, rel=1e-9, abs=1e-9)
    assert most <= slots
    assert schedule.gap == 0
    plain, _ = walked(revolve(len(costs), slots), costs)
    assert cost <= plain + 1e-9 * max(1, plain)


@given(COSTS, st.lists(st.integers(0, 9), min_size=24, max_size=24), st.integers(0, 30))
def test_uneven_sizes_keep_to_the_budget(costs, sizes, more):
    """Played by the checker, what is held never exceeds the bytes."""
    sizes = sizes[: len(costs)]
    budget = sizes[0] + more
    schedule = uneven(costs, sizes=sizes, budget=budget)
    agrees(schedule)
    cost, most = walked(schedule, costs, sizes)
    assert cost == pytest.approx(schedule.advance_cost, rel=1e-9, abs=1e-9)
    assert most <= budget


def test_equal_to_exhaustive_search():
    """No schedule at all is cheaper, for uneven costs and for uneven sizes."""
    for rng in draws(5, 80):
        steps, slots = rng.randint(1, 7), rng.randint(1, 3)
        costs = [rng.choice([0, 1, 2, 3.5, 10]) for _ in range(steps)]
        cost, _ = walked(uneven(costs, slots), costs)
        assert cost == pytest.approx(cheapest(costs, [(slots, 0, 0)])), (costs, slots)
        sizes = [rng.randint(1, 4) for _ in range(steps)]
        budget = rng.randint(sizes[0], 8)
        cost, _ = walked(uneven(costs, sizes=sizes, budget=budget), costs)
        assert cost == pytest.approx(cheapest(costs, [(budget, 0, 0)], sizes)), (costs, sizes)


@given(st.integers(1, 80), st.integers(1, 20))
def test_even_steps_are_revolve(steps, slots):
    """Equal costs give t(n, s), and so does the lower bound."""
    assert uneven([1] * steps, slots).advance_cost == revolve_advances(steps, slots)
    assert least_uneven_cost(np.ones(steps), slots) == revolve_advances(steps, slots)


@given(COSTS, st.integers(1, 7))
def test_the_lower_bound_is_one(costs, slots):
    """No optimum is below the bound by which gaps are stated."""
    bound = least_uneven_cost(np.array(costs, float), slots)
    assert bound <= full_search(costs, slots) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("steps", "slots", "most"), [(3000, 10, 0.3), (8000, 30, 0.2)])
def test_long_runs_are_grouped_with_a_stated_gap(steps, slots, most):
    """A long run is planned in groups, and states how far from a bound it may be."""
    rng = np.random.default_rng(1)
    costs = [float(x) for x in rng.random(steps) ** 2 + 0.01]
    schedule = uneven(costs, slots)
    agrees(schedule)
    cost, held = walked(schedule, costs)
    assert cost == pytest.approx(schedule.advance_cost)
    assert held <= slots
    assert 0 < schedule.gap < most
    bound = least_uneven_cost(np.array(costs), slots)
    assert cost == pytest.approx(bound * (1 + schedule.gap))


def test_groups_cost_more_than_single_steps():
    """The optimum lies between the bound and the grouped plan."""
    rng = np.random.default_rng(2)
    costs = [float(x) for x in rng.random(300)]
    exact = uneven(costs, 8)
    grouped = uneven(costs, 8, group=5)
    assert exact.advance_cost <= grouped.advance_cost < 1.2 * exact.advance_cost
    assert grouped.advance_cost / (1 + grouped.gap) <= exact.advance_cost
    agrees(grouped)


def test_long_runs_of_uneven_snapshots():
    """Groups, and sizes rounded up to parts of the budget, never exceed it."""
    rng = np.random.default_rng(3)
    costs = [float(x) for x in rng.random(700)]
    sizes = [int(x) for x in rng.integers(10**4, 10**5, 700)]
    schedule = uneven(costs, sizes=sizes, budget="1 MB")
    agrees(schedule)
    cost, held = walked(schedule, costs, sizes)
    assert cost == pytest.approx(schedule.advance_cost)
    assert held <= 10**6
    assert schedule.gap > 0


def test_huge_runs():
    """A hundred thousand steps, and as many slots as steps, are planned in a second or two."""
    costs = [1.0 + (i % 7) for i in range(10**5)]
    assert 0 < uneven(costs, 5).gap < 0.5
    assert uneven(costs[:1500], 10**9).advances == 1499


BAD = [
    (lambda: uneven([], 3), BadValue, "costs is empty."),
    (lambda: uneven(None, 3), WrongType, "costs=None is no list of numbers."),
    (lambda: uneven("123", 3), WrongType, "costs='123' is no list of numbers."),
    (lambda: uneven([1, -2], 3), BadValue, "costs[1]=-2 is not a cost."),
    (lambda: uneven([1, "x"], 3), WrongType, "costs[1]='x' is of type str."),
    (lambda: uneven([1, 2], 0), BadValue, "slots=0 is too small."),
    (lambda: uneven([1, 2], 2.5), WrongType, "slots=2.5 is of type float."),
    (lambda: uneven([1, 2]), BadValue, "no storage is given."),
    (lambda: uneven([1, 2], sizes=[1, 2]), BadValue, "no storage is given."),
    (lambda: uneven([1, 2], 2, sizes=[1, 2]), BadValue, "slots and sizes are given."),
    (lambda: uneven([1, 2], sizes=[1], budget=9), BadValue, "sizes has 1 entries and costs 2."),
    (lambda: uneven([1, 2], sizes=[1, -1], budget=9), BadValue, "sizes[1]=-1 is negative."),
    (lambda: uneven([1, 2], sizes=[5, 1], budget=4), BudgetTooSmall, "budget=4 B does not hold"),
    (lambda: uneven([1, 2], sizes=[5, 1], budget="x"), BadValue, "budget='x' is not a size."),
    (lambda: uneven([1.0] * 10**5, 9, group=1), BadValue, "uneven of 100000 steps in groups of 1"),
    (lambda: uneven([1.0] * 9, 9, group=0), BadValue, "group=0 is too small."),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    """Nonsense, and what would not fit in memory to plan, is refused."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_trivial_cases():
    """One step needs no storage, whatever its size."""
    assert uneven([3.0], 1).forward_steps == 1
    agrees(uneven([3.0], sizes=[10], budget=0))
    agrees(uneven([0.0] * 6, 2))
