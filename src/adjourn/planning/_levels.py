"""Schedules over main memory and disk, for problems that record into one window at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..problem import Window
from ..schedules import Schedule, blocked, hrevolve, multistage, periodic, window
from ._candidates import Fit, predict_seconds
from ._costs import Costs

__all__ = ["frame_of", "over_levels", "window_choice"]

_WORK = 30_000_000  # blocks^2 times slots that H-Revolve plans in less than a tenth of a second
_MOST_LENGTHS = 150  # up to here every one is tried; beyond, a part of a length apart
_CLOSE = 0.2
_MOST_BLOCKS = 2000
_MOST_STACK = 2**13  # snapshots on the stack of multistage
_FEWEST_STACK = 8
_MOST_REREAD = 2**10  # blocks a period, where the disk is too small for the best one
_ROUNDING = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class _Blocks:
    """One length of the window, and the snapshots that fit beside it."""

    steps: int
    length: int
    in_memory: int
    on_disk: int

    @property
    def number(self) -> int:
        return -(-self.steps // self.length)

    def short(self) -> int:
        """Return the steps of the first block."""
        return self.steps - (self.number - 1) * self.length


def frame_of(costs: Costs) -> Window:
    """Return the problem's window, or one that stands for recordings that lie anywhere."""
    if costs.window is not None:
        return costs.window
    first = costs.recordings[0]
    return Window(first.left, transient_bytes=first.peak - first.left, fixed_bytes=costs.standing)


