"""Every schedule that fits a budget, with its predicted time and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..problem import Window
from ..schedules import Schedule, revolve, segments, store_all, store_nothing, window
from ._costs import Costs

__all__ = [
    "Fit",
    "block_lengths",
    "copy_seconds",
    "fixed_window",
    "least_fixed_window",
    "linear",
    "predict_seconds",
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
    return total + sum(copy_seconds(schedule, costs))


def copy_seconds(schedule: Schedule, costs: Costs) -> tuple[float, float]:
    """Return the seconds of all saves and of all loads; states in recordings are only loaded."""
    counts = schedule.counts
    save = load = 0.0
    for tier, (writes, reads) in enumerate(zip(counts.writes, counts.reads, strict=True)):
        inside = tier == schedule.held
        if writes and not inside:
            save += writes * costs.write_seconds(tier)
        if reads:
            load += reads * costs.read_seconds(0 if inside else tier)
    return save, load


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

    The window's length k and the slots S share the budget: S = floor((B - window(k)) / s). For
    each number of blocks and each number of slots only the longest window beside them is of
    use, for it leaves the shortest first block; numbers of blocks whose lower bound is above what
    is known are passed over. A larger budget never gives a slower plan.
    """
    longest = min(steps, frame.max_steps or steps)
    if longest == steps and frame.nbytes(steps) <= budget:
        schedule = store_all(steps)
        yield Fit(schedule, predict_seconds(schedule, costs), frame.nbytes(steps), 0.0)
    best: dict[str, Fit] = {}
    for least, most in block_lengths(steps, longest):
        _best_of_blocks(steps, range(least, most + 1), (costs, frame), budget, best)
    if costs.reads == "state" and not frame.before and not frame.after:
        room = budget - frame.nbytes(1)
        if steps > 1 and room >= costs.snapshot:
            slots = steps - 1 if not costs.snapshot else min(room // costs.snapshot, steps - 1)
            _best_state_slots(steps, slots, costs, frame, best)
    yield from best.values()


def block_lengths(steps: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the least and the greatest window length of each number of blocks from 2 on.

    About 2 sqrt(n) of them, the longest windows first.
    """
    blocks = 2
    while blocks <= steps:
        least = -(-steps // blocks)
        most = -(-steps // (blocks - 1)) - 1
        if least <= longest:
            yield least, min(most, longest)
        if least == 1:
            return
        blocks = -(-steps // (least - 1))


def _best_of_blocks(
    steps: int, lengths: range, known: tuple[Costs, Window], budget: int, best: dict[str, Fit]
) -> None:
    """Try the slots of one number of blocks, from the most down, each beside its longest window.

    Below the slots that the longest window of all leaves, only fewer writes can still pay.
    """
    costs, frame = known
    least, most = lengths[0], lengths[-1]
    blocks = -(-steps // least)

    def slots_beside(length: int) -> int:
        room = budget - frame.nbytes(length)
        if room < costs.snapshot:
            return 0
        return blocks - 1 if not costs.snapshot else min(room // costs.snapshot, blocks - 1)

    def longest_beside(slots: int) -> int:
        room = budget - slots * costs.snapshot - frame.nbytes(0)
        return most if not frame.step_bytes else max(least, min(room // frame.step_bytes, most))

    top, floor = slots_beside(least), slots_beside(most)
    if not top or _cannot_win(steps, most, top, costs, best):
        return
    for count in range(top, 0, -1):
        length = longest_beside(count)
        plain = count >= blocks - 1
        schedule = segments(steps, length) if plain else window(steps, length, count)
        if length == 1 and not plain:
            schedule = revolve(steps, count)
        if _no_longer_pays(schedule, costs, frame, best) and count <= max(floor, 1):
            return


def _cannot_win(steps: int, length: int, slots: int, costs: Costs, best: dict[str, Fit]) -> bool:
    """Return whether even the most slots beside the longest window are slower than the best."""
    if not best:
        return False
    counts = window(steps, length, slots).counts
    least = counts.advances * costs.advance + steps * costs.recordings[0].seconds
    return least > min(fit.seconds for fit in best.values())


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
