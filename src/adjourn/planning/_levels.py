"""Schedules that use a disk beside main memory, for a fixed window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..problem import Window
from ..schedules import Schedule, blocked, hrevolve, segments, spread, window
from ._candidates import Fit, predict_seconds, window_lengths
from ._costs import Costs

__all__ = ["two_levels"]

_WORK = 30_000_000  # blocks^2 times slots that H-Revolve plans in less than a tenth of a second
_MOST_TABLES = 45
_MOST_BLOCKS = 2000


def two_levels(steps: int, costs: Costs, frame: Window, budget: int, disk: int) -> Iterator[Fit]:
    """Yield the fastest schedules of blocks with snapshots in main memory and on disk.

    For a choice of window lengths, and a limit of slots, that depend on the number of steps
    alone: the optimum over both levels by H-Revolve [1]_, so that more of either level never
    gives a slower plan. Where every window that fits leaves too many blocks for that, Revolve on
    all slots of both levels with the least used positions on disk [2]_. Planning takes about a
    second at most.

    References
    ----------
    .. [1] J. Herrmann and G. Pallez, "H-Revolve", ACM TOMS 46 (2020), doi 10.1145/3378672.
    .. [2] P. Stumm and A. Walther, "MultiStage approaches for optimal offline checkpointing",
       SIAM J. Sci. Comput. 31 (2009), doi 10.1137/080718036.
    """
    if costs.disk_write is None or costs.disk_read is None or not costs.snapshot:
        return
    on_disk = disk // max(costs.disk_snapshot or costs.snapshot, 1)
    if not on_disk:
        return
    longest = min(steps, frame.max_steps or steps)
    best: dict[str, Fit] = {}
    many = 0
    for length in _choice(window_lengths(steps, longest)):
        room = budget - frame.nbytes(length) - costs.disk_staging
        if room < 0:
            continue
        blocks = -(-steps // length)
        in_memory = room // costs.snapshot
        if blocks > _MOST_BLOCKS:
            many = max(many, length)
            continue
        most = min(_WORK // (2 * blocks * blocks), blocks)
        levels = (
            (min(in_memory, most), costs.write, costs.read),
            (None if on_disk >= blocks else min(on_disk, most), costs.disk_write, costs.disk_read),
        )
        inner = hrevolve(blocks, levels, max(costs.advance * length, 1e-9))
        _keep(best, blocked(inner, steps, length), costs, frame)
    if many and not best:
        room = budget - frame.nbytes(many) - costs.disk_staging
        in_memory = min(room // costs.snapshot, -(-steps // many) - 1)
        rest = min(on_disk, -(-steps // many) - 1 - in_memory)
        if rest:
            _keep(best, _spread(steps, many, in_memory, rest), costs, frame)
    yield from best.values()


def _choice(lengths: Iterable[int]) -> list[int]:
    """Return some of the lengths, evenly spread."""
    every = list(lengths)
    return every[:: max(len(every) // _MOST_TABLES, 1)]


def _spread(steps: int, length: int, in_memory: int, on_disk: int) -> Schedule:
    slots = in_memory + on_disk
    blocks = -(-steps // length)
    inner = segments(steps, length) if slots >= blocks - 1 else window(steps, length, slots)
    return spread(inner, on_disk)


def _keep(best: dict[str, Fit], schedule: Schedule, costs: Costs, frame: Window) -> None:
    counts = schedule.counts
    seconds = predict_seconds(schedule, costs)
    staging = costs.disk_staging if counts.snapshots[-1] else 0
    peak = counts.snapshots[0] * costs.snapshot + frame.nbytes(counts.recorded) + staging
    known = best.get(schedule.family)
    if known is None or (seconds, peak) < (known.seconds, known.peak_bytes):
        best[schedule.family] = Fit(schedule, seconds, peak)
