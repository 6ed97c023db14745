"""Plans for problems whose recordings may lie anywhere: the optimum in bytes."""

from __future__ import annotations

from functools import lru_cache

from ..schedules import OptimalSearch
from ._candidates import Fit
from ._costs import Costs

__all__ = ["least_anywhere", "optimal_fit", "recordings_lie_anywhere"]


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


def optimal_fit(steps: int, costs: Costs, budget: int) -> Fit | None:
    """Return the optimum over all schedules of snapshots and recordings; None if none fits.

    What is computed for one budget is kept for smaller ones, so that a curve that begins with
    its largest budget is cheap.
    """
    room = budget - costs.standing
    if room < 0 or budget < least_anywhere(steps, costs):
        return None
    search = _searches(steps, costs).within(room)
    if search.seconds(room) is None:
        return None
    found = search.plan(room)
    held = costs.standing + found.peak_bytes
    return Fit(found.schedule, found.seconds, held, found.gap, found.words)


class _Searches:
    """The search of one problem, made anew when a budget exceeds what it was made for."""

    def __init__(self, steps: int, costs: Costs) -> None:
        self._steps = steps
        self._costs = costs
        self._most = -1
        self._search: OptimalSearch | None = None

    def within(self, most: int) -> OptimalSearch:
        """Return a search that answers for budgets up to ``most``."""
        if self._search is None or most > self._most:
            costs = self._costs
            self._most = most
            self._search = OptimalSearch(
                self._steps,
                advance=costs.advance,
                recordings=[
                    (r.seconds + costs.tape_copy, r.left, r.peak) for r in costs.recordings
                ],
                snapshot=costs.snapshot,
                write=costs.write,
                read=costs.read,
                most=most,
            )
        return self._search


@lru_cache(maxsize=2)
def _searches(steps: int, costs: Costs) -> _Searches:
    return _Searches(steps, costs)
