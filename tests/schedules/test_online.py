"""Schedules for an unknown number of steps: bounds, drivers, disk."""

from __future__ import annotations

from itertools import islice, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, WrongType, check
from adjourn.optimum import revolve_advances
from adjourn.optimum._online import least_total_placement, wang_placement
from adjourn.schedules import Advance, listed, online, periodic
from playing import agrees

MOST = 1500


def total(kept, stop, slots):
    """Advances to reverse [0, stop) from snapshots, each gap by Revolve in the slots then free."""
    tops = [*kept[1:], stop]
    return sum(
        revolve_advances(top - start, slots - index)
        for index, (start, top) in enumerate(zip(kept, tops, strict=True))
    )


def worst(placement, slots, *, announced):
    """Return the largest (n + forward) / (n + t(n, s)) for s <= n < 1500, as THEORY 8 counts."""
    moves = dict(takewhile(lambda move: move[0] < MOST, placement(slots)))
    kept, most = [0], 0.0
    for steps in range(1, MOST):
        if steps >= slots:
            stop = steps - 1 if announced else steps
            below = [step for step in kept if step < stop] or [0]
            forward = stop + total(below, stop, slots)
            most = max(most, (steps + forward) / (steps + revolve_advances(steps, slots)))
        if steps in moves:
            if moves[steps]:
                kept.pop(moves[steps])
            kept.append(steps)
    return most


@pytest.mark.parametrize(
    ("slots", "bound", "late", "wang"),
    [(5, 1.08, 1.22, 1.203), (10, 1.05, 1.13, 1.250), (30, 1.03, 1.05, 1.300)],
)
def test_worst_cases(slots, bound, late, wang):
    """At most the bounds of THEORY 8, and the literature's baseline where it should be."""
    assert worst(least_total_placement, slots, announced=True) <= bound
    assert worst(least_total_placement, slots, announced=False) <= late
    assert worst(wang_placement, slots, announced=True) == pytest.approx(wang, abs=5e-4)


@pytest.mark.parametrize(("slots", "bound"), [(5, 1.0408), (10, 1.0318), (30, 1.0083)])
def test_worst_cases_by_the_schedules_own_counts(slots, bound):
    """The documented bound by the schedules themselves; few steps announced are the optimum."""
    for steps in (*range(1, 80), *range(80, MOST, 37)):
        schedule = online(slots).schedule(steps, announced=True)
        least = steps + revolve_advances(steps, slots)
        assert schedule.forward_steps <= bound * least
        if steps <= slots + 1:
            assert schedule.forward_steps == least


@given(st.integers(1, 400), st.integers(1, 20))
def test_a_late_end_costs_one_step_more_while_nothing_is_given_up(steps, slots):
    """Until the slots are full all but the unavoidable is optimal: the last step run again."""
    schedule = online(slots).schedule(steps)
    if steps <= slots:
        assert schedule.forward_steps == 2 * steps


@given(
    st.integers(1, 400),
    st.integers(1, 20),
    st.sampled_from(["least total", "wang-moin-iaccarino"]),
    st.booleans(),
)
def test_online_keeps_its_word(steps, slots, rule, announced):
    """Played by the checker, exactly the stated counts within the slots."""
    agrees(online(slots, rule=rule).schedule(steps, announced=announced))


@given(st.integers(1, 400), st.integers(0, 8), st.floats(0, 50), st.floats(0, 50), st.booleans())
def test_online_with_a_disk_keeps_its_word(steps, ram, write, read, announced):
    """Played by the checker, exactly the stated counts within RAM, and nothing left on disk."""
    policy = online(ram, write=write, read=read)
    schedule = policy.schedule(steps, announced=announced)
    agrees(schedule)
    known = periodic(steps, ram, write, read)

    def cost(one):
        return one.cost(1, 0, 0, (0.0, write), (0.0, read))

    # not knowing the end costs one block at most
    assert cost(schedule) <= cost(known) + 2 * policy.period + steps * 0.6 + 2 * (write + read) + 2


