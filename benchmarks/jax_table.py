"""Scans of JAX under little memory: recomputed steps, states held and time, beside equinox.

Run: python benchmarks/jax_table.py [--quick]
"""

from __future__ import annotations

import gc
import sys
from time import perf_counter, process_time

import equinox.internal as eqi
import jax
import jax.numpy as jnp
import numpy as np
from _bench import interleave, table

import adjourn
import adjourn.jax
from adjourn.jax import LossProblem, StepProblem
from adjourn.planning import plan_schedule
from adjourn.tiers import RamPool, specs_of

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


def open_counts(pairs):
    """Print the same for while loops, whose length is known at run time only."""
    runs = []

    def body(carry):
        jax.debug.callback(lambda: runs.append(1))
        return 1.01 * jnp.sin(carry[0]), carry[1] + 1

    def ours(going, start, slots):
        return adjourn.jax.while_loop(going, body, start, slots=slots)

    def equinox(going, start, slots):
        return eqi.while_loop(going, body, start, kind="checkpointed", checkpoints=slots)

    def count(loop, steps, slots):
        def loss(u, steps):
            return loop(lambda carry: carry[1] < steps, (u, 0), slots)[0]

        runs.clear()
        jax.jit(jax.grad(loss))(1.0, steps)
        jax.effects_barrier()
        return len(runs) - 2 * steps

    print("\nof while loops            n     c    adjourn   schedule    equinox")
    for steps, slots in pairs:
        made = adjourn.online(slots).schedule(steps)
        mine, theirs = count(ours, steps, slots), count(equinox, steps, slots)
        wanted = made.advances + made.records - 2 * steps
        exact = "" if mine == wanted else "  NOT THE SCHEDULE'S"
        print(f"{steps:27d} {slots:5d} {mine:10d} {wanted:10d} {theirs:10d}{exact}")


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
    for slots in (8, 4):
        name = f"driven from Python, {slots} carries"
        gc.collect()
        before = sum(a.nbytes for a in jax.live_arrays())
        began = perf_counter()
        problem = LossProblem(
            lambda u: jnp.sum(jax.lax.scan(wave, (u, u), None, steps)[0][0] ** 2), start
        )
        took = perf_counter() - began
        made = adjourn.revolve(steps, slots, reversal="state")
        costs = adjourn.measure(problem, progress=False)
        plan = plan_schedule(made, costs)
        own = (live_bytes(problem) - before) / state
        held = adjourn.run(problem, plan, progress=False).peak_bytes / state
        print(f"  {name:40s} {held:10.1f} {took:10.2f}   beside {own:.1f} that a bare run has")
        runs[name] = lambda p=problem, plan=plan: (adjourn.run(p, plan, progress=False), p.gradient)
    against = "equinox checkpoints=8"
    table("processor milliseconds of one gradient", interleave(runs, times), against, 1e-3)


def live_bytes(problem):
    """Return the bytes of device arrays after a step forward and one back, the window aside."""
    problem.reserve(1)
    problem.begin()
    problem.advance(0, 1, replay=False)
    problem.reverse(0, 0)
    gc.collect()
    return sum(a.nbytes for a in jax.live_arrays()) - problem.window().step_bytes


def driving(times):
    """Print what a call of each verb costs over the step, for states of few and many leaves."""
    print("\nmicroseconds of processor time a call, steps of nearly nothing: median")

    def step(p, s):
        return [jnp.sin(leaf) * p for leaf in s]

    for leaves in (2, 60):
        state = [jnp.zeros(8) + i for i in range(leaves)]
        half = jnp.float32(0.5)
        problem = StepProblem(
            step, state, 15, lambda s: sum(jnp.sum(leaf) for leaf in s), params=half
        )
        live = [[jnp.array(leaf, copy=True) for leaf in state]]
        bare = jax.jit(step, donate_argnums=1).lower(half, live[0]).compile()
        pool = RamPool()
        pool.open(specs_of(problem.state(0)), 1)
        rounds = 20 * times

        def timed(call, rounds=rounds):
            samples = []
            for _ in range(rounds):
                began = process_time()
                call()
                samples.append(process_time() - began)
            return sorted(samples)[rounds // 2] * 1e6

        def forward(problem=problem):
            problem.loaded(0, {})
            problem.advance(0, 1, replay=False)

        def backward(problem=problem):
            problem.loaded(0, {})
            problem.reverse(0, 1)

        def save(problem=problem, pool=pool):
            pool.save(0, problem.state(0), {})
            pool.drop(0)

        def plain(bare=bare, live=live, half=half):
            live[0] = bare(half, live[0])
            live[0][0].block_until_ready()

        verbs = {"one compiled step": plain, "advance": forward, "reverse": backward}
        verbs["save"] = save
        seen = ", ".join(f"{name} {timed(call):.0f}" for name, call in verbs.items())
        print(f"  {leaves:3d} leaves: {seen}")


def short_steps(steps, times):
    """Print the time of a loop of many short steps, driven in blocks, beside one program."""
    start = jnp.asarray([1.0, 2.0, 20.0])

    def lorenz(u, _):
        by = jnp.stack([10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]])
        return u + 0.002 * by, None

    def loss(scan):
        return lambda u: jnp.sum(scan(lorenz, u, None, steps)[0])

    problem = LossProblem(loss(jax.lax.scan), start)
    costs = adjourn.measure(problem, progress=False)
    plan = adjourn.plan(steps, costs, "64 KiB")
    program = jax.jit(jax.grad(loss(lambda *a: adjourn.jax.scan(*a, slots=30))))
    whole = jax.jit(jax.grad(loss(jax.lax.scan)))
    runs = {
        "lax.scan": lambda: jax.block_until_ready(whole(start)),
        "adjourn slots=30": lambda: jax.block_until_ready(program(start)),
        f"driven in 64 KiB: {plan.schedule}": lambda: adjourn.run(problem, plan, progress=False),
    }
    title = f"processor milliseconds, {steps} steps of three numbers"
    table(title, interleave(runs, times), "adjourn slots=30", 1e-3)


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
    open_counts(PAIRS[:1] if quick else PAIRS)
    ways(200, 3 if quick else 7)
    driving(1 if quick else 7)
    short_steps(2000 if quick else 20_000, 1 if quick else 7)
    compile_times((100, 10_000, 1_000_000), 1 if quick else 5)


if __name__ == "__main__":
    main()
