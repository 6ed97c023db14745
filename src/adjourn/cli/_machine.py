"""What this machine is: versions, memory, processors."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["available_memory", "cores", "installed", "processor", "total_memory"]


def installed(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cores() -> int:
    """Return the processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor."""
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def total_memory() -> int | None:
    """Return the bytes of main memory, or what the container may use."""
    return _least(_meminfo("MemTotal"), _number("/sys/fs/cgroup/memory.max"))


def available_memory() -> int | None:
    """Return the bytes of main memory that are free for a process, or what its container leaves."""
    limit = _number("/sys/fs/cgroup/memory.max")
    used = _number("/sys/fs/cgroup/memory.current")
    left = limit - used if limit is not None and used is not None else None
    return _least(_meminfo("MemAvailable"), left)


def _least(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def _meminfo(name: str) -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return None


def _number(path: str) -> int | None:
    words = "".join(_lines(path)).strip()
    return int(words) if words.isdigit() else None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
