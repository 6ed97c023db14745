"""Mixed storage in equal slots: the numbers of THEORY 2, played by the checker."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.errors import BadValue, WrongType
from adjourn.schedules import mixed
from playing import agrees

ROWS = {
    10: [54, 26, 19, 17, 15, 14, 13, 12],
    50: [1274, 325, 209, 164, 138, 126, 116, 105],
    100: [5049, 931, 554, 421, 352, 311, 278, 263],
    200: [20099, 2650, 1450, 1064, 873, 754, 688, 630],
}
NUMBERS = {
    (100, 10): 237,
    (1000, 2): 29775,
    (1000, 5): 6828,
    (1000, 10): 3921,
    (1000, 20): 2823,
    (1000, 30): 2522,
    (2000, 2): 84273,
    (2000, 5): 16282,
    (2000, 10): 9108,
    (2000, 20): 6220,
    (2000, 30): 5568,
}


@cache
def recurrence(n, s):
    """M(n, s) of THEORY 2, as published."""
    if n <= s + 1:
        return n
    if s == 1:
        return n * (n + 1) // 2 - 1
    split = min(i + recurrence(i, s) + recurrence(n - i, s - 1) for i in range(2, n))
    return min(1 + recurrence(n - 1, s - 1), split)


@pytest.mark.parametrize("steps", ROWS)
def test_the_rows_hold(steps):
    """The forward steps for 1 to 8 slots equal the published rows."""
    assert [mixed(steps, s).forward_steps for s in range(1, 9)] == ROWS[steps]


@pytest.mark.parametrize(("case", "steps"), NUMBERS.items())
def test_the_numbers_hold(case, steps):
    """The forward steps of long runs equal the published figures."""
    assert mixed(*case).forward_steps == steps


@given(steps=st.integers(1, 70), slots=st.integers(1, 80))
def test_a_mixed_schedule_is_optimal_and_fits_its_slots(steps, slots):
    """Played, it takes M(n, s) forward steps; snapshots and kept recordings fit the slots."""
    schedule = mixed(steps, slots)
    seen = agrees(schedule)
    assert seen.forward_steps == recurrence(steps, slots)
    held = kept = 0
    for action in schedule:
        match type(action).__name__:
            case "Save":
                held += 1
            case "Drop":
                held -= 1
            case "Record":
                kept += action.stop - action.start
                assert held + kept - 1 <= slots
            case "Reverse":
                kept -= action.stop - action.start
        assert held <= slots


def test_nonsense_is_refused():
    """Parameters that are no counts, or need more memory than there is, are errors."""
    for bad in (0, -1):
        with pytest.raises(BadValue, match="too small"):
            mixed(10, bad)
        with pytest.raises(BadValue, match="too small"):
            mixed(bad, 3)
    with pytest.raises(WrongType):
        mixed(10, 2.0)
    with pytest.raises(BadValue, match=r"optimal\(\)"):
        mixed(10**6, 1000)
