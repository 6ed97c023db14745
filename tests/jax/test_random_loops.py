"""Random small programs with loops have the gradient that plain JAX gives them."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from .loop_programs import Structure, loss, numbers

pytestmark = pytest.mark.jax


def compare(seeds, programs):
    """Compare gradients of so many programs of each structure, to 1e-12 of the largest entry."""
    for seed in seeds:
        structure = Structure.random(seed)

        def gradient(structure):
            return jax.jit(jax.value_and_grad(partial(loss, structure)))

        ours, plain = gradient(structure), gradient(structure.plain)
        for program in range(programs):
            floats, ints = numbers(1000 * seed + program)
            (value, got), (wanted_value, wanted) = ours(floats, ints), plain(floats, ints)
            np.testing.assert_allclose(value, wanted_value, rtol=1e-12, atol=1e-12)
            for name, leaf in wanted.items():
                scale = float(jnp.abs(leaf).max())
                np.testing.assert_allclose(got[name], leaf, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("first", range(0, 12, 3))
def test_300_random_programs(first):
    """Scans and while loops, nested, with integers, keys, inputs, outputs, branches, own rules.

    12 structures are compiled, and each takes 25 programs: what its steps do is chosen by data.
    """
    compare(range(first, first + 3), 25)


@pytest.mark.nightly
def test_300_random_structures():
    """As many programs again, each of a structure of its own."""
    compare(range(100, 400), 1)
