"""A schedule given by its actions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, ScheduleError, WrongType, check
from adjourn.schedules import Record, Reverse, Save, Turn, hrevolve, listed
from playing import agrees


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 4))
def test_a_list_of_actions_plays_as_the_schedule_it_came_from(steps, ram, disk):
    """The list of a schedule's actions counts as the schedule does, and survives JSON."""
    schedule = hrevolve(steps, [(ram,), (disk, 2, 2)])
    copy = listed(steps, schedule)
    agrees(copy)
    assert list(copy) == list(schedule)
    assert copy.counts.advances == schedule.counts.advances
    assert copy.writes == schedule.writes


def test_nothing_is_promised_for_a_wrong_list():
    """A list that reverses too little is made, and refused by the checker."""
    wrong = listed(3, [Record(0, 2), Turn(), Reverse(0, 2)])
    with pytest.raises(ScheduleError, match="the live state is at 2, not at the end"):
        check(wrong)


def test_bad_input():
    """What is no action, and unknown reversals, are refused."""
    with pytest.raises(WrongType, match=r"actions\[1\]='Turn' is no action"):
        listed(1, [Save(0), "Turn"])
    with pytest.raises(BadValue, match="reversal='back' is unknown"):
        listed(1, [], reversal="back")
    with pytest.raises(BadValue, match="steps=0 is too small"):
        listed(0, [])
