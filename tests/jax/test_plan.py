"""Plans of JAX gradients: within the budget, as a value, and refused for another program."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from adjourn import BadValue, BudgetTooSmall, NotSupported, WrongType
from adjourn.jax import Plan, curve, grad, plan, value_and_grad, vjp, while_loop

pytestmark = pytest.mark.jax

STEPS = 60


def loss(speed, u, steps=STEPS):
    """Return the energy of a damped non-linear wave; the scan lies in a jitted call."""

    @jax.jit
    def model(u):
        def step(carry, _):
            u, v = carry
            bend = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
            return (1.9 * u - 0.9 * v + speed * bend * jnp.cos(u), u), None

        return jax.lax.scan(step, (u, u), None, steps)[0][0]

    return jnp.sum(model(u) ** 2)


@pytest.fixture(scope="module")
def where():
    return jnp.full(2048, 0.1), jnp.sin(jnp.arange(2048) * 0.01)


@pytest.fixture(scope="module")
def small(where):
    return plan(loss, *where, budget="256 KiB", argnums=(0, 1), effort=1, progress=False)


def test_what_is_planned_is_what_the_compiler_takes(small, where):
    """The compiled gradient's temporary bytes are those of the plan, within the budget."""
    function = value_and_grad(loss, (0, 1), plan=small)
    compiled = function.lower(*where).compile()
    assert compiled.memory_analysis().temp_size_in_bytes == small.compiled_bytes <= small.budget
    assert abs(small.model_bytes - small.compiled_bytes) < 0.25 * small.compiled_bytes
    plain = jax.jit(jax.value_and_grad(loss, (0, 1)))
    assert plain.lower(*where).compile().memory_analysis().temp_size_in_bytes > 4 * small.budget
    value, gradients = function(*where)
    wanted_value, wanted = plain(*where)
    np.testing.assert_allclose(value, wanted_value, rtol=1e-13)
    for one, two in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * float(jnp.abs(two).max()))


def test_a_plan_is_a_value(small):
    """It round-trips through JSON, and prints what it chose and why."""
    again = Plan.from_json(json.loads(json.dumps(small.to_json())))
    assert again == small
    assert "because it is the only one" in str(small)
    assert "carries by the binomial schedule" in str(small)
    with pytest.raises(BadValue, match="schema"):
        Plan.from_json({"schema": 99})


def test_another_program_is_refused_with_the_reason(small, where):
    """Other shapes, other trip counts, other equations."""
    speed, u = where
    with pytest.raises(BadValue, match=r"float64\[2048\] is now .*float64\[16\]"):
        grad(loss, plan=small)(speed[:16], u[:16])
    with pytest.raises(BadValue, match="had 60 steps, and now has 7"):
        grad(lambda s, u: loss(s, u, 7), plan=small)(speed, u)
    with pytest.raises(BadValue, match="equations differ"):
        grad(lambda s, u: 2 * loss(s, u), plan=small)(speed, u)
    with pytest.raises(BadValue, match="another program"):
        plan(lambda s, u: loss(s, u, 7), speed, u, budget="1 MiB", known=small, progress=False)


def test_it_is_traceable(small, where):
    """Under jit, vmap and a further gradient; as grad, vjp and with aux."""
    speed, u = where
    wanted = jax.jit(jax.grad(loss, 1))(speed, u)
    batch = jax.jit(jax.vmap(grad(loss, 1, plan=small), (None, 0)))(speed, jnp.stack([u, 2 * u]))
    scale = 1e-12 * float(jnp.abs(wanted).max())
    np.testing.assert_allclose(batch[0], wanted, rtol=0, atol=scale)
    value, pull = vjp(loss, speed, u, plan=small)
    np.testing.assert_allclose(pull(jnp.ones_like(value))[1], wanted, rtol=0, atol=scale)


def test_growing_budgets_never_take_longer(where):
    """Planned for 20 budgets together, time never rises and compiled bytes never exceed."""
    budgets = [int(x) for x in np.geomspace(140_000, 8_000_000, 20)]
    made = curve(loss, *where, budgets=budgets, argnums=(0, 1), effort=1, progress=False)
    for budget, one in zip(budgets, made, strict=True):
        assert one.budget == budget
        assert one.compiled_bytes <= budget
        assert one.seconds == min(
            t.seconds for t in one.tried if t.seconds and t.compiled_bytes <= budget
        )
    times = [one.seconds for one in made]
    assert times == sorted(times, reverse=True)
    more = plan(
        loss, *where, budget=9_000_000, argnums=(0, 1), effort=1, known=made[-1], progress=False
    )
    assert more.seconds <= times[-1]


def test_while_loops_are_found_and_reversed():
    """A loop that JAX cannot reverse has the gradient of our own, within the budget."""

    def decay(loop, w, u):
        def inner(u):
            return jax.lax.scan(lambda u, _: (jnp.sin(u) * w, None), u, None, 5)[0]

        u, steps = loop(
            lambda c: jnp.sum(c[0] ** 2) > 1.0, lambda c: (inner(c[0]) * 0.99, c[1] + 1), (u, 0)
        )
        u, _ = jax.lax.scan(lambda u, _: (jnp.cos(u) * w, None), u, None, 40)
        return jnp.sum(u * w) + steps

    def found(w, u):
        return decay(jax.lax.while_loop, w, u)

    def ours(w, u):
        return decay(lambda *a: while_loop(*a, slots=4), w, u)

    w, u = jnp.linspace(0.9, 0.99, 512), jnp.linspace(0.0, 1.0, 512)
    with pytest.raises(ValueError, match="while_loop"):
        jax.grad(found)(w, u)
    made = plan(found, w, u, budget="160 KiB", argnums=(0, 1), effort=2, progress=False)
    assert made.compiled_bytes <= made.budget
    assert made.choice.open > 1
    assert "carries of loops of unknown length" in str(made)
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made
    got, wanted = grad(found, (0, 1), plan=made)(w, u), jax.jit(jax.grad(ours, (0, 1)))(w, u)
    for one, two in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * float(jnp.abs(two).max()))
    assert plan(found, w, u, budget="1 MiB", effort=0, progress=False).compiled_bytes is None


