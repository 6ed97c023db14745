"""A program cut into equations and the pieces of it that run again in a backward pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._compat import bare, is_literal
from ._marks import label_of, ranges

__all__ = [
    "CHECKPOINTS",
    "JITS",
    "NOTHING",
    "Again",
    "Equation",
    "Item",
    "Piece",
    "free_variables",
    "items_of",
    "site_paths",
    "walk",
]

JITS = ("jit", "pjit")
CHECKPOINTS = ("remat", "remat2", "checkpoint")
_CUSTOM = {"custom_vjp_call": "custom_vjp", "custom_vjp_call_jaxpr": "custom_vjp"}

Part: TypeAlias = "tuple[Any, str]"


@dataclass(frozen=True, slots=True)
class Again:
    """Which sites run again in a backward pass.

    Attributes
    ----------
    sites : tuple of str
        Their paths, sorted.
    drops : bool
        Whether the user's own `jax.checkpoint` are taken off, so that they are sites as others.
    """

    sites: tuple[str, ...] = ()
    drops: bool = False

    def within(self, path: str) -> bool:
        """Return whether a site lies in the program of this path."""
        return any(site.startswith(f"{path}/") for site in self.sites)

    def __str__(self) -> str:
        """Say it in words."""
        count = len(self.sites)
        names = list(dict.fromkeys(map(label_of, self.sites)))
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"{count} site{'s' * (count != 1)} run again: {', '.join(names[:4])}{more}"

    @property
    def dropped(self) -> tuple[str, ...]:
        """The primitives that are taken off."""
        return CHECKPOINTS if self.drops else ()


NOTHING = Again()


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """An equation as it is, with the programs within it that a rewrite enters."""

    eqn: Any
    parts: list[Part]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Equations that run again as one.

    Attributes
    ----------
    path : str
        The site.
    items : list of Equation or Piece
        What it runs.
    inputs, outputs : list of variables
        What it reads from outside, and what is read of it outside.
    """

    path: str
    items: list[Item]
    inputs: list[Any]
    outputs: list[Any]


Item: TypeAlias = Equation | Piece


def walk(jaxpr: Any, path: str) -> Iterator[tuple[Any, list[Part], str]]:
    """Yield each equation, the programs within it that a rewrite enters, and its path.

    Equations of one name are numbered in the order of the program. Those that hold no program
    have no path.
    """
    seen = Counter[str]()
    here = f"{path}/" if path else ""
    for eqn in jaxpr.eqns:
        name, params = eqn.primitive.name, eqn.params
        label = _label(name, params)
        if not label:
            yield eqn, [], ""
            continue
        at = f"{here}{label}#{seen[label]}"
        seen[label] += 1
        if name == "scan" or name in JITS or name in CHECKPOINTS:
            yield eqn, [(params["jaxpr"], at)], at
        elif name in ("closed_call", "core_call"):
            yield eqn, [(params["call_jaxpr"], at)], at
        elif name == "while":
            yield eqn, [(params["body_jaxpr"], at)], at
        elif name == "cond":
            branches = enumerate(params["branches"])
            yield eqn, [(jaxpr, f"{at}[{index}]") for index, jaxpr in branches], at
        else:
            yield eqn, [], at


def _label(name: str, params: dict[str, Any]) -> str:
    if name in JITS:
        return str(params["name"]).strip("<>")
    if name in CHECKPOINTS:
        return "checkpoint"
    if name in ("closed_call", "core_call"):
        return "call"
    return _CUSTOM.get(name, name if name in ("scan", "while", "cond") else "")


def site_paths(jaxpr: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of all sites of a program."""
    here = f"{path}/" if path else ""
    yield from (here + part.label for part in ranges(jaxpr))
    for _, parts, at in walk(jaxpr, path):
        if at:
            yield at
        for inner, deeper in parts:
            yield from site_paths(bare(inner), deeper)


def items_of(jaxpr: Any, path: str, again: Again) -> list[Item]:
    """Return a program as equations and the pieces that run again, nested ones within."""
    equations = list(walk(jaxpr, path))
    chosen: list[tuple[int, int, str]] = []
    if again.within(path) or (not path and again.sites):
        here = f"{path}/" if path else ""
        sites = {*again.sites}
        chosen = [
            (part.start, part.stop, f"{here}{part.label}")
            for part in ranges(jaxpr)
            if f"{here}{part.label}" in sites
        ]
        chosen += [
            (index, index + 1, at) for index, (_, _, at) in enumerate(equations) if at in sites
        ]
        chosen.sort(key=lambda span: (span[0], -span[1]))
    after = _uses(jaxpr)

    def cut(start: int, stop: int, spans: Sequence[tuple[int, int, str]]) -> list[Item]:
        items: list[Item] = []
        at = start
        while at < stop:
            span = next((span for span in spans if span[0] == at), None)
            if span is None:
                items.append(Equation(*equations[at][:2]))
                at += 1
                continue
            inner = [one for one in spans if one is not span and _inside(one, span)]
            ins, made = free_variables(jaxpr.eqns[span[0] : span[1]])
            outs = [var for var in made if after.get(var, -1) >= span[1]]
            items.append(Piece(span[2], cut(span[0], span[1], inner), ins, outs))
            at = span[1]
        return items

    return cut(0, len(equations), chosen)


def _inside(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Return whether a span lies in another; of equal ones the later in the order."""
    return other[0] <= one[0] and one[1] <= other[1]


def _uses(jaxpr: Any) -> dict[Any, int]:
    """Return the last equation that reads each variable; their number for results."""
    last: dict[Any, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.invars:
            if not is_literal(atom):
                last[atom] = index
    for atom in jaxpr.outvars:
        if not is_literal(atom):
            last[atom] = len(jaxpr.eqns)
    return last


def free_variables(eqns: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the variables that equations read from outside, and those that they define."""
    inputs: dict[Any, None] = {}
    made: dict[Any, None] = {}
    for eqn in eqns:
        for atom in eqn.invars:
            if not is_literal(atom) and atom not in made:
                inputs.setdefault(atom)
        made.update(dict.fromkeys(eqn.outvars))
    return list(inputs), list(made)
