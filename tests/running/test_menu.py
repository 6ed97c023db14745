"""Problems with several ways to record: the plan mixes them, and the bits stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import Costs, LawBroken, Recording, check, measure, plan, run
from problems.nonlinear import Reaction


class TwoWays(Reaction):
    """Records sine and cosine, or only what is under them, which the reverse then computes."""

    menu = 2

    def begin(self):
        super().begin()
        self.option = 0

    def choose(self, option):
        self.option = option

    def tape(self, start, stop):
        return [self.slot(step)[: 2 - self.option] for step in range(start, stop)]

    def record(self, start, stop, *, replay):
        if not self.option:
            return super().record(start, stop, replay=replay)
        for step in range(start, stop):
            slot = self.slot(step)
            w, _ = self.step(step, replay)
            slot[0] = w
        return stop

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            slot = self.slot(step)
            if self.option:
                slot[0], slot[1] = np.sin(slot[0]), np.cos(slot[0])
            super().reverse(step, step + 1)


def test_measure_finds_both_ways():
    """Each way is measured: its bytes exactly, its time."""
    costs = measure(TwoWays(), effort=0.01)
    assert [r.left for r in costs.recordings] == [256, 128]
    assert all(r.seconds >= costs.advance for r in costs.recordings)


def test_a_plan_that_mixes_ways_gives_the_same_bits():
    """Where both ways are of use the plan takes both, within the budget, bit for bit."""
    problem = TwoWays(steps=24)
    run(problem, budget="1 MiB")
    expected = problem.by_coefficient.tobytes()
    costs = Costs(
        advance=4,
        recordings=[Recording(6, 256), Recording(7, 128)],
        snapshot=128,
        window=problem.window(),
        standing=problem.window().nbytes(1),
    )
    options = set()
    for budget in range(700, 7000, 300):
        made = plan(24, costs, budget)
        used = {a.option for a in made.schedule if hasattr(a, "option")}
        record = run(problem, made)
        assert problem.by_coefficient.tobytes() == expected
        assert record.peak_bytes <= budget
        assert check(made.schedule, costs=costs).reversed == range(24)[::-1]
        options.add(frozenset(used))
    assert frozenset({0, 1}) in options


def test_a_menu_needs_choose():
    """A plan with a second way for a problem that has none is refused by the law's name."""
    problem = Reaction(steps=6)
    costs = Costs(
        advance=1,
        recordings=[Recording(9, 256), Recording(2, 256)],
        snapshot=128,
        window=problem.window(),
        standing=problem.window().nbytes(1),
    )
    with pytest.raises(LawBroken, match="no choose"):
        run(problem, plan(6, costs, 5000))
