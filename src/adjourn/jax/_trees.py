"""Pytrees as flat lists: which leaves have derivatives, and how they meet NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..problem import Array
from ._compat import jax, jnp

__all__ = ["as_device", "as_host", "as_leaves", "has_tangent", "is_key", "join", "nbytes", "split"]

Leaves = list[Any]


def is_key(leaf: Any) -> bool:
    """Return whether a leaf is an array of typed PRNG keys."""
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def has_tangent(leaf: Any) -> bool:
    """Return whether a leaf has derivatives: real or complex numbers."""
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def as_leaves(tree: Any) -> tuple[Leaves, Any]:
    """Return the leaves of a pytree as arrays of fixed types, and its structure."""
    leaves, structure = jax.tree.flatten(tree)
    return [_array(leaf) for leaf in leaves], structure


def _array(leaf: Any) -> Any:
    made = jnp.asarray(leaf)
    return made if is_key(made) else jax.lax.convert_element_type(made, made.dtype)


def split(leaves: Sequence[Any], where: Sequence[bool]) -> tuple[Leaves, Leaves]:
    """Return the leaves where ``where`` is true, and the others."""
    chosen = [leaf for leaf, here in zip(leaves, where, strict=True) if here]
    return chosen, [leaf for leaf, here in zip(leaves, where, strict=True) if not here]


def join(chosen: Sequence[Any], others: Sequence[Any], where: Sequence[bool]) -> Leaves:
    """Return the leaves that `split` took apart."""
    one, two = iter(chosen), iter(others)
    return [next(one) if here else next(two) for here in where]


def as_host(leaf: Any) -> Array:
    """Return a leaf as a NumPy array; on a CPU without a copy, and not to be written to."""
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def as_device(array: Array, like: Any) -> Any:
    """Return a copy of a NumPy array as a leaf of the kind of ``like``."""
    made = jnp.array(array, copy=True)
    if is_key(like):
        return jax.random.wrap_key_data(made, impl=jax.random.key_impl(like))
    return made


def nbytes(leaves: Sequence[Any]) -> int:
    """Return the bytes of all leaves."""
    return sum(as_host(leaf).nbytes for leaf in leaves)
