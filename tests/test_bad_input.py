"""Nonsense to every entry point: a typed error that says what was asked, is so, and to do."""

from __future__ import annotations

import pytest

import adjourn
from adjourn import BadValue, Costs, Recording, WrongType
from adjourn._sizes import as_bytes

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


OTHERS = [
    (lambda: adjourn.revolve(3, 2, reversal="x"), BadValue, "reversal='x' is unknown."),
    (lambda: adjourn.plan(3, None, 3), WrongType, "costs=None is not a Costs."),
    (lambda: adjourn.check([]), BadValue, "check needs the number of steps."),
    (lambda: adjourn.measure(object()), WrongType, "problem=object has no begin, state"),
    (lambda: adjourn.measure(None), WrongType, "problem=NoneType has no begin, state"),
]


@pytest.mark.parametrize(("call", "error", "words"), OTHERS)
def test_other_entry_points(call, error, words):
    """The other entry points refuse what they cannot use."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)
