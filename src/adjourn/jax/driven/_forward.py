"""Compiled functions whose results that are arguments are not copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._compat import as_closed, bare, evaluate, is_literal, jax, prune

__all__ = ["compile_forwarding"]

Leaves = list[Any]


def compile_forwarding(
    function: Callable[[Leaves], Leaves], args: Sequence[Any]
) -> Callable[[Leaves], Leaves]:
    """Compile a function of a flat list; a result that is an argument is that very array.

    The compiler would copy it: constants and inputs of a loop that come as arguments would lie
    in memory twice.

    Parameters
    ----------
    function : callable
        From a flat list to a flat list; traceable.
    args : sequence of arrays
        Or abstract values.
    """
    closed = as_closed(function, list(args))
    jaxpr = bare(closed)
    given = {var: index for index, var in enumerate(jaxpr.invars)}
    same = [None if is_literal(atom) else given.get(atom) for atom in jaxpr.outvars]
    made = [index for index, source in enumerate(same) if source is None]
    program, used = prune(closed, made)
    taken = [arg for arg, here in zip(args, used, strict=True) if here]

    def rest(taken: Leaves) -> Leaves:
        return evaluate(program, taken)

    compiled = jax.jit(rest).lower(taken).compile()

    def call(args: Leaves) -> Leaves:
        results = iter(compiled([arg for arg, here in zip(args, used, strict=True) if here]))
        return [next(results) if source is None else args[source] for source in same]

    return call
