"""Where to keep snapshots that serve several reverse sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from ._binomial import binomial, repetitions, revolve_advances

__all__ = ["least_repeated_advances", "repeated_gaps"]

_MOST_SEGMENTS = 20_000  # pieces of equal slope that one deal may look at
_MOST_TRIES = 128

_Slopes = Iterator[tuple[int, int]]


def repeated_gaps(steps: int, slots: int, sweeps: int) -> tuple[int, list[int]]:
    """Return the least plain advances over all sweeps, and the gaps between kept snapshots.

    With q snapshots kept through all sweeps, f = s - q slots free and gaps g_0 ... g_(q-1), the
    first sweep advances to the last snapshot, each sweep takes the sum of t(g_i, f + 1), and the
    last one, which gives snapshots up as it goes, the sum of t(g_i, s - i). All are convex in
    the gaps: for each q the steps are dealt out by slope. All q up to 128 slots are tried,
    beyond that 128 of them; but none that would take more than a few hundredths of a second.

    Parameters
    ----------
    steps, slots, sweeps : int
        1 or more.
    """
    slots = min(slots, steps)
    tries = sorted({1 + i * (slots - 1) // _MOST_TRIES for i in range(_MOST_TRIES)} | {slots})
    best = sweeps * revolve_advances(steps, slots), [steps]
    for kept in tries:
        free = slots - kept
        if kept * repetitions(-(-steps // kept), free + 1) > _MOST_SEGMENTS:
            continue
        found = _deal(steps, [_price(i, kept, free, slots, sweeps) for i in range(kept)])
        if found[0] < best[0]:
            best = found
    return best


def least_repeated_advances(steps: int, slots: int, sweeps: int) -> int:
    """Return a lower bound on the plain advances of all sweeps together.

    The first takes t(n, s) at least; each other one what remains with s snapshots wherever they
    are best, each given up as soon as it is not needed.
    """
    slots = min(slots, steps)
    once = revolve_advances(steps, slots)
    if slots * repetitions(steps, slots) > _MOST_SEGMENTS:
        return once + (sweeps - 1) * max(0, once - (steps - 1))  # a first sweep would place them
    numbers = [slots - i for i in range(slots)]
    later, _ = _deal(steps, [[(0, 1, number)] for number in numbers])
    return once + (sweeps - 1) * later


def _price(index: int, kept: int, free: int, slots: int, sweeps: int) -> list[tuple[int, int, int]]:
    """Return the cost of a gap as terms (cost of each step, times, slots of its t)."""
    first = 1 if index < kept - 1 else 0
    return [(first, sweeps - 1, free + 1), (0, 1, slots - index)]


def _deal(steps: int, prices: list[list[tuple[int, int, int]]]) -> tuple[int, list[int]]:
    """Deal the steps out to the gaps, one at least each, at the least sum of convex prices."""
    gaps = [1] * len(prices)
    total = sum(base for price in prices for base, _, _ in price)
    left = steps - len(prices)
    segments: list[tuple[int, int, int, _Slopes]] = []
    for index, price in enumerate(prices):
        slopes = _slopes(price)
        slope, length = next(slopes)
        heappush(segments, (slope, index, length, slopes))
    while left:
        slope, index, length, slopes = heappop(segments)
        taken = min(length, left)
        gaps[index] += taken
        total += slope * taken
        left -= taken
        if left:
            slope, length = next(slopes)
            heappush(segments, (slope, index, length, slopes))
    return total, gaps


def _slopes(price: list[tuple[int, int, int]]) -> _Slopes:
    """Yield (slope, length) of a price beyond a gap of one step, ascending."""
    base = sum(each for each, _, _ in price)
    terms = [(times, slots) for _, times, slots in price if times]
    repeats = [1] * len(terms)
    most: list[int] = [binomial(slots, 1) for _, slots in terms]
    gap = 1
    while True:
        end = min(most)
        slope = sum(times * r for (times, _), r in zip(terms, repeats, strict=True))
        yield base + slope, end - gap
        gap = end
        for i, (_, slots) in enumerate(terms):
            if most[i] == end:
                repeats[i] += 1
                most[i] = binomial(slots, repeats[i])
