"""Closed forms of binomial checkpointing, in exact integers."""

from __future__ import annotations

from math import comb

__all__ = ["binomial", "repetitions", "revolve_advances"]


def binomial(slots: int, repeats: int) -> int:
    """Return beta(s, r) = C(s + r, s), the most steps reversed with r repetitions.

    Costs one binomial coefficient of exact integers. Exact.

    Parameters
    ----------
    slots : int
        Snapshots held at once, the initial state's included; 0 or more.
    repeats : int
        Most times that any step is run without recording; 0 or more.

    Returns
    -------
    int
        The number of steps.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.

    Examples
    --------
    >>> binomial(3, 2)
    10
    """
    return comb(slots + repeats, slots)


def repetitions(steps: int, slots: int) -> int:
    """Return r, the least number of repetitions with beta(slots, r) >= steps.

    Costs O(log r) binomial coefficients: microseconds for 10^7 steps.

    Parameters
    ----------
    steps : int
        Number of steps; 1 or more.
    slots : int
        Snapshots held at once, the initial state's included; 1 or more.

    Returns
    -------
    int
        The repetition number of [1]_.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.

    Examples
    --------
    >>> repetitions(10, 3), repetitions(11, 3), repetitions(1, 3)
    (2, 3, 0)
    """
    if steps <= 1:
        return 0
    if slots < 1:
        raise ValueError(f"slots={slots}: {steps} steps need one snapshot or more. Pass slots=1.")
    high = 1
    while comb(slots + high, high) < steps:
        high *= 2
    low = high // 2  # beta(slots, low) < steps, as 1 step is what 0 repetitions reach
    while high - low > 1:
        middle = (low + high) // 2
        if comb(slots + middle, middle) < steps:
            low = middle
        else:
            high = middle
    return high


def revolve_advances(steps: int, slots: int) -> int:
    """Return t(n, s) = r n - C(s + r, s + 1), the fewest plain advances of Revolve.

    The first sweep is counted, the recording of each step is not: a run that must record each
    step just before its reverse takes ``t + n`` forward steps, and ``t - (n - 1)`` of those are
    beyond what reversing needs at least. Optimal among all schedules of snapshots where a
    recording lives only until the next forward step [1]_. Costs what `repetitions` costs.

    Parameters
    ----------
    steps : int
        Number of steps; 0 or more.
    slots : int
        Snapshots held at once, the initial state's included; 1 or more.

    Returns
    -------
    int
        The number of plain advances.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.

    Examples
    --------
    >>> revolve_advances(10, 3), revolve_advances(100, 5), revolve_advances(10**6, 100)
    (15, 316, 3817896)
    """
    r = repetitions(steps, slots)
    return r * steps - comb(slots + r, slots + 1)
