"""What the reverse of one equation reads."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

from adjourn.jax._compat import as_closed, bare  # noqa: E402
from adjourn.jax.sites._residuals import residuals_of  # noqa: E402

pytestmark = pytest.mark.jax


def last_equation(function, *args):
    """Return the last equation of a program."""
    return bare(as_closed(function, *args)).eqns[-1]


def test_what_a_scatter_makes_is_made_of_its_indices():
    """The reverse of a scatter keeps values of its own that depend on no value and no update."""
    values, indices, updates = jnp.zeros(50), jnp.arange(3)[:, None], jnp.ones(3)
    numbers = jax.lax.ScatterDimensionNumbers((), (0,), (0,))
    scatter = last_equation(
        lambda *given: jax.lax.scatter(*given, numbers), values, indices, updates
    )
    assert scatter.primitive.name == "scatter"
    reads = residuals_of(scatter, (True, False, True), (True,), {})
    assert reads.own > 0
    assert {place for _, sources in reads.made for place in sources} == {1}


def test_what_a_power_makes_is_made_of_its_base():
    """The reverse of a power keeps a lower power: as many bytes, made of the base."""
    power = last_equation(lambda x: x**3, jnp.ones(4, "float32"))
    reads = residuals_of(power, (True,), (True,), {})
    assert reads.made == ((16, (0,)),)
    assert not reads.inputs
