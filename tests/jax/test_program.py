"""Traced programs: their loops, their fingerprints, their evaluation with loops replaced."""

from __future__ import annotations

import json

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

from adjourn.jax._fingerprint import Fingerprint  # noqa: E402
from adjourn.jax._program import trace  # noqa: E402

pytestmark = pytest.mark.jax


@jax.custom_vjp
def own(x):
    return jnp.sin(x)


own.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (2.0 * ct * jnp.cos(x),))


@jax.jit
def solve(x, steps=3):
    return lax.scan(lambda c, _: (0.5 * (c + 1.0 / c), None), x, None, length=3)[0]


def model(params, x, factor=0.1, steps=5, inner=jnp.sin):
    weights = np.arange(5.0, dtype=np.float32)[:steps] if steps <= 5 else np.ones(steps, "f4")

    def step(carry, w):
        u, key, count = carry
        u = inner(u) + factor * w * own(params["a"] * u)
        u = lax.cond(count % 2 == 0, lambda u: solve(u + 1.0), jnp.cos, u)
        return (u, key, count + 1), u.sum()

    def rest(u):
        return lax.fori_loop(0, 4, lambda i, u: jnp.tanh(u) * (1 + i), u)

    (u, _, count), ys = lax.scan(step, (x, jax.random.key(0), jnp.int32(0)), weights, reverse=True)
    u = jax.checkpoint(rest)(u)
    u = lax.while_loop(lambda u: jnp.sum(u) < -1e3, lambda u: u + 1, lax.stop_gradient(u)) + u
    return {"loss": jnp.sum(u * u) + jnp.sum(ys), "count": count}


def arguments():
    return {"a": jnp.float32(0.3)}, jnp.linspace(0.1, 1.0, 4, dtype=jnp.float32)


def test_every_scan_is_found_with_its_path():
    """Loops in loops, calls, branches and checkpoints are found, outer ones first."""
    loops = trace(model, *arguments()).loops
    assert [(site.path, site.steps, site.turns, site.depth) for site in loops] == [
        ("scan#0", 5, 1, 0),
        ("scan#0/cond#0[1]/solve#0/scan#0", 3, 5, 1),
        ("checkpoint#0/scan#0", 4, 1, 0),
    ]
    carried = [kind for kind in loops[0].carry if "key" not in kind]  # before JAX 0.7 one more
    assert carried == ["float32[4]", "int32[]"]
    assert loops[0].reverse
    assert not loops[1].reverse


def plain(site, body, init, xs):
    return lax.scan(body, init, xs, length=site.steps, reverse=site.reverse)


def every_step(site, body, init, xs):
    return lax.scan(jax.checkpoint(body), init, xs, length=site.steps, reverse=site.reverse)


def test_a_program_with_its_loops_replaced_is_the_same_function():
    """Value, gradient and structure of what is returned are those of the function."""
    seen = []
    args = arguments()
    program = trace(model, *args)

    def rewritten(replace):
        def told(site, body, init, xs):
            seen.append(site.path)
            return replace(site, body, init, xs)

        return lambda *args: program.run(told, jax.tree.leaves(args))

    @jax.jit
    def gradients(args):
        functions = [model, *map(rewritten, (plain, every_step, lambda *_: None))]
        return [jax.value_and_grad(lambda *a: f(*a)["loss"], (0, 1))(*args) for f in functions]  # noqa: B023

    first, *others = gradients(args)
    for other in others:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), first, other)
    assert set(seen) == {site.path for site in program.loops}
    made = jax.eval_shape(rewritten(plain), *args)
    assert jax.tree.structure(made) == jax.tree.structure(model(*args))


def test_a_program_can_be_traced_and_evaluated_under_a_trace():
    """Tracers of an outer transformation that the function closes over are kept."""
    params, x = arguments()

    def outer(params, x):
        def loss(x):
            return model(params, x)["loss"]

        return trace(loss, x).run(every_step, [x])

    seen = jax.jit(jax.grad(outer))(params, x)
    expected = jax.jit(jax.grad(lambda p, x: model(p, x)["loss"]))(params, x)
    np.testing.assert_allclose(seen["a"], expected["a"], rtol=1e-5)


def test_a_fingerprint_is_a_value_and_tells_programs_apart():
    """Traced again it is the same; each change is named."""
    params, x = arguments()
    first = trace(model, params, x).fingerprint
    again = trace(lambda params, x: model(params, x), params, x).fingerprint
    assert first == again
    assert first == Fingerprint.from_json(json.loads(json.dumps(first.to_json())))
    assert first.difference(again) is None

    def changed(**how):
        return first.difference(trace(lambda p, x: model(p, x, **how), params, x).fingerprint)

    assert changed(steps=3) == "its loop scan#0 had 5 steps, and now has 3"
    assert "equations differ" in changed(factor=0.2)
    assert "equations differ" in changed(inner=jnp.cos)
    assert first.difference(trace(model, params, x[:3]).fingerprint) == (
        "its argument [1]: float32[4] is now float32[3]".replace("is now ", "is now [1]: ")
    )
    wide = trace(lambda p, x: model(p, x), {"a": 0.3, "b": 1.0}, x).fingerprint
    assert first.difference(wide) == "it has 3 arrays as arguments, and had 2"


def test_arrays_that_are_closed_over_may_change_their_values():
    """Data behind a program are no part of the program."""

    def with_data(data):
        def product(x):
            return lax.scan(lambda c, d: (c * d, None), x, data)[0]

        return trace(product, jnp.ones(())).fingerprint

    assert with_data(jnp.ones(3)) == with_data(jnp.zeros(3))
    assert with_data(jnp.ones(3)) != with_data(jnp.ones(4))


def test_a_fingerprint_is_the_same_whatever_numpy_s_print_options():
    """Programs with NumPy numbers among their parameters, printed in the old way or the new."""

    def function(x):
        return jax.lax.broadcasted_iota(jnp.int32, (3, 4), np.int64(1)) * x

    seen = trace(function, jnp.ones((3, 4))).fingerprint
    with np.printoptions(legacy="1.25"):
        assert trace(function, jnp.ones((3, 4))).fingerprint == seen
