"""Opaque rematerialisation: recomputation that the compiler cannot merge with the first run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ..errors import WrongType
from ._compat import as_jaxpr, jax, jnp, keeps_barriers, lax, reverse_only
from ._trees import has_tangent, is_key, join, split

__all__ = ["always", "checkpoint", "is_array"]


def checkpoint(fn: Callable[..., Any], *, opaque: bool | None = None) -> Callable[..., Any]:
    """Return ``fn``, keeping only its inputs for the backward pass and running it again there.

    `jax.checkpoint` does the same where the compiler keeps optimisation barriers. XLA on CPU
    deletes them and merges the second run with the first, so that nothing is saved in
    straight-line code. Here the second run and its pullback lie in a branch taken on a number
    that is only known at run time and that the compiler cannot prove: it comes from the bits of
    the inputs and of the cotangents, hence works inside the user's own jit.

    Saves all intermediate values of ``fn``, for one more forward run of it. Nests, and works
    under jit, grad, vmap and scan. Arrays that ``fn`` closes over are inputs too, traced ones
    included. Arguments that are no arrays or numbers are passed as they are.

    Parameters
    ----------
    fn : callable
        Pure; takes and returns pytrees of arrays.
    opaque : bool, optional
        By default true on CPU, and `jax.checkpoint` elsewhere.

    Raises
    ------
    WrongType
        ``fn`` is not callable.
    NotSupported
        Forward-mode differentiation through the result, when it is evaluated.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> layer = adjourn.jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> print(jax.jit(jax.grad(lambda x: layer(layer(x))))(0.0))
    1.0
    """
    if not callable(fn):
        raise WrongType(f"checkpoint({fn!r}): not callable. Pass the function to run again.")

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((args, kwargs))
        given = [is_array(leaf) for leaf in leaves]
        arrays, statics = split(leaves, given)
        out: list[Any] = []

        def flat(*arrays: Any) -> list[Any]:
            args, kwargs = jax.tree.unflatten(structure, join(arrays, statics, given))
            results, after = jax.tree.flatten(fn(*args, **kwargs))
            out[:] = [after]
            return results

        if not (keeps_barriers() if opaque is None else not opaque):
            body, consts = as_jaxpr(flat, *arrays)
            results = _opaque(body)(consts, arrays)
        else:
            results = jax.checkpoint(flat)(*arrays)
        return jax.tree.unflatten(out[0], results)

    return run


def is_array(leaf: Any) -> bool:
    """Return whether a leaf is an array, or a number that becomes one."""
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, bool, int, float, complex))


def _opaque(body: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return ``body(consts, args)`` with a backward pass that runs it again, out of sight."""

    @jax.custom_vjp
    def run(inputs: list[Any], count: tuple[None, ...]) -> list[Any]:
        return body(inputs[: len(count)], inputs[len(count) :])

    def forward(inputs: list[Any], count: tuple[None, ...]) -> Any:
        # Not `run`: the tangents of a gradient, as of jax.hessian, pass through here.
        return body(inputs[: len(count)], inputs[len(count) :]), (inputs, count)

    def backward(kept: Any, cotangents: list[Any]) -> Any:
        inputs, count = kept
        where = [has_tangent(leaf) for leaf in inputs]
        moving, fixed = split(inputs, where)

        def pull(moving: list[Any], cotangents: list[Any]) -> list[Any]:
            def again(moving: list[Any]) -> list[Any]:
                inputs = join(moving, fixed, where)
                return body(inputs[: len(count)], inputs[len(count) :])

            return jax.vjp(again, moving)[1](cotangents)[0]

        def zeros(moving: list[Any], _: Any) -> list[Any]:
            return [jnp.zeros_like(leaf) for leaf in moving]

        flag = always([*inputs, *cotangents])
        back = lax.cond(flag, pull, zeros, moving, cotangents)
        return join(back, [None] * len(fixed), where), count

    run.defvjp(forward, backward)

    def call(consts: list[Any], args: Sequence[Any]) -> list[Any]:
        inputs = [jnp.asarray(leaf) for leaf in (*consts, *args)]
        inputs = [reverse_only(leaf) if has_tangent(leaf) else leaf for leaf in inputs]
        return run(inputs, (None,) * len(consts))

    return call


def always(leaves: Sequence[Any]) -> Any:
    """Return a boolean that is true, which only a run can tell.

    It asks whether n (n + 1) is even, n being made from one number of each leaf: a compiler
    folds it away only if all leaves are constants. The same under vmap: one boolean for all.
    """
    seeds = [_first(leaf) for leaf in leaves if leaf.dtype != jax.dtypes.float0 and leaf.size]
    return _even(sum(seeds, jnp.uint32(0)))


@jax.custom_batching.custom_vmap
def _even(number: Any) -> Any:
    return (number * (number + np.uint32(1))) % np.uint32(2) == 0


@_even.def_vmap
def _even_of_all(axis_size: int, in_batched: list[bool], number: Any) -> Any:  # noqa: ARG001
    return _even(jnp.sum(number, dtype=jnp.uint32)), False


def _first(leaf: Any) -> Any:
    if is_key(leaf):
        leaf = jax.random.key_data(leaf)
    number = lax.index_in_dim(leaf.reshape(-1), 0, keepdims=False)
    if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
        number = number.real
    return number.astype(jnp.int32).astype(jnp.uint32)
