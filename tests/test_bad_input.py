"""Nonsense to every entry point: a typed error that says what was asked, is so, and to do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import adjourn
from adjourn import BadValue, Costs, Recording, WrongType
from adjourn._sizes import as_bytes
from adjourn.schedules import Advance, Schedule, blocked, listed, optimal, spread

GOOD = Costs(advance=1, recordings=[Recording(seconds=2.5, left=1)], snapshot=2)
NUMBERS = [
    (0, BadValue, "={0} is too small. Pass"),
    (-3, BadValue, "={0} is too small. Pass"),
    (2.5, WrongType, "={0!r} is of type float. Pass an integer."),
    (None, WrongType, "={0!r} is of type NoneType. Pass an integer."),
    (True, WrongType, "={0!r} is a bool. Pass an integer."),
    ("ten", WrongType, "={0!r} is of type str. Pass an integer."),
    (10**30, BadValue, "={0} is too large. Pass"),
]
COUNTED = {
    "store_all steps": lambda x: adjourn.store_all(x),
    "store_nothing steps": lambda x: adjourn.store_nothing(x),
    "segments steps": lambda x: adjourn.segments(x, 2),
    "segments length": lambda x: adjourn.segments(9, x),
    "revolve steps": lambda x: adjourn.revolve(x, 3),
    "revolve slots": lambda x: adjourn.revolve(9, x),
    "window steps": lambda x: adjourn.window(x, 2, 2),
    "window length": lambda x: adjourn.window(9, x, 2),
    "window slots": lambda x: adjourn.window(9, 2, x),
    "plan steps": lambda x: adjourn.plan(x, GOOD, 100),
}


@pytest.mark.parametrize("entry", COUNTED)
@pytest.mark.parametrize(("value", "error", "words"), NUMBERS)
def test_counts(entry, value, error, words):
    """Every count refuses zero, negative, float, None, bool, text and absurd values."""
    name = entry.split()[1]
    with pytest.raises(error) as caught:
        COUNTED[entry](value)
    assert str(caught.value).startswith(name + words.format(value))
    assert isinstance(caught.value, adjourn.AdjournError)


SIZES = [
    (-1, BadValue, "budget=-1 is negative. Pass 0 bytes or more."),
    (1.5, WrongType, "budget=1.5 is of type float. Pass an integer of bytes or a text such as"),
    (None, WrongType, "budget=None is of type NoneType. Pass an integer of bytes or a text"),
    (True, WrongType, "budget=True is a bool. Pass an integer of bytes or a text such as"),
    ("", BadValue, "budget='' is not a size. Write a number and a unit, such as"),
    ("2 Gib", None, ""),
    ("2 gigs", BadValue, "budget='2 gigs' is not a size."),
    ("-2 GiB", BadValue, "budget='-2 GiB' is not a size."),
    ("nan GiB", BadValue, "budget='nan GiB' is not a size."),
    ("9e9 GiB", BadValue, "budget='9e9 GiB' is not a size."),
    (2**62, BadValue, "budget=4611686018427387904 is more than any machine holds."),
    ("99999999999 TiB", BadValue, "budget='99999999999 TiB' is more than any machine holds."),
]


@pytest.mark.parametrize(("value", "error", "words"), SIZES)
def test_sizes(value, error, words):
    """Every size is parsed once, at the door; nonsense is refused with the text given."""
    if error is None:
        assert as_bytes(value) == 2 * 2**30
        return
    with pytest.raises(error) as caught:
        adjourn.plan(10, GOOD, value)
    assert str(caught.value).startswith(words)


COSTS = [
    ({"advance": -1}, BadValue, "advance=-1 is no duration."),
    ({"advance": float("nan")}, BadValue, "advance=nan is no duration."),
    ({"advance": None}, WrongType, "advance=None is of type NoneType."),
    ({"advance": "fast"}, WrongType, "advance='fast' is of type str."),
    ({"snapshot": -2}, BadValue, "snapshot=-2 is negative."),
    ({"snapshot": 2.5}, WrongType, "snapshot=2.5 is of type float."),
    ({"recordings": []}, BadValue, "recordings is empty, and reads='tape' needs one."),
    ({"recordings": [3]}, WrongType, "recordings=[3] is not a sequence of Recording."),
    ({"recordings": None}, WrongType, "recordings=None is not a sequence of Recording."),
    ({"advance": 9}, BadValue, "recordings[0] takes 2.5 s, less than the 9 s of an advance."),
    ({"reads": "all"}, BadValue, "reads='all' is unknown."),
    ({"write": float("inf")}, BadValue, "write=inf is no duration."),
    ({"advance": 10**400}, BadValue, "advance=1000000000"),
    ({"read": 10**5000}, BadValue, "read=a int of many digits is no duration."),
    ({"disk_buffers": -1}, BadValue, "disk_buffers=-1 is too small."),
]


@pytest.mark.parametrize(("change", "error", "words"), COSTS)
def test_costs(change, error, words):
    """Costs that make no sense are refused when they are stated."""
    good = {
        "advance": 1,
        "recordings": [Recording(seconds=2.5, left=1)],
        "snapshot": 2,
    }
    with pytest.raises(error) as caught:
        Costs(**good | change)
    assert str(caught.value).startswith(words)


def test_a_recording_with_a_peak_below_what_is_left():
    """A peak that leaves out what is left is refused."""
    with pytest.raises(BadValue, match="peak=2 is below left=3"):
        Recording(seconds=1, left=3, peak=2)


def _optimal(**changes):
    good = {"advance": 1, "recordings": [(2.5, 1, 1)], "snapshot": 2, "budget": 9}
    return optimal(9, **good | changes)


OTHERS = [
    (lambda: adjourn.revolve(3, 2, reversal="x"), BadValue, "reversal='x' is unknown."),
    (lambda: adjourn.plan(3, None, 3), WrongType, "costs=None is not a Costs."),
    (lambda: adjourn.check([]), BadValue, "check needs the number of steps."),
    (lambda: adjourn.check(None, steps=3), WrongType, "schedule=None is no schedule."),
    (lambda: adjourn.check([], steps="x"), WrongType, "steps='x' is of type str."),
    (lambda: adjourn.check([], steps=0), BadValue, "steps=0 is too small."),
    (lambda: adjourn.check([], limits=1.5, steps=3), WrongType, "limits=1.5 is of type float."),
    (
        lambda: adjourn.check([], limits=[2.5], steps=3),
        WrongType,
        "limits[0]=2.5 is of type float.",
    ),
    (lambda: adjourn.check([], limits="a", steps=3), WrongType, "limits='a' is of type str."),
    (lambda: adjourn.check([], limits=-1, steps=3), BadValue, "limits=-1 is too small."),
    (lambda: adjourn.check([], limits=True, steps=3), WrongType, "limits=True is a bool."),
    (lambda: adjourn.check([], steps=3, reversal="x"), BadValue, "reversal='x' is unknown."),
    (lambda: adjourn.check([], steps=3, costs=5), WrongType, "costs=5 is not a Costs."),
    (
        lambda: adjourn.check([Advance(0, "x")], steps=3),
        adjourn.ScheduleError,
        "action 0, Advance(start=0, stop='x'), has a number that is none",
    ),
    (lambda: adjourn.check([None], steps=3), adjourn.ScheduleError, "action 0, None, cannot be"),
    (lambda: spread(None, 2), WrongType, "schedule=None is no schedule."),
    (lambda: spread(adjourn.revolve(9, 3), None), WrongType, "disk=None is of type NoneType."),
    (lambda: spread(adjourn.revolve(9, 3), 1, 7), BadValue, "first=7 is no tier of two."),
    (lambda: listed(3, None), WrongType, "actions=None is no list."),
    (lambda: listed(None, []), WrongType, "steps=None is of type NoneType."),
    (lambda: listed(3, [4]), WrongType, "actions[0]=4 is no action."),
    (lambda: blocked(None, 3, 2), WrongType, "inner=None is no schedule."),
    (lambda: _optimal(recordings=None), WrongType, "recordings=None is no list of recordings."),
    (lambda: _optimal(recordings=[None]), WrongType, "recordings[0]=None is no recording."),
    (lambda: _optimal(advance=None), WrongType, "advance=None is of type NoneType."),
    (lambda: _optimal(budget=None), WrongType, "budget=None is of type NoneType."),
    (lambda: _optimal(snapshot=None), WrongType, "snapshot=None is of type NoneType."),
    (lambda: _optimal(advance=10**400), BadValue, "advance=1000000000"),
    (lambda: adjourn.measure(object()), WrongType, "problem=object has no begin, state"),
    (lambda: adjourn.measure(None), WrongType, "problem=NoneType has no begin, state"),
]


@pytest.mark.parametrize(("call", "error", "words"), OTHERS)
def test_other_entry_points(call, error, words):
    """The other entry points refuse what they cannot use."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


