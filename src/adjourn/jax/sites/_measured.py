"""Sites timed as compiled pieces on real inputs, and run twice to see whether they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any

from .._compat import bare, jax, jnp
from .._trees import join, split
from ..driven._memory import as_host
from ._capture import Captured, run_flats
from ._incontext import InContext
from ._levels import Level, Node

__all__ = ["Figures", "estimate_nodes", "measure_nodes", "worthy"]

_CALLBACKS = ("pure_callback", "io_callback")
_WORTH = 0.01  # of the work of what it lies in
_SAMPLES = 5
_BYTE_SECONDS = 2e-10  # of an equation, for each byte it moves, where nothing may be run
_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured for a site.

    Attributes
    ----------
    primal : float
        Seconds of one run.
    both : float
        Seconds to record and to reverse it.
    measured : bool
        Whether it was timed; else it has its share of the time of what it lies in.
    pure : bool
        Whether a second run gives the same results.
    """

    primal: float
    both: float
    measured: bool
    pure: bool = True


def measure_nodes(
    model: InContext, seen: Captured, seconds: float, shown: Callable[[str], None]
) -> dict[str, Figures]:
    """Time the sites of a captured program, the weightiest first, in about so many seconds.

    Each timed site costs two compilations, of the piece and of the piece with its reverse, and
    some runs. What is not reached has a share of the time of what it lies in, by the bytes that
    its equations move. A loop of the program itself is never run with all that it would keep:
    one step is timed. Those of one step of a loop are found under the path of the loop and
    ``"/"``.
    """
    work = _Work(model, perf_counter() + seconds, shown)
    work.level(seen)
    return work.found


def estimate_nodes(level: Level, known: dict[str, Figures] | None = None) -> dict[str, Figures]:
    """Return guesses for all sites, from the bytes that their equations move."""
    found: dict[str, Figures] = {} if known is None else known

    def guess(start: int, stop: int) -> Figures:
        primal = level.work(start, stop) * _BYTE_SECONDS
        pure = not any(flat.eqn.effects for flat in level.flats[start:stop])
        return Figures(primal, 3 * primal, measured=False, pure=pure)

    found[f"{level.path}/"] = guess(0, len(level.flats))
    for node in level.here():
        found[node.path] = guess(node.start, node.stop)
    for flat in level.flats:
        for sub in flat.subs:
            estimate_nodes(sub, found)
    return found


def worthy(level: Level, node: Node) -> bool:
    """Return whether a site is worth timing, or must be looked at since it calls back."""
    share = level.work(node.start, node.stop) / (level.work(0, len(level.flats)) or 1.0)
    flats = level.flats[node.start : node.stop]
    return share >= _WORTH or any(_has_callback(flat.eqn) for flat in flats)


