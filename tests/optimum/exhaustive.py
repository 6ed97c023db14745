"""Exhaustive searches over machine states, which share nothing with the recurrences they judge.

A state says where the live state is, which steps are still to be reversed, which snapshots and
which recordings are held. Dijkstra's algorithm runs over all actions; nothing is assumed about
the order in which a good schedule acts.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

INFINITE = float("inf")


def least_seconds(
    steps,
    menu,
    snapshot,
    write,
    read,
    advance,
    budget,
    *,
    held_at_end=None,
    live_survives_reverse=False,
):
    """Return the least seconds to reverse all steps, infinity if no schedule fits.

    With ``held_at_end``, all steps run before the first reverse, and at most so many units stay
    held at that moment (a loop that other work follows).
    """
    sizes = [left for _, left, _ in menu]

    def used(snapshots, tapes):
        return len(snapshots) * snapshot + sum(sizes[option] for _, option in tapes)

    def moves(state):
        live, todo, snapshots, tapes, turned = state
        held = used(snapshots, tapes)
        if live is not None and live < todo:
            yield advance, (live + 1, todo, snapshots, tapes, turned)
            for option, (seconds, _, peak) in enumerate(menu):
                if held + peak <= budget and all(step != live for step, _ in tapes):
                    yield seconds, (live + 1, todo, snapshots, tapes | {(live, option)}, turned)
            if live not in snapshots and held + snapshot <= budget:
                yield write, (live, todo, snapshots | {live}, tapes, turned)
        for step in snapshots:
            yield 0, (live, todo, snapshots - {step}, tapes, turned)
            if step != live:
                yield read, (step, todo, snapshots, tapes, turned)
        for tape in tapes:
            yield 0, (live, todo, snapshots, tapes - {tape}, turned)
            step, option = tape
            _, left, peak = menu[option]
            if turned and step == todo - 1 and held - left + peak <= budget:
                alive = live_survives_reverse and live is not None and live < step
                kept = frozenset(s for s in snapshots if s < step)
                yield 0, (live if alive else None, step, kept, tapes - {tape}, turned)
        if not turned and live == todo and held <= held_at_end:
            yield 0, (None, todo, snapshots, tapes, True)

    start = (0, steps, frozenset(), frozenset(), held_at_end is None)
    best = {start: 0}
    order = count()
    queue = [(0, next(order), start)]
    while queue:
        seconds, _, state = heappop(queue)
        if seconds > best[state]:
            continue
        if state[1] == 0 and state[4]:
            return seconds
        for cost, following in moves(state):
            total = seconds + cost
            if total < best.get(following, INFINITE):
                best[following] = total
                heappush(queue, (total, next(order), following))
    return INFINITE
