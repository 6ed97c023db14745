"""Lower bounds: never above the optimum, and how near they come."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.optimum import lower_bound, step_table
from adjourn.optimum._bound import closed_bound, grid_bound
from optimum.costs import costs


def test_the_bounds_hold_on_every_small_case():
    """For random costs, neither bound exceeds the exact table at any number of steps and units."""
    rng = random.Random(2)
    for _ in range(60):
        advance, snapshot = rng.randint(0, 5), rng.randint(0, 6)
        menu = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            left = rng.randint(0, 6)
            menu.append((advance + rng.randint(0, 8), left, left + rng.randint(0, 3)))
        times = rng.choice([0, 1, 4]), rng.choice([0, 1, 4])
        table = step_table(25, menu, snapshot, *times, advance, 25)
        for n in range(1, 26):
            for m in range(26):
                closed = closed_bound(n, menu, snapshot, advance, m)
                assert closed <= table.free[n, m], (n, menu, snapshot, advance, m)
        for dense in (2, 5):
            bound = grid_bound(25, menu, snapshot, *times, advance, 25, dense)
            assert bound <= table.seconds, (menu, snapshot, times, advance, dense)


@given(case=costs(80, 30), budget=st.integers(0, 500))
def test_the_bound_in_bytes_is_below_the_optimum(case, budget):
    """With sizes that share no unit the bound stays below the optimum in single bytes."""
    assert lower_bound(*case, budget) <= step_table(*case, budget).seconds


def test_removing_a_step_saves_at_least_the_average():
    """C(n + 1) - C(n) >= A(n + 1) / (n + 1), A being C without writes and reads."""
    rng = random.Random(4)
    for _ in range(60):
        advance, snapshot = rng.randint(0, 5), rng.randint(0, 6)
        menu = [(advance + rng.randint(0, 8), k - rng.randint(0, k), k) for k in (2, 5)]
        table = step_table(30, menu, snapshot, 2, 3, advance, 30)
        plain = step_table(30, menu, snapshot, 0, 0, advance, 30)
        steps = np.arange(1, 31)[:, None]
        for rows, lower in ((table.free, plain.free), (table.stored, plain.stored)):
            with np.errstate(invalid="ignore"):
                growth = rows[1:] - rows[:-1]
            holds = growth * steps >= lower[1:] - 1e-9
            assert (holds | ~np.isfinite(rows[1:])).all()


@pytest.mark.parametrize(("units", "within"), [(12, 0.01), (54, 0.01), (130, 0.01)])
def test_the_bound_is_near(units, within):
    """For the wave of THEORY 3 the bound is within 1% of the optimum at 1600 steps."""
    case = (1600, [(2.5, 1, 1)], 2, 0.0, 0.0, 1.0, units)
    assert lower_bound(*case) >= step_table(*case).seconds * (1 - within)


def test_the_closed_bound_is_the_optimum_where_nothing_is_run_twice():
    """With room for all recordings, or for none, the closed bound is exact."""
    assert closed_bound(10, [(2.5, 1, 1)], 2, 1.0, 10) == 25.0
    assert closed_bound(10, [(2.5, 1, 3)], 2, 1.0, 2) == np.inf
    assert closed_bound(10, [(2.5, 1, 3)], 2, 1.0, 3) == np.inf
    assert closed_bound(1, [(2.5, 1, 3)], 2, 1.0, 3) == 2.5
    assert closed_bound(0, [(2.5, 1, 3)], 2, 1.0, 3) == 0.0
    assert lower_bound(10, [(2.5, 0, 3)], 2, 0.0, 0.0, 1.0, 3) == pytest.approx(25.0)
