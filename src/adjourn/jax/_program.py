"""A traced function as data: its loops, and the same function with its loops replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from ._compat import bare, bind, constants, is_literal, jax, lax
from ._fingerprint import Fingerprint, describe, digest

__all__ = ["LoopSite", "Program", "Replace", "trace"]

Leaves: TypeAlias = list[Any]
Body: TypeAlias = Callable[[Leaves, Leaves], tuple[Leaves, Leaves]]
"""One step of a loop: carry and slice of the inputs to carry and outputs, all flat lists."""


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A scan of a traced program.

    Attributes
    ----------
    path : str
        Where it lies: the enclosing calls and loops, as in ``"model/scan#0/solve/scan#1"``.
    steps : int
        Its trip count.
    turns : int
        How often it is run: the product of the trip counts of the loops around it.
    reverse : bool
        Whether the inputs are taken from the last.
    unroll : int or bool
        Steps a turn of the compiled loop.
    carry, inputs, consts : tuple of str
        Types and shapes of what goes from step to step, of one step's slice of the inputs, and
        of what is the same for all steps.
    carry_bytes : int
        Bytes of one carry.
    step : ClosedJaxpr or Jaxpr
        One step, from consts, carry and inputs to carry and outputs.
    """

    path: str
    steps: int
    turns: int
    reverse: bool
    unroll: Any
    carry: tuple[str, ...]
    inputs: tuple[str, ...]
    consts: tuple[str, ...]
    carry_bytes: int
    step: Any = field(compare=False, repr=False)

    @property
    def depth(self) -> int:
        """The number of scans around this one."""
        return self.path.count("scan#") - 1


Replace: TypeAlias = Callable[[LoopSite, Body, Leaves, Leaves], "tuple[Leaves, Leaves] | None"]
"""Runs a loop: site, step, initial carry and stacked inputs to last carry and stacked outputs.

None leaves the loop as it is, with the loops in its body replaced.
"""


