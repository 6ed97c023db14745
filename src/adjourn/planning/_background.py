"""Schedules whose disk writes and reads go on in the background."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from .._sizes import format_seconds
from ..problem import Window
from ..schedules import Asynchronous, asynchronous, blocked
from ._candidates import Fit, predict_seconds
from ._costs import Costs
from ._levels import frame_of, window_choice

__all__ = ["in_background"]

_LONGEST = 2**40


def in_background(
    steps: int, costs: Costs, budget: int, disk: int | None, known: float
) -> Iterator[Fit]:
    """Yield the fastest schedule that writes at the pace of the disk while the model runs [1]_.

    Where the run has staging buffers. Blocks of each window length, written every I blocks, or
    every 2 I, 4 I and so on where the disk does not hold so many, and Revolve in main memory in
    between. Its time is that of the forward steps, recordings and copies in memory, and of the
    predicted wait; other families count each transfer in full, which a background only lessens.

    References
    ----------
    .. [1] N. Kukreja, J. Hückelheim and G. J. Gorman, "Backpropagation for long sequences:
       beyond memory constraints with constant overheads" (2018), arXiv 1806.01117.
    """
    write, read = costs.disk_write, costs.disk_read
    if not costs.disk_buffers or not disk or write is None or read is None or not costs.advance:
        return
    on_disk = disk // max(costs.disk_snapshot or costs.snapshot, 1)
    frame = frame_of(costs)
    best: Fit | None = None
    for length in window_choice(steps, frame):
        room = budget - frame.nbytes(length) - costs.disk_staging
        if room < 0:
            continue
        number = -(-steps // length)
        in_memory = room // costs.snapshot if costs.snapshot else number
        period = max(1, ceil(min(write / (costs.advance * length), _LONGEST)))
        while -(-number // period) - 1 > on_disk:
            period *= 2
        if period >= number or (period > 1 and not in_memory):
            continue
        slots = min(in_memory, period - 1)
        least = steps * (costs.recordings[0].seconds + costs.advance) - length * costs.advance
        if least < known:
            inner = asynchronous(
                number,
                slots,
                write,
                read,
                costs.advance * length,
                record=costs.recordings[0].seconds * length,
                period=period,
            )
            fit = _fit(inner, steps, length, costs, frame)
            if best is None or (fit.seconds, fit.peak_bytes) < (best.seconds, best.peak_bytes):
                best = fit
                known = min(known, fit.seconds)
    if best is not None:
        yield best


def _fit(inner: Asynchronous, steps: int, length: int, costs: Costs, frame: Window) -> Fit:
    schedule = blocked(inner, steps, length)
    counts = schedule.counts
    transfers = counts.writes[1] * inner.write + counts.reads[1] * inner.read
    copies = counts.writes[1] * costs.write + counts.reads[1] * costs.read
    seconds = predict_seconds(schedule, costs) - transfers + copies + inner.wait
    peak = counts.snapshots[0] * costs.snapshot + frame.nbytes(counts.recorded)
    words = (
        f"written in the background every {length * (inner.period or 1)} steps, with "
        f"{format_seconds(inner.wait)} of waiting for the disk"
    )
    return Fit(schedule, seconds, peak + costs.disk_staging, None, words)