DEAR = {
    "hrevolve": lambda x: adjourn.hrevolve(9, [(2, x, 0)]),
    "disk_revolve": lambda x: adjourn.disk_revolve(9, 2, x, 0),
    "periodic": lambda x: adjourn.periodic(9, 2, x, 0),
    "asynchronous": lambda x: adjourn.asynchronous(9, 2, x, 0),
    "uneven": lambda x: adjourn.uneven([x, 1], 2),
    "stages": lambda x: adjourn.stages(9, 3, 1, write=x),
    "online": lambda x: adjourn.online(3, write=x, read=1),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("family", DEAR)
def test_absurd_costs(family):
    """A cost of 10^400 is refused with a message of readable length; 10^99 is planned at once."""
    with pytest.raises(BadValue, match="is not a cost") as caught:
        DEAR[family](10**400)
    assert len(str(caught.value)) < 250
    assert DEAR[family](1e99)


@pytest.mark.timeout(20)
def test_a_disk_out_of_all_proportion():
    """Where a write costs 10^300 advances or more, the disk is not used and nothing hangs."""
    assert adjourn.periodic(50, 1, 1e99, 1e99, 1e-300).counts.writes[1] == 0
    assert adjourn.asynchronous(50, 1, 1e99, 1, 1e-300).counts.writes[1] == 0
    assert adjourn.periodic(10**9, 1, 10**9, 10**9).counts.reverses == 10**9


NUMPY = {
    "plan": lambda i: adjourn.plan(i(50), GOOD, i(20)),
    "revolve": lambda i: adjourn.revolve(i(50), i(3)),
    "hrevolve": lambda i: adjourn.hrevolve(i(50), [(i(3), np.float32(1), i(1))]),
    "uneven": lambda i: adjourn.uneven(np.ones(5), i(3)),
    "uneven sizes": lambda i: adjourn.uneven([1, 2], sizes=np.ones(2, int), budget=i(9)),
    "stages": lambda i: adjourn.stages(i(9), i(5), i(2), snapshot=i(1)),
    "online": lambda i: adjourn.online(i(3)).schedule(i(9)),
    "spread": lambda i: spread(adjourn.revolve(9, 3), i(1)),
    "blocked": lambda i: blocked(adjourn.revolve(5, 2), i(9), i(2)),
    "listed": lambda i: listed(i(2), adjourn.store_all(2)),
    "window": lambda i: adjourn.window(i(9), i(2), i(2)),
    "periodic": lambda i: adjourn.periodic(i(9), i(2), i(1), i(1), period=i(3)),
    "curve": lambda i: adjourn.curve(i(50), GOOD, i(20), points=i(4)),
}


@pytest.mark.parametrize("entry", NUMPY)
def test_integers_of_numpy(entry):
    """Whatever counts as an index is taken for an integer, and what comes out is a plain one."""
    made = NUMPY[entry](np.int64)
    assert type(made.steps) is int
    assert json.dumps(made.to_json()) == json.dumps(NUMPY[entry](int).to_json())
    assert made == NUMPY[entry](int)


def test_checking_with_integers_of_numpy():
    """Limits and numbers of steps may be NumPy integers, and a problem's steps too."""
    schedule = adjourn.revolve(9, 3)
    assert adjourn.check(schedule, limits=np.int64(3), steps=np.int64(9)) == adjourn.check(schedule)


DAMAGE = {
    "seconds": ["x", None, -1, float("nan"), []],
    "peak_bytes": ["x", None, -1, 1.5],
    "budget": ["x", -1, 1.5],
    "disk": ["x", -1],
    "gap": ["x", -1],
    "reasons": [None, 5, [5]],
    "candidates": [None, 5, [[1]], [["a", "b", "c"]]],
    "checked": [3, "x"],
    "costs": [None, 5, {}, {"advance": "x"}],
    "schema": [None, 2, "1"],
    "more": [1],
    "schedule": [
        None,
        5,
        {},
        {"family": "x"},
        {"family": "revolve"},
        {"family": "revolve", "steps": -1, "snapshots": 2},
        {"family": "revolve", "steps": 9, "snapshots": 2, "way": "x"},
        {"family": "store_all", "steps": "9"},
        {"family": "segments", "steps": 9, "length": 0},
        {"family": "online", "steps": 9, "snapshots": 2, "rule": "x"},
        {"family": "optimal", "steps": 3, "encoded": [[["A", "x"]]]},
        {"family": "optimal", "steps": 3, "encoded": None},
        {"family": "listed", "steps": 3, "actions": [["Foo", 1]], "way": "retape"},
        {"family": "listed", "steps": 3, "actions": [["Advance", 1]], "way": "retape"},
        {"family": "listed", "steps": 3, "actions": 5, "way": "retape"},
        {"family": "blocked", "inner": None, "steps": 3, "length": 2},
    ],
}


@pytest.mark.parametrize("key", DAMAGE)
def test_damaged_plans(key):
    """A plan from JSON with any value out of place is refused, and never made."""
    good = adjourn.plan(50, GOOD, 20).to_json()
    assert adjourn.Plan.from_json(good).steps == 50
    for value in DAMAGE[key]:
        with pytest.raises(adjourn.AdjournError) as caught:
            adjourn.Plan.from_json(good | {key: value})
        assert isinstance(caught.value, (ValueError, TypeError))


def test_damaged_schedules():
    """A schedule's JSON that is none is refused by name."""
    with pytest.raises(BadValue, match="the schedule is damaged or of a later version"):
        Schedule.from_json({"family": "of tomorrow", "steps": 3})
