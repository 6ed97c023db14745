"""Periodic writes to disk, in the foreground and in the background."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, WrongType
from adjourn.optimum import revolve_advances
from adjourn.optimum._levels import level_table
from adjourn.optimum._period import best_period
from adjourn.schedules import (
    Advance,
    Load,
    Record,
    Save,
    asynchronous,
    disk_revolve,
    periodic,
)
from playing import agrees
from search_schedules import draws

PRICES = [0, 0.5, 1, 2, 5, 20, 100]


def cost(schedule) -> float:
    """Advances, disk writes and disk reads."""
    prices = (0.0, schedule.write), (0.0, schedule.read)
    return schedule.cost(schedule.advance, 0, 0, *prices)


def test_the_period_is_the_best_of_all():
    """No period up to three times the bound costs less a step."""
    for rng in draws(1, 80):
        ram, write, read = rng.randint(0, 5), rng.choice(PRICES), rng.choice(PRICES)
        advance = rng.choice([1, 0.5, 3])
        found = best_period(ram, write, read, advance)
        table = level_table(max(3 * found, 200), [(ram, 0, 0), (None, write, read)], advance)
        each = (table.stored[1][1, 1:] + write + read) / np.arange(1, table.stored[1].shape[1])
        assert each[found - 1] <= each.min() + 1e-9, (ram, write, read, advance)


def test_the_long_period_is_the_best_that_reads_once():
    """Beyond the table, the closed form is the best period of blocks that are read once."""
    found = best_period(30, 1e6, 1e6)
    assert found > 16_384

    def each(period: int) -> float:
        return (2e6 + revolve_advances(period, 30)) / period

    others = [found // 2, found - 1, found + 1, 2 * found, *range(1000, 4 * found, 997)]
    assert all(each(found) <= each(other) for other in others)


@given(
    st.integers(1, 500),
    st.integers(0, 6),
    st.floats(0, 60),
    st.floats(0, 60),
    st.none() | st.integers(1, 60),
)
def test_periodic_keeps_its_word(steps, ram, write, read, period):
    """Played by the checker, the stated counts within RAM, and nothing left on disk."""
    agrees(periodic(steps, ram, write, read, period=period))


def test_periodic_is_close_to_the_optimum():
    """Disk-Revolve exactly up to 1024 steps, and within 0.1% of it beyond."""
    for rng in draws(2, 25):
        steps, ram = rng.randint(900, 3000), rng.randint(0, 5)
        write, read = rng.choice(PRICES), rng.choice(PRICES)
        found = cost(periodic(steps, ram, write, read))
        least = cost(disk_revolve(steps, ram, write, read))
        assert least <= found <= least * (1.001 if steps > 1024 else 1 + 1e-12)


def test_a_million_steps_take_constant_memory():
    """10^6 and 10^9 steps are planned in as much memory as 10^4, and played by a short stack."""
    peaks = []
    for steps in (10**4, 10**6, 10**9):
        tracemalloc.start()
        schedule = periodic(steps, 10)
        actions = iter(schedule)
        for _ in range(1000):
            next(actions)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert schedule.counts.reverses == steps
    assert peaks[2] < 1.5 * peaks[0] < 2**22


@given(
    st.integers(1, 300),
    st.integers(1, 6),
    st.floats(0, 40),
    st.floats(0, 40),
    st.floats(0.1, 3),
    st.floats(0.1, 5),
    st.none() | st.integers(1, 30),
)
def test_asynchronous_waits_as_predicted(steps, ram, write, read, advance, record, period):
    """A clock beside the actions, one write and one read at a time, waits as long as predicted."""
    schedule = asynchronous(steps, ram, write, read, advance, record=record, period=period)
    agrees(schedule)
    saves = schedule.counts.writes[1]
    now = waited = written = ahead = 0.0
    for action in schedule:
        match action:
            case Save(_, 1):
                waited += max(0.0, written - now)
                now = max(now, written)
                written = now + write
                saves -= 1
            case Load(_, 1):
                waited += max(0.0, ahead - now)
                now = max(now, ahead)
                ahead = now + read
            case Record(start, stop):
                now += (stop - start) * record
            case Advance(start, stop):
                now += (stop - start) * advance
                if saves == 0:  # the last block begins: nothing is left to write but the last
                    ahead = max(now, written) + read
                    saves = -1
    assert schedule.wait == pytest.approx(waited)
    assert schedule.seconds == pytest.approx(now)


def test_the_period_of_background_writes():
    """A write ends just as the next begins, and the overhead a step does not grow with n."""
    short, long = (asynchronous(n, 3, 4.5, 4.5) for n in (10**3, 10**6))
    assert short.period == long.period == 5
    assert long.wait == 0
    assert long.seconds / 10**6 == pytest.approx(short.seconds / 10**3, rel=0.01)


BAD = [
    (lambda: periodic(5, -1), BadValue, "ram=-1 is too small."),
    (lambda: periodic(5, 1, float("inf")), BadValue, "write=inf is not a cost."),
    (lambda: periodic(5, 1, None), WrongType, "write=None is of type NoneType."),
    (lambda: periodic(5, 1, advance=0), BadValue, "advance=0 is not a cost."),
    (lambda: periodic(5, 1, period=0), BadValue, "period=0 is too small."),
    (lambda: periodic(10**6, 0, period=10**5), BadValue, "ram=0 holds no snapshot, and blocks"),
    (lambda: asynchronous(5, 0, 3, 3), BadValue, "ram=0 holds no snapshot, and blocks of 3"),
    (lambda: asynchronous(5, 1, -3, 3), BadValue, "write=-3 is not a cost."),
    (lambda: asynchronous(5, 1, 3, 3, record="x"), WrongType, "record='x' is of type str."),
    (lambda: asynchronous(5, 1, 3, 3, period=2.5), WrongType, "period=2.5 is of type float."),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    """Nonsense is refused."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_trivial_cases():
    """One step, a period beyond the run, every step on disk, absurd costs."""
    for schedule in (
        periodic(1, 0),
        periodic(10, 0, period=10**9),
        periodic(10, 0, write=0, read=0),
        asynchronous(1, 0, 9, 9),
        asynchronous(10, 0, 0.5, 0.5),
        asynchronous(10, 2, 1e100, 1e100),
    ):
        agrees(schedule)
    assert periodic(10**6, 0, 1e30, 1e30).period == 16_384
