"""Random programs of nested jits, scans, branches, and Python calls."""

from __future__ import annotations

from functools import partial
from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from adjourn.jax import site

SIZE = 3


@jax.custom_vjp
def tripled(x):
    """Return the sine, with a derivative three times too large."""
    return jnp.sin(x)


tripled.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (3.0 * ct * jnp.cos(x),))

LEAVES = (
    lambda p, x: jnp.sin(x) * p,
    lambda p, x: x - 0.3 * jnp.cos(p * x),
    lambda p, x: jnp.tanh(jnp.cumsum(x)) + p,
    lambda p, x: x * jnp.exp(-x * x),
    lambda p, x: 0.5 * jnp.roll(x, 1) + tripled(p),
    lambda p, x: x / (1.0 + x * x),
)


def called(parts, p, x):
    """Run parts one after the other: a plain Python call."""
    for part in parts:
        x = part(p, x)
    return x


def looped(inner, count, reverse, p, x):
    """Run a part in a scan, with inputs and outputs."""

    def step(carry, w):
        after = inner(p, carry) + 0.1 * w
        return after, jnp.sum(after) * w

    last, seen = lax.scan(step, x, jnp.arange(1.0 + count)[1:], reverse=reverse)
    return last + 0.01 * jnp.sum(seen)


def branched(one, other, p, x):
    """Run one of two parts, as the numbers tell."""
    return lax.cond(jnp.sum(x) > 0.4, one, other, p, x)


def made(random: Random, depth: int):
    """Return a random function of two vectors to a vector."""
    kind = random.choice(
        ("leaf", "call", "jit", "scan", "cond", "site", "remat")[: 7 if depth else 1]
    )
    if kind == "leaf":
        return random.choice(LEAVES)
    if kind == "scan":
        return partial(looped, made(random, depth - 1), random.randint(1, 3), random.random() < 0.5)
    if kind == "cond":
        return partial(branched, made(random, depth - 1), made(random, depth - 1))
    parts = [made(random, depth - 1) for _ in range(random.randint(1, 2))]
    body = partial(called, parts)
    if kind == "call":
        return body
    if kind == "jit":
        return jax.jit(lambda p, x: body(p, x))
    if kind == "site":
        return site(lambda p, x: body(p, x), name="marked")
    return jax.checkpoint(lambda p, x: body(p, x))


def program(seed: int):
    """Return a random loss of two vectors."""
    random = Random(seed)
    parts = [made(random, 2)]

    def loss(p, x):
        return jnp.sum(called(parts, p, x) ** 2)

    return loss


def arguments():
    """Return the vectors that the losses take."""
    return jnp.array([0.7, -0.4, 0.2]), jnp.array([0.3, 0.9, -0.5])
