"""What the reverse of one equation reads: its inputs, its results, or values of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._compat import as_closed, bare, bind, is_literal, jax
from .._trees import has_tangent, join, split

__all__ = ["Reads", "nbytes_of", "residuals_of"]

Flags: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """What the reverse of an equation reads.

    Attributes
    ----------
    inputs, outputs : tuple of int
        Which of the equation's own inputs and outputs.
    made : tuple of (int, tuple of int)
        Values that the equation makes for its reverse alone: the bytes, and which inputs they
        are made of. A scatter's are made of the indices, which seldom differ from step to step.
    """

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    made: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def own(self) -> int:
        """Bytes of what the equation makes for its reverse alone."""
        return sum(nbytes for nbytes, _ in self.made)


NOTHING = Reads()
_LINEAR = frozenset(
    {
        *("add", "add_any", "sub", "neg", "reduce_sum", "cumsum", "reduce_window_sum"),
        *("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev"),
        *("slice", "pad", "concatenate", "copy", "copy_p", "convert_element_type"),
        *("real", "imag", "complex"),
    }
)


def nbytes_of(aval: Any) -> int:
    """Return the bytes of an abstract value."""
    size, dtype = getattr(aval, "size", 0), getattr(aval, "dtype", None)
    return int(size) * int(getattr(dtype, "itemsize", 0))


def residuals_of(eqn: Any, moving: Flags, wanted: Flags, known: dict[Any, Reads]) -> Reads:
    """Return what the reverse of an equation reads.

    Costs a trace of the equation's own derivative, about a millisecond; none for linear ones,
    and once for equal ones.

    Parameters
    ----------
    eqn : JaxprEqn
        The equation.
    moving, wanted : tuple of bool
        Which inputs have derivatives, and which outputs' derivatives are asked for.
    known : dict
        What was found before, for equal equations.
    """
    name = eqn.primitive.name
    if not any(moving) or not any(wanted) or name in _LINEAR:
        return NOTHING
    if name == "mul":
        others = {1 - k for k in range(2) if moving[k] and not is_literal(eqn.invars[1 - k])}
        return Reads(tuple(sorted(others)))
    key = _key(eqn, moving, wanted)
    if key not in known:
        known[key] = _traced(eqn, moving, wanted)
    return known[key]


def _key(eqn: Any, moving: Flags, wanted: Flags) -> Any:
    if any(hasattr(v, "eqns") or hasattr(v, "jaxpr") or callable(v) for v in eqn.params.values()):
        return id(eqn), moving, wanted
    kinds = tuple((a.aval.str_short(), is_literal(a)) for a in eqn.invars)
    same = tuple(eqn.invars.index(a) if not is_literal(a) else -1 for a in eqn.invars)
    params = tuple((k, str(v)) for k, v in sorted(eqn.params.items()))
    return eqn.primitive.name, kinds, same, params, moving, wanted


def _traced(eqn: Any, moving: Flags, wanted: Flags) -> Reads:
    avals = [jax.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a in eqn.invars]
    numbers = [is_literal(a) for a in eqn.invars]
    given = [aval for aval, literal in zip(avals, numbers, strict=True) if not literal]

    def record(*given: Any) -> list[Any]:
        literals = [a.val for a in eqn.invars if is_literal(a)]
        values = join(literals, given, numbers)
        chosen, rest = split(values, moving)

        def run(*chosen: Any) -> Any:
            out = bind(eqn, join(chosen, rest, moving))
            return split(out, wanted)[0], out

        _, pullback, out = jax.vjp(run, *chosen, has_aux=True)
        return [*out, *jax.tree.leaves(pullback)]

    jaxpr = bare(as_closed(record, *given))
    places = [k for k, literal in enumerate(numbers) if not literal]
    by_input = dict(zip(jaxpr.invars, places, strict=True))
    outs, leaves = jaxpr.outvars[: len(eqn.outvars)], jaxpr.outvars[len(eqn.outvars) :]
    by_output = {atom: k for k, atom in enumerate(outs) if not is_literal(atom)}
    read: set[int] = set()
    kept: set[int] = set()
    own: dict[Any, tuple[int, tuple[int, ...]]] = {}
    origin = _origins(jaxpr, by_input)
    for atom in leaves:
        if is_literal(atom):
            continue
        if atom in by_input:
            read.add(by_input[atom])
        elif atom in by_output:
            kept.add(by_output[atom])
        else:
            own[atom] = nbytes_of(atom.aval), tuple(sorted(origin[atom]))
    return Reads(tuple(sorted(read)), tuple(sorted(kept)), tuple(own.values()))


def _origins(jaxpr: Any, places: dict[Any, int]) -> dict[Any, frozenset[int]]:
    """Return for each variable the inputs that it is made of, by their places."""
    found = {var: frozenset({place}) for var, place in places.items()}
    for eqn in jaxpr.eqns:
        sources = [found[a] for a in eqn.invars if not is_literal(a) and a in found]
        found.update(dict.fromkeys(eqn.outvars, frozenset[int]().union(*sources)))
    return {var: found.get(var, frozenset()) for var in (*found, *jaxpr.constvars)}


def tangents(atoms: Sequence[Any]) -> Flags:
    """Return which atoms have derivatives at all."""
    return tuple(has_tangent(atom.aval) for atom in atoms)
