"""Models of other packages under a budget: an Equinox module and a Diffrax solver."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import adjourn.jax

eqx = pytest.importorskip("equinox", reason="Equinox is not installed")

pytestmark = pytest.mark.jax


def same(got, wanted):
    def close(one, two):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * float(jnp.abs(two).max()))

    jax.tree.map(close, got, wanted)


def planned(loss, where, budget, least):
    """Return the gradient under a budget, having checked that plain JAX takes far more."""
    plain = jax.jit(jax.grad(loss))
    took = plain.lower(*where).compile().memory_analysis().temp_size_in_bytes
    assert took > least * budget
    made = adjourn.jax.plan(loss, *where, budget=budget, effort=1, progress=False)
    assert made.compiled_bytes <= budget
    return adjourn.jax.grad(loss, plan=made)(*where), plain(*where)


def test_an_equinox_module():
    """A recurrent cell, partitioned as Equinox does it, over 200 inputs."""
    cell = eqx.nn.GRUCell(8, 16, key=jax.random.key(0))
    weights, static = eqx.partition(cell, eqx.is_inexact_array)
    inputs = jnp.sin(jnp.arange(1600.0)).reshape(200, 8)

    def loss(weights, inputs):
        cell = eqx.combine(weights, static)
        last, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(16), inputs)
        return jnp.sum(last**2)

    got, wanted = planned(loss, (weights, inputs), 40_000, 5)
    same(got, wanted)


def test_a_diffrax_solver():
    """A Runge-Kutta method of fifth order on a non-linear field, 100 steps."""
    diffrax = pytest.importorskip("diffrax", reason="Diffrax is not installed")
    solver = diffrax.Tsit5()
    rate, start = jnp.linspace(0.5, 1.5, 256), jnp.linspace(0.1, 0.9, 256)

    def loss(rate, start):
        term = diffrax.ODETerm(lambda t, y, r: r * y * (1 - jnp.roll(y, 1)) + 0.1 * jnp.sin(t))
        state = solver.init(term, 0.0, 0.05, start, rate)

        def step(carry, n):
            y, state = carry
            t = 0.05 * n
            y, _, _, state, _ = solver.step(term, t, t + 0.05, y, rate, state, False)
            return (y, state), None

        (y, _), _ = jax.lax.scan(step, (start, state), jnp.arange(100))
        return jnp.sum(y**2)

    got, wanted = planned(loss, (rate, start), 150_000, 5)
    same(got, wanted)