class _Work:
    def __init__(self, model: InContext, until: float, shown: Callable[[str], None]) -> None:
        self.model = model
        self.until = until
        self.shown = shown
        self.found: dict[str, Figures] = {}
        self.floor = _seconds(jax.jit(_same).lower(jnp.ones(())).compile(), (jnp.ones(()),))

    def level(self, seen: Captured, whole: Figures | None = None) -> None:
        """Measure the sites of one level; ``whole`` is one run of it, timed if not given."""
        level = seen.level
        everything = Node(level.path, "", 0, len(level.flats))
        if whole is None and not (level is self.model.root and self.loops(level, everything)):
            whole = Figures(seen.seconds, 3 * seen.seconds, measured=False)
            if self.reaches(seen, everything):
                whole = self.timed(seen, everything)
        if whole is not None:
            self.found[f"{level.path}/"] = whole
        self.nodes(seen, level.nodes, everything, whole)

    def nodes(self, seen: Captured, nodes: list[Node], around: Node, whole: Figures | None) -> None:
        level = seen.level
        for node in sorted(nodes, key=lambda n: -level.work(n.start, n.stop)):
            if level is self.model.root and self.loops(level, node):
                self.composed(seen, node)
                continue
            pure = not any(flat.eqn.effects for flat in level.flats[node.start : node.stop])
            figures = self.share(level, around, whole, node, pure=pure)
            suspect = any(_has_callback(f.eqn) for f in level.flats[node.start : node.stop])
            worth = whole is None or figures.primal > 2 * self.floor
            if pure and (suspect or worth) and self.reaches(seen, node, suspect=suspect):
                figures = self.timed(seen, node)
            self.found[node.path] = figures
            self.nodes(seen, node.children, node, figures)
            self.enter(seen, node, figures)

    def composed(self, seen: Captured, node: Node) -> None:
        """Measure what lies in a part of the program with a loop, and add it up."""
        level = seen.level
        self.nodes(seen, node.children, node, None)
        self.enter(seen, node, None)
        parts = [self.found[child.path] for child in node.children]
        if node.enters:
            (sub,) = level.flats[node.start].subs
            once = self.found.get(f"{sub.path}/", Figures(0.0, 0.0, measured=False))
            parts.append(replace(once, primal=once.primal * sub.steps, both=once.both * sub.steps))
        self.found[node.path] = Figures(
            sum(part.primal for part in parts),
            sum(part.both for part in parts),
            measured=all(part.measured for part in parts),
            pure=all(part.pure for part in parts)
            and not any(flat.eqn.effects for flat in level.flats[node.start : node.stop]),
        )

    def enter(self, seen: Captured, node: Node, whole: Figures | None) -> None:
        """Measure the levels within a loop or a branch."""
        if not node.enters:
            return
        entered = seen.within.get(node.start)
        if entered is not None:
            n = max(entered.level.steps, 1)
            once = whole and replace(whole, primal=whole.primal / n, both=whole.both / n)
            self.level(entered, once)
        for sub in seen.level.flats[node.start].subs:
            for top in sub.nodes:
                pure = not any(flat.eqn.effects for flat in sub.flats[top.start : top.stop])
                for one in top.walk():
                    self.found.setdefault(one.path, Figures(0.0, 0.0, measured=False, pure=pure))

    def reaches(self, seen: Captured, node: Node, *, suspect: bool = False) -> bool:
        """Return whether compiling a part, and its reverse, is likely to be done in time."""
        if not seen.values.keys() >= {*self.model.inputs(seen.level, node)}:
            return False
        count = sum(1 + 3 * flat.counts for flat in seen.level.flats[node.start : node.stop])
        return suspect or perf_counter() + count * seen.compiling < self.until

    def loops(self, level: Level, node: Node) -> bool:
        """Return whether a part of a level holds a loop with derivatives."""
        return any(
            flat.subs and flat.eqn.primitive.name == "scan"
            for flat in level.flats[node.start : node.stop]
        )

    def share(
        self, level: Level, around: Node, whole: Figures | None, node: Node, *, pure: bool
    ) -> Figures:
        """Return the share of a part in the time of what it lies in."""
        total = level.work(around.start, around.stop)
        if whole is None or not total:
            return Figures(0.0, 0.0, measured=False, pure=pure)
        part = level.work(node.start, node.stop) / total
        return Figures(whole.primal * part, whole.both * part, measured=False, pure=pure)

    def timed(self, seen: Captured, node: Node) -> Figures:
        """Compile a site alone, and with its reverse, and time both on its real inputs."""
        level = seen.level
        self.shown(f"timing {node.path}")
        flats = level.flats[node.start : node.stop]
        inputs = self.model.inputs(level, node)
        made = [v for flat in flats for v in flat.outputs]
        used = _used_after(level, node.stop)
        outs = [v for v in made if v in used]
        given = [jnp.asarray(seen.values[v]) for v in inputs]
        moves = [level.moving[v] for v in inputs]

        def forward(given: list[Any]) -> list[Any]:
            return run_flats(level, flats, dict(zip(inputs, given, strict=True)), outs)

        def both(given: list[Any]) -> Any:
            chosen, fixed = split(given, moves)

            def moving(*chosen: Any) -> list[Any]:
                results = forward(join(chosen, fixed, moves))
                return [r for r, v in zip(results, outs, strict=True) if level.asked[v]]

            results, pull = jax.vjp(moving, *chosen)
            return pull([jnp.ones_like(r) for r in results])

        compiled = jax.jit(forward).lower(given).compile()
        primal = max(_seconds(compiled, (given,)) - self.floor, 0.0)
        pure = _equal(compiled(given), compiled(given))
        twice = primal
        if any(moves) and any(level.asked[v] for v in outs) and self.model.counts(level, node):
            reverse = jax.jit(both).lower(given).compile()
            twice = max(_seconds(reverse, (given,)) - self.floor, primal)
        return Figures(primal, twice, measured=True, pure=pure)


def _used_after(level: Level, stop: int) -> set[int]:
    used = {*level.results}
    for flat in level.flats[stop:]:
        used.update(v for v in flat.inputs if v is not None)
    return used


def _has_callback(eqn: Any) -> bool:
    if eqn.primitive.name in _CALLBACKS:
        return True
    for value in eqn.params.values():
        for part in [*value] if isinstance(value, (tuple, list)) else [value]:  # type: ignore[reportUnknownVariableType]
            inner = bare(part)
            if hasattr(inner, "eqns") and any(map(_has_callback, inner.eqns)):
                return True
    return False


def _equal(one: list[Any], two: list[Any]) -> bool:
    """Return whether two results have the same bits."""
    return all(_bits(a) == _bits(b) for a, b in zip(one, two, strict=True))


def _bits(leaf: Any) -> bytes:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)  # NumPy does not know the type of keys
    return as_host(leaf).tobytes()


def _same(x: Any) -> Any:
    return x


def _seconds(compiled: Any, args: tuple[Any, ...]) -> float:
    """Return the least processor seconds of a compiled piece, after one run to warm up."""
    jax.block_until_ready(compiled(*args))
    samples: list[float] = []
    began = perf_counter()
    while not samples or (len(samples) < _SAMPLES and perf_counter() - began < _SAMPLE_SECONDS):
        start = process_time()
        jax.block_until_ready(compiled(*args))
        samples.append(process_time() - start)
    return min(samples)