@dataclass(frozen=True, eq=False)
class Program:
    """A function traced on arguments of given shapes; made by `trace`.

    Attributes
    ----------
    closed : ClosedJaxpr
        The whole program.
    arguments : tuple of str
        The name and type of each leaf of the arguments.
    result : PyTreeDef
        The structure of what is returned.
    """

    closed: Any
    arguments: tuple[str, ...]
    result: Any

    @cached_property
    def loops(self) -> tuple[LoopSite, ...]:
        """Every scan that can be replaced, outer ones first."""
        return tuple(_loops(bare(self.closed), "", 1))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What tells this program from another."""
        loops = tuple((site.path, site.steps, site.carry) for site in self.loops)
        return Fingerprint(self.arguments, loops, digest(self.closed))

    def run(self, replace: Replace, leaves: Sequence[Any]) -> Any:
        """Evaluate the program on flat arguments with its loops replaced; traceable."""
        run = _Rewriter(replace, {site.path: site for site in self.loops})
        closed = self.closed
        out = run.evaluate(bare(closed), constants(closed), leaves, "")
        return jax.tree.unflatten(self.result, out)


def trace(function: Callable[..., Any], *args: Any) -> Program:
    """Trace a function on arguments, concrete or not, into a program.

    Costs one trace; nothing is compiled or run. What the function closes over becomes part of
    the program: traced values of an outer transformation too.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    paths, _ = jax.tree_util.tree_flatten_with_path(args)
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    kinds = [describe(var.aval) for var in bare(closed).invars]
    arguments = tuple(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
    return Program(closed, arguments, jax.tree.structure(shapes))


# --- finding the loops


def _parts(eqn: Any, path: str, number: int) -> list[tuple[Any, str]]:
    """Return the programs within an equation that a rewrite enters, and their paths."""
    name, params = eqn.primitive.name, eqn.params
    here = f"{path}/" if path else ""
    if name == "scan":
        return [(params["jaxpr"], f"{here}scan#{number}")]
    if name in ("jit", "pjit"):
        label = str(params["name"]).strip("<>")
        return [(params["jaxpr"], f"{here}{label}#{number}")]
    if name in ("remat", "remat2", "checkpoint"):
        return [(params["jaxpr"], f"{here}checkpoint#{number}")]
    if name in ("closed_call", "core_call"):
        return [(params["call_jaxpr"], f"{here}call#{number}")]
    if name == "cond":
        branches = enumerate(params["branches"])
        return [(jaxpr, f"{here}cond#{number}[{index}]") for index, jaxpr in branches]
    return []


def _walk(jaxpr: Any, path: str) -> Iterator[tuple[Any, list[tuple[Any, str]]]]:
    """Yield each equation with the programs within it; calls of one name are numbered."""
    seen: dict[str, int] = {}
    for eqn in jaxpr.eqns:
        kind = eqn.primitive.name
        label = f"{kind}:{eqn.params['name']}" if kind in ("jit", "pjit") else kind
        number = seen[label] = seen.get(label, -1) + 1
        yield eqn, _parts(eqn, path, number)


def _loops(jaxpr: Any, path: str, turns: int) -> Iterator[LoopSite]:
    for eqn, parts in _walk(jaxpr, path):
        times = turns
        if eqn.primitive.name == "scan":
            site = _site(eqn, parts[0][1], turns)
            times *= site.steps
            yield site
        for part, inner in parts:
            yield from _loops(bare(part), inner, times)


def _site(eqn: Any, path: str, turns: int) -> LoopSite:
    params = eqn.params
    avals = [var.aval for var in bare(params["jaxpr"]).invars]
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    carry = avals[first:second]
    return LoopSite(
        path=path,
        steps=int(params["length"]),
        turns=turns,
        reverse=bool(params["reverse"]),
        unroll=params["unroll"],
        carry=tuple(map(describe, carry)),
        inputs=tuple(map(describe, avals[second:])),
        consts=tuple(map(describe, avals[:first])),
        carry_bytes=sum(int(a.size) * a.dtype.itemsize for a in carry),
        step=params["jaxpr"],
    )


# --- evaluating with the loops replaced


class _Rewriter:
    """Evaluates a program equation by equation; equations without a loop stay as they are."""

    def __init__(self, replace: Replace, sites: dict[str, LoopSite]) -> None:
        self.replace = replace
        self.sites = sites

    def evaluate(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], path: str) -> Leaves:
        """Evaluate a program and return its outputs."""
        values: dict[Any, Any] = {}
        values.update(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if is_literal(atom) else values[atom]

        for eqn, parts in _walk(jaxpr, path):
            given = [read(atom) for atom in eqn.invars]
            out = self.call(eqn, parts, given)
            values.update(zip(eqn.outvars, out, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def call(self, eqn: Any, parts: list[tuple[Any, str]], given: Leaves) -> Leaves:
        """Evaluate one equation."""
        name, params = eqn.primitive.name, eqn.params
        if name != "scan" and not any(_has_loop(bare(part)) for part, _ in parts):
            return bind(eqn, given)
        if name == "scan":
            return self.scan(params, parts[0][1], given)
        inner = [self.function(part, path) for part, path in parts]
        if name == "cond":
            index, *operands = given
            return list(lax.switch(index, inner, *operands))
        if name in ("remat", "remat2", "checkpoint"):
            wrapped = jax.checkpoint(
                inner[0], policy=params["policy"], prevent_cse=params["prevent_cse"]
            )
            return list(wrapped(*given))
        return inner[0](*given)

    def function(self, part: Any, path: str) -> Callable[..., Leaves]:
        """Return a part of the program as a function of its inputs."""

        def run(*args: Any) -> Leaves:
            return self.evaluate(bare(part), constants(part), args, path)

        return run

    def scan(self, params: dict[str, Any], path: str, given: Leaves) -> Leaves:
        """Run a loop through ``replace``, or as it is."""
        site = self.sites[path]
        first, carries = params["num_consts"], params["num_carry"]
        consts, init, xs = given[:first], given[first : first + carries], given[first + carries :]
        run = self.function(params["jaxpr"], path)

        def body(carry: Leaves, x: Leaves) -> tuple[Leaves, Leaves]:
            out = run(*consts, *carry, *x)
            return out[:carries], out[carries:]

        result = self.replace(site, body, init, xs)
        if result is None:
            result = lax.scan(
                body, init, xs, length=site.steps, reverse=site.reverse, unroll=site.unroll
            )
        last, ys = result
        return [*last, *ys]


def _has_loop(jaxpr: Any) -> bool:
    for eqn, parts in _walk(jaxpr, ""):
        if eqn.primitive.name == "scan" or any(_has_loop(bare(part)) for part, _ in parts):
            return True
    return False
