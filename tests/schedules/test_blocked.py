"""Schedules of blocks: the counts stated are the counts played, for any inner schedule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, check
from adjourn.schedules import blocked, hrevolve, revolve, schedule_from_json


@given(st.integers(1, 120), st.integers(1, 9), st.integers(1, 4), st.integers(0, 4))
def test_blocks_of_a_two_level_schedule(steps, length, ram, disk):
    """Blocks of H-Revolve take what they state, within both limits, and survive JSON."""
    inner = hrevolve(-(-steps // length), [(ram, 0, 0), (disk, 2, 2)])
    schedule = blocked(inner, steps, length)
    seen = check(schedule)
    counts = schedule.counts
    assert (seen.advances, seen.records) == (counts.advances, counts.records)
    assert (seen.writes, seen.reads, seen.peaks) == (counts.writes, counts.reads, counts.snapshots)
    assert seen.peak_recorded == counts.recorded
    assert schedule_from_json(schedule.to_json()) == schedule


def test_an_inner_schedule_of_another_length_is_refused():
    """The number of blocks must be the inner schedule's number of steps."""
    with pytest.raises(BadValue, match="11 steps make 6 blocks of 2"):
        blocked(revolve(5, 2), 11, 2)
