"""Tiers beside plain calls, h5py, zarr and np.save, on the same bytes in one run.

Run with ``python benchmarks/tiers.py``. Each round saves one state of 64 MiB and loads it again
with every store in turn; h5py and zarr (pip install h5py zarr) are compared where they are
installed. A disk is waited for, which processor seconds do not show: wall seconds stand first,
processor seconds beside them. "plain" is one ``pwrite`` and one ``preadv`` of the same bytes on a
preallocated file of as many reused slots, between the same memory (which for direct transfer lies
on pages, as that demands) and the file, without any checksum. ``--peers none`` leaves the others
out, and ``--rounds`` asks for more than 7.

``python benchmarks/tiers.py --encoders`` measures the encoders on the acoustic wavefield, and
what they do to the gradient; ``--demo`` runs it with a twentieth of its history in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from adjourn import plan, run
from adjourn.models import synthetic
from adjourn.running import Storage, measure
from adjourn.running._measure_storage import measure_disk, measure_storage
from adjourn.tiers import (
    Background,
    DiskPool,
    Encoded,
    Int16,
    RamPool,
    Zfp,
    Zstd,
    specs_of,
)
from adjourn.tiers._files import aligned

NBYTES = 64 << 20
SLOTS = 4
ROUNDS = 7
FIRST = 2  # rounds not counted: files get their blocks, libraries their code


class Plain:
    """One call each on a preallocated file."""

    def __init__(self, directory: str, state: np.ndarray, *, direct: bool) -> None:
        flags = os.O_RDWR | os.O_TMPFILE | (os.O_DIRECT if direct else 0)
        self.fd = os.open(directory, flags, 0o600)
        os.posix_fallocate(self.fd, 0, SLOTS * NBYTES)
        self.own = on_pages(state) if direct else state

    def save(self, step, arrays):
        view = memoryview(self.own).cast("B")
        done = 0
        while done < NBYTES:
            done += os.pwrite(self.fd, view[done:], step * NBYTES + done)

    def load(self, step, arrays):
        view = memoryview(self.own).cast("B")
        done = 0
        while done < NBYTES:
            done += os.preadv(self.fd, [view[done:]], step * NBYTES + done)

    def close(self):
        os.close(self.fd)


class Pool:
    """A tier of ours; ``own`` is memory to use in place of the state's."""

    def __init__(self, tier, state, own=None):
        self.tier = tier
        self.own = own
        tier.open(specs_of([state]), SLOTS)

    def save(self, step, arrays):
        if step in self.tier.held():
            self.tier.drop(step)
        self.tier.save(step, arrays if self.own is None else [self.own], {})

    def load(self, step, arrays):
        self.tier.load(step, arrays if self.own is None else [self.own])

    def close(self):
        self.tier.close()


class Saved:
    """``np.save`` to a file a step."""

    def __init__(self, directory, state):
        self.directory = Path(directory) / "npy"
        self.directory.mkdir()

    def save(self, step, arrays):
        np.save(self.directory / f"{step}.npy", arrays[0])

    def load(self, step, arrays):
        arrays[0][:] = np.load(self.directory / f"{step}.npy")

    def close(self):
        shutil.rmtree(self.directory)


def hdf5(directory, state, *, checksum):
    """Return h5py with one dataset a step, or None."""
    try:
        import h5py  # noqa: PLC0415
    except ImportError:
        return None

    class Hdf5:
        def __init__(self):
            self.path = Path(directory) / f"states{checksum}.h5"
            self.file = h5py.File(self.path, "w")
            for step in range(SLOTS):
                self.file.create_dataset(str(step), state.shape, state.dtype, fletcher32=checksum)

        def save(self, step, arrays):
            self.file[str(step)][...] = arrays[0]
            self.file.flush()

        def load(self, step, arrays):
            self.file[str(step)].read_direct(arrays[0])

        def close(self):
            self.file.close()
            self.path.unlink()

    return Hdf5()


