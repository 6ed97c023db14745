"""The search: exact where affordable, else in blocks and units, and never slower with more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.optimum import Effort, Search, least_bytes, step_table
from adjourn.optimum._layers import build_layers
from optimum.costs import costs, random_costs
from optimum.exhaustive import least_seconds

SMALL = [
    Effort(work=10, cells=50, units=8, radix=2),
    Effort(work=300, cells=1000, units=20, radix=3),
    Effort(work=5000, cells=5000, units=60, radix=5),
]


@given(
    case=costs(),
    budgets=st.lists(st.integers(0, 2000), min_size=2, max_size=6),
    effort=st.sampled_from(SMALL),
)
def test_a_larger_budget_is_never_slower(case, budgets, effort):
    """Whatever the units and blocks, time does not rise with the budget nor beat the optimum."""
    last = np.inf
    shared = Search(*case, most=max(budgets), effort=effort)
    exact = step_table(*case, max(budgets))
    for budget in sorted(budgets):
        found = Search(*case, most=budget, effort=effort).find(budget)
        kept = shared.find(budget)
        assert (found is None) == (kept is None)
        if found is None or kept is None:
            assert last == np.inf
            continue
        assert found.seconds == kept.seconds
        assert exact.free[case[0], budget] <= found.seconds <= last
        assert shared.bound(budget) <= found.seconds
        assert not found.exact or found.seconds == exact.free[case[0], budget]
        last = found.seconds


def test_small_problems_are_planned_exactly():
    """With the usual effort a thousand steps and a hundred units are exact, to the byte."""
    case = (1000, [(2.5, 8000, 8000)], 16000, 0.0, 0.0, 1.0)
    found = Search(*case, most=807_999).find(807_999)
    assert found is not None
    assert found.exact
    assert found.layers[0].unit == 8000
    assert found.seconds == step_table(1000, [(2.5, 1, 1)], 2, 0.0, 0.0, 1.0, 100).seconds


def test_blocks_are_schedules_of_steps():
    """A plan in blocks is never faster than the exact one, and blocks of one step are exact."""
    rng = random.Random(8)
    for _ in range(100):
        case = random_costs(rng, 40)
        exact = step_table(*case).seconds
        grids = [(1, 1)]
        assert build_layers(*case, grids)[-1].last[-1] == exact
        for factor in rng.choice([[2], [3], [2, 2], [3, 2], [5], [2, 3, 2]]):
            span, unit = grids[-1]
            if span * factor <= case[0]:
                grids.append((span * factor, unit + rng.randint(0, 1)))
        assert build_layers(*case, grids)[-1].last[-1] >= exact


@pytest.mark.parametrize("budget", [20, 54, 130])
@pytest.mark.parametrize("sizes", [(1, 2), (1000, 2016)])
def test_blocks_come_near_the_optimum(budget, sizes):
    """6000 steps of a wave are within 6% of the lower bound, whatever the unit."""
    left, snapshot = sizes
    case = (6007, [(2.5, left, left)], snapshot, 0.0, 0.0, 1.0)
    search = Search(*case, most=budget * left)
    found = search.find(budget * left)
    assert found is not None
    assert found.seconds <= search.bound(budget * left) * 1.06


def test_what_fits_nothing_is_none():
    """Below the least peak nothing is found, at whatever effort."""
    for effort in (*SMALL, None):
        search = Search(50, [(2.5, 4, 9)], 3, 0.0, 0.0, 1.0, most=8, effort=effort)
        assert search.find(8) is None


def test_the_least_bytes_are_the_least():
    """Exactly one unit less than `least_bytes` fits nothing, by exhaustive search."""
    rng = random.Random(17)
    for _ in range(150):
        *case, _ = random_costs(rng, 4)
        least = least_bytes(case[0], case[1], case[2])
        assert least_seconds(*case, least) < np.inf, case
        assert least == 0 or least_seconds(*case, least - 1) == np.inf, case


@given(case=costs(), effort=st.sampled_from(SMALL))
def test_one_budget_more_than_the_least_is_enough_without_snapshots(case, effort):
    """All steps recorded with mixed options are found where snapshots do not fit."""
    steps, menu, _, *rest = case
    least = least_bytes(steps, menu, 10**9)
    assert Search(steps, menu, 10**9, *rest, most=least, effort=effort).find(least) is not None
