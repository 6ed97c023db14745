"""Properties and numbers of store_all, store_nothing, segments, revolve and window."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.checker import check
from adjourn.schedules import (
    Save,
    Schedule,
    revolve,
    schedule_from_json,
    segments,
    store_all,
    store_nothing,
    window,
)

REVOLVE = [  # steps, slots, plain advances, writes with the initial state's (THEORY 1)
    (10, 3, 15, None),
    (30, 5, 62, None),
    (50, 7, 105, 28),
    (100, 5, 316, 44),
    (100, 10, 222, 55),
    (250, 25, 473, None),
    (1000, 10, 3636, 714),
    (1000, 30, 2472, 504),
    (1000, 100, 1898, None),
    (10**4, 30, 34016, None),
    (10**4, 100, 24747, None),
    (10**5, 100, 294747, None),
    (10**6, 30, 5623008, None),
    (10**6, 100, 3817896, None),
]


def agrees(schedule: Schedule) -> None:
    """Play the schedule and compare what is counted with what it states."""
    seen = check(schedule)
    counts = schedule.counts
    assert seen.reversed == range(schedule.steps)[::-1]
    assert (seen.advances, seen.records) == (counts.advances, counts.records)
    assert (seen.writes, seen.reads) == (counts.writes, counts.reads)
    assert seen.peaks == counts.snapshots
    assert seen.peak_recorded == counts.recorded
    assert seen.peak_slots <= schedule.slots
    assert schedule_from_json(schedule.to_json()) == schedule


@pytest.mark.parametrize(("steps", "slots", "advances", "writes"), REVOLVE)
def test_revolve_states_the_numbers_of_the_theory(steps, slots, advances, writes):
    """Closed forms give t(n, s) and the fewest writes of THEORY 1."""
    schedule = revolve(steps, slots)
    assert schedule.advances == advances
    assert writes is None or schedule.writes == writes


@pytest.mark.parametrize(("steps", "slots", "advances", "writes"), REVOLVE[:9])
def test_revolve_played_takes_the_numbers_of_the_theory(steps, slots, advances, writes):
    """Played by the checker, Revolve takes what it states."""
    agrees(revolve(steps, slots))
    assert check(revolve(steps, slots)).advances == advances


@pytest.mark.parametrize(
    ("steps", "slots", "extra"),
    [(100, 5, 217), (100, 10, 123), (50, 8, 46), (10, 2, 11), (15, 5, 9), (15, 15, 0)],
)
def test_a_state_is_its_own_record(steps, slots, extra):
    """Where the reverse reads the state, n + (t - (n - 1)) forward steps are enough."""
    schedule = revolve(steps, slots, reversal="state")
    agrees(schedule)
    assert schedule.recomputed_steps == extra


def test_first_sweep_of_15_steps_and_5_slots():
    """The first sweep stores at 0, 6, 8, 10, 12, one of the optimal choices (THEORY 1)."""
    saves = [a.step for a in revolve(15, 5) if isinstance(a, Save)]
    assert saves[:5] == [0, 6, 8, 10, 12]


@given(st.integers(1, 400), st.integers(1, 40), st.sampled_from(["retape", "state"]))
def test_revolve_keeps_its_word(steps, slots, reversal):
    """Played by the checker, Revolve takes exactly the stated counts within its slots."""
    agrees(revolve(steps, slots, reversal=reversal))


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 12))
def test_window_keeps_its_word(steps, length, slots):
    """Played by the checker, blocks in a window take exactly the stated counts."""
    agrees(window(steps, length, slots))
    agrees(segments(steps, length))
    assert segments(steps, length).forward_steps == max(2 * steps - length, steps)


@given(st.integers(1, 1000))
def test_the_trivial_schedules_keep_their_word(steps):
    """Storing all and storing nothing both take n forward steps."""
    agrees(store_all(steps))
    agrees(store_nothing(steps))


@cache
def least_forward(steps: int, slots: int, length: int) -> int:
    """W(n, s) of THEORY 3b by its recurrence."""
    if steps <= length:
        return steps
    best = steps + least_forward(steps - length, slots, length)
    if slots > 1:
        for j in range(1, steps):
            right = least_forward(steps - j, slots - 1, length)
            best = min(best, j + right + least_forward(j, slots, length))
    return best


def test_window_is_optimal_among_all_schedules_for_a_window():
    """Blocks with the short one first reach W(T, k, S) for every T < 40."""
    for steps in range(1, 40):
        for length in range(1, 8):
            for slots in range(1, 7):
                stated = window(steps, length, slots).forward_steps
                assert stated == least_forward(steps, slots, length), (steps, length, slots)


@pytest.mark.parametrize(
    ("steps", "length", "slots", "forward"),
    [(5, 2, 2, 8), (7, 3, 1, 12), (8, 3, 2, 13), (9, 2, 1, 25), (9, 2, 2, 19), (9, 2, 3, 17)],
)
def test_window_numbers(steps, length, slots, forward):
    """The numbers of THEORY 3b."""
    assert window(steps, length, slots).forward_steps == forward


def exhaustive_window(steps: int, slots: int, length: int) -> int:
    """Fewest forward steps over *all* schedules for a fixed window, by Dijkstra's search.

    A machine state is (live step, snapshots held, recorded range, steps not yet reversed,
    turned); nothing here knows of blocks or binomials.
    """
    import heapq  # noqa: PLC0415

    start = (0, frozenset(), (0, 0), steps, False)
    best = {start: 0}
    queue = [(0, 0, start)]
    order = 0
    while queue:
        cost, _, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        live, kept, (low, high), left, turned = node
        if not left:
            return cost
        moves = []
        if live >= 0:
            if live < left:
                for stop in range(live + 1, left + 1):
                    moves.append((stop - live, (stop, kept, (0, 0), left, turned)))
                    if stop - live <= length:
                        moves.append((stop - live, (stop, kept, (live, stop), left, turned)))
            if live not in kept and len(kept) < slots:
                moves.append((0, (live, kept | {live}, (low, high), left, turned)))
        for step in kept:
            moves.append((0, (step, kept, (0, 0), left, turned)))
            moves.append((0, (live, kept - {step}, (low, high), left, turned)))
        if live == steps and not turned:
            moves.append((0, (live, kept, (low, high), left, True)))
        if turned and high == left and low < high:
            moves.append((0, (-1, kept, (0, 0), low, True)))
        for price, after in moves:
            if cost + price < best.get(after, 10**9):
                best[after] = cost + price
                order += 1
                heapq.heappush(queue, (cost + price, order, after))
    return -1


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_window_equals_exhaustive_search(length, slots):
    """No schedule at all, found by search over machine states, takes fewer forward steps."""
    for steps in range(1, 8):
        found = exhaustive_window(steps, slots, length)
        assert window(steps, length, slots).forward_steps == found, steps


def test_huge_schedules_are_made_at_once():
    """At n = 10^7 counts are closed forms, and the first actions come at once."""
    schedule = revolve(10**7, 100)
    assert schedule.counts.reverses == 10**7
    assert next(iter(schedule)) == Save(0)
    assert revolve(10**7, 10**6).writes > 0
    assert window(10**7, 3, 2).forward_steps > 10**7
