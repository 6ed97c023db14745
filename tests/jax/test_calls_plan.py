"""Loops and sites planned together: applied, explained, saved, and refused where they must be."""

from __future__ import annotations

import json

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

from adjourn import BadValue, CallTree  # noqa: E402
from adjourn.calltree import place, speedscope, tree_text  # noqa: E402
from adjourn.jax import Plan, plan, profile, value_and_grad, what_if  # noqa: E402
from adjourn.reports import tree_page  # noqa: E402

from .call_models import STEPS, arguments, loss  # noqa: E402

pytestmark = pytest.mark.jax
HERE = __package__


def quick(budget, **how):
    """Plan the model by figures alone, without compiling."""
    how = {"packages": (HERE,), "effort": 0, "progress": False, "argnums": (0, 1)} | how
    return plan(loss, *arguments(), budget=budget, **how)


@pytest.fixture(scope="module")
def wanted():
    """Compute the gradient without a plan."""
    return jax.jit(jax.value_and_grad(loss, (0, 1)))(*arguments())


def same(got, wanted):
    """Compare values and gradients to 1e-12 of the largest number."""
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * float(jnp.abs(b).max()))


def test_a_plan_is_compiled_run_and_applied(wanted):
    """Planned bytes are the compiler's, within the budget; baselines that fit are finalists."""
    made = plan(
        *(loss, *arguments()),
        argnums=(0, 1),
        budget="500 KB",
        packages=(HERE,),
        effort=1,
        progress=False,
    )
    assert made.compiled_bytes <= made.budget
    assert made.tried[0].choice == made.choice
    same(value_and_grad(loss, (0, 1), plan=made)(*arguments()), wanted)
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.seconds == min(t.seconds for t in made.tried if t.seconds is not None)


def test_smaller_budgets_take_more_time_and_fewer_bytes_by_the_model(wanted):
    """Without compiling: each plan within its budget, and the gradient that of plain JAX."""
    for budget in ("100 KB", "250 KB", "1 MB", "4 MB"):
        made = quick(budget)
        assert made.model_bytes <= made.budget
        assert made.compiled_bytes is None
    same(value_and_grad(loss, (0, 1), plan=quick("100 KB"))(*arguments()), wanted)


def test_given_sites_run_again_and_no_others(wanted):
    """By name or by path; what is not there is named, with what is near."""
    made = quick("1 MB", sites=["flux", "scan#0/solve#0"])
    assert {path.rpartition("/")[2] for path in made.choice.sites} == {
        *("flux()#0", "flux()#1", "solve#0")
    }
    assert len(made.choice.sites) == 5
    same(value_and_grad(loss, (0, 1), plan=made)(*arguments()), wanted)
    with pytest.raises(BadValue, match=r"'flax' is not in the program.*Did you mean .*flux"):
        quick("1 MB", sites=["flax"])
    with pytest.raises(BadValue, match='Pass "keep"'):
        quick("1 MB", checkpoints="never")


def test_every_site_is_explained():
    """Bytes saved in context, seconds, chosen or not and why, and what holds the peak."""
    made = quick("1 MB", sites=["scan#0/tendency#0"])
    chosen = made.site("scan#0/tendency#0")
    assert chosen.chosen
    assert chosen.saves > 0
    text = made.explain()
    assert "what it frees is worth its second run" in text
    assert "is reversed" in text or "at the turn" in text
    auto = quick("4 MB")
    assert any(one.seconds > 0 for one in auto.figures)
    assert {one.path for one in auto.figures if one.chosen} == {*auto.choice.sites}
    with pytest.raises(BadValue, match="Pass a path"):
        auto.site("nowhere")


def test_what_if_answers_for_any_placement():
    """Without compiling: bytes with and without the sites, what holds the peak, and each why."""
    seen = what_if(
        *(loss, *arguments()),
        argnums=(0, 1),
        sites=["tendency", "smooth"],
        packages=(HERE,),
        progress=False,
    )
    assert seen.nbytes < seen.before
    worthless = [one for one in seen.figures if "smooth" in one.path and one.saves <= 0]
    assert worthless
    assert "running again" in str(seen)


def test_the_profile_is_a_call_tree_of_the_core():
    """Every nested program and Python call is a call; it prints, places and goes to JSON."""
    tree = profile(
        loss, *arguments(), packages=(HERE,), argnums=(0, 1), seconds=0.5, progress=False
    )
    assert {"tendency", "flux", "smooth", "mix", "cond", "solve", "scan"} <= {*tree.sites}
    assert tree.body[0].steps == STEPS or tree.body[1].steps == STEPS
    assert CallTree.from_json(json.loads(json.dumps(tree.to_json()))) == tree
    assert "flux" in tree_text(tree)
    assert any("flux" in f["name"] for f in speedscope(tree)["shared"]["frames"])
    most = place(tree, 2**40)
    assert "flux" in tree_page(tree, most)
    assert place(tree, most.peak_bytes // 10).loops[0].snapshots > 0


def test_a_site_that_changes_when_run_again_is_named_and_never_is():
    """Host randomness in a callback is found by comparing two runs, and kept out of plans."""
    state = np.random.default_rng(0)

    def noise(x):
        return x + state.normal(size=x.shape)

    @jax.custom_vjp
    def shaken(x):
        return jax.pure_callback(noise, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    shaken.defvjp(lambda x: (shaken(x), x), lambda _, ct: (ct,))

    def unsteady(x):
        return jnp.sin(shaken(jnp.sin(x)))

    def model(u):
        def step(u, _):
            return jnp.cos(jax.jit(unsteady)(u)) * jnp.sin(u), None

        return lax.scan(step, u, None, 5)[0].sum()

    u = jnp.linspace(0.0, 1.0, 64)
    made = plan(model, u, budget="1 MB", sites="auto", effort=1, progress=False)
    assert not made.site("unsteady").pure
    assert made.choice.outer == "all"
    assert "must not run again" in made.explain()
    with pytest.raises(BadValue, match="unsteady#0 gives other results"):
        plan(model, u, budget="1 MB", sites=["unsteady"], effort=1, progress=False)


def test_sites_may_take_and_give_keys_of_random_numbers():
    """Sites whose inputs and results are typed keys are timed, found pure and may run again."""

    @jax.jit
    def noisy(u, key):
        key, part = jax.random.split(key)
        return u + 0.1 * jnp.sin(u) * jax.random.normal(part, u.shape), key

    def walk(u, key):
        (u, _), _ = lax.scan(lambda carry, _: (noisy(*carry), None), (u, key), None, 10)
        return jnp.sum(u**2)

    args = (jnp.linspace(0.1, 1.0, 64), jax.random.key(0))
    made = plan(walk, *args, budget="1 MiB", sites=["noisy"], effort=1, progress=False)
    assert made.site("noisy").pure
    same(value_and_grad(walk, plan=made)(*args), jax.value_and_grad(walk)(*args))
