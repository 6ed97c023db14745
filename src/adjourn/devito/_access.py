"""What a Devito Operator reads and writes, and at which time levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import NotSupported
from ._api import BACKWARD, nodes

__all__ = ["Access", "feeds_back", "runs_backward", "time_accesses"]


@dataclass(frozen=True, slots=True)
class Access:
    """How an Operator indexes one TimeFunction.

    Attributes
    ----------
    name : str
        The TimeFunction's name.
    kind : {"line", "ring", "sampled"}
        Indexed by absolute time (``save=nt``), by time modulo a length (``save=None`` or
        ``save=Buffer(n)``), or by time over a factor (a ConditionalDimension).
    low, high : int
        Lowest and highest level touched, counted from the time step.
    length : int
        Levels allocated: ``save``, or the length of the ring.
    factor : str or None
        Name of the sampling factor's argument.
    function : TimeFunction
        The user's symbol.
    """

    name: str
    kind: Literal["line", "ring", "sampled"]
    low: int
    high: int
    length: int
    factor: str | None
    function: Any


def time_accesses(op: Any) -> dict[str, Access]:
    """Return how ``op`` indexes each of its TimeFunctions, by name."""
    parts = {str(f.name): group for f, group in op._dspace.parts.items()}
    found: dict[str, Access] = {}
    for parameter in op.parameters:
        if getattr(parameter, "is_TimeFunction", False) and not parameter.is_SparseFunction:
            found[str(parameter.name)] = _access(op, parameter, parts)
    return found


def _access(op: Any, function: Any, parts: dict[str, Any]) -> Access:
    name = str(function.name)
    dimension = function.dimensions[0]
    factor = None
    if dimension.is_Conditional:
        kind, factor = "sampled", _factor(op, function)
    elif dimension.is_Stepping:
        kind = "ring"
    elif dimension.is_Time:
        kind = "line"
    else:
        raise NotSupported(
            f"the first dimension of {name!r} in operator {op.name!r} is {dimension}, neither "
            "time, nor a stepping dimension, nor a ConditionalDimension of time. Only these can "
            "be planned."
        )
    low = high = 0
    for interval in parts.get(name, ()):
        if interval.dim is dimension or interval.dim.is_Time:
            low, high = interval.lower, interval.upper
    try:
        low, high = int(low), int(high)
    except (TypeError, ValueError):
        raise NotSupported(
            f"operator {op.name!r} reads {name!r} at time levels {low} to {high}, which are not "
            "known numbers. Write the time offsets as integers."
        ) from None
    return Access(name, kind, low, high, int(function.shape_allocated[0]), factor, function)


def _factor(op: Any, function: Any) -> str:
    dimension = function.dimensions[0]
    name = str(getattr(dimension.symbolic_factor, "name", ""))
    known = {str(p.name) for p in op.parameters}
    if dimension.condition is not None or name not in known or not dimension.parent.is_Time:
        raise NotSupported(
            f"{function.name!r} in operator {op.name!r} is stored under the condition "
            f"{dimension}; only every n-th step of time (ConditionalDimension with a factor) "
            "can be planned."
        )
    return name


def feeds_back(op: Any, name: str) -> bool:
    """Return whether what ``op`` writes into ``name`` may change anything else it writes.

    Accumulations (``Inc(f, ...)``, ``Eq(f, f + ...)``) do not. When in doubt, yes.
    """
    if name not in {str(f.name) for f in op.reads}:
        return False
    bodies: Iterable[Any] = [op, *(f.root for f in op._func_table.values() if f.root is not None)]
    for body in bodies:
        for expression in nodes(body, "Expression"):
            reads = {str(f.name) for f in expression.reads}
            if name in reads and str(expression.write.name) != name:
                return True
    return False


def runs_backward(op: Any) -> bool | None:
    """Return whether the time loop of ``op`` runs downwards; None if there is none."""
    for loop in nodes(op, "Iteration"):
        if loop.dim.is_Time:
            return loop.direction is BACKWARD
    return None
