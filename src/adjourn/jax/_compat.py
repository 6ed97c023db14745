"""JAX as this room sees it: untyped, and its less public parts in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax as _jax
import jax.extend.core as _core
import jax.numpy as _jnp
from jax.interpreters import ad as _ad
from jax.interpreters import batching as _batching
from jax.interpreters import mlir as _mlir
from jax.interpreters import partial_eval as _pe

from ..errors import NotSupported

__all__ = [
    "as_closed",
    "as_jaxpr",
    "bare",
    "bind",
    "constants",
    "evaluate",
    "fresh_traces",
    "is_literal",
    "jax",
    "jnp",
    "keeps_barriers",
    "lax",
    "perturbed",
    "prune",
    "refuses_loop",
    "reverse_only",
    "scopes",
    "static",
    "without_effects",
    "without_rules",
    "zero",
]

# JAX's own annotations are partly unknown to a strict checker.
jax: Any = _jax
jnp: Any = _jnp
lax: Any = _jax.lax
_extend: Any = _core
_rules: Any = _ad
_batchers: Any = _batching
_lowering: Any = _mlir
_partial: Any = _pe


def as_jaxpr(function: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``run(consts, args) -> list`` and the constants ``function`` closes over.

    Whatever the function closes over, tracers of an outer transformation included, becomes an
    explicit constant.
    """
    closed = jax.make_jaxpr(function)(*args)
    bare = closed.jaxpr

    def run(consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        return _extend.jaxpr_as_fun(_extend.ClosedJaxpr(bare, list(consts)))(*args)

    return run, list(closed.consts)


def bare(jaxpr: Any) -> Any:
    """Return a program without its constants, closed or not."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def constants(jaxpr: Any) -> Sequence[Any]:
    """Return the constants of a program, none if it is not closed."""
    return getattr(jaxpr, "consts", ())


def scopes(eqn: Any) -> list[tuple[str, bool]]:
    """Return the named scopes an equation was traced in, and the transformations, outer first.

    Each with whether it is a scope.
    """
    stack: Any = eqn.source_info.name_stack.stack
    return [(str(part.name), type(part).__name__ == "Scope") for part in stack]


_marked: Any = getattr(_jax, "make_user_context", lambda: None)()


def fresh_traces(key: tuple[str, ...]) -> AbstractContextManager[Any]:
    """Return a context in which jitted functions are traced anew, once for each key.

    JAX before 0.9 has no such context: all that it has traced and compiled is forgotten.
    """
    if _marked is not None:
        return _marked(key)
    jax.clear_caches()
    return nullcontext()


def is_literal(atom: Any) -> bool:
    """Return whether an input of an equation is a number written in the program."""
    return isinstance(atom, _extend.Literal)


def bind(eqn: Any, given: Sequence[Any]) -> list[Any]:
    """Evaluate one equation of a program on values, traced or not."""
    made: Any = eqn.primitive.get_bind_params(eqn.params)
    if not isinstance(made, tuple):
        made = (), made  # JAX before 0.8 gives the functions among the parameters apart
    with eqn.ctx.manager:
        out = eqn.primitive.bind(*made[0], *given, **made[1])
    return list(out) if eqn.primitive.multiple_results else [out]


def as_closed(function: Callable[..., Any], *args: Any) -> Any:
    """Return the program of a function of pytrees of arrays or abstract values."""
    return jax.make_jaxpr(function)(*args)


def evaluate(closed: Any, args: Sequence[Any]) -> list[Any]:
    """Run a closed program on flat arguments."""
    return _extend.jaxpr_as_fun(closed)(*args)


def prune(closed: Any, outputs: Sequence[int]) -> tuple[Any, list[bool]]:
    """Return the program of some outputs alone, and which inputs it takes."""
    wanted = [False] * len(bare(closed).outvars)
    for index in outputs:
        wanted[index] = True
    jaxpr, consts, inputs = _partial.dce_jaxpr_consts(bare(closed), wanted)
    kept = [value for value, here in zip(constants(closed), consts, strict=True) if here]
    smaller = _without_idle_carries(jaxpr)
    if smaller is jaxpr:
        return _extend.ClosedJaxpr(jaxpr, kept), list(inputs)
    again, used = prune(_extend.ClosedJaxpr(smaller, kept), range(len(smaller.outvars)))
    rest = iter(used)
    return again, [here and next(rest) for here in inputs]


def _without_idle_carries(jaxpr: Any) -> Any:
    """Return a program whose while loops carry only what is read of them, or the same one."""
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars if not is_literal(atom)}
    read |= {atom for atom in jaxpr.outvars if not is_literal(atom)}
    eqns = [
        _shrunk(eqn, [var in read for var in eqn.outvars])
        if eqn.primitive.name == "while" and not eqn.effects
        else eqn
        for eqn in jaxpr.eqns
    ]
    same = all(one is two for one, two in zip(eqns, jaxpr.eqns, strict=True))
    return jaxpr if same else jaxpr.replace(eqns=eqns)


def _shrunk(eqn: Any, read: list[bool]) -> Any:
    """Return a while loop without the carries that nobody reads."""
    asked, given = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    condition, used = prune(eqn.params["cond_jaxpr"], [0])
    keep = [a or b for a, b in zip(read, used[asked:], strict=True)]
    while True:
        kept = [index for index, here in enumerate(keep) if here]
        body, needs = prune(eqn.params["body_jaxpr"], kept)
        grown = [a or b for a, b in zip(keep, needs[given:], strict=True)]
        if grown == keep:
            break
        keep = grown
    if all(keep):
        return eqn

    # Both programs must take all carries that are kept, read or not.
    def fitted(closed: Any, inner: Any, has: list[bool], consts: int) -> Any:
        new = iter(bare(closed).invars)
        taken = [next(new) if here else None for here in has]
        old = bare(inner).invars
        carry = [
            old[consts + index] if taken[consts + index] is None else taken[consts + index]
            for index in kept
        ]
        invars = [var for var in taken[:consts] if var is not None] + carry
        return _extend.ClosedJaxpr(bare(closed).replace(invars=invars), constants(closed))

    params = eqn.params | {
        "cond_jaxpr": fitted(condition, eqn.params["cond_jaxpr"], used, asked),
        "body_jaxpr": fitted(body, eqn.params["body_jaxpr"], needs, given),
        "cond_nconsts": sum(used[:asked]),
        "body_nconsts": sum(needs[:given]),
    }
    wanted = [*used[:asked], *needs[:given], *keep]
    return eqn.replace(
        params=params,
        invars=[atom for atom, here in zip(eqn.invars, wanted, strict=True) if here],
        outvars=[eqn.outvars[index] for index in kept],
    )


def without_rules(closed: Any) -> Any:
    """Return a program with what has its own backward rule written out, for it needs none.

    Such a call keeps all its inputs alive, whichever of its results are read.
    """
    if not any(eqn.primitive.name in _OWN_RULES for eqn in bare(closed).eqns):
        return closed

    def run(*args: Any) -> list[Any]:
        return _written_out(bare(closed), constants(closed), args)

    kinds = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in bare(closed).invars]
    return as_closed(run, *kinds)


_OWN_RULES = {"custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr"}


def _written_out(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = {}
    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        given = [atom.val if is_literal(atom) else values[atom] for atom in eqn.invars]
        rule = _OWN_RULES.get(eqn.primitive.name)
        if rule is None:
            made = bind(eqn, given)
        else:
            inner = eqn.params[rule]
            made = _written_out(bare(inner), constants(inner), given)
        values.update(zip(eqn.outvars, made, strict=True))
    return [atom.val if is_literal(atom) else values[atom] for atom in jaxpr.outvars]


def without_effects(closed: Any) -> Any:
    """Return a program without the equations that act on the world."""
    jaxpr = bare(closed)
    quiet = jaxpr.replace(eqns=[eqn for eqn in jaxpr.eqns if not eqn.effects], effects=set[Any]())
    return _extend.ClosedJaxpr(quiet, constants(closed))


@_jax.tree_util.register_static
class static:  # noqa: N801 - it reads as a function
    """Something that goes along with traced values and is none."""

    def __init__(self, value: Any) -> None:
        self.value = value


def perturbed(trees: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], Any]:
    """Take apart what a forward rule with symbolic zeros is given: values, and which move.

    A leaf that has no derivatives never moves.
    """
    values = [[leaf.value for leaf in leaves] for leaves in trees]
    moving = tuple(
        tuple(bool(leaf.perturbed) and _moves(leaf.value) for leaf in leaves) for leaves in trees
    )
    return values, moving


def _moves(value: Any) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))


def zero(cotangent: Any) -> bool:
    """Return whether a cotangent is known to be zero."""
    return isinstance(cotangent, _jax.custom_derivatives.SymbolicZero)


def keeps_barriers() -> bool:
    """Return whether the compiler keeps optimisation barriers, so that jax.checkpoint works."""
    return jax.default_backend() != "cpu"


def refuses_loop(error: ValueError) -> bool:
    """Return whether JAX says that it has no reverse mode of a while loop."""
    return "while_loop" in str(error) and "everse-mode" in str(error)


_reverse_only: Any = _extend.Primitive("adjourn_reverse_only")


def _refuse(*_: Any, **__: Any) -> Any:
    raise NotSupported(
        "forward-mode differentiation was asked for (jvp, jacfwd, linearize evaluated), and "
        "the function runs a part again in its backward pass. Use grad, vjp or jacrev, or leave "
        "adjourn.jax's wrapper off where forward mode is needed."
    )


_reverse_only.def_impl(_refuse)
_reverse_only.def_abstract_eval(lambda x: x)  # type: ignore[reportUnknownLambdaType]
_rules.deflinear2(_reverse_only, lambda ct, _: [ct])  # type: ignore[reportUnknownLambdaType]
_batchers.primitive_batchers[_reverse_only] = lambda args, dims: (  # type: ignore[reportUnknownLambdaType]
    _reverse_only.bind(args[0]),
    dims[0],
)
_lowering.register_lowering(_reverse_only, _refuse)


def _guard(x: Any) -> Any:
    return x


reverse_only: Any = jax.custom_jvp(_guard)
"""The identity, whose tangents can be transposed and not evaluated."""
reverse_only.defjvp(lambda primals, tangents: (primals[0], _reverse_only.bind(tangents[0])))  # type: ignore[reportUnknownLambdaType]
