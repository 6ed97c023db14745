"""F: a loop inside a routine, with memory held at its end."""

from __future__ import annotations

import random

import numpy as np

from adjourn.optimum import loop_options, loop_table, step_table
from optimum.costs import random_costs
from optimum.exhaustive import least_seconds


def test_200_cases_equal_exhaustive_search():
    """F(n, l, m) is the least over all schedules that hold at most l at the end and m at most."""
    rng = random.Random(200)
    finite = 0
    for number in range(200):
        case = random_costs(rng, 3 if number % 4 else 4)
        held = rng.randint(0, case[-1])
        found = loop_table(*case).seconds(held, case[-1])
        assert found == least_seconds(*case, held_at_end=held), (case, held)
        finite += np.isfinite(found)
    assert finite > 80


def test_holding_everything_is_reversing_at_once():
    """With all the budget held at the end, F is C0."""
    rng = random.Random(5)
    for _ in range(50):
        case = random_costs(rng, 15)
        assert loop_table(*case).seconds(case[-1], case[-1]) == step_table(*case).seconds


def test_the_options_are_the_pareto_set():
    """No option is worse than another in all three, and each (l, m) is met by one of them."""
    rng = random.Random(11)
    for _ in range(40):
        case = random_costs(rng, 8)
        table, options = loop_table(*case), loop_options(*case)
        assert options == table.options()
        for a in options:
            assert table.seconds(*a[1:]) == a[0]
            others = [b for b in options if b != a]
            assert not any(b[0] <= a[0] and b[1] <= a[1] and b[2] <= a[2] for b in others)
        for held in range(case[-1] + 1):
            for most in range(held, case[-1] + 1):
                within = [t for t, left, peak in options if left <= held and peak <= most]
                assert table.seconds(held, most) == min(within, default=np.inf)


def test_the_recordings_cover_each_iteration_once():
    """The runs of options follow each other from the first iteration to the last."""
    rng = random.Random(13)
    for _ in range(60):
        case = random_costs(rng, 12)
        table = loop_table(*case)
        for seconds, left, peak in table.options():
            runs = table.recordings(left, peak)
            assert [run[0] for run in runs] == [0, *(run[1] for run in runs[:-1])]
            assert runs[-1][1] == case[0]
            least = sum((stop - start) * case[1][option][0] for start, stop, option in runs)
            assert least <= seconds
            assert all(case[1][option][2] <= peak for _, _, option in runs)


def test_a_common_unit_changes_nothing():
    """Sizes that share a factor give the same options, scaled."""
    case = (5, [(4.0, 2, 3), (3.0, 4, 4)], 2, 0.5, 0.5, 1.0, 20)
    scaled = (5, [(4.0, 14, 21), (3.0, 28, 28)], 14, 0.5, 0.5, 1.0, 146)
    options = [(t, 7 * left, 7 * peak) for t, left, peak in loop_options(*case)]
    assert loop_options(*scaled) == options


def test_an_option_that_leaves_less_at_a_higher_peak_is_kept():
    """A loop's options include those that leave less and need more meanwhile."""
    found = loop_options(1, [(5, 1, 5), (1, 2, 2)], 2, 1, 0, 1, 10)
    assert (1.0, 2, 2) in found
    assert (5.0, 1, 5) in found
