"""A step taken apart: live carry, residuals, pullback."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

from adjourn.jax._body import Body  # noqa: E402

pytestmark = pytest.mark.jax


def step(consts, carry, x):
    rate, mask, table = consts
    u, v, total, count, key = carry
    forcing = jnp.exp(table) * mask  # the same at every step
    w = jnp.sin(u) * forcing + rate * v + x[0] + count
    return [w, u, total + 3.0 * w.sum(), count + 1, key], [v * x[0], count]


def given():
    u = jnp.linspace(0.1, 0.9, 6)
    consts = [jnp.float64(0.3), (u > 0.2).astype(float), u * 0.1]
    return consts, [u, 0.5 * u, jnp.float64(0.0), jnp.int32(2), jax.random.key(1)], [u[:1]]


def body(moving_consts=(True, False, False), start=(True, True, False, False, False)):
    consts, carry, x = given()
    return Body.of(step, consts, carry, x, (moving_consts, start, (True,)))


def test_only_what_recording_reads_is_live():
    """Sums that are only added to and keys that nobody reads are not carried in a replay."""
    made = body()
    assert made.keep == (True, True, False, True, False)
    assert made.move == (True, True, True, False, False)
    assert made.outputs == (True, False)
    assert body((False,) * 3, (False,) * 5).move == made.move  # by way of the inputs


def test_residuals_of_constants_are_computed_once():
    """What depends on constants alone is not among the residuals of a step."""
    made = body()
    consts, _, _ = given()
    assert any(np.allclose(a, jnp.exp(consts[2]) * consts[1]) for a in made.fixed(consts))
    assert sum(a.size for a in made.residuals) <= 3 * 6 + 2


@pytest.mark.parametrize("moving_consts", [(True, False, False), (True, True, True)])
def test_recording_and_pulling_is_the_pullback_of_the_step(moving_consts):
    """Recorded and pulled back over three steps, the cotangents are those of jax.vjp."""
    made = body(moving_consts)
    consts, carry, x = given()
    fixed = made.fixed(consts)
    kept = [leaf for leaf, live in zip(carry, made.keep, strict=True) if live]
    states, now = [], kept
    for _ in range(3):
        states.append(now)
        now = made.advance(consts, now, x)
    ct_carry = [jnp.ones(6), 2 * jnp.ones(6), jnp.float64(0.5)]
    ct_y = [jnp.ones(6)]
    sums = None
    back = ct_carry
    for state in reversed(states):
        after, residuals = made.record(consts, state, x)
        by_consts, back, by_x = made.pull(fixed, residuals, back, ct_y)
        sums = [by_consts, by_x] if sums is None else jax.tree.map(jnp.add, sums, [by_consts, by_x])
        assert len(after) == sum(made.keep)

    def plain(chosen, u, v, total, x):
        values = iter(chosen)
        full = [next(values) if m else c for c, m in zip(consts, moving_consts, strict=True)]
        state, ys = [u, v, total, *carry[3:]], []
        for _ in range(3):
            state, (y, _) = step(full, state, x)
            ys.append(y)
        return state[:3], ys

    chosen = [c for c, m in zip(consts, moving_consts, strict=True) if m]
    _, pull = jax.vjp(plain, chosen, *carry[:3], x)
    want = pull((ct_carry, ct_y * 3))
    assert jax.tree.structure(want) == jax.tree.structure((sums[0], *back, sums[1]))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), want, (sums[0], *back, sums[1])
    )


def test_effects_are_kept_in_replays_and_not_hoisted():
    """A callback runs once a replayed step and once a recorded step."""
    calls = []

    def counted(consts, carry, x):
        jax.debug.callback(lambda: calls.append(1))
        return [jnp.sin(carry[0]) * consts[0]], []

    args = [jnp.float64(0.3)], [jnp.ones(3)], []
    made = Body.of(counted, *args, ((True,), (True,), ()))
    made.advance(*args)
    made.fixed(args[0])
    made.record(*args)
    jax.effects_barrier()
    assert len(calls) == 2


def test_cotangents_that_stay_zero_are_not_pulled_back():
    """Prepared for fewer cotangents, the pullback is that for all with the others zero."""
    whole = body()
    consts, carry, x = given()
    fewer = whole.asked((True, False, False), (False,))
    assert fewer.move == (True, True, False, False, False)  # v is read by the next step
    assert fewer.outputs == (False, False)
    assert whole.asked((False, False, True), (False,)).move == whole.move  # total reads them all
    assert whole.asked((True, True, True), (True,)) is whole
    u, v = jnp.linspace(1, 2, 6), jnp.linspace(3, 4, 6)
    results = []
    for made, ct_carry, ct_y in (
        (whole, [u, v, jnp.float64(0)], [jnp.zeros(6)]),
        (fewer, [u, v], []),
    ):
        kept = [leaf for leaf, live in zip(carry, made.keep, strict=True) if live]
        _, residuals = made.record(consts, kept, x)
        by_consts, by_carry, by_x = made.pull(made.fixed(consts), residuals, ct_carry, ct_y)
        results.append([*by_consts, *by_carry[:2], *by_x])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14), *results)
