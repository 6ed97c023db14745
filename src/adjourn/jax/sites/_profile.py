"""The call tree of a JAX program: measured on real inputs, in the core's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...calltree import Call, CallTree, Leaf, Loop, Repeat
from ...errors import BadValue
from ...running._progress import spinner
from .._compat import jax
from .._marks import as_packages
from .._program import Program, trace
from .._trees import has_tangent
from ._capture import capture
from ._incontext import InContext
from ._levels import Level, Node
from ._measured import Figures, estimate_nodes, measure_nodes, worthy

__all__ = ["Profiled", "as_drops", "opened_up", "profile", "profiled", "pruned"]

SECONDS = 20.0
_NONE = Figures(0.0, 0.0, measured=False)
Item = Leaf | Call | Loop | Repeat


@dataclass(frozen=True, eq=False)
class Profiled:
    """A program with its sites measured.

    Attributes
    ----------
    model : InContext
        Its bytes in context.
    figures : dict of str to Figures
        The times of each site, by its path; of one step of a loop, by the loop's and ``"/"``.
    tree : CallTree
        Both, in the core's form.
    steps : tuple
        The items of one step of each loop of the tree, or of the whole if it has none, with the
        path of each context in their order.
    """

    model: InContext
    figures: dict[str, Figures]
    tree: CallTree
    steps: tuple[tuple[tuple[Item, ...], tuple[str, ...]], ...]


def profile(
    loss: Callable[..., Any],
    *args: Any,
    packages: Sequence[str] | str = (),
    argnums: int | Sequence[int] = 0,
    checkpoints: str = "keep",
    seconds: float = SECONDS,
    progress: bool = True,
) -> CallTree:
    """Return the call tree of a JAX program, measured on real inputs.

    Every nested ``jit``, ``scan``, ``while``, ``cond``, ``custom_vjp`` and ``remat`` is a call,
    and so is every part that was marked by `site` and every Python call of a function of the
    named packages: it is seen while the loss is traced. Loops that lie in no other are loops of
    the tree. Of a branch the side that is taken is shown.

    Bytes are those in context: what a value takes is counted where it is read first, and once.
    Times are of compiled pieces, alone, and with their reverse; the first step of each loop is
    what is timed. Costs a trace, a run of the program, and about ``seconds`` of compiling and
    timing.

    Parameters
    ----------
    loss : callable
        Pure and traceable; returns a real scalar.
    *args
        Concrete inputs.
    packages : sequence of str
        Names of Python packages whose calls are sites, such as ``("veros",)``.
    argnums
        As in `jax.value_and_grad`: what is differentiated.
    checkpoints : {"keep", "decide"}
        Whether the user's own `jax.checkpoint` stay as they are, or are sites as others.
    seconds : float
        For timing; sites that are not reached have a share of the time of what they lie in, by
        the bytes that they move.
    progress : bool
        Show on a terminal what is going on.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> @jax.jit
    ... def solve(u):
    ...     return jnp.sin(jnp.cos(u)) * u
    >>> def loss(u):
    ...     last, _ = jax.lax.scan(lambda u, _: (solve(solve(u)), None), u, None, 50)
    ...     return last.sum()
    >>> tree = adjourn.jax.profile(loss, jnp.ones(100), seconds=1, progress=False)
    >>> tree.sites, tree.calls
    (('solve',), 100)
    """
    from .._planning import refuse_tracers  # noqa: PLC0415 - it plans with what is made here

    refuse_tracers(args, "adjourn.jax.profile")
    names = as_packages(packages)
    drops = as_drops(checkpoints)
    with spinner("tracing the loss", enabled=progress) as shown:
        program = trace(loss, *args, packages=names)
        root = opened_up(program, args, argnums, drops=drops)
        return profiled(root, args, seconds, shown.update).tree


def as_drops(checkpoints: str) -> bool:
    """Return whether the user's own checkpoints are taken off."""
    if checkpoints not in ("keep", "decide"):
        raise BadValue(
            f'checkpoints={checkpoints!r} is unknown. Pass "keep", to leave your own '
            'jax.checkpoint as they are, or "decide".'
        )
    return checkpoints == "decide"


def opened_up(
    program: Program, args: Sequence[Any], argnums: int | Sequence[int], *, drops: bool
) -> Level:
    """Return a program as levels of sites, differentiated by some of its arguments."""
    chosen = {argnums} if isinstance(argnums, int) else {*argnums}
    chosen = {number % len(args) for number in chosen}
    moving = [
        number in chosen and has_tangent(jax.numpy.asarray(leaf))
        for number, arg in enumerate(args)
        for leaf in jax.tree.leaves(arg)
    ]
    every = [True] * len(moving)
    root = Level.of(program.closed, moving, every, every, drops=drops)
    root.ask([True] * len(root.results))
    return root


def profiled(
    root: Level, args: Sequence[Any], seconds: float, shown: Callable[[str], object]
) -> Profiled:
    """Measure the sites of a program on its arguments; with 0 seconds estimate, and run nothing."""

    def tell(text: str) -> None:
        shown(text)

    model = InContext(root)
    if seconds:
        leaves = [jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(tuple(args))]
        seen = capture(root, leaves, model.inputs, worthy, tell)
        figures = measure_nodes(model, seen, seconds, tell)
    else:
        figures = estimate_nodes(root)
    made = _Tree(model, figures)
    items = made.items(root, root.nodes, 0, len(root.flats), figures.get("/"), 0)
    steps = tuple(made.steps) or ((tuple(items), tuple(made.paths)),)
    measured = sum(one.measured for one in figures.values())
    note = f"{measured} of {len(figures)} sites timed, one step of each loop"
    return Profiled(model, figures, CallTree(items, note), steps)


