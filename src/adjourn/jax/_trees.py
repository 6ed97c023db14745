"""Flat lists of leaves: which have derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._compat import jax, jnp

__all__ = ["has_tangent", "is_key", "join", "split"]

Leaves = list[Any]


def is_key(leaf: Any) -> bool:
    """Return whether a leaf is an array of typed PRNG keys."""
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def has_tangent(leaf: Any) -> bool:
    """Return whether a leaf has derivatives: real or complex numbers."""
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def split(leaves: Sequence[Any], where: Sequence[bool]) -> tuple[Leaves, Leaves]:
    """Return the leaves where ``where`` is true, and the others."""
    chosen = [leaf for leaf, here in zip(leaves, where, strict=True) if here]
    return chosen, [leaf for leaf, here in zip(leaves, where, strict=True) if not here]


def join(chosen: Sequence[Any], others: Sequence[Any], where: Sequence[bool]) -> Leaves:
    """Return the leaves that `split` took apart."""
    one, two = iter(chosen), iter(others)
    return [next(one) if here else next(two) for here in where]
