"""Sites that run again: the same gradient, whatever is chosen."""

from __future__ import annotations

from random import Random

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

from adjourn import BadValue  # noqa: E402
from adjourn.jax import site  # noqa: E402
from adjourn.jax._compat import bare  # noqa: E402
from adjourn.jax._marks import ranges  # noqa: E402
from adjourn.jax._pieces import Again, walk  # noqa: E402
from adjourn.jax._program import trace  # noqa: E402

from .call_programs import arguments, program  # noqa: E402

pytestmark = pytest.mark.jax

FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def paths(jaxpr, path=""):
    """Generate the paths of all sites of a program."""
    here = f"{path}/" if path else ""
    yield from (here + part.label for part in ranges(jaxpr))
    for eqn, parts, at in walk(jaxpr, path):
        if at and eqn.primitive.name != "while":
            yield at
        for inner, deeper in parts:
            yield from paths(bare(inner), deeper)


def placed(seed):
    """Return a random program, and the same with random sites that run again."""
    loss, random = program(seed), Random(seed)
    traced = trace(loss, *arguments(), packages=(__package__,))
    known = sorted({*paths(bare(traced.closed))})
    chosen = sorted(random.sample(known, random.randint(0, len(known))))
    again = Again(tuple(chosen), random.random() < 0.5)
    return loss, lambda *args: traced.run(lambda *_: None, [*args], again)


@pytest.mark.parametrize("block", range(15))
def test_random_placements_have_the_gradient_of_plain_jax(block):
    """Nested jits, scans, branches, custom rules and Python calls: equal to 1e-12."""
    pairs = [placed(seed) for seed in range(20 * block, 20 * block + 20)]

    def gradients(*args):
        return [[jax.value_and_grad(loss, (0, 1))(*args) for loss in pair] for pair in pairs]

    given = arguments()
    for one, two in jax.jit(gradients).lower(*given).compile(FAST)(*given):
        for wanted, got in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
            assert jnp.abs(got - wanted).max() <= 1e-12 * (1e-3 + jnp.abs(wanted).max())


def test_python_calls_are_seen_in_jits_that_were_traced_before():
    """The calls of a package are sites also within functions whose trace JAX has kept."""

    def helper(x):
        return jnp.sin(x) * jnp.cos(x)

    inner = jax.jit(lambda x: helper(helper(x)) + 1.0)

    def loss(x):
        return inner(x).sum()

    x = jnp.ones(3)
    assert not any("()" in path for path in paths(bare(trace(loss, x).closed)))
    found = {*paths(bare(trace(loss, x, packages=(__package__,)).closed))}
    assert {"lambda#0/helper()#0", "lambda#0/helper()#1"} <= found


def test_a_mark_is_a_site_and_changes_nothing():
    """Marked functions are sites without any package; a name must be one."""

    def loss(x):
        return site(lambda x: jnp.sin(x) * x, name="part")(x).sum() + x.sum()

    traced = trace(loss, jnp.ones(3))
    assert [*paths(bare(traced.closed))] == ["part()#0"]
    plain = trace(lambda x: (jnp.sin(x) * x).sum() + x.sum(), jnp.ones(3))
    assert traced.fingerprint == plain.fingerprint
    with pytest.raises(BadValue, match="at least one letter"):
        site(loss, name="a/b")


def test_a_checkpoint_of_the_user_stays_unless_told_otherwise():
    """What the user wrapped in jax.checkpoint runs again in the backward pass, or need not."""

    def loss(x):
        return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()

    traced = trace(loss, jnp.ones(3))
    kept, dropped = (
        str(jax.make_jaxpr(jax.grad(lambda x, a=again: traced.run(None, [x], a)))(jnp.ones(3)))
        for again in (Again(), Again((), True))
    )
    assert kept.count("= sin") > dropped.count("= sin")
