"""Scans with binomial reversal: results of lax.scan, gradients, counts and memory."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjourn
from adjourn import BadValue, NotSupported, WrongType
from adjourn.jax import scan

pytestmark = pytest.mark.jax

PAIRS = [
    *((1000, 30), (2, 1), (3, 1), (9, 1), (5, 2), (7, 2), (40, 2), (10, 3), (11, 3), (50, 4)),
    *((33, 5), (100, 5), (100, 100), (3, 9), (64, 6), (65, 7), (200, 8), (211, 12), (500, 20)),
    (333, 31),
]


@pytest.mark.parametrize(("steps", "slots"), PAIRS)
def test_exactly_the_fewest_steps_are_recomputed(steps, slots):
    """Counted by a callback: one sweep, one run in each pullback, and t(n, s) - (n - 1)."""
    runs = []

    def f(u, _):
        jax.debug.callback(lambda: runs.append(1))
        return 1.01 * jnp.sin(u), None

    gradient = jax.jit(jax.grad(lambda u: scan(f, u, None, steps, slots=slots)[0]))(1.0)
    jax.effects_barrier()
    assert len(runs) - 2 * steps == adjourn.revolve(steps, slots).advances - (steps - 1)
    if (steps, slots) == (1000, 30):
        assert len(runs) - 2 * steps == 1473
    plain = jax.grad(
        lambda u: jax.lax.scan(lambda u, _: (1.01 * jnp.sin(u), None), u, None, steps)[0]
    )
    np.testing.assert_allclose(gradient, plain(1.0), rtol=1e-13)


@pytest.mark.parametrize(
    ("steps", "window", "slots"), [(23, 4, 2), (24, 4, 3), (50, 7, 1), (9, 20, 3), (200, 6, 4)]
)
def test_blocks_take_the_fewest_steps_for_their_window(steps, window, slots):
    """Counted by a callback: the forward steps of the window's schedule, and the last block."""
    runs = []

    def f(u, x):
        jax.debug.callback(lambda: runs.append(1))
        return 1.01 * jnp.sin(u) + x, u * u

    def loss(run, u, xs):
        u, ys = run(u, xs)
        return u + jnp.sum(ys * xs)

    xs = jnp.linspace(0.0, 1.0, steps)
    ours = jax.grad(lambda *a: loss(lambda u, x: scan(f, u, x, slots=slots, window=window), *a))
    gradient = jax.jit(lambda u, xs: ours(u, xs))(1.0, xs)
    jax.effects_barrier()
    wanted = adjourn.window(steps, window, slots).forward_steps + min(window, steps)
    assert len(runs) == wanted
    plain = jax.grad(lambda *a: loss(lambda u, x: jax.lax.scan(f, u, x), *a))(1.0, xs)
    np.testing.assert_allclose(gradient, plain, rtol=1e-12)


def model(run, length, reverse):
    """Return a loss with every kind of leaf, and what it is differentiated by."""
    rng = np.random.default_rng(length)
    start = (rng.standard_normal(4), jnp.int32(3), jax.random.key(2), jnp.float32(0.5))
    xs = {"a": rng.standard_normal((length, 4)), "n": jnp.arange(length)}
    weight = rng.standard_normal(4)

    def loss(weight, u, half, a):
        def f(carry, x):
            u, count, key, half = carry
            key, use = jax.random.split(key)
            new = jnp.sin(u * weight + x["a"]) + 0.1 * jax.random.normal(use, u.shape) * half
            new = jnp.where(x["n"] % 3 == 0, new, new * 1.1)
            return (new, count + 1, key, half * 0.9), {"y": u[:2] ** 2 + new[2], "count": count}

        carry = (u, start[1], start[2], half)
        (u, count, key, half), ys = run(f, carry, xs | {"a": a}, length, reverse)
        bits = jax.random.key_data(key).sum() % 7
        return jnp.sum(u) + count * half + jnp.sum(ys["y"] ** 2 * ys["count"][:, None]) + bits

    return loss, (weight, start[0], start[3], xs["a"])


@pytest.mark.parametrize(
    ("length", "slots", "reverse"),
    [
        *((0, 3, False), (1, 3, True), (2, 1, False), (13, 1, True), (13, 4, False)),
        *((13, 40, True), (13, "steps", True), (13, "segments", True), (12, "segments", False)),
        *((13, (2, 3), True), (13, (2, 4), False)),
    ],
)
def test_results_and_gradients_are_those_of_lax_scan(length, slots, reverse):
    """By constants closed over, carry and inputs; with integers, keys and two precisions."""

    def ours(f, init, xs, length, reverse):
        kept, window = slots if isinstance(slots, tuple) else (slots, 1)
        return scan(f, init, xs, length, reverse, slots=kept, window=window)

    loss, where = model(ours, length, reverse)
    wanted, _ = model(lambda *args: jax.lax.scan(*args), length, reverse)
    by = (0, 1, 2, 3)
    got = jax.jit(jax.value_and_grad(loss, by))(*where)
    expected = jax.jit(jax.value_and_grad(wanted, by))(*where)

    def close(one, two):
        tolerance = 1e-12 if one.dtype == jnp.float64 else 1e-5
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)

    jax.tree.map(close, got, expected)


