"""A traced function as data: its loops, and the same function with its loops replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from ._checkpoint import checkpoint
from ._compat import bare, bind, constants, evaluate, is_literal, jax, lax
from ._fingerprint import Fingerprint, describe, digest
from ._marks import marking
from ._pieces import CHECKPOINTS, NOTHING, Again, Equation, Item, Piece, items_of, site_paths, walk
from ._trees import has_tangent

__all__ = ["LoopSite", "Opened", "Program", "Replace", "trace"]

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
        """The number of loops around this one."""
        return self.path.count("scan#") + self.path.count("while#") - 1


Replace: TypeAlias = Callable[[LoopSite, Body, Leaves, Leaves], "tuple[Leaves, Leaves] | None"]
"""Runs a loop: site, step, initial carry and stacked inputs to last carry and stacked outputs.

None leaves the loop as it is, with the loops in its body replaced.
"""

Opened: TypeAlias = Callable[
    [str, Callable[[Leaves], Any], Callable[[Leaves], Leaves], Leaves], Leaves
]
"""Runs a loop of unknown length: path, condition, step and initial carry to last carry."""


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
    def open_loops(self) -> tuple[str, ...]:
        """The paths of the loops whose length is known at run time, if they carry real numbers."""
        return tuple(_open_loops(bare(self.closed), ""))

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all sites of the call tree."""
        return frozenset(site_paths(bare(self.closed)))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What tells this program from another."""
        loops = tuple((site.path, site.steps, site.carry) for site in self.loops)
        return Fingerprint(self.arguments, loops, digest(self.closed))

    def run(
        self,
        replace: Replace,
        leaves: Sequence[Any],
        again: Again = NOTHING,
        opened: Opened | None = None,
    ) -> Any:
        """Evaluate the program on flat arguments with its loops replaced; traceable.

        The sites ``again`` keep their inputs alone for a backward pass, and run again there.
        Loops of unknown length are run by ``opened``, or left as they are.
        """
        sites = {site.path: site for site in self.loops}
        run = _Rewriter(replace, sites, again, opened, frozenset(self.open_loops))
        closed = self.closed
        out = run.evaluate(bare(closed), constants(closed), leaves, "")
        return jax.tree.unflatten(self.result, out)


def trace(function: Callable[..., Any], *args: Any, packages: tuple[str, ...] = ()) -> Program:
    """Trace a function on arguments, concrete or not, into a program.

    Costs one trace; nothing is compiled or run. What the function closes over becomes part of
    the program: traced values of an outer transformation too. Calls of functions of
    ``packages`` are marked; equations stay the same.
    """
    with marking(packages):
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    paths, _ = jax.tree_util.tree_flatten_with_path(args)
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    kinds = [describe(var.aval) for var in bare(closed).invars]
    arguments = tuple(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
    return Program(closed, arguments, jax.tree.structure(shapes))


# --- finding the loops


def _loops(jaxpr: Any, path: str, turns: int) -> Iterator[LoopSite]:
    for eqn, parts, _ in walk(jaxpr, path):
        times = turns
        if eqn.primitive.name == "scan":
            site = _site(eqn, parts[0][1], turns)
            times *= site.steps
            yield site
        for part, inner in parts:
            yield from _loops(bare(part), inner, times)


def _open_loops(jaxpr: Any, path: str) -> Iterator[str]:
    for eqn, parts, at in walk(jaxpr, path):
        if eqn.primitive.name == "while" and any(has_tangent(v.aval) for v in eqn.outvars):
            yield at
        for part, inner in parts:
            yield from _open_loops(bare(part), inner)


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
    """Evaluates a program equation by equation; what is not replaced stays as it is."""

    def __init__(
        self,
        replace: Replace,
        sites: dict[str, LoopSite],
        again: Again,
        opened: Opened | None,
        open_loops: frozenset[str],
    ) -> None:
        self.replace = replace
        self.sites = sites
        self.again = again
        self.opened = opened
        self.open_loops = open_loops if opened else frozenset[str]()

    def evaluate(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], path: str) -> Leaves:
        """Evaluate a program and return its outputs."""
        values: dict[Any, Any] = {}
        values.update(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))
        self.items(items_of(jaxpr, path, self.again), values)
        return [atom.val if is_literal(atom) else values[atom] for atom in jaxpr.outvars]

    def items(self, items: Sequence[Item], values: dict[Any, Any]) -> None:
        """Evaluate equations and pieces in order, adding to the values."""
        for item in items:
            if isinstance(item, Piece):
                given = [values[atom] for atom in item.inputs]
                made = checkpoint(self.piece(item))(*given)
                values.update(zip(item.outputs, made, strict=True))
                continue
            eqn = item.eqn
            given = [atom.val if is_literal(atom) else values[atom] for atom in eqn.invars]
            values.update(zip(eqn.outvars, self.call(item, given), strict=True))

    def piece(self, piece: Piece) -> Callable[..., Leaves]:
        """Return a piece as a function of its inputs."""

        def run(*given: Any) -> Leaves:
            values = dict(zip(piece.inputs, given, strict=True))
            self.items(piece.items, values)
            return [values[var] for var in piece.outputs]

        return run

    def call(self, item: Equation, given: Leaves) -> Leaves:
        """Evaluate one equation."""
        eqn, parts = item.eqn, item.parts
        name, params = eqn.primitive.name, eqn.params
        touched = any(self.touched(bare(part), path) for part, path in parts)
        opened = name == "while" and parts[0][1] in self.open_loops
        if name != "scan" and name not in self.again.dropped and not touched and not opened:
            return bind(eqn, given)
        if name == "while":
            return self.loop(params, parts[0][1], given)
        if name == "scan":
            return self.scan(params, parts[0][1], given)
        inner = [self.function(part, path) for part, path in parts]
        if name == "cond":
            index, *operands = given
            return list(lax.switch(index, inner, *operands))
        if name in CHECKPOINTS and not self.again.drops:
            wrapped = jax.checkpoint(
                inner[0], policy=params["policy"], prevent_cse=params["prevent_cse"]
            )
            return list(wrapped(*given))
        return inner[0](*given)

    def touched(self, jaxpr: Any, path: str) -> bool:
        """Return whether anything within a program is replaced."""
        inside = any(loop.startswith(f"{path}/") for loop in self.open_loops)
        return inside or self.again.within(path) or _has(jaxpr, ("scan", *self.again.dropped))

    def function(self, part: Any, path: str) -> Callable[..., Leaves]:
        """Return a part of the program as a function of its inputs."""

        def run(*args: Any) -> Leaves:
            return self.evaluate(bare(part), constants(part), args, path)

        return run

    def loop(self, params: dict[str, Any], path: str, given: Leaves) -> Leaves:
        """Run a loop of unknown length through ``opened``, or as it is."""
        first, second = params["cond_nconsts"], params["body_nconsts"]
        asked, consts, init = given[:first], given[first : first + second], given[first + second :]
        step = self.function(params["body_jaxpr"], path)

        def condition(carry: Leaves) -> Any:
            return evaluate(params["cond_jaxpr"], [*asked, *carry])[0]

        def body(carry: Leaves) -> Leaves:
            return step(*consts, *carry)

        if self.opened is not None and path in self.open_loops:
            return self.opened(path, condition, body, init)
        return list(lax.while_loop(condition, body, init))

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


def _has(jaxpr: Any, names: tuple[str, ...]) -> bool:
    return any(
        eqn.primitive.name in names or any(_has(bare(part), names) for part, _ in parts)
        for eqn, parts, _ in walk(jaxpr, "")
    )
