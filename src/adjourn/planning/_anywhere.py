"""Plans for problems whose recordings may lie anywhere: the optimum in bytes (THEORY 3)."""

from __future__ import annotations

from ._costs import Costs

__all__ = ["least_anywhere", "recordings_lie_anywhere"]


def recordings_lie_anywhere(costs: Costs) -> bool:
    """Return whether recordings survive advances, so that they and snapshots share the bytes."""
    return costs.reads != "nothing" and (costs.window is None or costs.window.survives_advance)


def least_anywhere(steps: int, costs: Costs) -> int:
    """Return the least budget with which any schedule of snapshots and recordings works.

    One snapshot and one recording are enough; recording the first steps and keeping all of them
    takes less where recordings are small.
    """
    peak = min(r.peak for r in costs.recordings)
    least = peak
    for _ in range(steps - 1):
        grown = min(max(r.peak, r.left + least) for r in costs.recordings)
        grown = min(grown, costs.snapshot + peak)
        if grown == least:
            break
        least = grown
    return costs.standing + least
