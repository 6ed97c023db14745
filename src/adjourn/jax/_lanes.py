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


@jax.custom_batching.custom_vmap
def only(going: Any, new: list[Any], old: list[Any]) -> list[Any]:  # noqa: ARG001
    """Return ``new``; under vmap, ``old`` in the lanes that are not ``going``.

    Without lanes ``going`` is taken to be true, and nothing is selected or copied.
    """
    return new


@only.def_vmap
def _only_of_all(axis_size: int, in_batched: Any, going: Any, new: Any, old: Any) -> Any:
    by_lane, new_batched, old_batched = in_batched

    def spread(leaf: Any, batched: bool) -> Any:
        return leaf if batched else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))

    batched = [by_lane or one or two for one, two in zip(new_batched, old_batched, strict=True)]
    where = zip(batched, new, new_batched, old, old_batched, strict=True)
    pairs = [(spread(n, nb), spread(o, ob)) if b else (n, o) for b, n, nb, o, ob in where]
    if not by_lane:
        return only(going, [n for n, _ in pairs], [o for _, o in pairs]), batched

    def choose(going: Any, pair: Any) -> Any:
        return jnp.where(going, *pair)

    return [jax.vmap(choose)(going, pair) for pair in pairs], batched
