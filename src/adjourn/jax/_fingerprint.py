"""What tells a traced program from another, and where two differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xxhash import xxh3_64_hexdigest, xxh3_128_hexdigest

from ._compat import bare, constants, is_literal

__all__ = ["Fingerprint", "describe", "digest"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The arguments, the loops and a digest of all equations of a program; a value.

    Numbers written in the program count, the values of arrays it closes over do not.

    Attributes
    ----------
    arguments : tuple of str
        The name and type of each leaf of the arguments.
    loops : tuple of (str, int, tuple of str)
        The path, trip count and carry of each loop.
    equations : str
        A digest of the equations.
    """

    arguments: tuple[str, ...]
    loops: tuple[tuple[str, int, tuple[str, ...]], ...]
    equations: str

    def difference(self, other: Fingerprint) -> str | None:
        """Return where ``other`` differs from this in words, or None if it does not."""
        if self == other:
            return None
        if len(self.arguments) != len(other.arguments):
            return (
                f"it has {len(other.arguments)} arrays as arguments, and had {len(self.arguments)}"
            )
        for before, now in zip(self.arguments, other.arguments, strict=True):
            if before != now:
                return f"its argument {before} is now {now}"
        for before, now in zip(self.loops, other.loops, strict=False):
            if before[0] != now[0]:
                return f"its loop {before[0]} is now {now[0]}"
            if before[1] != now[1]:
                return f"its loop {before[0]} had {before[1]} steps, and now has {now[1]}"
            if before[2] != now[2]:
                return f"its loop {before[0]} carried {_list(before[2])}, and now {_list(now[2])}"
        if len(self.loops) != len(other.loops):
            return f"it has {len(other.loops)} loops, and had {len(self.loops)}"
        return "its arguments and loops are the same, and its equations differ"

    def to_json(self) -> dict[str, Any]:
        """Return the fingerprint as a JSON value."""
        loops = [[path, steps, list(carry)] for path, steps, carry in self.loops]
        return {"arguments": list(self.arguments), "loops": loops, "equations": self.equations}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Fingerprint:
        """Return the fingerprint that `to_json` wrote."""
        loops = tuple((path, steps, tuple(carry)) for path, steps, carry in value["loops"])
        return cls(tuple(value["arguments"]), loops, value["equations"])


def _list(kinds: tuple[str, ...]) -> str:
    return ", ".join(kinds) or "nothing"


def describe(aval: Any) -> str:
    """Return the type and shape of an abstract value, as in ``"float32[3,4]"``."""
    shape = ",".join(map(str, getattr(aval, "shape", ())))
    return f"{getattr(aval, 'dtype', aval)}[{shape}]"


def digest(closed: Any) -> str:
    """Return a digest of a program's structure: the same in every process."""
    return xxh3_128_hexdigest("\n".join(_lines(closed)).encode())


def _lines(closed: Any) -> Iterator[str]:
    jaxpr = bare(closed)
    number: dict[Any, int] = {}

    def new(variables: Any) -> str:
        for variable in variables:
            number[variable] = len(number)
        return " ".join(f"{number[v]}:{describe(v.aval)}" for v in variables)

    def old(atoms: Any) -> str:
        return " ".join(_literal(a) if is_literal(a) else str(number[a]) for a in atoms)

    yield f"consts {' '.join(describe(v.aval) for v in jaxpr.constvars)} {len(constants(closed))}"
    new(jaxpr.constvars)
    yield f"in {new(jaxpr.invars)}"
    for eqn in jaxpr.eqns:
        given = old(eqn.invars)
        yield f"{eqn.primitive.name} {given} -> {new(eqn.outvars)}"
        for name in sorted(eqn.params):
            yield f"  {name}={_parameter(eqn.params[name])}"
    yield f"out {old(jaxpr.outvars)}"


def _literal(atom: Any) -> str:
    value = np.asarray(atom.val)
    return f"{value.dtype}{value.tolist()!r}" if value.size < 16 else _array(value)


def _array(value: Any) -> str:
    return f"{value.dtype}{value.shape}{xxh3_64_hexdigest(np.ascontiguousarray(value).data)}"


def _parameter(value: Any) -> str:
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
        return "{" + "; ".join(_lines(value)) + "}"
    if isinstance(value, np.ndarray):
        return _array(cast("Any", value))
    if isinstance(value, np.generic):  # its own text depends on NumPy's print options
        return repr(cast("Any", value).item())
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(_parameter, cast("Any", value))) + ")"
    if isinstance(value, (set, frozenset)):
        return "(" + ", ".join(sorted(map(_parameter, cast("Any", value)))) + ")"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return "{" + ", ".join(sorted(f"{k}: {_parameter(v)}" for k, v in items)) + "}"
    if callable(value) and not isinstance(value, type):
        return f"<{getattr(value, '__qualname__', type(value).__name__)}>"
    return re.sub(r" (at )?0x[0-9a-f]+", "", repr(value))
