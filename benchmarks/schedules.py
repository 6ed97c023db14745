"""Schedules beside checkpoint_schedules and equinox: time, peak memory, cost, in one run.

    python benchmarks/schedules.py            # about ten minutes: theirs take up to 40 s each
    python benchmarks/schedules.py --quick    # what takes theirs less than a second

Each figure is taken in a process of its own, ours and theirs in turn: processor seconds to make
the schedule and play every action, and the growth of the resident set. Median of 7 where theirs
takes less than a second, of 3 below ten, else one run; [least to most] in brackets.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import takewhile
from statistics import median
from time import process_time

from adjourn.optimum import revolve_advances
from adjourn.optimum._online import least_total_placement
from adjourn.schedules import online

OURS = "from adjourn.schedules import *"
THEIRS = "from checkpoint_schedules import *"
PLANS = [  # name, ours, theirs, how often
    (
        "Multistage(100 000; 10+10)",
        "multistage(10**5, 10, 10)",
        "MultistageCheckpointSchedule(10**5, 10, 10)",
        7,
    ),
    ("Mixed(200, 10)", "mixed(200, 10)", "MixedCheckpointSchedule(200, 10)", 7),
    ("HRevolve(500; 5+5)", "hrevolve(500, [(5,), (5, 2, 2)])", "HRevolve(500, 5, 5)", 7),
    ("Revolve(2000, 30)", "revolve(2000, 30)", "Revolve(2000, 30)", 1),
    ("HRevolve(4000; 10+10)", "hrevolve(4000, [(10,), (10, 2, 2)])", "HRevolve(4000, 10, 10)", 1),
    (
        "HRevolve(1000; 30+100)",
        "hrevolve(1000, [(30,), (100, 2, 2)])",
        "HRevolve(1000, 30, 100)",
        1,
    ),
    ("Mixed(1000, 20)", "mixed(1000, 20)", "MixedCheckpointSchedule(1000, 20)", 3),
    ("DiskRevolve(2500, 1)", "disk_revolve(2500, 1)", "DiskRevolve(2500, 1)", 1),
    ("PeriodicDisk(10^6, 10)", "periodic(10**6, 10)", "PeriodicDiskRevolve(10**6, 10)", 1),
]
ACTIONS = [
    "store_all(10**5)",
    "segments(10**5, 10)",
    "revolve(10**5, 30)",
    "window(10**5, 3, 30)",
    "multistage(10**5, 10, 20)",
    "mixed(2000, 20)",
    "disk_revolve(10**4, 5)",
    "periodic(10**5, 10)",
    "hrevolve(10**4, [(10,), (10, 2, 2)])",
    "asynchronous(10**5, 3, 9, 9)",
    "online(30).schedule(10**5)",
    "uneven([1 + i % 7 for i in range(1000)], 10)",
    "stages(300, 40, 2)",
]
CHILD = """
import json, sys, warnings
from time import process_time
warnings.simplefilter("ignore")
sys.setrecursionlimit(10**6)
{imports}
def peak():  # kB, of this process alone: getrusage starts from what the parent held
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
began = process_time()
schedule = {make}
made = process_time()
actions = sum(1 for _ in schedule)
ended = process_time()
after = peak()
print(json.dumps([made - began, ended - made, actions, (after - before) / 1024]))
"""


def child(imports: str, make: str) -> list[float]:
    """Return seconds to make, seconds to play, actions, MiB of growth, in a new process."""
    code = CHILD.format(imports=imports, make=make)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def spread(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:9.3g} s"
    return f"{median(values):9.3g} s [{min(values):.3g} to {max(values):.3g}]"


def plans(*, quick: bool) -> None:
    print("Making and playing a schedule: seconds, and MiB of memory\n")
    for name, ours, theirs, times in PLANS:
        if quick and times < 7:
            continue
        seen: dict[str, list[list[float]]] = {"adjourn": [], "checkpoint_schedules": []}
        for _ in range(times):
            seen["adjourn"].append(child(OURS, ours))
            seen["checkpoint_schedules"].append(child(THEIRS, theirs))
        print(name)
        seconds = {who: [run[0] + run[1] for run in runs] for who, runs in seen.items()}
        for who, runs in seen.items():
            print(f"  {who:22s} {spread(seconds[who])}   {max(run[3] for run in runs):8.1f} MiB")
        mine, other = (median(seconds[who]) for who in seen)
        print(f"  ratio                  {other / mine:9.0f}")


def actions() -> None:
    print("\nMicroseconds an action, ours (median of 7), and those of Multistage there\n")
    for make in ACTIONS:
        runs = [child(OURS, make) for _ in range(7)]
        each = [1e6 * run[1] / run[2] for run in runs]
        low, high = min(each), max(each)
        print(
            f"  {make:46s} {median(each):6.2f}  [{low:.2f} to {high:.2f}]  {runs[0][2]:.0f} actions"
        )
    runs = [child(THEIRS, "MultistageCheckpointSchedule(10**5, 10, 20)") for _ in range(7)]
    each = [1e6 * run[1] / run[2] for run in runs]
    print(f"  {'theirs: Multistage(10**5, 10, 20)':46s} {median(each):6.2f}")


def bookkeeping() -> None:
    print(
        "\nUnknown number of steps: microseconds of bookkeeping a step, over 10^5 and 10^6 steps\n"
    )
    for slots in (5, 10, 30, 100):
        each = []
        for most in (10**5, 10**6):
            began = process_time()
            saves = sum(
                1 for _ in takewhile(lambda m, n=most: m[0] < n, least_total_placement(slots))
            )
            each.append(f"{(process_time() - began) / most * 1e6:.3f} ({saves} saves)")
        print(f"  {slots:4d} slots   " + "   ".join(each))


def unknown(*, quick: bool) -> None:
    print("\nUnknown number of steps: worst (n + forward) / (n + t(n, s)) for s <= n < 1500\n")
    print(
        f"  {'slots':>5s} {'announced':>10s} {'late':>8s} "
        f"{'Wang-Moin-Iaccarino':>20s} {'equinox':>9s}"
    )
    for slots in (5, 10, 30):
        numbers = range(slots, 1500, 7 if quick else 1)
        row = [
            max(_ratio(online(slots).schedule(n, announced=True)) for n in numbers),
            max(_ratio(online(slots).schedule(n)) for n in numbers),
            max(
                _ratio(online(slots, rule="wang-moin-iaccarino").schedule(n, announced=True))
                for n in (range(slots, 1500, 37) if quick else numbers)
            ),
            max(equinox(n, slots) / (n + revolve_advances(n, slots)) for n in (100, 400, 1499)),
        ]
        print(f"  {slots:5d} {row[0]:10.3f} {row[1]:8.3f} {row[2]:20.3f} {row[3]:9.3f}")
    print("  equinox at n = 100, 400, 1499 only; its body evaluations counted by a callback")


def _ratio(schedule) -> float:
    return schedule.forward_steps / (
        schedule.steps + revolve_advances(schedule.steps, schedule.slots)
    )


def equinox(steps: int, slots: int) -> int:
    """Count the evaluations of the loop body in equinox's checkpointed loop and its gradient."""
    import equinox.internal as eqxi  # noqa: PLC0415
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    from jax.experimental import io_callback  # noqa: PLC0415

    seen = [0]

    def hit(_):
        seen[0] += 1
        return np.float32(0)

    @jax.custom_vjp
    def counted(x):
        return x + io_callback(hit, jax.ShapeDtypeStruct((), jnp.float32), x)

    counted.defvjp(lambda x: (counted(x), None), lambda _, g: (g,))

    def loss(y):
        def body(state):
            return state[0] + 1, jnp.sin(counted(state[1]))

        start = (jnp.array(0), y)
        return eqxi.while_loop(
            lambda s: s[0] < steps,
            body,
            start,
            kind="checkpointed",
            checkpoints=slots,
            max_steps=None,
        )[1]

    jax.grad(loss)(jnp.float32(0.5)).block_until_ready()
    jax.effects_barrier()
    return seen[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out what takes theirs seconds")
    quick = parser.parse_args().quick
    plans(quick=quick)
    actions()
    bookkeeping()
    unknown(quick=quick)
