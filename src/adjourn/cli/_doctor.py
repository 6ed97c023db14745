"""`adjourn doctor`: what this machine has, how fast it copies, what each extra would bring."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from time import perf_counter
from typing import Any

from ._machine import available_memory, cores, installed, processor, total_memory
from ._shared import Commands, add_json, command, print_json

__all__ = ["add_parser"]

_EXTRAS = (
    ("progress", "rich", "progress bars on a terminal"),
    ("segy", "segyio", "velocity models from SEG-Y files"),
    ("devito", "devito", "adjoints of Devito operators within a budget"),
    ("jax", "jax", "gradients of JAX loops and functions within a budget"),
    ("schedules", "checkpoint-schedules", "our schedules in pyadjoint, Firedrake, tlm_adjoint"),
    ("zfp", "zfpy", "lossy snapshots, several times smaller"),
    ("zstd", "zstandard", "lossless snapshots, somewhat smaller"),
    ("mpi", "mpi4py", "one plan for all ranks of a distributed model"),
    ("docs", "sphinx", "building the documentation"),
)
_BYTES = 64 * 2**20
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "doctor",
        "show versions, memory, the speed of copies and disk, and what is not installed",
        "Measures for about two seconds and leaves no file behind.",
    )
    parser.add_argument("--directory", help="the disk to measure (default: for temporary files)")
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..running._progress import spinner  # noqa: PLC0415

    directory = arguments.directory or tempfile.gettempdir()
    with spinner("measuring copies and the disk", enabled=True):
        value: dict[str, Any] = {
            "schema": 1,
            "versions": _versions(),
            "machine": {
                "system": platform.platform(),
                "processor": processor(),
                "processors": cores(),
                "memory": total_memory(),
                "memory_available": available_memory(),
                "threads": {name: os.environ.get(name) for name in _THREADS},
            },
            "copy_bytes_per_second": _copy_speed(),
            "disk": _disk_speed(directory),
            "extras": {
                name: {"package": package, "installed": installed(package), "brings": words}
                for name, package, words in _EXTRAS
            },
        }
    if arguments.json:
        print_json(value)
    else:
        print(_text(value), end="")
    return 0


def _versions() -> dict[str, str | None]:
    from .. import __version__  # noqa: PLC0415

    return {
        "adjourn": __version__,
        "python": platform.python_version(),
        "numpy": installed("numpy"),
        "xxhash": installed("xxhash"),
    }


def _copy_speed() -> float:
    """Return the bytes per second of copies between buffers that caches do not hold."""
    import numpy as np  # noqa: PLC0415

    buffers = [np.ones(_BYTES // 8) for _ in range(3)]
    best = 0.0
    for attempt in range(6):
        began = perf_counter()
        np.copyto(buffers[attempt % 3], buffers[(attempt + 1) % 3])
        best = max(best, _BYTES / (perf_counter() - began))
    return best


def _disk_speed(directory: str) -> dict[str, Any]:
    """Return how fast snapshots are written and read, as runs do it."""
    import numpy as np  # noqa: PLC0415

    from ..errors import AdjournError  # noqa: PLC0415
    from ..tiers import DiskPool, specs_of  # noqa: PLC0415

    state = (np.random.default_rng(0).random(_BYTES // 8),)
    slots = 4
    found: dict[str, Any] = {"directory": directory, "write": None, "read": None, "problem": None}
    pool = DiskPool(directory)
    try:
        pool.open(specs_of(state), slots)
        writes: list[float] = []
        reads: list[float] = []
        for step in range(slots):
            began = perf_counter()
            pool.save(step, state, {})
            writes.append(perf_counter() - began)
        for step in range(slots):
            began = perf_counter()
            pool.load(step, state)
            reads.append(perf_counter() - began)
        found["write"], found["read"] = _BYTES / min(writes), _BYTES / min(reads)
        found["transfer"], found["file_system"] = pool.transfer, pool.file_system
    except (AdjournError, OSError) as error:
        found["problem"] = str(error)
    finally:
        pool.close()
    return found


def _text(value: dict[str, Any]) -> str:
    from .._sizes import format_bytes  # noqa: PLC0415
    from ..reports._words import WIDTH, listed, titled  # noqa: PLC0415

    machine, disk = value["machine"], value["disk"]
    memory, free = machine["memory"], machine["memory_available"]
    threads = ", ".join(f"{n}={v or 'not set'}" for n, v in machine["threads"].items())
    rows = [
        ("versions", ", ".join(f"{n} {v}" for n, v in value["versions"].items())),
        ("interpreter", sys.executable),
        ("system", machine["system"]),
        ("processor", f"{machine['processor']}, {machine['processors']} to use"),
        ("threads", threads),
        ("memory", f"{format_bytes(free or 0)} free of {format_bytes(memory or 0)}"),
        ("copies", f"{format_bytes(value['copy_bytes_per_second'])} a second in main memory"),
    ]
    if disk["problem"]:
        rows.append(("disk", f"{disk['directory']}: {disk['problem']}"))
    else:
        words = (
            f"{disk['directory']}: written at {format_bytes(disk['write'])} a second, read at "
            f"{format_bytes(disk['read'])}"
        )
        how = f", {disk['transfer']} on {disk['file_system']}"
        rows.append(("disk", words + how))
        if disk["file_system"] == "tmpfs":
            rows.append(("", "this directory lies in main memory: snapshots there save none"))
    lines = [*titled("adjourn doctor"), ""]
    for name, words in rows:
        lines += listed([words], name.ljust(13))
    lines += ["", "What extras bring", "-" * WIDTH]
    for name, extra in value["extras"].items():
        there = f"{extra['package']} {extra['installed'] or 'MISSING'}"
        lines += listed([extra["brings"]], f"{name:10} {there:29} ")
    missing = [name for name, extra in value["extras"].items() if extra["installed"] is None]
    if missing:
        command = f"pip install 'adjourn[{','.join(missing)}]'"
        lines += ["", f"To install what is missing: {command}"]
    return "\n".join(line.rstrip() for line in lines) + "\n"
