"""The runner: same bits for every budget, exact accounting, errors that leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import adjourn
from adjourn import (
    BadValue,
    Costs,
    LawBroken,
    ProblemFailed,
    Recording,
    RunRecord,
    WrongType,
    measure,
    plan,
    revolve,
    run,
    segments,
)
from adjourn.models import Acoustic
from adjourn.running import Executor
from adjourn.tiers import RamPool, specs_of
from problems.leapfrog import Leapfrog
from problems.linear import Advection
from problems.nonlinear import Reaction


def acoustic(steps: int = 60) -> Acoustic:
    """Return a small shot with data from another model."""
    model = np.full((40, 50), 2.0)
    model[20:] = 2.6
    where = {"spacing": 10.0, "steps": steps, "source": (40.0, 250.0), "absorbing": 8}
    receivers = [(40.0, float(x)) for x in range(0, 490, 30)]
    observed = Acoustic(model, receivers=receivers, **where).observe()
    return Acoustic(np.full((40, 50), 2.0), receivers=receivers, observed=observed, **where)


def outputs(problem) -> dict[str, bytes]:
    """Return what the gradient run leaves, as bytes."""
    return {name: array.tobytes() for name, array in problem.carried().items()}


PROBLEMS = [acoustic, Leapfrog, Advection, Reaction]


@pytest.mark.parametrize("make", PROBLEMS, ids=lambda m: m.__name__)
def test_the_gradient_has_the_same_bits_under_every_budget(make):
    """From the least budget to store-all, the gradient is equal bit for bit, and fits."""
    problem = make()
    costs = measure(problem, effort=0.01)
    reference = run(problem, costs=costs, budget="1 GiB")
    assert reference.recomputed_steps == 0
    expected = outputs(problem)
    with pytest.raises(adjourn.BudgetTooSmall) as refused:
        plan(problem.steps, costs, 0) if problem.reads != "nothing" else _refuse()
    budget = refused.value.least
    families = set()
    while budget < 2 * reference.peak_bytes + 2:
        record = run(problem, costs=costs, budget=budget)
        assert outputs(problem) == expected, record.plan.family
        assert record.peak_bytes <= budget
        assert record.peak_bytes == record.plan.peak_bytes
        assert (record.advances, record.records) == (
            record.plan.schedule.advances,
            record.plan.schedule.records,
        )
        families.add(record.plan.family)
        budget = int(budget * 1.5) + 1
    assert families


def _refuse():
    raise adjourn.BudgetTooSmall("a linear problem needs nothing", least=0)


@pytest.mark.parametrize("make", PROBLEMS[:2] + PROBLEMS[3:], ids=lambda m: m.__name__)
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_a_schedule_given_by_hand_is_played(make, slots):
    """A schedule in place of a plan gives the same bits as the store-all gradient."""
    problem = make()
    costs = measure(problem, effort=0.01)
    run(problem, costs=costs, budget="1 GiB")
    expected = outputs(problem)
    for schedule in (revolve(problem.steps, slots), segments(problem.steps, slots + 2)):
        record = run(problem, schedule, costs=costs)
        assert outputs(problem) == expected
        assert record.advances == schedule.advances


def test_the_record_survives_json():
    """A run record written as JSON text and read again is the same record."""
    record = run(Leapfrog(), budget="1 MiB")
    assert RunRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_measuring_leaves_the_problem_as_begun():
    """After `measure` the problem is where `begin()` puts it, and costs are plausible."""
    problem = Reaction()
    problem.begin()
    before = [a.copy() for a in problem.state(0)], outputs(problem)
    costs = measure(problem, effort=0.01)
    after = list(problem.state(0)), outputs(problem)
    assert all(np.array_equal(x, y) for x, y in zip(before[0], after[0], strict=True))
    assert before[1] == after[1]
    assert costs.advance > 0
    assert costs.recordings[0].seconds >= costs.advance


class Fails(Reaction):
    """Raises in the middle of the reverse sweep, once."""

    fail = True

    def reverse(self, start, stop):
        if self.fail and start < 4:
            raise ArithmeticError("boom")
        super().reverse(start, stop)


def test_a_problem_that_raises_is_named_and_can_run_again():
    """The error names problem, action and cause; a second run with the same object works."""
    problem = Fails()
    costs = measure(Reaction(), effort=0.01)
    with pytest.raises(ProblemFailed, match=r"Fails raised ArithmeticError .* boom") as caught:
        run(problem, costs=costs, budget="64 KiB")
    assert isinstance(caught.value.__cause__, ArithmeticError)
    problem.fail = False
    run(problem, costs=costs, budget="64 KiB")
    good = Reaction()
    run(good, costs=costs, budget="64 KiB")
    assert outputs(problem) == outputs(good)


class Interrupted(Reaction):
    """Presses Ctrl-C in the forward sweep."""

    def advance(self, start, stop, *, replay):
        raise KeyboardInterrupt

    record = advance


def test_ctrl_c_passes_through_and_leaves_nothing():
    """KeyboardInterrupt reaches the caller as it is, after the pools are released."""
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), costs=measure(Reaction(), effort=0.01), budget="64 KiB")


class ReturnsNothing(Reaction):
    """Forgets to say where it is."""

    def record(self, start, stop, *, replay):
        super().record(start, stop, replay=replay)

    def advance(self, start, stop, *, replay):
        super().advance(start, stop, replay=replay)


def test_a_broken_return_value_is_named():
    """A problem that does not return the step reached is refused by the law's name."""
    with pytest.raises(LawBroken, match="'reach'") as caught:
        run(ReturnsNothing(), costs=measure(Reaction(), effort=0.01), budget="64 KiB")
    assert caught.value.law == "reach"
    with pytest.raises(LawBroken, match="'reach'"):
        measure(ReturnsNothing())


