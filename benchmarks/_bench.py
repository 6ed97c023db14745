"""What the benchmarks share: interleaved runs, medians of processor seconds, ratios."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time

__all__ = ["interleave", "on_cores", "table"]


def on_cores(count: int) -> None:
    """Keep this process, and the threads it starts later, on so many of its cores; 0 for all."""
    if count and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def interleave(runs: Mapping[str, Callable[[], object]], times: int = 7) -> dict[str, list[float]]:
    """Run each entry once per round, in turn; return processor seconds for each."""
    seen: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # first calls compile and fault pages in
    for _ in range(times):
        for name, run in runs.items():
            began = process_time()
            run()
            seen[name].append(process_time() - began)
    return seen


def table(title: str, seen: Mapping[str, list[float]], against: str, unit: float = 1.0) -> None:
    """Print medians, spread and the ratio to ``against``; ``unit`` divides the seconds."""
    print(f"\n{title}")
    base = median(seen[against])
    for name, times in seen.items():
        low, middle, high = min(times) / unit, median(times) / unit, max(times) / unit
        ratio = median(times) / base
        print(f"  {name:40s} {middle:10.4g}  [{low:.4g} to {high:.4g}]  ratio {ratio:.3f}")
