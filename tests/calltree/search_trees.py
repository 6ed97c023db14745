"""Exhaustive search over call trees with loops; it shares no code with the package.

A tree is nested tuples. ``("leaf", p, t, R, K)``, ``("call", name, s, c, keep, body)``,
``("loop", n, s, w, r, body)``, ``("repeat", times, body)``; a body is a tuple of items. Every
placement of the calls is tried; for each loop, every sequence of advances, recordings, saves,
loads, deletions and reversals is searched with Dijkstra's algorithm.
"""

from __future__ import annotations

import heapq
from functools import cache
from itertools import product


@cache
def primal(body):
    """Return the time of one plain run."""
    total = 0
    for item in body:
        if item[0] == "leaf":
            total += item[1]
        elif item[0] == "call":
            total += primal(item[5])
        elif item[0] == "loop":
            total += item[1] * primal(item[5])
        else:
            total += item[1] * primal(item[2])
    return total


@cache
def every(body, cap):
    """Return all (time, left, peak) of a body, one for each combination of decisions."""
    found = {(0, 0, 0)}
    for item in body:
        found = {
            (t + u, left + more, max(peak, left + high))
            for (t, left, peak), (u, more, high) in product(found, every_item(item, cap))
            if max(peak, left + high) <= cap
        }
    return frozenset(found)


@cache
def every_item(item, cap):
    if item[0] == "leaf":
        return frozenset({item[2:]})
    if item[0] == "call":
        _, _, s, c, keep, body = item
        inner = every(body, cap)
        joint = {
            (primal(body) + c + t, s, s + peak if keep else max(s, peak)) for t, _, peak in inner
        }
        return frozenset(inner | joint)
    if item[0] == "repeat":
        _, times, body = item
        return frozenset(
            (times * t, times * left, (times - 1) * left + peak)
            for t, left, peak in every(body, cap)
        )
    _, n, s, w, r, body = item
    options = undominated(every(body, cap))
    return frozenset(
        undominated(
            (t, left, peak)
            for peak in range(min((high for _, _, high in options), default=cap + 1), cap + 1)
            for left in range(peak, -1, -1)
            if (t := shortest(n, options, s, w, r, primal(body), left, peak)) is not None
        )
    )


def undominated(options):
    """Return the options that no other one equals or beats in all three figures."""
    found = []
    for t, left, peak in sorted(options):
        if not any(u <= t and more <= left and high <= peak for u, more, high in found):
            found.append((t, left, peak))
    return tuple(found)


def shortest(n, options, s, w, r, p, left, peak):
    """Return the least time of a loop with bytes ``left`` at its end and ``peak`` ever."""
    options = [o for o in options if o[2] <= peak]
    start = (True, 0, 0, (-1,) * n, n)  # forward?, live step or -1, snapshots, recordings, top
    seen = {}
    heap = [(0, start)]
    while heap:
        time, state = heapq.heappop(heap)
        if state in seen:
            continue
        seen[state] = time
        forward, live, snaps, recorded, top = state
        if not forward and top == 0:
            return time
        held = s * snaps.bit_count() + sum(options[o][1] for o in recorded if o >= 0)

        def go(cost, *state, time=time):
            if state not in seen:
                heapq.heappush(heap, (time + cost, state))

        for step in range(n):
            if snaps >> step & 1:
                go(0, forward, live, snaps & ~(1 << step), recorded, top)
                go(r, forward, step, snaps, recorded, top)
        if live >= 0:
            if live < n and not snaps >> live & 1 and held + s <= peak:
                go(w, forward, live, snaps | 1 << live, recorded, top)
            if live < top:
                go(p, forward, live + 1, snaps, recorded, top)
                if recorded[live] < 0:
                    for number, (t, _, high) in enumerate(options):
                        if held + high <= peak:
                            now = (*recorded[:live], number, *recorded[live + 1 :])
                            go(t, forward, live + 1, snaps, now, top)
        if forward:
            if live == n and held <= left:
                go(0, False, -1, snaps, recorded, top)
        elif recorded[top - 1] >= 0:
            option = options[recorded[top - 1]]
            if held - option[1] + option[2] <= peak:
                now = (*recorded[: top - 1], -1)
                go(0, False, live if live < top else -1, snaps, now, top - 1)
    return None


def optimum(body, budget):
    """Return the least time of a tree within a budget, or None."""
    times = [t for t, _, peak in every(body, budget) if peak <= budget]
    return min(times, default=None)
