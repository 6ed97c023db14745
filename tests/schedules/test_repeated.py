"""Several reverse sweeps of one run."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, WrongType, check
from adjourn.optimum import revolve_advances
from adjourn.optimum._repeated import least_repeated_advances
from adjourn.schedules import Drop, Load, Save, repeated

RUNS = st.integers(1, 90), st.integers(1, 12), st.integers(1, 4)


@given(*RUNS)
def test_each_sweep_keeps_its_word(steps, slots, sweeps):
    """Played by the checker, each sweep reverses every step within the slots, as it states."""
    plan = repeated(steps, slots, sweeps)
    for sweep in range(sweeps):
        seen = check(plan.schedule(sweep), limits=(slots,))
        counts = plan.counts(sweep)
        before = plan.kept[-1] if sweep else 0  # the run that saves what a later sweep finds
        saved = len(plan.kept) if sweep else 0
        assert seen.advances - before == counts.advances
        assert seen.writes[0] - saved == counts.writes[0]
        assert (seen.records, seen.reads) == (counts.records, counts.reads)
    assert sum(plan.counts(sweep).advances for sweep in range(sweeps)) == plan.advances


@given(*RUNS)
def test_what_one_sweep_leaves_the_next_begins_with(steps, slots, sweeps):
    """Over all sweeps no more is held than the slots, and in the end nothing."""
    plan = repeated(steps, slots, sweeps)
    held = set()
    for sweep in range(sweeps):
        most = len(held)
        for action in plan.actions(sweep):
            if isinstance(action, Save):
                assert action.step not in held
                held.add(action.step)
            elif isinstance(action, Drop):
                held.remove(action.step)
            elif isinstance(action, Load):
                assert action.step in held
            most = max(most, len(held))
        assert most == plan.counts(sweep).snapshots[0] <= slots
        if sweep < sweeps - 1:
            assert held == set(plan.kept)
    assert not held


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