class _Tree:
    """Makes the items of the core's tree, in the order of the program."""

    def __init__(self, model: InContext, figures: dict[str, Figures]) -> None:
        self.model = model
        self.figures = figures
        self.paths: list[str] = []
        self.steps: list[tuple[tuple[Item, ...], tuple[str, ...]]] = []
        self.ran: dict[int, Callable[[int], int]] = {}

    def items(
        self,
        level: Level,
        nodes: Sequence[Node],
        start: int,
        stop: int,
        whole: Figures | None,
        depth: int,
    ) -> list[Item]:
        """Return the items of a stretch of a level: calls, and leaves between them."""
        below = [self.figures.get(node.path, _NONE) for node in nodes]
        whole = whole or _NONE
        own = max(whole.primal - sum(f.primal for f in below), 0.0)
        both = max(whole.both - sum(f.both for f in below), own)
        inside = [(node.start, node.stop) for node in nodes]
        work = level.work(start, stop) - sum(level.work(a, b) for a, b in inside)
        items: list[Item] = []
        at = start
        for node in (*nodes, Node("", "", stop, stop)):
            if node.start > at:
                share = level.work(at, node.start) / work if work > 0 else 0.0
                left = self.left(level, node.start)
                items.append(Leaf(own * share, both * share, left, left))
            if node.path:
                items += self.node(level, node, depth)
            at = node.stop
        return items

    def left(self, level: Level, stop: int) -> int:
        if id(level) not in self.ran:
            self.ran[id(level)] = self.model.running(level)
        return self.ran[id(level)](stop)

    def node(self, level: Level, node: Node, depth: int) -> list[Item]:
        """Return the items of a site: a call, or an outermost loop with what it is given."""
        figures = self.figures.get(node.path, _NONE)
        flat = level.flats[node.start]
        if node.enters and node.kind == "scan" and depth == 0:
            (sub,) = flat.subs
            once = self.figures.get(f"{sub.path}/")
            live = self.model.live(sub)
            self.left(level, node.stop)  # the tree's loop says itself what it keeps
            first = len(self.paths)
            body = self.items(sub, sub.nodes, 0, len(sub.flats), once, 1)
            self.steps.append((tuple(body), tuple(self.paths[first:])))
            name = node.path.rpartition("/")[2]
            return [Loop(max(sub.steps, 1), live, 0.0, 0.0, tuple(body), name=name)]
        self.paths.append(node.path)
        known = level.shared
        snapshot = sum(level.sizes[v] for v in self.model.inputs(level, node) if v not in known)
        if node.enters:
            taken = [sub for sub in flat.subs if self.figures.get(f"{sub.path}/")]
            sub = (taken or [*flat.subs])[0]
            once = self.figures.get(f"{sub.path}/")
            parts = self.items(sub, sub.nodes, 0, len(sub.flats), once, depth + 1)
            body = [Repeat(sub.steps, tuple(parts))] if sub.steps > 1 else parts
            self.left(level, node.stop)
        else:
            body = self.items(level, node.children, node.start, node.stop, figures, depth)
        if not self.model.counts(level, node):
            snapshot = 0
        return [Call(node.label, snapshot, 0.0, tuple(body), pure=figures.pure)]


def pruned(
    items: Sequence[Item], paths: Sequence[str], keep: set[str]
) -> tuple[list[Item], list[str]]:
    """Return items with some of their calls alone, and the paths of these.

    What the others do is part of what they lie in; leaves that meet become one.
    """
    order = iter(paths)
    kept: list[str] = []

    def walk(body: Sequence[Item]) -> list[Item]:
        out: list[Item] = []
        for item in body:
            if isinstance(item, Call):
                path = next(order)
                if path in keep:
                    kept.append(path)
                    out.append(replace(item, body=tuple(walk(item.body))))
                else:
                    out += walk(item.body)
            elif isinstance(item, Leaf):
                out.append(item)
            else:
                inner = walk(item.body)
                alone = inner[0] if len(inner) == 1 else None
                if isinstance(item, Repeat) and isinstance(alone, Leaf):
                    out.append(_repeated(alone, item.times))
                elif isinstance(item, Repeat):
                    out.append(Repeat(item.times, tuple(inner)))
                else:
                    out.append(item)
        return _merged(out)

    return walk(items), kept


def _merged(items: Sequence[Item]) -> list[Item]:
    out: list[Item] = []
    for item in items:
        last = out[-1] if out else None
        if isinstance(last, Leaf) and isinstance(item, Leaf):
            peak = max(last.peak, last.left + item.peak)
            advance, seconds = last.advance + item.advance, last.seconds + item.seconds
            out[-1] = Leaf(advance, seconds, last.left + item.left, peak)
        else:
            out.append(item)
    return out


def _repeated(leaf: Leaf, times: int) -> Leaf:
    peak = leaf.left * (times - 1) + leaf.peak
    return Leaf(leaf.advance * times, leaf.seconds * times, leaf.left * times, peak)
