"""Multi-stage time stepping: numbers, optimality, units."""

from __future__ import annotations

import heapq
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, WrongType
from adjourn.optimum import revolve_advances
from adjourn.schedules import Drop, Record, Reverse, Save, Turn, stages
from playing import agrees
from search_schedules import draws

OPTIMA = [  # stages a recording holds, steps, units and forward steps beyond n (THEORY 6)
    (1, 10, (2, 3, 5, 6, 8), (11, 6, 4, 3, 1)),
    (1, 50, (2, 3, 5, 6, 8, 10), (236, 131, 73, 65, 46, 39)),
    (1, 100, (2, 3, 5, 6, 8, 10), (746, 391, 217, 181, 146, 123)),
    (2, 10, (3, 5, 6, 8, 10), (13, 8, 6, 5, 4)),
    (2, 50, (3, 5, 6, 8, 10, 15, 20), (175, 109, 92, 74, 63, 43, 39)),
]
PUBLISHED = [
    (2, 10, (3, 5, 6, 8, 10), (14, 8, 6, 5, 4)),
    (2, 50, (3, 5, 6, 8, 10, 15, 20), (178, 112, 97, 77, 67, 43, 39)),
]


def published(steps: int, units: int, record: int) -> int:
    """Forward steps by the published recurrence: a snapshot is never given up for a recording."""

    @cache
    def live(n, m):
        if n <= 1:
            return n
        found = [1 + held(n - 1, m - record)] if m >= record else []
        return min([*found, kept(n, m - 1)]) if m else min(found, default=10**9)

    @cache
    def kept(n, m):
        if n <= 1:
            return n
        found = [j + live(n - j, m) + kept(j, m) for j in range(1, n)]
        return min([*found, 1 + held(n - 1, m - record)]) if m >= record else min(found)

    @cache
    def held(n, m):
        if n <= 1:
            return n
        found = [j + live(n - j, m) + held(j, m) for j in range(1, n)]
        return min([*found, 1 + held(n - 1, m - record)]) if m >= record else min(found)

    return live(steps, units)


@pytest.mark.parametrize(("record", "steps", "units", "extra"), OPTIMA)
def test_the_true_optimum(record, steps, units, extra):
    """Forward steps beyond n are those of THEORY 6, with snapshots given up for recordings."""
    for room, more in zip(units, extra, strict=True):
        schedule = stages(steps, room, record)
        agrees(schedule)
        assert schedule.recomputed_steps == more, room
        assert units_held(schedule) <= room


@pytest.mark.parametrize(("record", "steps", "units", "extra"), PUBLISHED)
def test_the_published_recurrence_is_higher(record, steps, units, extra):
    """The published numbers are those of its recurrence, and never below the optimum."""
    for room, more in zip(units, extra, strict=True):
        assert published(steps, room, record) - steps == more
        assert stages(steps, room, record).recomputed_steps <= more


def units_held(schedule) -> int:
    """Return the most units held, action by action; a step reversed at once takes none."""
    actions = [action for action in schedule if not isinstance(action, Turn)]
    held = most = 0
    free = set()
    for action, following in zip(actions, [*actions[1:], None], strict=True):
        match action:
            case Record(start, _) if isinstance(following, Reverse):
                free.add(start)
            case Record():
                held += schedule.record
            case Reverse(start, _) if start in free:
                free.remove(start)
            case Reverse():
                held -= schedule.record
            case Save(_, 0):
                held += schedule.snapshot
            case Drop(_, 0):
                held -= schedule.snapshot
        most = max(most, held)
    assert held == 0
    return most


def exhaustive(steps, units, record, snapshot, *, held_state, peak=None) -> int:
    """Fewest forward steps over all schedules, by search over machine states.

    Held are snapshots and recordings, anywhere and in any order; the state after a recorded step
    can be loaded from its recording. With a peak, so much must be free for each recording, that of
    a step that is reversed at once too.
    """
    needs, alone = (record, 0) if peak is None else (peak, peak)
    start = (0, frozenset(), frozenset(), steps)
    best, queue, order = {start: 0}, [(0, 0, start)], 0
    while queue:
        cost, _, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        live, kept, taped, left = node
        if not left:
            return cost
        moves = []
        used = len(kept) * snapshot + len(taped) * record
        if left - 1 in taped:
            moves.append((0, (-1, kept, taped - {left - 1}, left - 1)))
        if 0 <= live < left:
            moves.append((1, (live + 1, kept, taped, left)))
            if live == left - 1 and used + alone <= units:
                moves.append((1, (-1, kept, taped, left - 1)))
            if live not in taped and used + needs <= units:
                moves.append((1, (live + 1, kept, taped | {live}, left)))
            if live not in kept and used + snapshot <= units:
                moves.append((0, (live, kept | {live}, taped, left)))
        for step in kept:
            moves.append((0, (step, kept, taped, left)))
            moves.append((0, (live, kept - {step}, taped, left)))
        for step in taped:
            moves.append((0, (live, kept, taped - {step}, left)))
            if held_state:
                moves.append((0, (step + 1, kept, taped, left)))
        for price, after in moves:
            if cost + price < best.get(after, 10**9):
                best[after] = cost + price
                order += 1
                heapq.heappush(queue, (cost + price, order, after))
    return -1


