"""Scans of JAX under little memory: recomputed steps, states held and time, beside equinox.

Run: python benchmarks/jax_table.py [--quick]
"""

from __future__ import annotations

import sys
from time import perf_counter

import equinox.internal as eqi
import jax
import jax.numpy as jnp
import numpy as np
from _bench import interleave, table

import adjourn
import adjourn.jax

PAIRS = [
    *((1000, 30), (1000, 10), (500, 20), (333, 31), (211, 12), (200, 8), (128, 4), (100, 5)),
    *((100, 3), (65, 7), (64, 6), (50, 4), (40, 2), (33, 5), (20, 19), (11, 3), (10, 3)),
    *((7, 2), (9, 1), (100, 100)),
]


def ours(slots):
    return lambda f, u, n: adjourn.jax.scan(f, u, None, n, slots=slots)[0]


def equinox(slots):
    return lambda f, u, n: eqi.scan(f, u, None, n, kind="checkpointed", checkpoints=slots)[0]


def recomputed(run, steps):
    """Return the steps run beyond one sweep and one run in each pullback, by a callback."""
    seen = []

    def f(u, _):
        jax.debug.callback(lambda: seen.append(1))
        return 1.01 * jnp.sin(u), None

    jax.jit(jax.grad(lambda u: run(f, u, steps)))(1.0)
    jax.effects_barrier()
    return len(seen) - 2 * steps


def counts(pairs):
    print("recomputed steps          n     c    adjourn    optimum    equinox")
    for steps, slots in pairs:
        best = adjourn.revolve(steps, slots).advances - (steps - 1)
        mine, theirs = recomputed(ours(slots), steps), recomputed(equinox(slots), steps)
        exact = "" if mine == best else "  NOT OPTIMAL"
        print(f"{steps:27d} {slots:5d} {mine:10d} {best:10d} {theirs:10d}{exact}")


def wave(carry, _):
    """One step of a non-linear wave in two fields."""
    u, v = carry
    bend = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
    return (1.9 * u - 0.9 * v + 0.1 * bend * jnp.cos(u), u), None


def ways(steps, times):
    """Print the states held and the time of each way to reverse a loop."""
    start = jnp.asarray(np.random.default_rng(0).standard_normal((256, 256)), jnp.float32)
    kinds = {
        "lax.scan": lambda f, u, n: jax.lax.scan(f, u, None, n)[0],
        'adjourn slots="steps"': ours("steps"),
        'adjourn slots="segments"': ours("segments"),
        "adjourn slots=8": ours(8),
        "equinox checkpoints=8": equinox(8),
        "adjourn slots=4": ours(4),
    }
    runs, state = {}, 2 * start.nbytes
    print(f"\n256 x 256, 2 fields, {steps} steps: states held, seconds to compile")
    for name, run in kinds.items():

        def loss(u, run=run):
            return jnp.sum(run(wave, (u, u), steps)[0] ** 2)

        lowered = jax.jit(jax.grad(loss)).lower(start)
        began = perf_counter()
        compiled = lowered.compile()
        took = perf_counter() - began
        held = compiled.memory_analysis().temp_size_in_bytes / state
        print(f"  {name:40s} {held:10.1f} {took:10.2f}")
        runs[name] = lambda compiled=compiled: jax.block_until_ready(compiled(start))
    against = "equinox checkpoints=8"
    table("processor milliseconds of one gradient", interleave(runs, times), against, 1e-3)


def compile_times(lengths, times):
    """Print the compile time of the binomial program against the number of steps."""
    start = jnp.ones((64, 64))
    print("\nseconds to trace and compile, 30 slots: median, spread")
    seen = {n: [] for n in lengths}
    for _ in range(times):
        for n in lengths:
            jax.clear_caches()
            began = perf_counter()

            def loss(u, n=n):
                return jnp.sum(adjourn.jax.scan(wave, (u, u), None, n, slots=30)[0][0])

            jax.jit(jax.grad(loss)).lower(start).compile()
            seen[n].append(perf_counter() - began)
    for n, samples in seen.items():
        middle = sorted(samples)[len(samples) // 2]
        print(f"  {n:10d} {middle:8.2f}  [{min(samples):.2f} to {max(samples):.2f}]")


def main():
    quick = "--quick" in sys.argv
    counts(PAIRS[:1] if quick else PAIRS)
    ways(200, 3 if quick else 7)
    compile_times((100, 10_000, 1_000_000), 1 if quick else 5)


if __name__ == "__main__":
    main()