def test_a_plan_for_another_problem_is_refused():
    """Steps or state bytes that differ from the plan's are refused before anything runs."""
    costs = measure(Reaction(), effort=0.01)
    with pytest.raises(BadValue, match="the plan is for 3 steps"):
        run(Reaction(), plan(3, costs, "1 MiB"))
    other = Costs(
        advance=1, recordings=[Recording(2, 8)], snapshot=costs.snapshot + 8, window=costs.window
    )
    with pytest.raises(BadValue, match="states of"):
        run(Reaction(), plan(Reaction().steps, other, "1 MiB"))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, BadValue, "neither a plan nor a budget"),
        ({"plan": 3}, WrongType, "neither a Plan nor a Schedule"),
        ({"budget": -1}, BadValue, "negative"),
        ({"budget": "lots"}, BadValue, "not a size"),
        ({"budget": 1.5}, WrongType, "float"),
    ],
)
def test_bad_arguments_of_run(arguments, error, words):
    """Each bad argument of `run` is refused in words."""
    with pytest.raises(error, match=words):
        run(Reaction(), **arguments)
    with pytest.raises(WrongType, match=r"problem=int has no begin, state"):
        run(3, budget=1)


class Idle:
    """A problem that does nothing at all, to see the executor's own work."""

    steps = 2000
    reads = "tape"
    array = np.zeros(1)

    def begin(self):
        """Do nothing."""

    def state(self, step):
        return (self.array,)

    def advance(self, start, stop, *, replay):
        return stop

    def record(self, start, stop, *, replay):
        return stop

    def turn(self):
        """Do nothing."""

    def reverse(self, start, stop):
        """Do nothing."""


def test_the_executor_allocates_nothing_that_grows():
    """Playing ten times as many actions allocates no more memory at the peak."""
    import tracemalloc  # noqa: PLC0415

    def peak(steps):
        problem = Idle()
        pool = RamPool()
        pool.open(specs_of(problem.state(0)), 10)
        executor = Executor(problem, [pool])
        tracemalloc.start()
        executor.play(revolve(steps, 10))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2000)  # fills the cache of splits, which is bounded
    assert peak(2000) < peak(200) + 4096


def test_the_resident_set_stays_within_the_budget():
    """In a child process, peak resident set <= bare run + budget + max(16 MiB, 12%).

    Measuring included: it holds no more than the budget.
    """
    code = """
import resource, sys, numpy as np
from adjourn import run
from adjourn.models import Acoustic
shot = Acoustic(np.full((200, 200), 2.0), spacing=10.0, steps=300, source=(40.0, 250.0),
                receivers=[(40.0, 300.0)], observed=np.ones((300, 1)))
if sys.argv[1] == "bare":
    shot.begin(); shot.advance(0, 300, replay=False); shot.turn()
else:
    run(shot, budget=sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

    def resident(argument: str) -> int:
        seen = subprocess.run(
            [sys.executable, "-c", code, argument], check=True, capture_output=True, text=True
        )
        return int(seen.stdout)

    bare = resident("bare")
    for budget in ("12 MiB", "48 MiB"):
        allowed = int(budget.split()[0]) * 2**20
        assert resident(budget) <= bare + allowed + max(16 * 2**20, 0.12 * (bare + allowed))


class Copies(Reaction):
    """Hands out a copy of its state."""

    def state(self, step):
        return [self.u.copy()]


class Empty(Reaction):
    """Hands out nothing."""

    def state(self, step):
        return []


class Bare(Reaction):
    """Hands out the array itself."""

    def state(self, step):
        return self.u


class Objects(Reaction):
    """Hands out Python objects."""

    def state(self, step):
        return [self.u.astype(object)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Copies, "is a copy"),
        (Empty, "is empty"),
        (Bare, "no sequence of arrays"),
        (Objects, "no NumPy array of numbers"),
    ],
)
def test_a_state_that_a_load_cannot_write_is_refused(make, words):
    """A state that is a copy, empty or no arrays is refused before it makes a wrong gradient."""
    with pytest.raises(LawBroken, match=words) as caught:
        run(make(), budget="2 KiB")
    assert caught.value.law == "state"


class Framed(Reaction):
    """Says its window as a number."""

    def window(self):
        return 100


def test_a_window_that_is_none_is_refused():
    """What ``window()`` returns must be a Window; the error names the law."""
    for call in (lambda: measure(Framed()), lambda: run(Framed(), budget="2 KiB")):
        with pytest.raises(LawBroken, match=r"window\(\) returned 100") as caught:
            call()
        assert caught.value.law == "window"


class FailsAtOnce(Reaction):
    """Raises in its first reverse."""

    def reverse(self, start, stop):
        raise ArithmeticError("boom")


def test_a_problem_that_raises_while_it_is_measured_is_named():
    """An exception while measuring is a ProblemFailed with its cause."""
    with pytest.raises(ProblemFailed, match="FailsAtOnce raised ArithmeticError while it was meas"):
        measure(FailsAtOnce())


@pytest.mark.parametrize("effort", [0, -1, float("nan"), None, "x", True])
def test_an_effort_must_be_a_time(effort):
    """Nonsense for ``effort`` is refused."""
    with pytest.raises(BadValue, match="is no time"):
        measure(Reaction(), effort=effort)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"storage": 3}, "is not a Storage"),
        ({"directory": 5}, "is no path"),
        ({"directory": ""}, "is no path"),
    ],
)
def test_bad_places_are_refused(arguments, words):
    """A storage or directory that is none is refused before anything runs."""
    with pytest.raises(WrongType, match=words):
        run(Reaction(), budget="1 MiB", **arguments)