def run(policy, steps, *, announced, chunk=None):
    """Play a driver as an executor does, one step at a time or in chunks; return the actions."""
    driver = policy.start()
    actions, step, last = [], 0, steps - 1 if announced else steps
    while step < last:
        if step in (0, driver.due):
            actions += driver.forward(step)
        stop = min(driver.due, last, step + (chunk or steps))
        actions.append(Advance(step, stop))
        step = stop
    return actions + list(driver.reverse(steps, announced=announced))


@given(
    st.integers(1, 200),
    st.integers(1, 9),
    st.none() | st.integers(1, 7),
    st.booleans(),
    st.booleans(),
)
def test_a_driver_does_what_its_schedule_says(steps, slots, chunk, announced, disk):
    """Told of the steps as they come, the driver gives a run that the checker accepts."""
    policy = online(slots, write=3, read=4) if disk else online(slots)
    schedule = policy.schedule(steps, announced=announced)
    actions = run(policy, steps, announced=announced, chunk=chunk)
    seen = check(listed(steps, actions))
    assert seen.advances == schedule.advances
    assert seen.writes == schedule.counts.writes[: len(seen.writes)]
    if chunk is None and not disk:
        assert actions == list(schedule)


@pytest.mark.parametrize("disk", [False, True])
def test_a_model_that_ends_just_after_a_save(disk):
    """A state saved for a model that then did not go on is dropped, and the rest goes on."""
    policy = online(3, write=2, read=2) if disk else online(3)
    driver = policy.start()
    step, actions = 0, []
    for _ in range(6):
        actions += driver.forward(step)
        actions.append(Advance(step, driver.due))
        step = driver.due
    saved = driver.forward(step)
    assert saved
    rest = list(driver.reverse(step))
    assert type(rest[0]).__name__ == "Drop"
    assert rest[0].step == step
    # what is left is a good schedule but for the snapshot that the save gave up
    given_up = [a for a in saved if type(a).__name__ == "Drop"]
    check(listed(step, [*actions, *given_up, *rest[1:]]))


def test_driver_asks_rarely():
    """The decisions become rare: for 10^5 steps a few thousand, in memory for the slots."""
    for slots in (5, 10, 30):
        moves = list(takewhile(lambda move: move[0] < 10**5, least_total_placement(slots)))
        assert len(moves) < 4000
        steps = [step for step, _ in moves]
        assert steps == sorted(set(steps))
        assert all(0 <= index < slots for _, index in moves)
    assert list(islice(least_total_placement(1), 3)) == []


def test_no_single_replacement_does_much_better():
    """At each decision, no other snapshot to give up leaves a total half a percent less."""
    for slots in (3, 5, 8):
        kept = []
        for step, index in takewhile(lambda m: m[0] < 600, least_total_placement(slots)):
            if index:
                others = [
                    total([*kept[:i], *kept[i + 1 :], step], step + 1, slots)
                    for i in range(1, slots)
                ]
                assert others[index - 1] == min(others), (slots, step)
                kept.pop(index)
            elif not kept:
                kept.append(0)
            kept.append(step)


def test_bad_input():
    """Nonsense is refused."""
    with pytest.raises(BadValue, match="slots=0 is too small"):
        online(0)
    with pytest.raises(WrongType, match=r"slots=2\.5 is of type float"):
        online(2.5)
    with pytest.raises(BadValue, match="rule='best' is unknown"):
        online(3, rule="best")
    with pytest.raises(BadValue, match="a disk needs the cost of both"):
        online(3, write=2)
    with pytest.raises(BadValue, match="read=-1 is not a cost"):
        online(3, write=2, read=-1)
    with pytest.raises(BadValue, match="steps=0 is too small"):
        online(3).schedule(0)
    assert online(10**12).start().due == 1
