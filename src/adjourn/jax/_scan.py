"""`scan`: lax.scan with a choice of what its backward pass keeps."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

from .._sizes import as_count
from ..errors import BadValue, WrongType
from ._compat import as_jaxpr, jax, jnp, lax, reverse_only
from ._reversible import Loop, reversible
from ._trees import has_tangent

__all__ = ["Slots", "scan", "scan_flat"]

Slots = int | str | None
_WAYS = ("all", "steps", "segments")


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    slots: Slots = None,
    window: int = 1,
) -> tuple[Any, Any]:
    """Scan as `jax.lax.scan` does, with the same results, keeping less for the backward pass.

    With ``slots=s`` it keeps s carries and reverses by the binomial schedule, which takes the
    fewest recomputed steps for that many: ``adjourn.revolve(n, s).advances - (n - 1)`` plain
    steps, and one step more inside each pullback. It is one compiled loop over stacked
    snapshots, the initial carry left where it lies: code and compile time do not depend on the
    length. Values that ``f`` closes over are differentiated as in `jax.lax.scan`.

    Parameters
    ----------
    f, init, xs, length, reverse, unroll
        As in `jax.lax.scan`; ``unroll`` matters for ``slots="all"`` alone.
    slots : int or str, optional
        What is kept: ``"all"``, all values of all steps, as by default; ``"steps"``, the carry
        of each step; ``"segments"``, the carries of about sqrt(n) segments and of one segment's
        steps; or a number of carries, the initial one included.
    window : int
        With a number of slots: the schedule then is one of blocks of so many steps, all values
        of a block being kept while it is reversed. Fewer steps are run again
        (``adjourn.window(n, window, s)``), for as many times the values of one step.

    Returns
    -------
    carry, ys
        As `jax.lax.scan`.

    Raises
    ------
    WrongType, BadValue
        ``slots`` is neither a number of 1 or more nor one of the texts.
    NotSupported
        Forward-mode differentiation with a number of slots.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(x):
    ...     last, _ = adjourn.jax.scan(lambda u, _: (jnp.sin(u), None), x, None, 1000, slots=30)
    ...     return last
    >>> print(jax.jit(jax.grad(loss))(1.0).round(7))
    0.0001244
    """
    if slots is None or slots == "all":
        return lax.scan(f, init, xs, length, reverse=reverse, unroll=unroll)

    def plain(init: Any, xs: Any) -> Any:
        return lax.scan(f, init, xs, length, reverse=reverse)

    def cast(leaf: Any, to: Any) -> Any:
        return jnp.asarray(leaf, to.dtype)

    carry_shape, ys_shape = jax.eval_shape(plain, init, xs)
    carry = jax.tree.map(cast, init, carry_shape)
    carry_leaves, carry_tree = jax.tree.flatten(carry)
    xs_leaves, xs_tree = jax.tree.flatten(xs)
    xs_leaves = [jnp.asarray(x) for x in xs_leaves]

    def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        new, y = f(jax.tree.unflatten(carry_tree, carry), jax.tree.unflatten(xs_tree, x))
        new = jax.tree.map(cast, new, carry_shape)
        return jax.tree.leaves(new), [jnp.asarray(leaf) for leaf in jax.tree.leaves(y)]

    count = as_count(xs_leaves[0].shape[0] if length is None else length, "length", 0)
    carry_leaves, ys = scan_flat(body, carry_leaves, xs_leaves, count, reverse, slots, window)
    ys_tree = jax.tree.structure(ys_shape)
    return jax.tree.unflatten(carry_tree, carry_leaves), jax.tree.unflatten(ys_tree, ys)


def scan_flat(
    body: Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]],
    carry: list[Any],
    xs: list[Any],
    length: int,
    reverse: bool,
    slots: Slots,
    window: int = 1,
) -> tuple[list[Any], list[Any]]:
    """Scan flat lists of arrays of exact types."""
    window = as_count(window, "window")
    if isinstance(slots, str) or slots is None:
        if slots is not None and slots not in _WAYS:
            raise BadValue(
                f'slots={slots!r} is unknown. Pass "all", "steps", "segments" or a number of '
                "carries to keep."
            )
        if slots == "segments" and length > 3:
            return _nested(body, carry, xs, length, reverse)
        step = body if slots in (None, "all") else jax.checkpoint(body, prevent_cse=False)
        return lax.scan(step, carry, xs, length, reverse=reverse)
    if isinstance(slots, float):
        raise WrongType(f"slots={slots!r} is no count. Pass an integer of 1 or more.")
    slots = as_count(slots, "slots")
    if length < 2:
        return lax.scan(jax.checkpoint(body, prevent_cse=False), carry, xs, length)
    shapes = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]
    run, consts = as_jaxpr(body, carry, shapes)
    width = len(carry)

    def flat(consts: list[Any], carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        out = run(consts, [*carry, *x])
        return out[:width], out[width:]

    loop = Loop(flat, length, reverse)
    given = [
        [reverse_only(leaf) if has_tangent(leaf) else leaf for leaf in map(jnp.asarray, leaves)]
        for leaves in (consts, carry, xs)
    ]
    return reversible(loop, slots, window)(*given)


def _nested(
    body: Callable[..., Any], carry: list[Any], xs: list[Any], length: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Scan over segments of about sqrt(n) steps, each run again in the backward pass."""
    size = isqrt(length)
    whole = length - length % size
    step = jax.checkpoint(body, prevent_cse=False)

    def segment(carry: list[Any], x: list[Any]) -> Any:
        return lax.scan(step, carry, x, size, reverse=reverse)

    def many(carry: list[Any], xs: list[Any]) -> Any:
        stacked = [x.reshape(whole // size, size, *x.shape[1:]) for x in xs]
        again = jax.checkpoint(segment, prevent_cse=False)
        carry, ys = lax.scan(again, carry, stacked, whole // size, reverse=reverse)
        return carry, [y.reshape(whole, *y.shape[2:]) for y in ys]

    def few(carry: list[Any], xs: list[Any]) -> Any:
        return lax.scan(step, carry, xs, length - whole, reverse=reverse)

    if whole == length:
        return many(carry, xs)
    parts = [x[:whole] for x in xs], [x[whole:] for x in xs]
    order = ((few, 1), (many, 0)) if reverse else ((many, 0), (few, 1))
    results: dict[int, list[Any]] = {}
    for run, which in order:
        carry, results[which] = run(carry, parts[which])
    return carry, [jnp.concatenate(pair) for pair in zip(results[0], results[1], strict=True)]
