"""Everything that is open while a plan is played: the window and the tiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal, cast

from ..errors import BadValue
from ..planning import Plan
from ..problem import Problem
from ..schedules import Drop, Load, Save, Schedule
from ..tiers import (
    Arena,
    ArraySpec,
    Background,
    DiskPool,
    Encoded,
    RamPool,
    Tier,
    specs_of,
    state_bytes,
)
from ..tiers._held import Held
from ._protocol import window_of
from ._storage import Storage

__all__ = ["Stage", "begin", "open_stage", "planned_ratio", "set_up"]

OpenDisk = Callable[[int, Tier, Sequence[ArraySpec], int], None]


@dataclass(slots=True)
class Stage:
    """The open tiers of one run, and the bytes of main memory they take."""

    plan: Plan
    tiers: Sequence[Tier]
    tapes: Arena | None
    frame_bytes: int
    storage: Storage = field(default_factory=Storage)

    @property
    def nbytes(self) -> int:
        """Bytes allocated in main memory, the problem's window included."""
        return self.frame_bytes + sum(tier.nbytes for tier in self.tiers)

    def follow(self, schedule: Schedule) -> None:
        """Tell tiers with background transfer what will come."""
        for number, tier in enumerate(self.tiers):
            if isinstance(tier, Background):
                tier.follow(_uses(schedule, number))

    def close(self, *, keep: bool = False) -> None:
        """Release every tier; ``keep`` leaves the files of named pools."""
        with ExitStack() as left:  # each is closed, whatever fails
            for tier in self.tiers:
                left.callback(tier.close)
                if keep:
                    left.callback(_keep_pools, tier)


def set_up(problem: Problem, made: Plan, storage: Storage | None = None) -> Stage:
    """Reserve the window, begin the problem and open the tiers.

    Raises
    ------
    BadValue
        The plan was made for states or windows of another size.
    DiskFull
        The disk cannot hold what the plan needs.
    """
    begin(problem, made)
    return open_stage(problem, made, storage or Storage())


def begin(problem: Problem, made: Plan) -> None:
    """Reserve the window and begin the problem."""
    recorded = _recorded(problem, made.schedule)
    reserve = getattr(problem, "reserve", None)
    if reserve is not None and recorded:
        reserve(recorded)
    problem.begin()
    specs = specs_of(problem.state(0))
    encoding, nbytes, kind = made.costs.encoding, state_bytes(specs), "states"
    if encoding is not None and encoding.memory:
        nbytes, kind = Encoded.bytes_for(specs, encoding.ratio), "encoded states"
    if nbytes != made.costs.snapshot:
        raise BadValue(
            f"the plan was made for {kind} of {made.costs.snapshot} bytes, and this problem's "
            f"take {nbytes}. Measure the problem and plan again."
        )


def open_stage(
    problem: Problem,
    made: Plan,
    storage: Storage,
    *,
    pool: Callable[[int], DiskPool] | None = None,
    adopted: Sequence[Tier] = (),
) -> Stage:
    """Open the tiers of a problem that is begun.

    Parameters
    ----------
    problem, made, storage
        What to open them for.
    pool : callable, optional
        Returns the disk pool of a tier, by its number from 1; anonymous ones by default.
    adopted : sequence of Tier
        Disk tiers that are open already, in order from tier 1.
    """
    schedule = made.schedule
    specs = specs_of(problem.state(0))
    recorded = _recorded(problem, schedule)
    frame = window_of(problem)
    frame_bytes = frame.nbytes(recorded) if frame is not None and recorded else 0
    tapes: Arena | None = None
    if _moves_tapes(problem, schedule):
        tapes = Arena(max(made.peak_bytes - max(frame_bytes, made.costs.standing), 0))
    tiers: list[Tier] = [_memory(tapes or RamPool(), made, storage), *adopted]
    slots = schedule.counts.snapshots
    stage = Stage(made, tiers, tapes, frame_bytes, storage)
    try:
        tiers[0].open(specs, slots[0])
        for number in range(len(tiers), len(slots)):
            if number == schedule.held and tapes is not None:
                tiers.append(Held(tapes))
                continue
            behind = pool(number) if pool else storage.pool(None, None)
            tier = storage.wrapped(behind, planned_ratio(made))
            tier.open(specs, max(slots[number], 1))
            tiers.append(tier)
    except BaseException:
        stage.close()
        raise
    return stage


def _memory(tier: Tier, made: Plan, storage: Storage) -> Tier:
    """Return the tier of main memory, encoded if the plan was made for that.

    Raises
    ------
    BadValue
        The storage has no encoder for main memory.
    """
    encoding = made.costs.encoding
    if encoding is None or not encoding.memory:
        return tier
    encoder = storage.encoder
    if encoder is None or not storage.encodes("memory"):
        raise BadValue(
            f"the plan was made for snapshots in main memory encoded by {encoding.name}, and the "
            "storage has no encoder for them. Pass storage=adjourn.Storage(encoder=..., "
            'encode="memory"), or plan for states as they are.'
        )
    return Encoded(tier, encoder, ratio=encoding.ratio)


def planned_ratio(made: Plan) -> float:
    """Return how many times smaller the plan counts on a snapshot to be on disk."""
    costs = made.costs
    if costs.encoding is not None:
        return costs.encoding.ratio
    return max(costs.snapshot / costs.disk_snapshot, 1.0) if costs.disk_snapshot else 1.0


def _moves_tapes(problem: Problem, schedule: Schedule) -> bool:
    return schedule.reversal == "tape" and hasattr(problem, "tape")


def _recorded(problem: Problem, schedule: Schedule) -> int:
    """Return the steps that the problem itself holds recorded."""
    return 1 if _moves_tapes(problem, schedule) else schedule.counts.recorded


def _uses(schedule: Schedule, tier: int) -> Iterator[tuple[Literal["save", "load", "drop"], int]]:
    """Yield what a schedule will ask of one tier."""
    names = {Save: "save", Load: "load", Drop: "drop"}
    for action in schedule:
        if isinstance(action, Save | Load | Drop) and action.tier == tier:
            name = cast('Literal["save", "load", "drop"]', names[type(action)])
            yield name, action.step


def _keep_pools(tier: Tier) -> None:
    """Close the disk pools under a tier without removing their files."""
    for pool in _pools(tier):
        pool.close(keep=True)


def _pools(tier: Tier) -> Iterator[DiskPool]:
    """Yield the disk pools under a tier, once nothing is in transfer."""
    if isinstance(tier, Background):
        tier.detach()
    inner = getattr(tier, "inner", None)
    if isinstance(tier, DiskPool):
        yield tier
    elif inner is not None:
        yield from _pools(inner)
