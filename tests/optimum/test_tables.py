"""C0 and C1: the numbers of THEORY 3, the reference cases, and exhaustive search."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from adjourn.optimum import step_table
from optimum.costs import random_costs
from optimum.exhaustive import least_seconds

WAVE = [(2.5, 1, 1)]  # two levels restart a wave, one reverses a step

RATIOS = {
    (298, 20): 1.690,
    (298, 30): 1.483,
    (298, 54): 1.344,
    (298, 115): 1.251,
    (1615, 20): 2.220,
    (1615, 54): 1.622,
    (1615, 80): 1.398,
    (1615, 115): 1.379,
}


@pytest.mark.parametrize("steps", [298, 1615])
def test_the_numbers_of_a_wave_hold(steps):
    """The time over the store-all time equals the figures of THEORY 3, from one table."""
    table = step_table(steps, WAVE, 2, 0.0, 0.0, 1.0, 115)
    for (n, units), ratio in RATIOS.items():
        if n == steps:
            assert round(table.free[n, units] / (2.5 * n), 3) == ratio


def test_the_reference_cases_hold(shared):
    """Each of the 150 optima found by exhaustive search is met exactly."""
    for case in json.loads((shared / "cases" / "loop_cases.json").read_text()):
        menu = [(o["time"], o["left"], o["peak"]) for o in case["record_options"]]
        names = ("snapshot", "write", "read", "advance", "budget")
        table = step_table(case["steps"], menu, *(case[name] for name in names))
        wanted = np.inf if case["optimum"] is None else case["optimum"]
        assert table.seconds == wanted, case


@pytest.mark.parametrize("survives", [False, True])
def test_500_fresh_cases_equal_exhaustive_search(survives):
    """C0 is the least over all schedules, whether or not the live state survives a reverse."""
    rng = random.Random(20000347 + survives)
    for number in range(250):
        case = random_costs(rng, 4 if number % 5 else 5)
        found = step_table(*case).seconds
        assert found == least_seconds(*case, live_survives_reverse=survives), case


def test_the_table_holds_every_smaller_case():
    """The entry for fewer steps and units is the optimum of that smaller case."""
    rng = random.Random(3)
    for _ in range(20):
        steps, *rest, budget = random_costs(rng, 12)
        table = step_table(steps, *rest, budget)
        n, m = rng.randint(0, steps), rng.randint(0, budget)
        assert table.free[n, m] == step_table(n, *rest, m).seconds


def test_more_units_are_never_slower_in_floating_point():
    """Rows do not rise with the units, to the last bit, for times that are not whole."""
    rng = random.Random(7)
    for _ in range(50):
        steps, menu, snapshot, *_ = random_costs(rng, 40)
        advance = rng.random()
        menu = [(advance + rng.random(), left, peak) for _, left, peak in menu]
        table = step_table(steps, menu, snapshot, rng.random(), rng.random(), advance, 40)
        for rows in (table.free, table.stored):
            assert (rows[:, 1:] <= rows[:, :-1]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"menu": []}, "no recording"),
        ({"menu": [(0.5, 1, 1)]}, "at least the time of an advance"),
        ({"menu": [(2.0, 3, 1)]}, "peak includes what is left"),
        ({"menu": [(2.0, 1.5, 2)]}, "not an integer"),
        ({"snapshot": -1}, "negative"),
        ({"budget": True}, "not an integer"),
        ({"write": float("nan")}, "not a time"),
        ({"advance": -1.0}, "not a time"),
    ],
)
def test_numbers_outside_the_theory_are_refused(change, words):
    """Costs for which the recurrence would not be exact are errors that say why."""
    case = {
        "steps": 3,
        "menu": [(2.0, 1, 1)],
        "snapshot": 1,
        "write": 0.0,
        "read": 0.0,
        "advance": 1.0,
        "budget": 3,
    }
    with pytest.raises(ValueError, match=words):
        step_table(**(case | change))


def test_what_does_not_fit_has_no_choice():
    """Where nothing fits the table is infinite and asking for a choice is an error."""
    table = step_table(3, [(2.0, 2, 2)], 2, 0.0, 0.0, 1.0, 1)
    assert table.seconds == np.inf
    with pytest.raises(ValueError, match="do not fit"):
        table.choose(3, 1)
