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
    """An adaptive solve, its number of steps unknown, with nothing changed but its adjoint."""
    diffrax = pytest.importorskip("diffrax", reason="Diffrax is not installed")
    from adjourn.jax.diffrax import Adjoint  # noqa: PLC0415

    rate, start = jnp.linspace(0.5, 1.5, 256), jnp.linspace(0.1, 0.9, 256)
    term = diffrax.ODETerm(lambda t, y, r: r * y * (1 - jnp.roll(y, 1)) + 0.1 * jnp.sin(t))

    def loss(adjoint):
        def run(rate, start):
            solution = diffrax.diffeqsolve(
                *(term, diffrax.Bosh3(), 0.0, 10.0, 0.05, start, rate),
                saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 9.0, 7)),
                stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6),
                adjoint=adjoint,
            )
            return jnp.sum(solution.ys**2)

        return run

    def compiled(adjoint):
        made = jax.jit(jax.grad(loss(adjoint), (0, 1))).lower(rate, start).compile()
        return made(rate, start), made.memory_analysis().temp_size_in_bytes

    wanted, took = compiled(diffrax.RecursiveCheckpointAdjoint(checkpoints=8))
    got, taken = compiled(Adjoint(slots=8))
    same(got, wanted)
    assert taken <= took
    by = (0, 1)
    made = adjourn.jax.plan(
        loss(Adjoint()), rate, start, budget="150 KiB", argnums=by, effort=1, progress=False
    )
    assert made.compiled_bytes <= made.budget
    assert made.choice.open
    same(adjourn.jax.grad(loss(Adjoint()), by, plan=made)(rate, start), wanted)
