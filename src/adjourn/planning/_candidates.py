"""Every schedule that fits a budget, with its predicted time and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

from ..problem import Window
from ..schedules import Schedule, revolve, segments, store_all, store_nothing, window
from ._costs import Costs

__all__ = [
    "Fit",
    "fixed_window",
    "least_fixed_window",
    "linear",
    "predict_seconds",
    "window_lengths",
]


@dataclass(frozen=True, slots=True)
class Fit:
    """A schedule that fits, with its predicted cost."""

    schedule: Schedule
    seconds: float
    peak_bytes: int
    gap: float | None = None
    words: str = ""


def predict_seconds(schedule: Schedule, costs: Costs) -> float:
    """Return the time of a schedule by the costs of the first recording of the menu."""
    counts = schedule.counts
    record = costs.recordings[0].seconds if costs.recordings else costs.advance
    reverse = 0.0
    if schedule.reversal in ("nothing", "state"):
        record -= costs.reverse if costs.recordings else 0.0
        reverse = costs.reverse
    total = counts.advances * costs.advance + counts.records * record + counts.reverses * reverse
    for tier, (writes, reads) in enumerate(zip(counts.writes, counts.reads, strict=True)):
        if writes:
            total += writes * costs.write_seconds(tier)
        if reads:
            total += reads * costs.read_seconds(tier)
    return total


def linear(steps: int, costs: Costs) -> Fit:
    """Return the one schedule of a problem whose reverse reads nothing."""
    schedule = store_nothing(steps)
    return Fit(schedule, predict_seconds(schedule, costs), 0, 0.0)


def least_fixed_window(steps: int, costs: Costs, frame: Window) -> int:
    """Return the least budget with which a problem of a fixed window can be reversed."""
    smallest = frame.nbytes(1) + (costs.snapshot if steps > 1 else 0)
    if frame.max_steps is None or steps <= frame.max_steps:
        return min(smallest, frame.nbytes(steps))
    return smallest


def fixed_window(steps: int, costs: Costs, frame: Window, budget: int) -> Iterator[Fit]:
    """Yield the fastest schedule of each family for a fixed window.

    The window's length k and the slots S share the budget: S = floor((B - window(k)) / s). Only
    the shortest window of each number of blocks is of use, about 2 sqrt(n) of them; for each the
    number of slots is the one that takes least time, writes included, so that a larger budget
    never gives a slower plan.
    """
    longest = min(steps, frame.max_steps or steps)
    if longest == steps and frame.nbytes(steps) <= budget:
        schedule = store_all(steps)
        yield Fit(schedule, predict_seconds(schedule, costs), frame.nbytes(steps), 0.0)
    best: dict[str, Fit] = {}
    for length in window_lengths(steps, longest):
        room = budget - frame.nbytes(length)
        if room < costs.snapshot:
            continue
        blocks = -(-steps // length)
        slots = blocks - 1 if not costs.snapshot else min(room // costs.snapshot, blocks - 1)
        _best_slots(steps, length, slots, (costs, frame), best)
    if costs.reads == "state" and not frame.before and not frame.after:
        room = budget - frame.nbytes(1)
        if steps > 1 and room >= costs.snapshot:
            slots = steps - 1 if not costs.snapshot else min(room // costs.snapshot, steps - 1)
            _best_state_slots(steps, slots, costs, frame, best)
    yield from best.values()


def window_lengths(steps: int, longest: int) -> Iterator[int]:
    """Yield the shortest window length of each number of blocks of 2 and more."""
    root = isqrt(steps)
    lengths = set(range(1, min(root, longest) + 1))
    lengths.update(-(-steps // blocks) for blocks in range(2, root + 2))
    yield from sorted((k for k in lengths if k <= longest and k < steps), reverse=True)


def _best_slots(
    steps: int, length: int, most: int, known: tuple[Costs, Window], best: dict[str, Fit]
) -> None:
    """Walk down from the most slots while fewer writes can still pay for more advances."""
    costs, frame = known
    for count in range(most, 0, -1):
        plain = count >= -(-steps // length) - 1
        schedule = segments(steps, length) if plain else window(steps, length, count)
        if length == 1 and not plain:
            schedule = revolve(steps, count)
        if _no_longer_pays(schedule, costs, frame, best):
            return


def _best_state_slots(
    steps: int, slots: int, costs: Costs, frame: Window, best: dict[str, Fit]
) -> None:
    for count in range(slots, 0, -1):
        schedule = revolve(steps, count, reversal="state")
        if _no_longer_pays(schedule, costs, frame, best):
            return


def _no_longer_pays(schedule: Schedule, costs: Costs, frame: Window, best: dict[str, Fit]) -> bool:
    """Keep the schedule if it is its family's best; say whether fewer slots are hopeless."""
    counts = schedule.counts
    seconds = predict_seconds(schedule, costs)
    copies = counts.writes[0] * costs.write + counts.reads[0] * costs.read
    peak = counts.snapshots[0] * costs.snapshot + frame.nbytes(counts.recorded)
    name = f"{schedule.family} {schedule.reversal}"
    known = best.get(name)
    if known is None or (seconds, peak) < (known.seconds, known.peak_bytes):
        best[name] = Fit(schedule, seconds, peak)
    fastest = min(fit.seconds for fit in best.values())
    return seconds - copies >= fastest or not costs.write
