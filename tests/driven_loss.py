"""A loss with one long loop, and a child process that drives it and may kill itself midway."""

from __future__ import annotations

import math
import os
import signal
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

STEPS, CELLS = 60, 4000


@jax.jit
def model(params, u, key, force):
    """Run a noisy non-linear wave from the last force to the first."""
    mask = (jnp.arange(CELLS) % 3 > 0).astype(u.dtype)

    def step(carry, push):
        u, before, key, count, unread, held, fixed = carry
        key, use = jax.random.split(key)
        bend = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
        noise = 0.01 * jax.random.normal(use, u.shape, u.dtype)
        after = 1.9 * u - 0.9 * before + 0.1 * held["s"] * bend * jnp.cos(u) * mask + noise + push
        after, _ = jax.lax.scan(lambda u, _: (u - 0.01 * jnp.sin(u), None), after, None, 3)
        return (after, u, key, count + 1, unread + after, held, fixed), (u[::7], count, unread)

    begin = (u, u, key, 0, jnp.zeros_like(u), params, 2 * u)
    last, (traces, counts, _) = jax.lax.scan(step, begin, force, reverse=True)
    return last[0], last[2], last[3], last[6], traces, counts


def loss(params, u, key, force):
    """Read the last field, the traces, arguments, and a leaf that never changes."""
    there = {"s": jnp.exp(params["s"])}
    last, key, count, fixed, traces, counts = model(there, jnp.sin(u), key, 2 * force)
    value = jnp.sum(last**2) * jnp.sum(params["s"]) + jnp.sum(jnp.sin(traces) * traces)
    value += params["w"] * jnp.sum(u * fixed)
    return value, {"key": key, "count": count, "traces": traces, "counts": counts}


def arguments(seed=0, dtype=jnp.float64):
    rng = np.random.default_rng(seed)
    params = {"s": jnp.linspace(-1, 0.1, CELLS, dtype=dtype), "w": jnp.asarray(0.3, dtype)}
    force = jnp.asarray(0.1 * rng.standard_normal((STEPS, CELLS)), dtype)
    return params, jnp.linspace(0, 3, CELLS, dtype=dtype), jax.random.key(1), force


def plan():
    """Return a plan with snapshots in main memory and on disk, of made-up costs."""
    import adjourn  # noqa: PLC0415
    from adjourn.planning import plan_schedule  # noqa: PLC0415

    state = 16 * CELLS + 16
    costs = adjourn.Costs(
        advance=1e-4,
        recordings=[adjourn.Recording(seconds=3e-4, left=state, peak=state)],
        snapshot=state,
        reverse=2e-4,
        reads="state",
        disk_write=1e-4,
        disk_read=1e-4,
    )
    return plan_schedule(adjourn.multistage(STEPS, 2, 4), costs)


def bits(value, gradient):
    """Return the bits of a value and a gradient."""
    return b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((value, gradient)))


def main(directory, verb, at):
    """Drive the loss in a directory, and die once ``verb`` reaches step ``at``."""
    import adjourn  # noqa: PLC0415
    from adjourn.jax import LossProblem, drive  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)
    plain = getattr(LossProblem, verb)

    def dying(self, start, stop, **options):
        begun = (Path(directory) / "adjourn.ledger").exists()  # not while costs are measured
        if begun and start <= int(at) < stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(self, start, stop, **options)

    setattr(LossProblem, verb, dying)
    storage = adjourn.Storage(overhead=math.inf, direct=False)
    given = {"argnums": (0, 1, 3), "has_aux": True, "plan": plan(), "storage": storage}
    drive(loss, *arguments(), **given, directory=directory, progress=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