def test_vmap_and_nesting():
    """A batch of scans of scans."""

    def twice(run):
        def inner(w, u):
            return run(lambda u, _: (jnp.sin(w * u), u), u, None, 5)

        def outer(u, w):
            u, us = inner(w, u)
            return u, jnp.sum(us)

        return lambda u, ws: jnp.sum(run(outer, u, ws, 6)[1])

    u, ws = jnp.linspace(0.1, 1.0, 3), jnp.linspace(0.5, 1.5, 18).reshape(3, 6)
    ours = jax.jit(jax.vmap(jax.grad(twice(lambda *a: scan(*a, slots=2)), (0, 1))))(u, ws)
    theirs = jax.vmap(jax.grad(twice(lambda *a: jax.lax.scan(*a)), (0, 1)))(u, ws)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), ours, theirs)


def test_memory_is_that_of_the_slots():
    """At 8 slots, 10 states at most; neither code nor memory grows with the length."""
    state = jnp.zeros((64, 64)), jnp.ones((64, 64))

    def f(carry, _):
        u, v = carry
        bend = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u
        return (2 * u - v + 0.1 * bend * jnp.cos(u), u), None

    def temporary(length):
        def loss(u, v):
            return jnp.sum(scan(f, (u, v), None, length, slots=8)[0][0] ** 2)

        compiled = jax.jit(jax.grad(loss, (0, 1))).lower(*state).compile()
        nbytes = compiled.memory_analysis().temp_size_in_bytes
        return nbytes / (2 * state[0].nbytes), len(compiled.as_text())

    (short, code), (long, more_code) = temporary(200), temporary(20_000)
    assert short <= 10
    assert long == pytest.approx(short, rel=1e-3)
    assert more_code == pytest.approx(code, rel=0.02)


def test_what_neither_the_loss_nor_a_later_step_reads_takes_no_room():
    """Diagnostics in the carry have derivatives, and cost their own values alone."""

    def nbytes(diagnostics):
        def f(carry, _):
            u = jnp.sin(carry[0]) + 0.1 * carry[0]
            seen = (d.at[1:-1].set(jnp.cos(u[1:-1]) * u[2:]) for d in carry[1:])
            return (u, *seen), None

        def loss(u):
            start = (u,) + (jnp.zeros_like(u),) * diagnostics
            return jnp.sum(scan(f, start, None, 100, slots=5)[0][0] ** 2)

        compiled = jax.jit(jax.grad(loss)).lower(jnp.ones((64, 64))).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert nbytes(6) <= nbytes(0) + 7 * 64 * 64 * 8


def test_errors():
    """What slots can be, forward mode, and lax.scan's own errors."""

    def f(u, _):
        return jnp.sin(u), None

    for bad, kind in ((0, BadValue), (2.5, WrongType), ("some", BadValue), (True, WrongType)):
        with pytest.raises(kind, match="slots"):
            scan(f, 1.0, None, 9, slots=bad)
    with pytest.raises(NotSupported, match="forward-mode"):
        jax.jvp(lambda u: scan(f, u, None, 9, slots=2)[0], (1.0,), (1.0,))
    with pytest.raises(TypeError, match="carry"):
        scan(lambda u, _: (jnp.ones(3), None), 1.0, None, 9, slots=2)
    with pytest.raises(ValueError, match="length"):
        scan(f, 1.0, jnp.ones(3), 9, slots=2)
    with pytest.raises(BadValue, match="length"):
        scan(f, 1.0, None, -1, slots=2)


@settings(max_examples=6)
@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 9), st.booleans())
def test_random_loops(seed, length, slots, reverse):
    """Gradients of random small loops agree with plain JAX to 1e-12."""
    rng = np.random.default_rng(seed)
    size, kinds = int(rng.integers(1, 4)), rng.integers(0, 5, 3)
    a, b, xs = rng.standard_normal((size, size)) / size, rng.standard_normal(size), None
    if seed % 2:
        xs = rng.standard_normal((length, size))
    ops = (
        jnp.sin,
        jnp.tanh,
        lambda u: u / (1 + u**2),
        lambda u: jnp.where(u > 0, u, 0.5 * u),
        jnp.cos,
    )

    def loss(run, a, b, u, xs):
        def f(u, x):
            v = a @ u + b + (0 if x is None else x)
            for kind in kinds:
                v = ops[kind](v)
            return v, v[0] * u[-1]

        u, ys = run(f, u, xs, length, reverse)
        return jnp.sum(u * b) + jnp.sum(ys)

    u = rng.standard_normal(size)
    by = (1, 2, 3) if xs is None else (1, 2, 3, 4)
    ours = jax.jit(jax.grad(loss, by), static_argnums=0)
    got = ours(lambda *args: scan(*args, slots=slots), a, b, u, xs)
    wanted = ours(jax.lax.scan, a, b, u, xs)
    for one, two in zip(got, wanted, strict=True):
        scale = float(jnp.abs(two).max()) or 1.0
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * scale)
