"""Plans for recordings that hold the state they reach: multi-stage time stepping."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from ..checker import check
from ..errors import BadValue
from ..schedules import Stages, stages
from ._anywhere import least_anywhere
from ._candidates import Fit
from ._costs import Costs, Recording

__all__ = ["from_recordings"]

_WORK = 5 * 10**7  # steps^2 times units that are planned in a second
_PARTS = 16  # of a snapshot, where sizes are rounded up


def from_recordings(steps: int, costs: Costs, budget: int) -> Iterator[Fit]:
    """Yield the fastest schedules that restart the model from its recordings too [1]_.

    For each way to record that holds the state it reaches: exact in bytes up to as many units of
    the common divisor of all sizes as a table can hold, and beyond in units of a sixteenth of
    a snapshot.

    References
    ----------
    .. [1] H. Zhang and E. Constantinescu, "Optimal checkpointing for adjoint of multistage
       time-stepping schemes" (2021), arXiv 2106.13879.
    """
    room, most = budget - costs.standing, _WORK // steps**2
    if budget < least_anywhere(steps, costs):
        return
    if room < 0 or not most or not costs.advance or not costs.snapshot:
        return
    for option, recording in enumerate(costs.recordings):
        if not recording.holds_state or not recording.left:
            continue
        exact = gcd(costs.snapshot, recording.left, recording.peak)
        coarse = max(exact, -(-costs.snapshot // _PARTS))
        for unit, allowed in ((exact, min(room, most * exact)), (coarse, room)):
            if allowed // unit <= most:
                fit = _fit(steps, costs, (option, recording), unit, allowed)
                if fit is not None:
                    yield fit


def _fit(
    steps: int, costs: Costs, way: tuple[int, Recording], unit: int, allowed: int
) -> Fit | None:
    option, recording = way
    seconds = recording.seconds + costs.tape_copy
    try:
        schedule = stages(
            steps,
            allowed // unit,
            -(-recording.left // unit),
            snapshot=-(-costs.snapshot // unit),
            advance=costs.advance,
            recording=seconds,
            write=costs.write,
            read=costs.read,
            recording_peak=-(-recording.peak // unit),
            option=option,
        )
    except BadValue:  # not even one snapshot and one recording fit
        return None
    seen = check(schedule, costs=costs)
    exact = len(costs.recordings) == 1 and unit == gcd(
        costs.snapshot, recording.left, recording.peak
    )
    words = "the model is restarted from recordings too, which hold the state they reach"
    if exact:
        words += "; optimal among all schedules that do, exact in bytes"
    return Fit(
        schedule,
        _seconds(schedule, costs, seconds),
        (seen.peak_bytes or 0) + costs.standing,
        0.0 if exact else None,
        words,
    )


def _seconds(schedule: Stages, costs: Costs, recording: float) -> float:
    counts = schedule.counts
    copies = counts.writes[0] * costs.write + sum(counts.reads) * costs.read
    return counts.advances * costs.advance + counts.records * recording + copies
