"""Measuring what a disk takes, and what an encoder does to states and to the gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import median
from time import perf_counter, process_time

import numpy as np

from .._sizes import format_seconds
from ..errors import BudgetTooSmall
from ..planning import Costs, Encoding, Plan
from ..problem import Array, Problem
from ..tiers import ArraySpec, DiskPool, Encoded, Encoder, RamPool, measure_encoder, specs_of
from ..tiers._background import staging_bytes
from ..tiers._files import PAGE
from ._polite import LEAST_SECONDS, RECORDED_BYTES, SHARE
from ._storage import Storage

__all__ = ["encoding_words", "hold_beside", "measure_disk", "measure_storage"]

_FOR_STEPS = 3.8  # seconds of that which measuring the steps themselves may take
_FOR_START = 0.6  # share of what is left for running to a state that is not at rest
_STRETCH = 8  # steps whose reverse is compared
_ROUNDS = 4
_USUAL_RATIO = 4.0


def measure_storage(
    problem: Problem,
    costs: Costs,
    storage: Storage,
    *,
    directory: str | None = None,
    disk: bool = False,
) -> tuple[Costs, ...]:
    """Return the costs with those of the storage: one to plan with, or more to choose from.

    Runs to a state some steps on, as one at rest compresses better than any that follows, tries
    the encoder on it, and compares the reverse of a few steps from the state and from what a
    lossy encoder makes of it. Takes, beside what measuring the steps may take, at most 5% of a
    forward run or 1.2 s. Leaves the problem as after ``begin()``, and nothing on disk.

    Parameters
    ----------
    problem, costs
        The problem, and what is known of it.
    storage : Storage
        How tiers will be used.
    directory : str, optional
        Where to measure the disk; the storage's, or the system's for temporary files, by default.
    disk : bool
        A disk will be used.
    """
    trial = None
    encoder = storage.encoder
    asked = disk or storage.encodes("memory")
    if encoder is not None and asked and costs.encoding is None and costs.reads != "nothing":
        trial = _try(problem, costs, encoder, storage.ratio)
        costs = replace(costs, encoding=trial.encoding)
    again = trial is not None and storage.encodes("disk")
    if disk and costs.snapshot and (costs.disk_write is None or again):
        problem.begin()
        arrays = trial.arrays if trial is not None else problem.state(0)
        costs = _time_disk(arrays, costs, storage, directory)
    elif disk and costs.snapshot:
        problem.begin()
        costs = _staged(specs_of(problem.state(0)), costs, storage)
    if trial is None or not storage.encodes("memory"):
        return (costs,)
    return costs, _encoded_memory(costs, trial)


def measure_disk(
    problem: Problem,
    costs: Costs,
    directory: str | None = None,
    storage: Storage | None = None,
) -> Costs:
    """Return the costs with the wall seconds of the disk, which the processor does not see.

    As `measure_storage` with a disk, for states in main memory as they are.
    """
    known = replace(costs, disk_write=None)
    return measure_storage(problem, known, storage or Storage(), directory=directory, disk=True)[0]


def hold_beside(costs: Costs, nbytes: int) -> Costs:
    """Return the costs of a run that holds so many bytes throughout, beside all else."""
    window = costs.window
    if window is not None:
        window = replace(window, fixed_bytes=window.fixed_bytes + nbytes)
    return replace(costs, window=window, standing=costs.standing + nbytes)


def encoding_words(
    made: Plan, plans: Sequence[Plan], refusal: BudgetTooSmall | None
) -> Iterator[str]:
    """Yield what to say of the encoder in a plan that was chosen from ``plans``."""
    encoding = made.costs.encoding
    if encoding is None:
        return
    words = f"{encoding.name} makes the state of step {encoding.start} {encoding.found:.1f} times"
    words += f" smaller, and is counted on for {encoding.ratio:.1f}"
    if encoding.largest:
        largest, rms = (error / (encoding.scale or 1) for error in (encoding.largest, encoding.rms))
        words += f"; largest error {largest:.1e}, rms {rms:.1e} of the largest value"
    yield words
    if encoding.gradient is None:
        yield "what the encoder does to the gradient could not be compared before the run"
    elif encoding.gradient:
        yield (
            f"the gradient of steps {encoding.start} to {encoding.stop} from the encoded state is "
            f"off by {encoding.gradient:.1e} of its largest value"
        )
    others = [one for one in plans if one is not made]
    if others and encoding.memory:
        yield f"with states as they are it would take {format_seconds(others[0].seconds)}"
    elif others:
        yield (
            f"with encoded snapshots in main memory it would take "
            f"{format_seconds(others[0].seconds)}: they are kept as they are"
        )
    elif refusal is not None and encoding.memory:
        yield "states as they are do not fit the budget"


def _time_disk(
    arrays: Sequence[Array], costs: Costs, storage: Storage, directory: str | None
) -> Costs:
    specs = specs_of(arrays)
    scratch = storage.scratch if directory is None else directory
    pool = DiskPool(scratch, direct=storage.direct, durable=storage.durable, files=storage.files)
    encoding = costs.encoding
    tier = storage.encoded(pool, 1.0)
    writes: list[float] = []
    reads: list[float] = []
    try:
        tier.open(specs, _ROUNDS)
        for step in range(_ROUNDS):
            began = perf_counter()
            tier.save(step, arrays, {})
            writes.append(perf_counter() - began)
        into = [np.empty_like(a) for a in arrays]
        for step in range(_ROUNDS):
            began = perf_counter()
            tier.load(step, into)
            reads.append(perf_counter() - began)
        nbytes = -(-pool.disk_bytes // _ROUNDS) + PAGE
        staging = tier.nbytes + staging_bytes(specs, storage.background)
        if encoding is not None and storage.encodes("disk"):
            piece, count = Encoded.pieces_for(specs, encoding.ratio)
            nbytes = DiskPool.disk_bytes_for([piece], count)
    finally:
        tier.close()
    return replace(
        costs,
        disk_write=median(writes),
        disk_read=median(reads),
        disk_snapshot=nbytes,
        disk_staging=staging,
        disk_buffers=storage.background,
    )


def _staged(specs: Sequence[ArraySpec], costs: Costs, storage: Storage) -> Costs:
    """Return costs that were given, with no less staging than the storage takes."""
    encoding, inner, beside = costs.encoding, specs, 0
    if encoding is not None and storage.encodes("disk"):
        size, _ = Encoded.pieces_for(specs, encoding.ratio)
        inner, beside = [size], Encoded.memory_for(specs, encoding.ratio)
    pool = DiskPool.memory_for(inner, direct=storage.direct is not False)
    least = pool + beside + staging_bytes(specs, storage.background)
    return replace(
        costs, disk_staging=max(costs.disk_staging, least), disk_buffers=storage.background
    )


def _encoded_memory(costs: Costs, trial: _Trial) -> Costs:
    """Return the costs with snapshots in main memory encoded."""
    specs, ratio = specs_of(trial.arrays), trial.encoding.ratio
    known = replace(
        costs,
        snapshot=Encoded.bytes_for(specs, ratio),
        write=trial.write,
        read=trial.read,
        encoding=replace(trial.encoding, memory=True),
    )
    return hold_beside(known, Encoded.memory_for(specs, ratio))


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """What an encoder did to a state, the state, and processor seconds in main memory."""

    encoding: Encoding
    arrays: Sequence[Array]
    write: float
    read: float


def _try(problem: Problem, costs: Costs, encoder: Encoder, stated: float | None) -> _Trial:
    steps, advance = problem.steps, max(costs.advance, 1e-9)
    room = max(LEAST_SECONDS, SHARE * steps * advance) - _FOR_STEPS
    start = min(max(int(_FOR_START * room / advance), 1), steps // 2)
    length = min(_longest(costs), steps - start)
    each = advance + 2 * max(r.seconds for r in costs.recordings)
    length = min(length, int((1 - _FOR_START) * room / each))
    reserve = getattr(problem, "reserve", None)
    if reserve is not None:
        reserve(max(length, 1))
    problem.begin()
    if start:
        start = problem.advance(0, start, replay=False)
    arrays = [np.array(a) for a in problem.state(start)]
    back, write, read = _round_trip(encoder, arrays)
    loss = measure_encoder(encoder, arrays)
    gradient = 0.0 if encoder.lossless else None
    if gradient is None and length > 0:
        try:
            gradient = _compare(problem, start, start + length, (arrays, back))
        except Exception:  # a problem may refuse a turn before its end: nothing is estimated then
            gradient = None
    problem.begin()
    encoding = Encoding(
        name=encoder.name,
        ratio=stated or _cautious(loss.ratio),
        found=loss.ratio,
        largest=loss.largest,
        rms=loss.rms,
        scale=loss.scale,
        gradient=gradient,
        start=start,
        stop=start + length,
    )
    return _Trial(encoding, arrays, write, read)


def _longest(costs: Costs) -> int:
    window = costs.window
    left = max(r.left for r in costs.recordings) or 1
    most = _STRETCH if window is None else window.max_steps or _STRETCH
    return max(1, min(_STRETCH, most, RECORDED_BYTES // left))


def _round_trip(encoder: Encoder, arrays: Sequence[Array]) -> tuple[Sequence[Array], float, float]:
    """Return the state as it comes back, and the processor seconds of a save and of a load."""
    tier = Encoded(RamPool(), encoder, measure_every=0)
    back = [np.empty_like(a) for a in arrays]
    writes: list[float] = []
    reads: list[float] = []
    try:
        tier.open(specs_of(arrays), 2)  # room for one that gets larger
        for turn in range(_ROUNDS):
            began = process_time()
            tier.save(turn, arrays, {})
            writes.append(process_time() - began)
            began = process_time()
            tier.load(turn, back)
            reads.append(process_time() - began)
            tier.drop(turn)
    finally:
        tier.close()
    return back, median(writes), median(reads)


def _compare(
    problem: Problem, start: int, stop: int, states: tuple[Sequence[Array], Sequence[Array]]
) -> float | None:
    """Return how far the reverse of a stretch is off when it starts from the second state."""
    carried = getattr(problem, "carried", None)
    if carried is None:
        return None
    clock = getattr(problem, "clock", None)
    known = {} if clock is None else dict(clock(start))
    problem.advance(start, stop, replay=False)
    problem.turn()
    before = _copies(carried())

    def play(state: Sequence[Array]) -> dict[str, Array]:
        for name, array in carried().items():
            array[...] = before[name]
        for view, array in zip(problem.state(start), state, strict=True):
            view[...] = array
        loaded = getattr(problem, "loaded", None)
        if loaded is not None:
            loaded(start, known)
        problem.record(start, stop, replay=True)
        problem.reverse(start, stop)
        return _copies(carried())

    exact, rough = (play(state) for state in states)
    off: list[float] = []
    for name, array in exact.items():
        if array.dtype.kind not in "fc" or np.array_equal(array, before[name]):
            continue
        with np.errstate(all="ignore"):
            scale = float(np.abs(array).max())
            off.append(float(np.abs(rough[name] - array).max()) / scale)
    return max(off) if off and all(map(isfinite, off)) else None


def _copies(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.array(array) for name, array in arrays.items()}


def _cautious(ratio: float) -> float:
    """Return a ratio to plan with: fields that compress very well early do so less later."""
    return 0.9 * (ratio if ratio <= _USUAL_RATIO else (_USUAL_RATIO * ratio) ** 0.5)
