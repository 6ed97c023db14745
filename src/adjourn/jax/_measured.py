"""Sites timed as compiled pieces on real inputs, and run twice to see whether they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ._capture import Captured, run_flats
from ._compat import bare, jax, jnp
from ._incontext import InContext
from ._levels import Level, Node
from ._memory import as_host
from ._trees import join, split

__all__ = ["Figures", "measure_nodes", "work_of"]

_CALLBACKS = ("pure_callback", "io_callback")
_SAMPLES = 5
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
    its equations move.
    """
    work = _Work(model, perf_counter() + seconds, shown)
    work.level(seen, None)
    return work.found


def work_of(level: Level, start: int, stop: int) -> float:
    """Return the bytes that equations move, a stand-in for time: loops with all their steps."""
    total = 0.0
    for flat in level.flats[start:stop]:
        if flat.subs:
            inner = max(work_of(sub, 0, len(sub.flats)) * sub.steps for sub in flat.subs)
            total += inner
            continue
        total += sum(level.sizes[v] for v in (*flat.inputs, *flat.outputs) if v is not None)
    return total


class _Work:
    def __init__(self, model: InContext, until: float, shown: Callable[[str], None]) -> None:
        self.model = model
        self.until = until
        self.shown = shown
        self.found: dict[str, Figures] = {}
        self.floor = _seconds(jax.jit(_same).lower(jnp.ones(())).compile(), (jnp.ones(()),))

    def level(self, seen: Captured, whole: Figures | None) -> None:
        """Measure the sites of one level; ``whole`` is one run of the level."""
        level = seen.level
        node = Node(level.path, "", 0, len(level.flats))
        if whole is None:
            whole = self.timed(seen, node) if level.path else self.share(level, None, node)
        self.nodes(seen, level.nodes, node, whole)

    def nodes(self, seen: Captured, nodes: list[Node], around: Node, whole: Figures) -> None:
        level = seen.level
        order = sorted(nodes, key=lambda n: -work_of(level, n.start, n.stop))
        for node in order:
            pure = not self.effects(level, node)
            share = self.share(level, (around, whole), node)
            entered = seen.within.get(node.start) if node.kind in ("scan", "cond") else None
            suspect = pure and self.calls_back(level, node)
            worth = share.primal > 2 * self.floor or not whole.measured
            if pure and (suspect or (worth and perf_counter() < self.until)):
                figures = self.timed(seen, node)
            else:
                figures = Figures(share.primal, share.both, measured=False, pure=pure)
            self.found[node.path] = figures
            self.nodes(seen, node.children, node, figures)
            if entered is not None and node.inner:
                steps = max(entered.level.steps, 1)
                once = Figures(figures.primal / steps, figures.both / steps, figures.measured)
                self.level(entered, once if node.kind == "cond" or steps > 1 else None)
            for sub in level.flats[node.start].subs if node.inner else ():
                self.rest(sub)

    def rest(self, level: Level) -> None:
        """Note sites that were not reached: those of a side of a branch that was not taken."""
        for top in level.nodes:
            for node in top.walk():
                pure = not any(self.effects(level, n) for n in (top,))
                self.found.setdefault(node.path, Figures(0.0, 0.0, measured=False, pure=pure))

    def share(self, level: Level, around: tuple[Node, Figures] | None, node: Node) -> Figures:
        if around is None:
            return Figures(0.0, 0.0, measured=False)
        outer, whole = around
        total = work_of(level, outer.start, outer.stop)
        part = work_of(level, node.start, node.stop) / total if total else 0.0
        return Figures(whole.primal * part, whole.both * part, measured=False)

    def effects(self, level: Level, node: Node) -> bool:
        return any(flat.eqn.effects for flat in level.flats[node.start : node.stop])

    def calls_back(self, level: Level, node: Node) -> bool:
        return any(_has_callback(flat.eqn) for flat in level.flats[node.start : node.stop])

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
    used = {v for v in level.results if v is not None}
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
    return all(
        np.array_equal(as_host(a).view(np.uint8), as_host(b).view(np.uint8))
        if as_host(a).ndim
        else as_host(a).tobytes() == as_host(b).tobytes()
        for a, b in zip(one, two, strict=True)
    )


def _same(x: Any) -> Any:
    return x


def _seconds(compiled: Any, args: tuple[Any, ...]) -> float:
    """Return the median processor seconds of a compiled piece, after one run to warm up."""
    jax.block_until_ready(compiled(*args))
    samples: list[float] = []
    began = perf_counter()
    while not samples or (len(samples) < _SAMPLES and perf_counter() - began < _SAMPLE_SECONDS):
        start = process_time()
        jax.block_until_ready(compiled(*args))
        samples.append(process_time() - start)
    return median(samples)