def test_while_loops_without_a_gradient_are_left():
    """A loop on what is not differentiated does not count."""

    def settled(w, u):
        scale = jax.lax.while_loop(lambda s: s < 100.0, lambda s: 2 * s, jax.lax.stop_gradient(w))
        return jnp.sum(jax.lax.scan(lambda u, _: (jnp.sin(u) * scale, None), u, None, 9)[0])

    made = plan(settled, 1.0, jnp.ones(64), budget="1 MiB", argnums=1, effort=1, progress=False)
    assert made.choice.open == 0


def test_effort_0_compiles_nothing(where):
    """The model alone decides; nothing is claimed to be measured."""
    made = plan(loss, *where, budget="300 KiB", effort=0, progress=False)
    assert made.compiled_bytes is None
    assert made.seconds is None
    assert made.model_bytes <= made.budget
    assert "not compiled" in str(made)


def nested(w, u):
    """Return a loss with a scan of scans, has aux, and pytrees."""

    def inner(u, _):
        return jnp.sin(w["a"] * u) + w["b"], None

    def outer(u, _):
        return jax.lax.scan(inner, u, None, 20)[0], u[0]

    u, seen = jax.lax.scan(outer, u, None, 30)
    return jnp.sum(u), {"seen": seen}


def test_nested_scans_pytrees_and_aux():
    """Inner loops are found too, and take their part of the budget."""
    w, u = {"a": jnp.ones(256), "b": jnp.zeros(256)}, jnp.linspace(0.0, 1.0, 256)
    made = plan(nested, w, u, budget="100 KiB", has_aux=True, effort=2, progress=False)
    (value, aux), gradient = value_and_grad(nested, has_aux=True, plan=made)(w, u)
    (wanted_value, wanted_aux), wanted = jax.jit(jax.value_and_grad(nested, has_aux=True))(w, u)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12),
        (value, aux, gradient),
        (wanted_value, wanted_aux, wanted),
    )
    assert len(made.fingerprint.loops) == 2


def test_a_budget_in_place_of_a_plan(where):
    """Planned at the first concrete call and kept; under a trace a clear error."""
    calls = []

    def counted(speed, u):
        calls.append(1)
        return loss(speed, u, 10)

    function = value_and_grad(counted, budget="2 MiB", effort=1)
    first = function(*where)
    traced = len(calls)
    second = function(*where)
    assert len(calls) == traced
    assert np.array_equal(first[1], second[1])
    with pytest.raises(NotSupported, match=r"Call adjourn\.jax\.plan on real inputs"):
        jax.jit(function)(*where)
    with pytest.raises(NotSupported, match="under a trace"):
        jax.jit(lambda *a: plan(loss, *a, budget=1) and 0.0)(*where)
    with pytest.raises(WrongType, match="either plan="):
        value_and_grad(loss)


def test_a_budget_that_cannot_work_says_the_least(where):
    """What was compiled tells the least that was found."""
    with pytest.raises(BudgetTooSmall, match="least found takes") as caught:
        plan(loss, *where, budget=1000, effort=1, progress=False)
    assert caught.value.least > 1000
    again = plan(loss, *where, budget=caught.value.least, effort=1, progress=False)
    assert again.compiled_bytes <= caught.value.least


def test_a_loss_that_closes_over_traced_values_is_not_planned(where):
    """Values of an outer trace are as little real as traced arguments: refused, and told."""
    speed, u = where

    def outer(factor):
        return plan(lambda u: loss(factor * speed, u), u, budget="1 MiB", progress=False)

    def both(factor):
        return curve(lambda u: loss(factor * speed, u), u, budgets=["1 MiB"], progress=False)

    for asked in (outer, both):
        with pytest.raises(NotSupported, match=r"Call adjourn\.jax\.plan on real inputs"):
            jax.jit(asked)(2.0)


@pytest.mark.parametrize("value", ["{}", [], None])
def test_text_of_a_plan_is_not_taken_for_the_plan(value):
    """A saved plan that was not read by json is refused by type."""
    with pytest.raises(WrongType, match=r"Pass json\.loads\(text\)"):
        Plan.from_json(value)


@pytest.mark.parametrize("key", ["budget", "fingerprint", "tried", "reason", "packages", "figures"])
def test_a_plan_with_a_part_missing_is_refused(key):
    """A saved plan without one of its parts is refused as such, whichever it is."""
    made = plan(jnp.sum, jnp.ones(3), budget="1 MiB", effort=0, progress=False).to_json()
    assert Plan.from_json(made).to_json() == made
    with pytest.raises(BadValue, match=r"Pass what Plan|Plan again"):
        Plan.from_json({part: made[part] for part in made if part != key})


def test_what_is_no_plan_is_refused_by_type():
    """A name or a saved mapping in place of a plan is refused before anything is traced."""
    for wrong in ("plan", {"schema": 2}):
        for asked in (grad, value_and_grad):
            with pytest.raises(WrongType, match=r"Pass a plan from adjourn\.jax\.plan"):
                asked(jnp.sum, plan=wrong)
        with pytest.raises(WrongType, match=r"Pass a plan from adjourn\.jax\.plan"):
            vjp(jnp.sum, jnp.ones(3), plan=wrong)
