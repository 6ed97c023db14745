"""Opaque rematerialisation: what the compiler keeps, and where it works."""

from __future__ import annotations

from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from adjourn import NotSupported, WrongType
from adjourn.jax import checkpoint, scan, site

pytestmark = pytest.mark.jax

SIZE = 1 << 14


def link(x):
    """Return the sine of running sums: one array to keep a link, which cannot be fused."""
    return jnp.sin(jnp.cumsum(x))


def repeat(f, times):
    """Return f applied so many times, in straight-line code."""
    return lambda x: reduce(lambda x, _: f(x), range(times), x)


def arrays(chain):
    """Return the temporary arrays of a chain's gradient in the user's own jit, and it."""
    x = jnp.linspace(0.0, 1e-3, SIZE)
    compiled = jax.jit(jax.grad(lambda x: jnp.sum(chain(x) ** 2))).lower(x).compile()
    return compiled.memory_analysis().temp_size_in_bytes / x.nbytes, compiled(x)


def test_a_chain_of_40_arrays_takes_13_at_most_in_the_users_jit():
    """Where jax.checkpoint saves nothing, two pieces of four of five links do; it nests."""
    plain, wanted = arrays(repeat(link, 40))
    theirs, _ = arrays(repeat(jax.checkpoint(repeat(link, 8)), 5))
    single, got = arrays(repeat(checkpoint(repeat(link, 8)), 5))
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    nested, got = arrays(repeat(checkpoint(repeat(checkpoint(repeat(link, 5)), 4)), 2))
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert plain >= 40
    assert theirs >= 40
    assert single <= 18
    assert nested <= 13


def model(wrap):
    """Return a function of arrays, closures, integers, keys, statics and keywords."""
    weight = jnp.arange(3.0)

    def loss(p, x, n, key):
        @wrap
        def body(x, n, key, *, how, name):
            noise = jax.random.normal(key, x.shape)
            return {"a": how(x * p + noise) ** 2, "b": n + 1, "name": jnp.float64(len(name))}

        out = body(x, n, key, how=jnp.sin, name="static")
        return jnp.sum(out["a"] * weight) * out["b"] * out["name"]

    return loss


@pytest.mark.parametrize("opaque", [True, False, None])
def test_gradients_are_those_without(opaque):
    """Closed-over tracers, integers, keys, statics and keywords pass through."""
    given = (jnp.float64(0.7), jnp.ones(3), jnp.int32(2), jax.random.key(1))

    def wrap(f):
        return lambda x, n, key, *, how, name: checkpoint(
            lambda x, n, key: f(x, n, key, how=how, name=name), opaque=opaque
        )(x, n, key)

    wanted = jax.grad(model(lambda f: f), argnums=(0, 1))(*given)
    for change in (lambda f: f, jax.jit):
        got = change(jax.grad(model(wrap), argnums=(0, 1)))(*given)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), got, wanted)
    if opaque is not False:
        got = jax.grad(model(lambda f: checkpoint(f, opaque=opaque)), argnums=(0, 1))(*given)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), got, wanted)


def test_vmap_and_scan():
    """One boolean serves a whole batch; in a scan the pieces are those of its body."""
    piece = checkpoint(lambda x, w: jnp.sin(w * x))

    def loss(x, w):
        last, _ = jax.lax.scan(lambda x, _: (piece(x, w), None), x, None, length=5)
        return jnp.sum(last)

    def plain(x, w):
        last, _ = jax.lax.scan(lambda x, _: (jnp.sin(w * x), None), x, None, length=5)
        return jnp.sum(last)

    x, w = jnp.linspace(0.0, 1.0, 12).reshape(4, 3), jnp.linspace(1.0, 2.0, 4)
    got = jax.jit(jax.vmap(jax.grad(loss, (0, 1))))(x, w)
    wanted = jax.vmap(jax.grad(plain, (0, 1)))(x, w)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), got, wanted)
    text = jax.jit(jax.vmap(jax.grad(loss, (0, 1)))).lower(x, w).as_text()
    assert "stablehlo.case" in text  # a branch, and no select of both


def test_a_nan_takes_the_same_branch():
    """The boolean is true for whatever is in the arrays."""
    piece = checkpoint(jnp.sin)
    for bad in (jnp.nan, jnp.inf, -jnp.inf, 1e300, -0.0):
        x = jnp.array([bad, 1.0])
        assert jax.jit(jax.grad(lambda x: piece(x)[1]))(x)[1] == jnp.cos(1.0)


def test_forward_mode_is_refused_by_name():
    """The error is typed, in and out of jit, through vmap and scan."""
    piece = checkpoint(jnp.sin)
    for change in (lambda f: f, jax.jit, jax.vmap):
        with pytest.raises(NotSupported, match="forward-mode"):
            jax.jvp(change(piece), (jnp.ones(2),), (jnp.ones(2),))
    with pytest.raises(NotSupported, match="forward-mode"):
        jax.jacfwd(piece)(jnp.ones(2))


def test_second_derivatives_by_reverse_over_reverse():
    """The backward pass is differentiated again."""
    piece = checkpoint(lambda x: jnp.sin(x) ** 2)
    got = jax.grad(jax.grad(lambda x: piece(piece(x))))(0.3)
    wanted = jax.grad(jax.grad(lambda x: jnp.sin(jnp.sin(x) ** 2) ** 2))(0.3)
    np.testing.assert_allclose(got, wanted, rtol=1e-13)


@pytest.mark.parametrize("slots", [None, 3])
def test_the_hessian_passes_through_what_runs_again(slots):
    """Forward mode of a gradient is jax's, through a checkpoint and through a loop with slots."""

    def loss(u, run, again):
        def step(c, _):
            return again(lambda c, u: jnp.sin(c) * u + 0.3 * jnp.roll(c, 1))(c, u), c.sum()

        last, sums = run(step, u)
        return (last**2).sum() + (sums**2).sum()

    def theirs(u):
        return loss(u, lambda step, u: jax.lax.scan(step, u, None, 9), lambda f: f)

    def ours(u):
        again = checkpoint if slots is None else lambda f: f
        return loss(u, lambda step, u: scan(step, u, None, 9, slots=slots), again)

    u = jnp.linspace(0.1, 1.0, 4)
    want = jax.hessian(theirs)(u)
    np.testing.assert_allclose(jax.hessian(ours)(u), want, rtol=1e-12, atol=1e-12)
    product = jax.jvp(jax.grad(ours), (u,), (u,))[1]
    np.testing.assert_allclose(product, want @ u, rtol=1e-12)

    def nested(u):
        return loss(u, lambda step, u: scan(step, u, None, 9, slots=3), checkpoint)

    np.testing.assert_allclose(jax.grad(nested)(u), jax.grad(theirs)(u), rtol=1e-12)
    with pytest.raises(NotSupported, match="forward-mode"):
        jax.hessian(nested)(u)


def test_what_is_no_function_is_refused_at_once():
    """Neither a checkpoint nor a site is made of what cannot be called."""
    for bad in (lambda: checkpoint(3), lambda: site(3, name="a"), lambda: site(jnp.sin, name=3)):
        with pytest.raises(WrongType):
            bad()
