"""A traced program as the tree of its sites, over one flat list of equations a level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .._body import moving_carry
from .._compat import bare, constants, is_literal
from .._marks import label_of, ranges
from .._pieces import CHECKPOINTS, JITS, walk
from ._residuals import Reads, nbytes_of, residuals_of, tangents

__all__ = ["Flat", "Level", "Node"]

Flags: TypeAlias = tuple[bool, ...]
_INLINED = (*JITS, "closed_call", "core_call")


@dataclass(slots=True, eq=False)
class Flat:
    """One equation of a level, its variables being numbers of values.

    Attributes
    ----------
    eqn : JaxprEqn
        The equation.
    inputs : tuple of int or None
        Its inputs; None for a number written in the program.
    outputs : tuple of int
        Its outputs.
    subs : tuple of Level
        The levels of a loop's body or of a branch's sides, if it has derivatives.
    path : str
        Its path if it is a node of the tree.
    reads : Reads
        What its reverse reads.
    """

    eqn: Any
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    subs: tuple[Level, ...] = ()
    path: str = ""
    reads: Reads = field(default_factory=Reads)
    counts: bool = False  # whether derivatives that are asked for pass through it


@dataclass(slots=True, eq=False)
class Node:
    """A site: a stretch of the equations of a level.

    Attributes
    ----------
    path : str
        Where it lies.
    kind : str
        ``call`` (of a Python function), ``site`` (marked by the user), ``jit``, ``scan``,
        ``while``, ``cond``, ``custom_vjp`` or ``checkpoint`` (the user's own).
    start, stop : int
        Its equations of the level, half open.
    children : list of Node
        The sites within, of the same level.
    inner : list of Node
        The outermost sites of the levels within: of a loop's body, of a branch's sides.
    enters : bool
        Whether it is a loop or a branch with levels within.
    """

    path: str
    kind: str
    start: int
    stop: int
    children: list[Node] = field(default_factory=list["Node"])
    inner: list[Node] = field(default_factory=list["Node"])
    enters: bool = False

    @property
    def label(self) -> str:
        """The name alone."""
        return label_of(self.path)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all within it, callers first."""
        yield self
        for child in (*self.children, *self.inner):
            yield from child.walk()


@dataclass(slots=True, eq=False)
class Level:
    """A program, or the body of a loop, with the calls in it opened up; made by `Level.of`.

    Attributes
    ----------
    path : str
        Where it lies.
    steps : int
        How often it runs for one run of what it lies in.
    sizes : list of int
        Bytes of each value.
    varying : list of bool
        Which values differ from run to run of the level.
    shared : set of int
        The inputs that are kept outside if they are kept: constants of a loop, what a branch
        is given.
    moving, asked : list of bool
        Which values have derivatives; whose derivatives are asked for.
    flats : list of Flat
        The equations in order.
    nodes : list of Node
        The outermost sites.
    inputs, results : list of int
        The values that the level takes and returns.
    consts, carries : int
        Of a loop's body: how many inputs are the same for all steps, and how many go on to the
        next.
    numbers : dict of int to array
        The arrays that the program closes over.
    """

    path: str
    steps: int
    drops: bool
    sizes: list[int] = field(default_factory=list[int])
    varying: list[bool] = field(default_factory=list[bool])
    shared: set[int] = field(default_factory=set[int])
    moving: list[bool] = field(default_factory=list[bool])
    asked: list[bool] = field(default_factory=list[bool])
    flats: list[Flat] = field(default_factory=list[Flat])
    nodes: list[Node] = field(default_factory=list[Node])
    inputs: list[int] = field(default_factory=list[int])
    results: list[int] = field(default_factory=list[int])
    consts: int = 0
    carries: int = 0
    numbers: dict[int, Any] = field(default_factory=dict[int, Any])
    _known: dict[Any, Reads] = field(default_factory=dict[Any, Reads])
    _work: list[float] = field(default_factory=list[float])

    @classmethod
    def of(
        cls,
        closed: Any,
        moving: Sequence[bool],
        varying: Sequence[bool],
        shared: Sequence[bool],
        *,
        path: str = "",
        steps: int = 1,
        drops: bool = False,
        known: dict[Any, Reads] | None = None,
    ) -> Level:
        """Open a program up.

        Costs a walk over its equations; `ask` is to follow.

        Parameters
        ----------
        closed : ClosedJaxpr
            The program.
        moving, varying, shared : sequence of bool
            Which inputs have derivatives, which differ from run to run, which are kept outside.
        path, steps
            See the attributes.
        drops : bool
            Whether the user's own `jax.checkpoint` are opened up too.
        known : dict, optional
            What was found for equations of other levels.
        """
        level = cls(path, steps, drops)
        jaxpr = bare(closed)
        level.inputs = [
            level._new(var.aval, m, v)
            for var, m, v in zip(jaxpr.invars, moving, varying, strict=True)
        ]
        level.shared = {v for v, here in zip(level.inputs, shared, strict=True) if here}
        known = {} if known is None else known
        results, level.nodes = level._open(jaxpr, constants(closed), level.inputs, path, known)
        level.results = results
        level._known = known
        return level

    @property
    def depth(self) -> int:
        """The number of loops around this level, itself not counted; -1 for no loop."""
        return self.path.count("scan#") + self.path.count("while#") - 1

    def work(self, start: int, stop: int) -> float:
        """Return the bytes that equations move, a stand-in for time: loops with all steps."""
        if not self._work:
            self._work = [0.0]
            for flat in self.flats:
                moved = sum(self.sizes[v] for v in (*flat.inputs, *flat.outputs) if v is not None)
                inner = [sub.work(0, len(sub.flats)) * sub.steps for sub in flat.subs]
                self._work.append(self._work[-1] + max(inner, default=float(moved)))
        return self._work[stop] - self._work[start]

    def here(self) -> Iterator[Node]:
        """Yield every site of this level itself, callers first."""
        stack = [*reversed(self.nodes)]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def _new(self, aval: Any, moving: bool, varying: bool) -> int:
        self.sizes.append(nbytes_of(aval))
        self.varying.append(varying)
        self.moving.append(moving)
        self.asked.append(False)
        return len(self.sizes) - 1

    def _open(
        self, jaxpr: Any, consts: Sequence[Any], given: Sequence[int], path: str, known: Any
    ) -> tuple[list[int], list[Node]]:
        """Add a program's equations; return its results and its sites."""
        values: dict[Any, int] = dict(zip(jaxpr.invars, given, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            value = values[var] = self._new(var.aval, moving=False, varying=False)
            self.shared.add(value)
            self.numbers[value] = const

        def read(atom: Any) -> int | None:
            return None if is_literal(atom) else values[atom]

        bounds = [len(self.flats)]
        simple: list[tuple[int, int, Node]] = []
        for index, (eqn, parts, at) in enumerate(walk(jaxpr, path)):
            name, start = eqn.primitive.name, len(self.flats)
            inputs = tuple(read(atom) for atom in eqn.invars)
            children: list[Node] = []
            within: list[Node] = []
            if name in _INLINED or (name in CHECKPOINTS and self.drops):
                inner = parts[0][0]
                held = [self._held(atom, v) for atom, v in zip(eqn.invars, inputs, strict=True)]
                out, children = self._open(bare(inner), constants(inner), held, at, known)
                values.update(zip(eqn.outvars, out, strict=True))
            else:
                flat, within = self._flat(eqn, inputs, parts, at, known)
                values.update(zip(eqn.outvars, flat.outputs, strict=True))
            if at:
                kind = "jit" if name in _INLINED else at.rpartition("/")[2].partition("#")[0]
                enters = kind in ("scan", "cond") and bool(self.flats[start].subs)
                node = Node(at, kind, start, len(self.flats), children, within, enters)
                simple.append((index, index + 1, node))
            bounds.append(len(self.flats))
        here = f"{path}/" if path else ""
        nodes: list[tuple[int, int, Node]] = []
        for part in ranges(jaxpr):
            kind = "site" if part.marked else "call"
            node = Node(here + part.label, kind, bounds[part.start], bounds[part.stop])
            nodes.append((part.start, part.stop, node))
        results = [self._held(atom, read(atom)) for atom in jaxpr.outvars]
        return results, _nested(nodes + simple)

    def _held(self, atom: Any, value: int | None) -> int:
        """Return a value, also for a number written in the program."""
        if value is None:
            value = self._new(atom.aval, moving=False, varying=False)
            self.shared.add(value)
            self.numbers[value] = atom.val
        return value

    def _flat(
        self, eqn: Any, inputs: Sequence[int | None], parts: Any, at: str, known: Any
    ) -> tuple[Flat, list[Node]]:
        """Add one equation, with the levels within it."""
        varying = any(self.varying[v] for v in inputs if v is not None)
        moves = tuple(v is not None and self.moving[v] for v in inputs)
        flags = tangents(eqn.outvars) if any(moves) else (False,) * len(eqn.outvars)
        if eqn.primitive.name == "stop_gradient":
            flags = (False,) * len(flags)
        subs: tuple[Level, ...] = ()
        if any(moves) and eqn.primitive.name in ("scan", "cond"):
            subs, flags = self._subs(eqn, moves, varying, parts, known)
        outputs = tuple(
            self._new(var.aval, flag, varying) for var, flag in zip(eqn.outvars, flags, strict=True)
        )
        flat = Flat(eqn, tuple(inputs), outputs, subs, at)
        self.flats.append(flat)
        return flat, [node for sub in subs for node in sub.nodes]

    def _subs(
        self, eqn: Any, moves: Flags, varying: bool, parts: Any, known: Any
    ) -> tuple[tuple[Level, ...], Flags]:
        params = eqn.params
        if eqn.primitive.name == "cond":
            found = tuple(
                Level.of(
                    branch,
                    moves[1:],
                    [varying] * (len(moves) - 1),
                    [True] * (len(moves) - 1),
                    path=path,
                    drops=self.drops,
                    known=known,
                )
                for branch, path in parts
            )
            sides = [[side.moving[v] for v in side.results] for side in found]
            return found, tuple(any(side) for side in zip(*sides, strict=True))
        first, carries = params["num_consts"], params["num_carry"]
        second = first + carries
        carry, outputs = moving_carry(
            params["jaxpr"], moves[:first], moves[first:second], moves[second:]
        )
        level = Level.of(
            params["jaxpr"],
            (*moves[:first], *carry, *moves[second:]),
            [False] * first + [True] * (len(moves) - first),
            [True] * first + [False] * (len(moves) - first),
            path=parts[0][1],
            steps=int(params["length"]),
            drops=self.drops,
            known=known,
        )
        level.consts, level.carries = first, carries
        return (level,), (*carry, *outputs)

    def ask(self, wanted: Sequence[bool]) -> list[bool]:
        """Note what is read by the reverse of a level, for derivatives of some of its results.

        Returns which inputs' derivatives are asked for then. Costs a trace of the derivative of
        each distinct equation: about a second for some thousand.
        """
        self.asked = [False] * len(self.sizes)
        for value, here in zip(self.results, wanted, strict=True):
            if here and self.moving[value]:
                self.asked[value] = True
        for flat in reversed(self.flats):
            flags = tuple(self.asked[value] for value in flat.outputs)
            flat.counts = any(flags)
            if flat.counts:
                for value, here in zip(flat.inputs, self._reverse(flat, flags), strict=True):
                    if value is not None and here and self.moving[value]:
                        self.asked[value] = True
        return [self.asked[value] for value in self.inputs]

    def _reverse(self, flat: Flat, wanted: Flags) -> Sequence[bool]:
        """Note what the reverse of an equation reads; return whose derivatives it asks for."""
        if not flat.subs:
            moves = tuple(v is not None and self.moving[v] for v in flat.inputs)
            flat.reads = residuals_of(flat.eqn, moves, wanted, self._known)
            return moves
        if flat.eqn.primitive.name == "cond":
            sides = [sub.ask(wanted) for sub in flat.subs]
            return [False, *(any(flags) for flags in zip(*sides, strict=True))]
        (sub,) = flat.subs
        carry = list(wanted[: sub.carries])
        while True:
            asked = sub.ask([*carry, *wanted[sub.carries :]])
            grown = [
                one or two
                for one, two in zip(carry, asked[sub.consts :][: sub.carries], strict=True)
            ]
            if grown == carry:
                return asked
            carry = grown


def _nested(nodes: list[tuple[int, int, Node]]) -> list[Node]:
    """Return the outermost sites of a program, those within them as their children."""
    roots: list[Node] = []
    opened: list[tuple[int, int, Node]] = []
    for start, stop, node in sorted(nodes, key=lambda item: (item[0], -item[1])):
        while opened and not (opened[-1][0] <= start and stop <= opened[-1][1]):
            opened.pop()
        (opened[-1][2].children if opened else roots).append(node)
        opened.append((start, stop, node))
    return roots
