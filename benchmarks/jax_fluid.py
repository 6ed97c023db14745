"""jax-cfd, unmodified, within budgets: temporary bytes, resident set and time beside others.

Two-dimensional Navier-Stokes, forced by nothing, 200 steps; the gradient of the final energy by
the initial velocity. Needs jax-cfd 0.2.1 (``pip install jax-cfd``) in an environment of its own.

Run: python benchmarks/jax_fluid.py [--size 64] [--steps 200] [--rounds 7] [--budgets 2,3,12,400]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from _bench import interleave, table

import adjourn.jax

MIB = 2**20


def setting(size, steps):
    """Return a loss of the initial velocity, by a scan, and that velocity."""
    import jax_cfd.base as cfd  # noqa: PLC0415 - slow to import

    grid = cfd.grids.Grid((size, size), domain=((0, 2 * jnp.pi), (0, 2 * jnp.pi)))
    start = cfd.initial_conditions.filtered_velocity_field(jax.random.key(0), grid, 3, 4)
    dt = cfd.equations.stable_time_step(3, 0.5, 1e-2, grid)
    step = cfd.equations.semi_implicit_navier_stokes(
        density=1.0, viscosity=1e-2, dt=float(dt), grid=grid
    )

    def loss(v, scan=jax.lax.scan):
        last, _ = scan(lambda v, _: (step(v), None), v, None, steps)
        return sum(jnp.sum(u.data**2) for u in last)

    return loss, start


def ways():
    """Return the scans that others write."""
    import equinox.internal as eqi  # noqa: PLC0415

    def every(f, init, xs, length):
        return jax.lax.scan(jax.checkpoint(f), init, xs, length)

    def nested(f, init, xs, length):
        return adjourn.jax.scan(f, init, xs, length, slots="segments")

    def equinox(f, init, xs, length):
        return eqi.scan(f, init, xs, length, kind="checkpointed", checkpoints=8)

    return {
        "none: lax.scan": jax.lax.scan,
        "every step: jax.checkpoint": every,
        "nested scans": nested,
        "equinox, 8 checkpoints": equinox,
    }


def child(size, steps, bare):
    """Compile a planned gradient, run it or the loss alone, and print the resident set."""
    loss, start = setting(size, steps)
    saved = adjourn.jax.Plan.from_json(json.loads(sys.stdin.read()))
    compiled = adjourn.jax.grad(loss, plan=saved)
    if bare:  # what a run that stores nothing needs, the compiler's own memory included
        jax.jit(compiled).lower(start).compile()
        jax.block_until_ready(jax.jit(loss)(start))
    else:
        jax.block_until_ready(jax.jit(compiled)(start))
    # Not ru_maxrss, which a child has from its parent.
    print(int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024)


def resident(options, plan, bare):
    """Return the greatest resident set of a child process."""
    command = [sys.executable, str(Path(__file__)), "--child", str(int(bare))]
    command += ["--size", str(options.size), "--steps", str(options.steps)]
    given = json.dumps(plan.to_json())
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--budgets", default="2,3,12,400", help="MiB")
    parser.add_argument("--child", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.size, options.steps, options.child)
        return
    loss, start = setting(options.size, options.steps)
    state = sum(u.data.nbytes for u in start)
    budgets = [int(float(x) * MIB) for x in options.budgets.split(",")]
    plans = adjourn.jax.curve(loss, start, budgets=budgets)
    runs, taken = {}, {}

    def add(name, function):
        compiled = jax.jit(function).lower(start).compile()
        taken[name] = compiled.memory_analysis().temp_size_in_bytes
        runs[name] = lambda: jax.block_until_ready(compiled(start))

    for name, scan in ways().items():
        add(name, jax.grad(lambda v, scan=scan: loss(v, scan)))
    print(f"{options.size}^2, {options.steps} steps, state {state / MIB:.3f} MiB")
    print("budget MiB  compiled  within  resident  allowed  within  kept")
    for budget, plan in zip(budgets, plans, strict=True):
        name = f"adjourn, {budget / MIB:g} MiB"
        add(name, adjourn.jax.grad(loss, plan=plan))
        bare, peak = resident(options, plan, True), resident(options, plan, False)
        allowed = bare + budget + max(16 * MIB, 0.12 * (bare + budget))
        print(
            f"{budget / MIB:10g}  {taken[name] / MIB:8.2f}  {taken[name] <= budget!s:6}"
            f"  {peak / MIB:8.1f}  {allowed / MIB:7.1f}  {peak <= allowed!s:6}  {plan.choice}"
        )
    print("\ncompiled temporary MiB")
    for name, nbytes in taken.items():
        print(f"  {name:40s} {nbytes / MIB:10.2f}")
    table(
        "processor milliseconds of one gradient",
        interleave(runs, options.rounds),
        "none: lax.scan",
        1e-3,
    )


if __name__ == "__main__":
    main()