def over_levels(
    steps: int, costs: Costs, budget: int, disk: int | None, known: float
) -> Iterator[Fit]:
    """Yield the fastest schedules of blocks with snapshots in main memory and on disk.

    For each of some window lengths, which depend on the number of steps alone: H-Revolve on
    blocks [1]_, a short first block and all writes and reads counted. While its tables hold all
    slots, none of the other families is faster on blocks of that length, for they are schedules
    of the same blocks in the same levels; Disk-Revolve is its case of a disk without limit.
    Where they do not: multistage [2]_, whose advances are the fewest whatever the disk costs, and
    periodic writes [3]_, which are the best of a long run with ample disk.
    Lengths whose lower bound is above a known time are passed over. Takes about a second at most.

    Parameters
    ----------
    known : float
        Seconds of a schedule that fits; nothing slower is of interest.

    References
    ----------
    .. [1] J. Herrmann and G. Pallez, "H-Revolve", ACM TOMS 46 (2020), doi 10.1145/3378672.
    .. [2] P. Stumm and A. Walther, "MultiStage approaches for optimal offline checkpointing",
       SIAM J. Sci. Comput. 31 (2009), doi 10.1137/080718036.
    .. [3] G. Aupy and J. Herrmann, "Periodicity in optimal hierarchical checkpointing schemes
       for adjoint computations", Optim. Methods Softw. 32 (2017),
       doi 10.1080/10556788.2016.1230612.
    """
    if not costs.snapshot or steps == 1:
        return
    on_disk = 0
    if disk and costs.disk_write is not None and costs.disk_read is not None:
        on_disk = disk // max(costs.disk_snapshot or costs.snapshot, 1)
    frame = frame_of(costs)
    waiting: list[tuple[float, _Blocks]] = []
    for length in window_choice(steps, frame):
        room = budget - frame.nbytes(length)
        if room >= costs.snapshot and (costs.write or costs.read):
            alone = _Blocks(steps, length, room // costs.snapshot, 0)
            waiting.append((_bound(alone, costs), alone))
        room -= costs.disk_staging
        if room >= 0 and on_disk:
            both = _Blocks(steps, length, room // costs.snapshot, on_disk)
            waiting.append((_bound(both, costs), both))
    best: dict[str, Fit] = {}
    for bound, blocks in sorted(waiting, key=lambda item: item[0]):
        if bound > known * _ROUNDING:
            break
        for schedule in _schedules(blocks, costs):
            inner, fit = schedule.family, _fit(schedule, blocks, costs, frame)
            if inner not in best or _order(fit) < _order(best[inner]):
                best[inner] = fit
            known = min(known, fit.seconds)
    yield from best.values()


def window_choice(steps: int, frame: Window) -> list[int]:
    """Return every window length of a short run; of a long one some, closer where short."""
    longest = min(steps - 1, frame.max_steps or steps)
    if longest <= _MOST_LENGTHS:
        return list(range(1, longest + 1))
    chosen: list[int] = []
    length = 1
    while length <= longest:
        chosen.append(length)
        length += 1 + int(_CLOSE * length)
    return chosen


def _schedules(blocks: _Blocks, costs: Costs) -> Iterator[Schedule]:
    """Yield the schedules of blocks, each block as one step."""
    number, in_memory, on_disk = blocks.number, blocks.in_memory, blocks.on_disk
    most = min(_WORK // (number * number), number)
    if number <= _MOST_BLOCKS:
        yield _exact(blocks, costs, min(in_memory, most), min(on_disk, most))
        if most < on_disk < number:
            ample = _exact(blocks, costs, min(in_memory, most), number)
            if ample.counts.snapshots[1] <= on_disk:
                yield ample
        if most >= min(number, max(in_memory, on_disk)):
            return
    if on_disk:
        yield from _long(blocks, costs)


def _exact(blocks: _Blocks, costs: Costs, in_memory: int, on_disk: int) -> Schedule:
    advance = max(costs.advance * blocks.length, 1e-9)
    short = blocks.short()
    first = costs.advance * short if short < blocks.length and costs.advance else None
    levels: list[tuple[int | None, float, float]] = [(in_memory, costs.write, costs.read)]
    if on_disk:
        slots = None if on_disk >= blocks.number else on_disk
        levels.append((slots, costs.write_seconds(1), costs.read_seconds(1)))
    return hrevolve(blocks.number, levels, advance, first=first)


def _long(blocks: _Blocks, costs: Costs) -> Iterator[Schedule]:
    """Yield schedules of long runs, whose plans do not take tables of all slots."""
    number, on_disk = blocks.number, blocks.on_disk
    in_memory = min(blocks.in_memory, number - 1)
    advance = max(costs.advance * blocks.length, 1e-9)
    write, read = costs.write_seconds(1), costs.read_seconds(1)
    most = min(on_disk, number - 1 - in_memory, _MOST_STACK - in_memory)
    slots = most
    while slots >= min(most, _FEWEST_STACK) > 0:
        yield multistage(number, in_memory, slots)
        slots //= 4
    usual = periodic(number, in_memory, write, read, advance)
    held = usual.counts.snapshots[1]
    if held > on_disk:
        period = (usual.period or 1) << (-(-held // on_disk) - 1).bit_length()
        if period > _MOST_REREAD:
            return
        usual = periodic(number, in_memory, write, read, advance, period=period)
    if usual.counts.snapshots[1] <= on_disk:
        yield usual


def _bound(blocks: _Blocks, costs: Costs) -> float:
    """Return a time below which no schedule of these blocks can come.

    With d snapshots on disk the advances are those of all slots in one level at least, each of
    the d is written and read, and each block but the last begins with a read.
    """
    number, in_memory = blocks.number, min(blocks.in_memory, blocks.number - 1)
    total = blocks.steps * costs.recordings[0].seconds
    most = min(blocks.on_disk, number - 1 - in_memory)
    cheap, traffic = costs.read, 0.0
    if most:
        write, read = costs.write_seconds(1), costs.read_seconds(1)
        cheap = min(costs.read, read) if in_memory else read
        traffic = write + read - cheap
    total += (number - 1) * cheap + (costs.write if in_memory and not most else 0.0)
    bounds: list[float] = []
    low = 0 if in_memory else 1
    while low <= most or not bounds:
        high = min(max(2 * low - 1, 0), most)
        slots = max(in_memory + high, 1)
        advances = window(blocks.steps, blocks.length, slots).advances
        bounds.append(advances * costs.advance + low * traffic)
        low = high + 1
    return total + min(bounds)


def _fit(inner: Schedule, blocks: _Blocks, costs: Costs, frame: Window) -> Fit:
    schedule = blocked(inner, blocks.steps, blocks.length)
    counts = schedule.counts
    staging = costs.disk_staging if any(counts.snapshots[1:]) else 0
    peak = counts.snapshots[0] * costs.snapshot + frame.nbytes(counts.recorded) + staging
    return Fit(schedule, predict_seconds(schedule, costs), peak)


def _order(fit: Fit) -> tuple[float, int]:
    return fit.seconds, fit.peak_bytes
