"""Gradient time in Devito: stored history (warm, cold), adjourn, and pyrevolve at equal bytes.

    python benchmarks/devito_table.py 60x60 150x150 400x400 60x60x60 100x100x100
    python benchmarks/devito_table.py --budget 0.08 --rounds 7 marmousi

A case is a shape, two- or three-dimensional, and may end in a number of steps after a colon:
``60x60x60:1615``. Without one, 1498 steps in 2-D and 298 in 3-D. ``marmousi`` takes the model
from ``--data``. Everything in one case runs in one process on one thread, interleaved; the bits of
every gradient are compared. "drop-in" is adjourn.pyrevolve in pyrevolve's place. Seconds are
processor seconds, medians over the rounds.

The bound is what THEORY 3b's count of forward steps costs at the forward and reverse times of the
stored-history run of the same rounds. pyrevolve is compared where it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from _devito_wave import Acoustic

import adjourn
import adjourn.pyrevolve
from adjourn._sizes import format_bytes
from adjourn.devito import Adjoint

try:
    import pyrevolve
    from devito import CheckpointOperator, DevitoCheckpoint
except ImportError:
    pyrevolve = None


def case(text: str, data: Path) -> tuple[np.ndarray, float, int]:
    if text.startswith("marmousi"):
        model = np.fromfile(data / "marmousi_221x601.f32", "<f4").reshape(221, 601)
        steps = int(text.partition(":")[2] or 2000)
        return np.ascontiguousarray(model.T), 15.0, steps
    extents, _, steps = text.partition(":")
    shape = tuple(int(n) for n in extents.split("x"))
    rng = np.random.default_rng(1)
    velocity = np.linspace(1.5, 3.5, shape[-1], dtype=np.float32) * np.ones(shape, np.float32)
    velocity += rng.uniform(0, 0.2, shape).astype(np.float32)
    return velocity, 10.0, int(steps or (1498 if len(shape) == 2 else 298))


def timed(parts: list[tuple[str, Callable[[], Any]]]) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for name, part in parts:
        began = process_time()
        part()
        seconds[name] = process_time() - began
    return seconds


def run(text: str, share: float, rounds: int, data: Path) -> dict[str, Any]:
    velocity, spacing, steps = case(text, data)
    wave = Acoustic(velocity, spacing, steps)
    history = wave.u(wave.nt)
    forward, gradient = wave.forward(history), wave.adjoint(history)
    level = int(np.prod(history.shape_allocated[1:])) * 4
    whole = wave.nt * level
    budget = int(share * whole)

    hidden = wave.u(wave.nt)
    job = Adjoint(
        wave.forward(hidden),
        wave.adjoint(hidden),
        [hidden],
        wave.residual,
        arguments={"dt": wave.dt},
    )
    costs = adjourn.measure(job, progress=False)
    plan = adjourn.plan(steps, costs, budget)
    ring = wave.u(None)
    slots = max(1, budget // (2 * level))
    if pyrevolve is not None:
        fw = CheckpointOperator(wave.forward(ring), dt=wave.dt)
        bw = CheckpointOperator(wave.adjoint(ring), dt=wave.dt)

    results: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        seconds.setdefault(name, []).append(value)

    def stored(u: Any, name: str) -> None:
        wave.zero()
        parts = timed(
            [
                ("F", lambda: forward.apply(dt=wave.dt, u=u)),
                ("R", wave.residual),
                ("G", lambda: gradient.apply(dt=wave.dt, u=u)),
            ]
        )
        note(name, sum(parts.values()))
        if name == "stored, warm":
            note("F", parts["F"])
            note("G", parts["G"])
        results[name] = np.array(wave.gradient.data)

    def ours() -> None:
        began = process_time()
        job.run(plan, progress=False)
        note("adjourn", process_time() - began)
        results["adjourn"] = np.array(wave.gradient.data)

    def theirs(name: str, package: Any) -> None:
        wave.zero()
        ring.data_with_halo[:] = 0
        began = process_time()
        revolver = package.Revolver(DevitoCheckpoint([ring]), fw, bw, slots, steps)
        revolver.apply_forward()
        wave.residual()
        revolver.apply_reverse()
        note(name, process_time() - began)
        results[name] = np.array(wave.gradient.data)

    def cold() -> None:
        began = process_time()
        u = wave.u(wave.nt)
        u.data  # noqa: B018  # allocates and zeroes
        seconds_before = process_time() - began
        stored(u, "stored, cold")
        seconds["stored, cold"][-1] += seconds_before

    stored(history, "stored, warm")
    ours()
    seconds.clear()
    for round_ in range(rounds):
        stored(history, "stored, warm")
        ours()
        if pyrevolve is not None and round_ < max(3, rounds // 2):
            theirs("pyrevolve", pyrevolve)
            theirs("drop-in", adjourn.pyrevolve)
        if round_ < 1:
            cold()

    first = results["stored, warm"]
    same = {name: bool(np.array_equal(first, other)) for name, other in results.items()}
    f, g = median(seconds["F"]), median(seconds["G"])
    bound = (plan.schedule.forward_steps / steps * f + g) / (f + g)
    warm = median(seconds["stored, warm"])
    return {
        "case": text,
        "steps": steps,
        "costs": costs,
        "level": level,
        "whole": whole,
        "budget": budget,
        "plan": f"{plan.family} {getattr(plan.schedule, 'length', '')} {plan.schedule.slots}",
        "predicted": plan.seconds,
        "bound": bound,
        "warm": warm,
        "slots": slots,
        "seconds": seconds,
        "same": same,
        "F": f,
        "G": g,
    }


def show(r: dict[str, Any]) -> None:
    print(
        f"\n{r['case']}: {r['steps']} steps, history {format_bytes(r['whole'])}, "
        f"budget {format_bytes(r['budget'])} ({100 * r['budget'] / r['whole']:.1f}%); "
        f"plan {r['plan']}; forward {r['F']:.3f} s, gradient {r['G']:.3f} s"
    )
    for name in ("stored, warm", "stored, cold", "adjourn", "drop-in", "pyrevolve"):
        times = r["seconds"].get(name)
        if times is None:
            print(f"  {name:13s} not installed here")
            continue
        bits = "same bits" if r["same"][name] else "OTHER BITS"
        print(
            f"  {name:13s} {median(times):8.3f} s  [{min(times):.3f} to {max(times):.3f}]  "
            f"{median(times) / r['warm']:6.3f} of stored  {bits}"
        )
    ours = median(r["seconds"]["adjourn"])
    words = [
        f"bound {r['bound']:.3f}, ours over bound {ours / r['warm'] / r['bound']:.3f}",
        f"ours over prediction {ours / r['predicted']:.3f}",
    ]
    if "pyrevolve" in r["seconds"]:
        words.append(
            f"ours over pyrevolve {ours / median(r['seconds']['pyrevolve']):.3f} "
            f"({r['slots']} slots)"
        )
    print("  " + "; ".join(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=["60x60", "60x60x60"])
    parser.add_argument("--budget", type=float, help="share of the history; by case if not given")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options = parser.parse_args()
    for text in options.cases:
        steps = case(text, options.data)[2]
        share = options.budget or (0.18 if steps < 600 else 0.08)
        show(run(text, share, options.rounds, options.data))


if __name__ == "__main__":
    main()