@pytest.mark.parametrize(
    ("cases", "most"), [(40, 5), pytest.param(200, 6, marks=pytest.mark.nightly)]
)
def test_equal_to_exhaustive_search(cases, most):
    """No schedule of snapshots and recordings at all takes fewer forward steps."""
    for rng in draws(cases, cases):
        steps, record, snapshot = rng.randint(1, most), rng.randint(1, 3), rng.randint(1, 2)
        units = rng.randint(min(record, snapshot), 6)
        held = rng.random() < 0.7
        schedule = stages(steps, units, record, snapshot=snapshot, stiffly_accurate=held)
        agrees(schedule)
        assert units_held(schedule) <= units
        least = exhaustive(steps, units, record, snapshot, held_state=held)
        assert schedule.forward_steps == least, (steps, units, record, snapshot, held)


@pytest.mark.parametrize(
    ("cases", "most"), [(40, 5), pytest.param(200, 6, marks=pytest.mark.nightly)]
)
def test_with_a_peak_it_equals_exhaustive_search_too(cases, most):
    """In bytes, where every recording needs its peak free, no schedule takes fewer steps."""
    for rng in draws(cases + 1, cases):
        steps, record, snapshot = rng.randint(1, most), rng.randint(1, 3), rng.randint(1, 2)
        peak = record + rng.randint(0, 2)
        units = rng.randint(peak + min(snapshot, record), 8)
        held = rng.random() < 0.8
        schedule = stages(
            steps,
            units,
            record,
            snapshot=snapshot,
            stiffly_accurate=held,
            recording_peak=peak,
            option=2,
        )
        agrees(schedule)
        least = exhaustive(steps, units, record, snapshot, held_state=held, peak=peak)
        assert schedule.forward_steps == least, (steps, units, record, snapshot, peak, held)
        assert {a.option for a in schedule if isinstance(a, Record)} == {2}


@given(
    st.integers(1, 60),
    st.integers(3, 30),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
    st.floats(0, 3),
    st.floats(0, 3),
)
def test_stages_keep_their_word(steps, units, record, snapshot, held, write, read):
    """Played by the checker, and never more units held than given."""
    schedule = stages(
        steps,
        units,
        record,
        snapshot=snapshot,
        stiffly_accurate=held,
        recording=1.5,
        write=write,
        read=read,
    )
    agrees(schedule)
    assert units_held(schedule) <= units


@given(st.integers(1, 60), st.integers(1, 12))
def test_recordings_too_large_to_keep_leave_revolve(steps, units):
    """Where no recording can be kept it is Revolve, its recordings being the last steps."""
    schedule = stages(steps, units, record=units + 1)
    assert schedule.advances == revolve_advances(steps, units)


def test_room_for_everything():
    """With room for all stages every step is run once."""
    for steps in (1, 2, 30, 150):
        assert stages(steps, 2 * steps, 2).recomputed_steps == 0
        assert stages(steps, 2 * steps, 2, stiffly_accurate=False).recomputed_steps == 0


BAD = [
    (lambda: stages(5, 0, 1), BadValue, "units=0 hold neither a snapshot of 1 nor"),
    (lambda: stages(5, 2, 0), BadValue, "record=0 is too small."),
    (lambda: stages(5, 2, 1.5), WrongType, "record=1.5 is of type float."),
    (lambda: stages(5, 2, 1, snapshot=None), WrongType, "snapshot=None is of type NoneType."),
    (lambda: stages(5, 2, 1, recording=0.5), BadValue, "recording=0.5 is less than advance=1.0"),
    (lambda: stages(10**9, 10, 1), BadValue, "stages of 1000000000 steps in 10 units"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    """Nonsense, and what would not fit in memory to plan, is refused."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_one_step():
    """One step needs no units at all."""
    agrees(stages(1, 0, 3))
