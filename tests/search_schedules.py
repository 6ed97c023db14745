"""The cheapest schedule by search over machine states; shares no code with the library.

A state is what is live, what is held where, and how much is left to reverse. Dijkstra's search
over all of them finds the optimum without knowing of splits, stacks or binomials.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence


def cheapest(
    advance: Sequence[float],
    levels: Sequence[tuple[int, float, float]],
    sizes: Sequence[int] | None = None,
) -> float:
    """Least cost of advances, writes and reads to reverse ``len(advance)`` steps.

    ``levels`` are (slots, write, read); a snapshot of step i takes ``sizes[i]`` slots (1 by
    default). Recording and reversing a step, one at a time, is free and needs no slot.
    """
    total = len(advance)
    sizes = sizes or [1] * total
    start = (0, tuple(frozenset() for _ in levels), total)
    best = {start: 0.0}
    queue: list[tuple[float, int, tuple]] = [(0.0, 0, start)]
    order = 0
    while queue:
        cost, _, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        live, held, left = node
        if not left:
            return cost
        moves = []
        if live == left - 1:
            moves.append((0.0, (-1, held, left - 1)))
        elif live >= 0:
            moves.append((advance[live], (live + 1, held, left)))
        for tier, (slots, write, read) in enumerate(levels):
            kept = held[tier]
            room = slots - sum(sizes[step] for step in kept)
            if live >= 0 and live not in kept and sizes[live] <= room:
                moves.append((write, (live, _with(held, tier, kept | {live}), left)))
            for step in kept:
                if step < left:
                    moves.append((read, (step, held, left)))
                moves.append((0.0, (live, _with(held, tier, kept - {step}), left)))
        for price, after in moves:
            if cost + price < best.get(after, float("inf")):
                best[after] = cost + price
                order += 1
                heapq.heappush(queue, (cost + price, order, after))
    return float("inf")


def _with(held: tuple, tier: int, kept: frozenset) -> tuple:
    return (*held[:tier], kept, *held[tier + 1 :])


def draws(seed: int, count: int):
    """Yield a random generator for each of ``count`` cases, reproducibly."""
    for number in range(count):
        yield random.Random(seed * 1_000_003 + number)
