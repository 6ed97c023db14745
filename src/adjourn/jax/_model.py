"""The bytes of a traced program without compiling it: a walk over its live values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._compat import bare, is_literal, prune

__all__ = ["peak_bytes"]

_LOOPS = ("scan", "while")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint")


def peak_bytes(closed: Any) -> int:
    """Return the most bytes that a program's own values take at once, arguments left out.

    Equations are taken in order, each value living from where it is made to its last use; what
    a loop carries stays in place. A compiler fuses, so that it needs less; it may also order
    otherwise. Costs one pass over the equations: milliseconds.
    """
    pruned, _ = prune(closed, range(len(bare(closed).outvars)))
    jaxpr = bare(pruned)
    return _peak(jaxpr) - min(_sum(jaxpr.outvars), _peak(jaxpr))


def _peak(jaxpr: Any, owned: Sequence[Any] = ()) -> int:
    """Return the most bytes of a program's own values; inputs that are ``owned`` give way."""
    last: dict[Any, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.invars:
            if not is_literal(atom):
                last[atom] = index
    for atom in jaxpr.outvars:
        if not is_literal(atom):
            last[atom] = len(jaxpr.eqns)
    foreign = {*jaxpr.invars, *jaxpr.constvars} - {*owned}
    live = peak = 0
    for index, eqn in enumerate(jaxpr.eqns):
        dying = {
            atom
            for atom in eqn.invars
            if not is_literal(atom) and last[atom] == index and atom not in foreign
        }
        gone, made = _sum(dying), _sum(eqn.outvars)
        in_place = min(gone, made) if eqn.primitive.name in _LOOPS else 0
        peak = max(peak, live + made - in_place + _within(eqn, made))
        unused = [var for var in eqn.outvars if var not in last]
        live += made - gone - _sum(unused)
    return peak


def _within(eqn: Any, made: int) -> int:
    """Return the bytes of an equation's inner programs, beyond its results."""
    name, params = eqn.primitive.name, eqn.params
    if name == "scan":
        body, first = bare(params["jaxpr"]), params["num_consts"]
        return _peak(body, body.invars[first : first + params["num_carry"]])
    if name == "while":
        body, first = bare(params["body_jaxpr"]), params["body_nconsts"]
        return max(_peak(body, body.invars[first:]), _peak(bare(params["cond_jaxpr"])))
    if name == "cond":
        return max(0, max(_peak(bare(branch)) for branch in params["branches"]) - made)
    if name in _CALLS:
        inner = params.get("jaxpr", params.get("call_jaxpr"))
        return max(0, _peak(bare(inner)) - made)
    return 0


def _sum(variables: Sequence[Any] | set[Any]) -> int:
    return sum(_nbytes(v.aval) for v in variables if not is_literal(v))


def _nbytes(aval: Any) -> int:
    size, dtype = getattr(aval, "size", 0), getattr(aval, "dtype", None)
    return int(size) * int(getattr(dtype, "itemsize", 0))
