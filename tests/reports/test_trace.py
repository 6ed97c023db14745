"""What a picture shows is what the checker counts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import Costs, Recording, Window, check, revolve, segments, store_all, window
from adjourn.reports import schedule_svg
from adjourn.reports._schedule_svg import _runs
from adjourn.reports._trace import trace
from adjourn.schedules import Advance, Drop, Load, Record, Reverse, Save, Turn, listed

RING = Costs(
    advance=1.0,
    recordings=[Recording(seconds=2.5, left=3)],
    snapshot=7,
    write=0.25,
    read=0.5,
    reverse=1.25,
    window=Window(step_bytes=3),
)
FREE = Costs(advance=1.0, recordings=[Recording(seconds=2.5, left=3)], snapshot=7, reverse=1.25)

schedules = st.one_of(
    st.builds(revolve, st.integers(1, 120), st.integers(1, 12)),
    st.builds(segments, st.integers(1, 120), st.integers(1, 40)),
    st.builds(window, st.integers(1, 120), st.integers(1, 9), st.integers(1, 9)),
    st.builds(store_all, st.integers(1, 120)),
)


@given(schedule=schedules, columns=st.integers(1, 300), rows=st.integers(1, 200))
def test_time_and_memory_are_those_of_the_checker(schedule, columns, rows):
    """The picture is as long as the schedule takes and as high as what it holds."""
    seen = check(schedule, costs=RING)
    made = trace(schedule, RING, seen.peak_bytes, columns=columns, rows=rows)
    assert made is not None
    assert made.seconds == pytest.approx(seen.seconds)
    assert made.standing + max(map(sum, made.memory)) == seen.peak_bytes
    assert len(made.memory) == columns
    assert all(len(cells) == columns for cells in made.cells.values())


@given(schedule=schedules, rows=st.integers(1, 50))
def test_every_step_is_run_and_reversed_somewhere(schedule, rows):
    """Each row of steps is touched by a forward stretch and by a reverse one."""
    made = trace(schedule, RING, columns=37, rows=rows)
    assert made is not None
    reversed_rows = forward_rows = 0
    for bits in made.cells["reverse"]:
        reversed_rows |= bits
    for kind in ("advance", "record"):
        for bits in made.cells[kind]:
            forward_rows |= bits
    touched = {step * rows // schedule.steps for step in range(schedule.steps)}
    for row in touched:
        assert reversed_rows >> row & 1
        assert forward_rows >> row & 1


def test_recordings_that_survive_are_counted():
    """Without a fixed window, recorded steps show as bytes until they are reversed."""
    actions = (
        Save(0),
        Advance(0, 2),
        Record(2, 4),
        Turn(),
        Reverse(2, 4),
        Load(0),
        Drop(0),
        Record(0, 2),
        Reverse(0, 2),
    )
    schedule = listed(4, actions, reversal="tape")
    made = trace(schedule, FREE, columns=10)
    assert made is not None
    assert max(made.memory, key=sum) == (7, 6)
    assert [(h.step, h.began) for h in made.holds] == [(0, 0.0)]
    assert {s.kind for s in made.stretches} == {"advance", "record", "reverse"}


@pytest.mark.parametrize("steps", [10, 1000, 100_000])
def test_a_picture_stays_small(steps):
    """A schedule of a million actions is drawn in a file of a few hundred kilobytes."""
    picture = schedule_svg(revolve(steps, 30))
    assert 1000 < len(picture) < 400_000
    assert picture.startswith("<svg")


def test_what_is_too_long_is_not_drawn():
    """Beyond two million actions there is no picture rather than minutes of drawing."""
    assert trace(revolve(10**7, 10)) is None
    assert schedule_svg(revolve(10**7, 10)) == ""


@given(bits=st.integers(0, 2**70))
def test_runs_of_ones(bits):
    """The runs cover the ones, and only those, and do not touch each other."""
    runs = _runs(bits)
    assert sum(((1 << (b - a)) - 1) << a for a, b in runs) == bits
    assert all(b < c for (_, b), (c, _) in itertools.pairwise(runs))
