"""Planning in bytes: seconds, gap and memory; mixed schedules beside checkpoint_schedules.

Run with ``python benchmarks/optimum.py``; checkpoint_schedules is compared where it is installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from _bench import interleave, table

from adjourn.schedules import mixed, optimal

MIB = 2**20
WAVE = {"advance": 1.0, "recordings": [(2.5, MIB, MIB)], "snapshot": 2 * MIB}
ODD = {"advance": 1.0, "recordings": [(2.5, 1_000_003, 1_100_000)], "snapshot": 2_016_000}
CASES = [
    ("wave, 1615 steps, 130 units", 1615, WAVE, 130 * MIB),
    ("wave, 1615 steps, 400 units", 1615, WAVE, 400 * MIB),
    ("odd sizes, 1615 steps, 130 MB", 1615, ODD, 130_000_000),
    ("wave, 10^5 steps, 20 units", 10**5, WAVE, 20 * MIB),
    ("wave, 10^5 steps, 130 units", 10**5, WAVE, 130 * MIB),
    ("wave, 10^5 steps, 1000 units", 10**5, WAVE, 1000 * MIB),
    ("odd sizes, 10^5 steps, 130 MB", 10**5, ODD, 130_000_000),
    ("wave, 10^6 steps, 130 units", 10**6, WAVE, 130 * MIB),
]


def theirs(steps: int, slots: int):
    """Return what plans and plays Maddison's schedule in checkpoint_schedules, or None."""
    try:
        from checkpoint_schedules import MixedCheckpointSchedule  # noqa: PLC0415
        from checkpoint_schedules import mixed as module  # noqa: PLC0415
    except ImportError:
        return None

    def play():
        for value in vars(module).values():  # forget what an earlier call planned
            for cell in getattr(value, "__closure__", None) or ():
                if isinstance(cell.cell_contents, dict):
                    cell.cell_contents.clear()
        for _ in MixedCheckpointSchedule(steps, slots):
            pass

    return play


def ours(steps: int, slots: int) -> None:
    """Plan and play our mixed schedule."""
    for _ in mixed(steps, slots):
        pass


def largest_resident() -> str:
    """Return the most MiB that this process held resident (getrusage would tell the parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return str(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))


def main() -> None:
    plans = {
        name: lambda steps=steps, costs=costs, budget=budget: optimal(steps, budget=budget, **costs)
        for name, steps, costs, budget in CASES
    }
    table("seconds to plan, schedule, peak and gap included", interleave(plans), CASES[0][0])
    print("\nwhat was planned, over the time of storing everything")
    for name, steps, costs, budget in CASES:
        found = optimal(steps, budget=budget, **costs)
        ratio = found.seconds / (2.5 * steps)
        print(f"  {name:40s} {ratio:8.4f}  gap {found.gap:8.3%}  block {found.block}")
    print("\nlargest resident set of a process that plans (MiB)")
    for index, (name, *_) in enumerate(CASES):
        out = subprocess.run(
            [sys.executable, __file__, str(index)], check=True, capture_output=True, text=True
        ).stdout
        print(f"  {name:40s} {out.strip()}")
    peer = theirs(1000, 20)
    runs = {"mixed(1000, 20), planned and played": lambda: ours(1000, 20)}
    if peer is not None:
        runs["the same in checkpoint_schedules"] = peer
    table("mixed storage", interleave(runs), "mixed(1000, 20), planned and played")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _, steps, costs, budget = CASES[int(sys.argv[1])]
        optimal(steps, budget=budget, **costs)
        print(largest_resident())
    else:
        main()
