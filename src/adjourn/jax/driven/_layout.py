"""Pytrees as flat lists of plain arrays: structures aside, PRNG keys as their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._compat import jax, jnp
from .._trees import is_key

__all__ = ["Layout", "bytes_of", "plain"]

Leaves = list[Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a flat list of plain arrays has lost of its pytree; hashable.

    Attributes
    ----------
    structure : PyTreeDef
        The structure.
    keys : tuple
        For each leaf the implementation of a PRNG key, or None.
    """

    structure: Any
    keys: tuple[Any, ...]

    @classmethod
    def of(cls, tree: Any) -> tuple[Leaves, Layout]:
        """Take a pytree apart, into arrays of fixed types."""
        leaves, structure = jax.tree.flatten(tree)
        leaves = [leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf) for leaf in leaves]
        return plain(leaves), cls.like(leaves, structure)

    @classmethod
    def like(cls, leaves: Sequence[Any], structure: Any = None) -> Layout:
        """Return the layout of arrays or abstract values."""
        return cls(structure, tuple(_kind(leaf.dtype) if is_key(leaf) else None for leaf in leaves))

    def dress(self, leaves: Sequence[Any]) -> Leaves:
        """Return plain arrays with keys as keys."""
        return [
            leaf if impl is None else jax.random.wrap_key_data(leaf, impl=impl)
            for leaf, impl in zip(leaves, self.keys, strict=True)
        ]

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Return the pytree of plain arrays."""
        return jax.tree.unflatten(self.structure, self.dress(leaves))

    def gradient(self, leaves: Sequence[Any]) -> Any:
        """Return the pytree of cotangents, None for what has none."""
        return jax.tree.unflatten(self.structure, leaves)


def _kind(dtype: Any) -> Any:
    return jax.random.key_impl(jnp.empty((), dtype))


def plain(leaves: Sequence[Any]) -> Leaves:
    """Return arrays of plain numbers and strict types."""
    return [_plain(leaf) for leaf in leaves]


def _plain(leaf: Any) -> Any:
    made = jnp.asarray(leaf)  # a number written in a program may come as one of Python's
    if is_key(made):
        return jax.random.key_data(made)
    return jax.lax.convert_element_type(made, made.dtype)


def bytes_of(leaves: Sequence[Any]) -> int:
    """Return the bytes of arrays or abstract values."""
    return sum(int(leaf.size) * int(leaf.dtype.itemsize) for leaf in leaves)
