"""A small model of three levels: a step of jitted parts and Python calls, in a scan."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

SIZE, STEPS = 512, 12


def smooth(x):
    """Return running means."""
    return (jnp.roll(x, 1) + jnp.roll(x, -1) + 2 * x) / 4


def flux(u):
    """Return a product of waves."""
    one = jnp.sin(smooth(u))
    two = jnp.cos(smooth(one * u))
    return one * two + jnp.tanh(two)


@jax.jit
def tendency(u, p):
    """Return what changes the state."""
    one, two = flux(u), flux(u * p)
    return one - 0.1 * two * jnp.exp(-one * one)


@jax.jit
def solve(u):
    """Return an approximate root, by five steps of a loop."""
    return lax.fori_loop(0, 5, lambda _, x: x - 0.1 * (x * x * x - u), u)


def mix(u, p):
    """Return one of two, as the parameters tell."""
    return lax.cond(p[0] > 0, lambda u: u + 0.1 * tendency(u, p), jnp.sin, u)


def step(u, p):
    """Return the state after a step."""
    u = u + 0.01 * tendency(u, p) * jnp.cos(2 * jnp.sin(p))
    u = mix(u, p)
    return 0.5 * (u + solve(u))


def loss(p, u):
    """Return the energy after all steps."""
    u, _ = lax.scan(lambda u, _: (step(u, p), None), u, None, STEPS)
    return jnp.sum(u * u)


def arguments():
    """Return parameters and an initial state."""
    return jnp.full(SIZE, 0.3), jnp.linspace(0.0, 1.0, SIZE)
