"""Several reverse sweeps of one run."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, ScheduleError, WrongType, check, check_sweeps
from adjourn.optimum import revolve_advances
from adjourn.optimum._repeated import least_repeated_advances
from adjourn.schedules import Drop, Save, Turn, repeated

RUNS = st.integers(1, 90), st.integers(1, 12), st.integers(1, 4)


@given(*RUNS)
def test_each_sweep_keeps_its_word(steps, slots, sweeps):
    """All sweeps on one machine stay within the slots and take what each is stated to take."""
    plan = repeated(steps, slots, sweeps)
    seen = check_sweeps(plan)
    assert len(seen) == sweeps
    for sweep, one in enumerate(seen):
        counts = plan.counts(sweep)
        assert one.reversed == range(steps)[::-1]
        assert (one.advances, one.records) == (counts.advances, counts.records)
        assert (one.writes, one.reads) == (counts.writes, counts.reads)
        assert one.peaks == counts.snapshots
        assert one.peak_slots <= slots
    assert sum(one.advances for one in seen) == plan.advances


@given(*RUNS)
def test_a_sweep_is_a_schedule_by_itself(steps, slots, sweeps):
    """With a run before it that saves what it begins with, each sweep is a schedule of its own."""
    plan = repeated(steps, slots, sweeps)
    for sweep in range(sweeps):
        seen = check(plan.schedule(sweep), limits=(slots,))
        before = plan.kept[-1] if sweep else 0
        assert seen.advances - before == plan.counts(sweep).advances


class _Broken:
    """The sweeps of a plan, one of them changed."""

    def __init__(self, plan, sweep, change):
        self.steps, self.slots, self.sweeps = plan.steps, plan.slots, plan.sweeps
        self._plan, self._sweep, self._change = plan, sweep, change

    def actions(self, sweep):
        actions = list(self._plan.actions(sweep))
        return self._change(actions) if sweep == self._sweep else actions


BROKEN = [
    (1, lambda actions: actions[1:], "the live state is at -1"),
    (1, lambda actions: [a for a in actions if not isinstance(a, Turn)], "the turn was not made"),
    (0, lambda actions: [*actions, Drop(0)], "that snapshot is not held"),
    (2, lambda actions: [a for a in actions if a != Drop(0)], "ends with 1 snapshots held"),
    (2, lambda actions: [a for a in actions if a != Drop(15)], "already reversed are held"),
    (1, lambda actions: actions[:-1], "not reversed"),
    (1, lambda actions: [*actions[:1], Save(0), *actions[1:]], "the live state is at"),
]


@pytest.mark.parametrize(("sweep", "change", "words"), BROKEN)
def test_a_broken_sweep_is_refused(sweep, change, words):
    """What a sweep does not find, leaves out, or leaves behind is named by the checker."""
    plan = repeated(30, 4, 3)
    check_sweeps(plan)
    with pytest.raises(ScheduleError, match=words):
        check_sweeps(_Broken(plan, sweep, change))


def test_what_a_second_sweep_costs():
    """The plan states each sweep's cost in the user's unit, and its distance from a bound."""
    plan = repeated(100, 10, 3)
    assert [plan.counts(sweep).cost(advance=1, record=2.5) for sweep in range(3)] == [487, 408, 393]
    assert plan.gap == pytest.approx(0.0855, abs=1e-4)
    with pytest.raises(ScheduleError, match="may hold 9 snapshots"):
        check_sweeps(plan, limits=9)
    with pytest.raises(WrongType, match="has no steps, slots, sweeps, actions"):
        check_sweeps(None)


@given(*RUNS)
def test_keeping_snapshots_never_costs_more_than_running_again(steps, slots, sweeps):
    """All sweeps together cost no more than as many runs of Revolve, and no less than the bound."""
    plan = repeated(steps, slots, sweeps)
    assert plan.advances <= sweeps * revolve_advances(steps, slots)
    assert least_repeated_advances(steps, slots, sweeps) <= plan.advances
    assert plan.gap < 0.2
    assert repeated(steps, slots, 1).advances == revolve_advances(steps, slots)


def exhaustive(steps: int, slots: int, sweeps: int) -> int:
    """Fewest plain advances over all schedules for several sweeps, by Dijkstra's search."""
    start = (0, frozenset(), steps, sweeps)
    best, queue, order = {start: 0}, [(0, 0, start)], 0
    while queue:
        cost, _, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        live, kept, left, turns = node
        if not left:
            if turns == 1:
                return cost
            left, turns = steps, turns - 1
        moves = []
        if live == left - 1:
            moves.append((0, (-1, kept, left - 1, turns)))
        elif live >= 0:
            moves.append((1, (live + 1, kept, left, turns)))
        if live >= 0 and live not in kept and len(kept) < slots:
            moves.append((0, (live, kept | {live}, left, turns)))
        for step in kept:
            if step < left:
                moves.append((0, (step, kept, left, turns)))
            moves.append((0, (live, kept - {step}, left, turns)))
        for price, after in moves:
            if cost + price < best.get(after, 10**9):
                best[after] = cost + price
                order += 1
                heapq.heappush(queue, (cost + price, order, after))
    return -1


@pytest.mark.parametrize("sweeps", [2, 3])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_the_gap_is_true(slots, sweeps):
    """The optimum over all schedules, by search, lies between the bound and the plan."""
    for steps in range(1, 8):
        plan = repeated(steps, slots, sweeps)
        least = exhaustive(steps, slots, sweeps)
        assert least_repeated_advances(steps, slots, sweeps) <= least <= plan.advances
        recorded = steps * sweeps
        assert plan.forward_steps <= (least + recorded) * (1 + plan.gap) + 1e-9


def test_huge_runs_are_planned_at_once():
    """10^6 steps take milliseconds, and enough slots for every step none at all."""
    plan = repeated(10**6, 30, 2)
    assert plan.gap < 0.05
    assert plan.counts(1).advances < plan.counts(0).advances
    assert repeated(1000, 10**9, 5).advances == 999


BAD = [
    (lambda: repeated(0, 3), BadValue, "steps=0 is too small."),
    (lambda: repeated(5, 0), BadValue, "slots=0 is too small."),
    (lambda: repeated(5, 3, 0), BadValue, "sweeps=0 is too small."),
    (lambda: repeated(5, 3, 1.5), WrongType, "sweeps=1.5 is of type float."),
    (lambda: repeated(10**7, 10**6), BadValue, "slots=1000000 are more than 2000"),
    (lambda: list(repeated(5, 3).actions(2)), BadValue, "sweep=2 is too large."),
    (lambda: repeated(5, 3).counts(-1), BadValue, "sweep=-1 is too small."),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    """Nonsense is refused."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)
