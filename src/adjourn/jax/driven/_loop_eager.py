"""A loop whose step cannot be compiled: the same programs, run operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._body import Flags
from .._compat import jax, jnp
from .._trees import has_tangent, join, split
from ._loop_programs import Leaves, Programs

__all__ = ["eager_loop"]


def eager_loop(
    step: Callable[[Leaves, Leaves, Leaves, int], Leaves],
    going: Callable[[Leaves, Leaves], Any] | None,
    consts: Leaves,
    carry: Leaves,
    xs: Leaves,
) -> Programs:
    """Return the programs of a step that is called on real arrays.

    Under the pullback it is called on JAX's tracers of real arrays: what has no derivative may
    go through NumPy, by way of ``jax.lax.stop_gradient`` or a ``jax.custom_vjp``. Costs what
    JAX takes to dispatch each operation, and a trace of the step at each pullback.

    Parameters
    ----------
    step : callable
        ``step(consts, carry, x, number) -> carry`` on flat lists.
    going : callable, optional
        ``going(consts, carry) -> bool``.
    consts, carry, xs : list of arrays
        Of the shapes and types that they will have.
    """
    flags: tuple[Flags, ...] = tuple(
        tuple(has_tangent(leaf) for leaf in leaves) for leaves in (consts, carry, xs)
    )

    def march(
        consts: Leaves,
        xs: Leaves,
        live: Leaves,
        ys: Leaves,
        block: Leaves,
        start: int,
        count: int,
        stride: int,
        keep: int,
        row: int,  # noqa: ARG001 - a block has one row
    ) -> tuple[Leaves, Leaves, Leaves, int]:
        now, at = [leaf[0] for leaf in live], start
        for _ in range(count):
            if keep:
                block = [leaf[None] for leaf in now]
            stop = at + stride
            while at < stop and (going is None or going(consts, now)):
                now = step(consts, now, [x[at] for x in xs], at)
                at += 1
        return [leaf[None] for leaf in now], ys, block, at

    def pull(
        consts: Leaves,
        xs: Leaves,
        fixed: Leaves,  # noqa: ARG001 - the signature of all programs
        block: Leaves,
        by_ys: Leaves,  # noqa: ARG001
        adjoint: Leaves,
        sums: Leaves,
        by_xs: Leaves,
        start: int,
        stop: int,  # noqa: ARG001 - one step
        row: int,  # noqa: ARG001
    ) -> tuple[Leaves, Leaves, Leaves]:
        given = consts, [leaf[0] for leaf in block], [x[start] for x in xs]
        parts = [split(leaves, where) for leaves, where in zip(given, flags, strict=True)]

        def once(*chosen: Leaves) -> Leaves:
            every = zip(chosen, parts, flags, strict=True)
            consts, carry, x = (join(some, part[1], where) for some, part, where in every)
            return split(step(consts, carry, x, start), flags[1])[0]

        _, pullback = jax.vjp(once, *(chosen for chosen, _ in parts))
        more, adjoint, by_x = pullback(adjoint)
        sums = [one + other for one, other in zip(sums, more, strict=True)]
        by_xs = [leaf.at[start].set(by) for leaf, by in zip(by_xs, by_x, strict=True)]
        return adjoint, sums, by_xs

    def fixed(_: Leaves) -> Leaves:
        return []

    return Programs(
        march=march,
        pull=pull,
        fixed=fixed,
        ys=(),
        move=flags[1],
        outputs=(),
        keep=tuple(True for _ in carry),
        consts=flags[0],
        inputs=flags[2],
        rows=1,
        transient=_residual_bytes(step, flags, (consts, carry, xs)),
        in_place=False,
    )


def _residual_bytes(
    step: Callable[[Leaves, Leaves, Leaves, int], Leaves],
    flags: tuple[Flags, ...],
    given: tuple[Leaves, Leaves, Leaves],
) -> int:
    """Return the bytes that the pullback of the first step holds beyond its inputs."""
    consts, carry, xs = given
    every = [consts, carry, [x[0] for x in xs]]
    parts = [split(leaves, where) for leaves, where in zip(every, flags, strict=True)]

    def once(*chosen: Leaves) -> Leaves:
        whole = zip(chosen, parts, flags, strict=True)
        consts, carry, x = (join(some, part[1], where) for some, part, where in whole)
        return split(step(consts, carry, x, 0), flags[1])[0]

    _, pullback = jax.vjp(once, *(chosen for chosen, _ in parts))
    inputs = {id(leaf) for leaves in every for leaf in leaves}
    held = {id(leaf): leaf for leaf in jax.tree.leaves(pullback) if id(leaf) not in inputs}
    return sum(int(jnp.size(leaf)) * jnp.result_type(leaf).itemsize for leaf in held.values())
