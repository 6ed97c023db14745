"""The closed forms of Revolve against the published numbers and the recurrence."""

from __future__ import annotations

from functools import cache

import pytest

from adjourn.optimum import binomial, repetitions, revolve_advances

NUMBERS = {
    (10, 3): 15,
    (30, 5): 62,
    (50, 7): 105,
    (100, 5): 316,
    (100, 10): 222,
    (250, 25): 473,
    (1000, 10): 3636,
    (1000, 30): 2472,
    (1000, 100): 1898,
    (10**4, 30): 34016,
    (10**4, 100): 24747,
    (10**5, 100): 294747,
    (10**6, 30): 5623008,
    (10**6, 100): 3817896,
}


@pytest.mark.parametrize(("case", "advances"), NUMBERS.items())
def test_the_published_numbers_hold(case, advances):
    """t(n, s) equals the numbers of THEORY 1, to 10^6 steps."""
    assert revolve_advances(*case) == advances


@cache
def recurrence(n, s):
    """Griewank's recurrence, step by step."""
    if n <= 1:
        return 0
    if s == 1:
        return n * (n - 1) // 2
    return min(j + recurrence(n - j, s - 1) + recurrence(j, s) for j in range(1, n))


def test_the_closed_form_is_the_recurrence():
    """The closed form equals the dynamic programme for all n < 60 and s < 12."""
    for n in range(1, 60):
        for s in range(1, 12):
            assert revolve_advances(n, s) == recurrence(n, s)


def test_repetitions_are_the_least():
    """The repetition number is the least r with beta(s, r) >= n, also for 10^7 steps."""
    for n in [1, 2, 3, 10, 11, 99, 1000, 10**6, 10**7]:
        for s in [1, 2, 3, 10, 100, 10**5]:
            r = repetitions(n, s)
            assert binomial(s, r) >= n
            assert r == 0 or binomial(s, r - 1) < n
