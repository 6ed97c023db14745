"""The checker refuses every kind of wrong schedule, naming action and rule."""

from __future__ import annotations

import pytest

from adjourn import ScheduleError, check, revolve
from adjourn.schedules import Advance, Drop, Load, Record, Reverse, Save, Turn

WRONG = {
    "starts where the state is not": ([Advance(1, 2)], "live state is at 0"),
    "runs backwards": ([Advance(0, 0)], "empty or outside"),
    "runs past the end": ([Advance(0, 4)], "empty or outside the 3 steps"),
    "saves a state that is not there": ([Save(1)], "live state is at 0"),
    "saves twice": ([Save(0), Save(0)], "held already"),
    "saves too many": ([Save(0), Advance(0, 1), Save(1), Advance(1, 2), Save(2)], "may hold 2"),
    "loads what is not held": ([Load(0)], "not held"),
    "drops what is not held": ([Drop(0)], "not held"),
    "uses an unknown tier": ([Save(0, 1)], "no tier 1"),
    "turns early": ([Advance(0, 2), Turn()], "not at the end"),
    "turns twice": ([Advance(0, 3), Turn(), Turn()], "made before"),
    "reverses before the turn": ([Record(0, 3), Reverse(0, 3)], "turn was not made"),
    "reverses out of order": ([Record(0, 3), Turn(), Reverse(0, 2)], "next step to reverse is 2"),
    "reverses what is not recorded": ([Advance(0, 3), Turn(), Reverse(2, 3)], "not recorded"),
    "reverses more than is recorded": (
        [Advance(0, 1), Record(1, 3), Turn(), Reverse(0, 3)],
        "step 0 is not recorded",
    ),
    "uses a state after the reverse": (
        [Record(0, 3), Turn(), Reverse(2, 3), Advance(0, 1)],
        "live state is at -1",
    ),
    "runs what is reversed": (
        [Save(0), Record(0, 3), Turn(), Reverse(2, 3), Load(0), Advance(0, 3)],
        "from 2 on are reversed already",
    ),
    "keeps a dead snapshot": (
        [Advance(0, 2), Save(2), Record(2, 3), Turn(), Reverse(2, 3), Load(2)],
        "already reversed are held",
    ),
    "stops early": ([Record(0, 3), Turn(), Reverse(1, 3)], "steps 0 to 0 not reversed"),
    "keeps a snapshot to the end": (
        [Save(0), Record(0, 3), Turn(), Reverse(0, 3)],
        "1 snapshots held",
    ),
    "is no action": (["advance"], "no action"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_schedule_is_refused(name):
    """Each wrong schedule is refused with the action's number and the rule it breaks."""
    actions, words = WRONG[name]
    with pytest.raises(ScheduleError, match=words) as caught:
        check(actions, limits=[2], steps=3)
    assert caught.value.index == len(actions) - 1


def test_a_window_is_overwritten_and_a_tape_is_not():
    """A recording survives an advance elsewhere as a tape, not in a fixed window."""
    actions = [Save(0), Advance(0, 1), Record(1, 2), Turn(), Load(0), Reverse(1, 2), Load(0)]
    actions += [Drop(0), Record(0, 1), Reverse(0, 1)]
    assert check(actions, limits=[1], steps=2, reversal="tape").reads == (2,)
    with pytest.raises(ScheduleError, match="step 1 is not recorded"):
        check(actions, limits=[1], steps=2, reversal="retape")


def test_a_stated_limit_overrides_the_schedule():
    """Limits given by the caller are those that hold."""
    check(revolve(20, 4), limits=4)
    with pytest.raises(ScheduleError, match="tier 0 may hold 3 snapshots"):
        check(revolve(20, 4), limits=3)


def test_the_timeline_has_an_entry_for_each_action():
    """The timeline states the live step and what is held after each action."""
    seen = check(revolve(5, 2), timeline=True)
    assert len(seen.timeline) == seen.actions
    assert max(held for _, held, _ in seen.timeline) == 2
    assert seen.timeline[-1] == (-1, 0, 0)