def zarr_store(directory, state, *, raw):
    """Return zarr with one array a step, or None."""
    try:
        import zarr  # noqa: PLC0415
    except ImportError:
        return None

    class Zarr:
        def __init__(self):
            self.path = Path(directory) / f"states{raw}.zarr"
            settings = {"compressors": None} if raw else {}
            self.arrays = [
                zarr.create_array(
                    store=str(self.path / str(step)),
                    shape=state.shape,
                    dtype=state.dtype,
                    chunks=(state.size // 8,),
                    **settings,
                )
                for step in range(SLOTS)
            ]

        def save(self, step, arrays):
            self.arrays[step][:] = arrays[0]

        def load(self, step, arrays):
            arrays[0][:] = self.arrays[step][:]

        def close(self):
            shutil.rmtree(self.path)

    return Zarr()


def on_pages(state):
    """Return a copy of the state that begins on a page."""
    copy = aligned(state.nbytes).view(state.dtype)
    copy[:] = state
    return copy


def stores(directory, state, *, peers):
    """Return every store by name."""
    found = {
        "plain, page cache": Plain(directory, state, direct=False),
        "adjourn, page cache": Pool(DiskPool(directory, direct=False), state),
    }
    try:
        found["plain, direct"] = Plain(directory, state, direct=True)
        found["adjourn, direct"] = Pool(DiskPool(directory, direct=True), state)
        found["adjourn, direct, on pages"] = Pool(
            DiskPool(directory, direct=True), state, on_pages(state)
        )
    except OSError:
        print("direct transfer is not taken here")
    if not peers:
        return found
    found |= {
        "adjourn, direct, background": Pool(Background(DiskPool(directory), 2), state),
        "adjourn, main memory": Pool(RamPool(), state),
        "np.save": Saved(directory, state),
        "h5py": hdf5(directory, state, checksum=False),
        "h5py, fletcher32": hdf5(directory, state, checksum=True),
        "zarr, no compression": zarr_store(directory, state, raw=True),
        "zarr, as configured by default": zarr_store(directory, state, raw=False),
    }
    with contextlib.suppress(ImportError):
        found["adjourn, zstd"] = Pool(Encoded(DiskPool(directory), Zstd()), state)
    return {name: store for name, store in found.items() if store is not None}


def compare(directory, *, peers, rounds):
    """Print the table."""
    rng = np.random.default_rng(0)
    state = rng.standard_normal(NBYTES // 4, dtype=np.float32)
    expected = state.copy()
    seen = stores(directory, state, peers=peers)
    times = {name: ([], [], [], []) for name in seen}
    for turn in range(FIRST + rounds):
        step = turn % SLOTS
        for name, store in seen.items():
            memory = getattr(store, "own", None)
            memory = state if memory is None else memory
            for first, call in ((0, store.save), (2, store.load)):
                if first and turn < FIRST:
                    memory[:] = 0  # a load that does nothing is noticed
                wall, cpu = perf_counter(), process_time()
                call(step, [state])
                if turn >= FIRST:
                    times[name][first].append(perf_counter() - wall)
                    times[name][first + 1].append(process_time() - cpu)
            if not np.array_equal(memory, expected):
                raise SystemExit(f"{name} returned other bits")
    for store in seen.values():
        store.close()
    print(f"64 MiB of float32 noise in {directory}, median of {rounds} interleaved rounds")
    print(f"{'':32s}{'save GB/s':>10s} {'(spread)':>14s} {'cpu s':>7s}", end="")
    print(f"{'load GB/s':>12s} {'(spread)':>14s} {'cpu s':>7s}   of plain: save, load")
    for name, (save, save_cpu, load, load_cpu) in times.items():
        row = f"{name:32s}"
        for walls, cpus, width in ((save, save_cpu, 10), (load, load_cpu, 12)):
            low, high = NBYTES / max(walls) / 1e9, NBYTES / min(walls) / 1e9
            row += f"{NBYTES / median(walls) / 1e9:{width}.2f} "
            row += f"{f'{low:.2f}-{high:.2f}':>14s} {median(cpus):7.3f}"
        base = "plain, direct" if "direct" in name and "plain, direct" in times else None
        base = base or "plain, page cache"
        ratios = [median(times[base][i]) / median(times[name][i]) for i in (0, 2)]
        print(f"{row}   {ratios[0]:.2f}, {ratios[1]:.2f}")


def wave(cells, steps=300):
    """Return a 3-D shot, its exact gradient, its costs, and the bytes of its history."""
    shot = synthetic(shape=(cells,) * 3, steps=steps, absorbing=10)
    costs = measure(shot, progress=False)
    history = steps * shot.window().step_bytes
    record = run(shot, budget=2 * history, costs=costs, progress=False)
    return shot, shot.gradient.copy(), costs, history, record


def demo():
    """Print a 3-D gradient with a twentieth of its history in memory, with and without disk."""
    shot, exact, costs, history, whole = wave(100)
    budget = history // 20
    print(f"100^3 cells and the layer, 300 steps: history {history / 2**20:.0f} MiB")
    print(f"{'':34s}{'wall s':>8s}{'cpu s':>8s}{'of all':>8s}{'steps':>7s}{'waited':>9s}", end="")
    print(f"{'predicted':>10s}{'hidden':>8s}  same bits")
    rows = {
        "history in main memory": (None, None),
        "1/20, main memory alone": (None, Storage()),
        "1/20, disk": ("4 GiB", Storage()),
        "1/20, disk in the background": ("4 GiB", Storage(background=2)),
    }
    for name, (disk, kept) in rows.items():
        record = whole
        if kept is not None:
            known = measure_disk(shot, costs, None, kept) if disk else costs
            record = run(shot, budget=budget, disk=disk, costs=known, storage=kept, progress=False)
        row = f"{name:34s}{record.wall_seconds:8.2f}{record.cpu_seconds:8.2f}"
        row += f"{record.cpu_seconds / whole.cpu_seconds:8.2f}{record.forward_steps:7d}"
        for use in record.tiers:
            hidden = "" if use.hidden is None else f"{use.hidden:.0%}"
            row += f"{use.waited_seconds:9.3f}{use.predicted_seconds or 0:10.3f}{hidden:>8s}"
        print(f"{row:84s}  {np.array_equal(shot.gradient, exact)}")


def encoders(rounds):
    """Print what each encoder does to slots, time and gradient, in memory and on disk."""
    shot, exact, costs, history, _ = wave(60)
    steps, snapshot = shot.steps, costs.snapshot
    print(f"3-D acoustic wave, {steps} steps, states of {snapshot / 2**20:.1f} MiB, ", end="")
    print(f"history {history / 2**20:.0f} MiB; median of {rounds} interleaved rounds")
    shot.begin()
    shot.advance(0, steps // 2, replay=False)
    state = [a.copy() for a in shot.state(steps // 2)]
    choices = [None, Zstd(1), Int16(1e-2, relative=True)]
    choices += [Zfp(tolerance, relative=True) for tolerance in (1e-4, 1e-6)]
    places = {
        "memory": ("1/20 of the history in main memory", history // 20, None),
        "disk": ("1/30 of the history, a disk for 8 states", history // 30, 8 * snapshot),
    }
    for where, (words, budget, disk) in places.items():
        print(f"\n{words}\n{'encoder':28s}{'smaller':>9s}{'slots':>9s}{'steps':>7s}", end="")
        print(f"{'largest':>10s}{'rms':>9s}{'estimate':>10s}{'gradient':>10s}{'cpu s':>8s}", end="")
        print(f"{'(spread)':>14s}")
        kept = [Storage(encoder=one, encode=where, on_full="recompute") for one in choices]
        plans = [made_plan(shot, costs, one, budget, disk) for one in kept]
        records = [[] for _ in choices]
        errors = [0.0] * len(choices)
        for _ in range(rounds):
            for number, (storage, made) in enumerate(zip(kept, plans, strict=True)):
                records[number].append(run(shot, made, storage=storage, progress=False))
                errors[number] = np.abs(shot.gradient - exact).max() / np.abs(exact).max()
        for encoder, made, found, error in zip(choices, plans, records, errors, strict=True):
            print_encoder(encoder, made, found, error)
    print()
    for encoder in choices[1:]:
        speeds = [speed / 1e9 for speed in encoder_speeds(encoder, state)]
        print(f"{encoder.name:28s} encodes {speeds[0]:.2f} GB/s, decodes {speeds[1]:.2f} GB/s")


def made_plan(shot, costs, storage, budget, disk):
    """Return the fastest plan with the encoder."""
    choices = measure_storage(shot, costs, storage, disk=disk is not None)
    return plan(shot.steps, choices[-1], budget, disk)


def print_encoder(encoder, made, records, error):
    """Print one row: what a run with an encoder did."""
    record = records[0]
    name = "none" if encoder is None else encoder.name
    counts = made.schedule.counts.snapshots
    row = f"{name:28s}"
    if record.tiers and encoder is not None:
        (use,) = record.tiers
        scale = use.scale or 1.0
        row += f"{use.ratio:8.1f}x{'+'.join(map(str, counts)):>9s}{record.forward_steps:7d}"
        row += f"{use.largest_error / scale:10.1e}{use.rms_error / scale:9.1e}"
        row += f"{use.gradient_error or 0:10.1e}"
    else:
        row += f"{'':9s}{'+'.join(map(str, counts)):>9s}{record.forward_steps:7d}{'':29s}"
    times = [one.cpu_seconds for one in records]
    spread = f"{min(times):.2f}-{max(times):.2f}"
    print(f"{row}{error:10.1e}{median(times):8.2f}{spread:>14s}")
    for told in record.fallbacks[:2]:
        print("   ", told[:100])


def encoder_speeds(encoder, state):
    """Return bytes of state a second, encoding and decoding, best of five."""
    nbytes = sum(a.nbytes for a in state)
    tier = Encoded(RamPool(), encoder, measure_every=0)
    tier.open(specs_of(state), 2)
    into = [np.empty_like(a) for a in state]
    both = ([], [])
    for turn in range(5):
        began = process_time()
        tier.save(turn, state, {})
        both[0].append(process_time() - began)
        began = process_time()
        tier.load(turn, into)
        both[1].append(process_time() - began)
        tier.drop(turn)
    tier.close()
    return [nbytes / min(times) for times in both]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", default=tempfile.gettempdir())
    parser.add_argument("--encoders", action="store_true")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--peers", choices=("all", "none"), default="all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    if args.encoders:
        encoders(args.rounds)
    elif args.demo:
        demo()
    else:
        with tempfile.TemporaryDirectory(dir=args.directory) as directory:
            compare(directory, peers=args.peers == "all", rounds=args.rounds)


if __name__ == "__main__":
    main()
