"""Loops whose length differs from lane to lane under vmap: one count for all, idle lanes kept."""

from __future__ import annotations

from typing import Any

from ._compat import jax, jnp

__all__ = ["any_lane", "only"]


@jax.custom_batching.custom_vmap
def any_lane(going: Any) -> Any:
    """Return a boolean; under vmap, whether it is true in any lane, the same for all.

    A loop on it has one number of turns, so that its counters are not batched.
    """
    return going


@any_lane.def_vmap
def _any_of_all(axis_size: int, in_batched: list[bool], going: Any) -> Any:  # noqa: ARG001
    return any_lane(jnp.any(going, axis=0) if in_batched[0] else going), False


def only(going: Any, new: list[Any], old: list[Any]) -> list[Any]:
    """Return ``new``; under vmap, ``old`` in the lanes that are not ``going``.

    Without lanes ``going`` is taken to be true, and nothing is selected or copied. Each leaf is
    for itself, so that one that nobody reads keeps no other alive.
    """
    return [_only(going, one, two) for one, two in zip(new, old, strict=True)]


@jax.custom_batching.custom_vmap
def _only(going: Any, new: Any, old: Any) -> Any:  # noqa: ARG001
    return new


@_only.def_vmap
def _only_of_all(axis_size: int, in_batched: list[bool], going: Any, new: Any, old: Any) -> Any:
    by_lane, new_batched, old_batched = in_batched
    if not any(in_batched):
        return _only(going, new, old), False

    def spread(leaf: Any, batched: bool) -> Any:
        return leaf if batched else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))

    new, old = spread(new, new_batched), spread(old, old_batched)
    if by_lane:
        return jax.vmap(jnp.where)(going, new, old), True
    return _only(going, new, old), True
