"""The bytes of any choice of loops and sites in context, without tracing or compiling it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isqrt
from typing import TypeAlias

from ._levels import Flat, Level, Node

__all__ = ["Held", "InContext", "Way", "Ways"]

Way: TypeAlias = "tuple[int | str, int]"
"""What a loop keeps, as ``slots`` and ``window`` of `adjourn.jax.scan`."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What the loops keep.

    Attributes
    ----------
    outer : int or str
        For loops that lie in no other, as ``slots`` of `adjourn.jax.scan`.
    window : int
        For them, as ``window``.
    inner : str
        For loops within.
    """

    outer: int | str = "all"
    window: int = 1
    inner: str = "all"

    def at(self, level: Level) -> Way:
        """Return what one loop keeps."""
        if level.depth:
            return self.inner, 1
        return self.outer, self.window


RECORD = Ways()


@dataclass(frozen=True, slots=True)
class Held:
    """What a level keeps for one run of it.

    Attributes
    ----------
    each : int
        Bytes that differ from run to run.
    once : int
        Bytes made of what is the same for all runs.
    outer : frozenset of int
        Places among the level's inputs that are read, and kept outside.
    peak : int
        Most bytes held while it is reversed, ``each`` included, and the cotangents made so far
        that are still to be read.
    at_peak : str
        What is being reversed at the peak; empty if it is the turn.
    """

    each: int
    once: int
    outer: frozenset[int]
    peak: int
    at_peak: str


@dataclass(slots=True)
class _Sweep:
    """What is kept as the equations of a level are run in order."""

    level: Level
    ids: set[int] = field(default_factory=set[int])
    each: int = 0
    once: int = 0
    peak: int = 0
    at_peak: str = ""

    def keep(self, values: Iterable[int | None]) -> None:
        level = self.level
        for value in values:
            if value is None or value in self.ids:
                continue
            self.ids.add(value)
            if value in level.shared:
                continue
            if level.varying[value]:
                self.each += level.sizes[value]
            else:
                self.once += level.sizes[value]

    def own(self, nbytes: int, varying: bool) -> None:
        if varying:
            self.each += nbytes
        else:
            self.once += nbytes

    def reach(self, above: int, where: str) -> None:
        """Note that so many bytes more than what is kept now are held for a while."""
        if self.each + self.once + above > self.peak:
            self.peak, self.at_peak = self.each + self.once + above, where


@dataclass(frozen=True, slots=True)
class _Event:
    """What the reverse of one equation reads: values, bytes of its own, or a loop or branch."""

    values: tuple[int, ...]
    each: int
    once: int
    flat: Flat | None


class InContext:
    """The model of one program in context.

    What the reverse reads is a set of values: each equation reads some of its inputs and
    results, a site that runs again reads its inputs alone, and what several of them read is
    kept once. So the value of a site depends on all others, and may be negative. A placement
    takes one pass over the equations: milliseconds for some thousand.

    Parameters
    ----------
    root : Level
        The program.
    """

    def __init__(self, root: Level) -> None:
        self.root = root
        self.nodes = {node.path: node for node in _all(root)}
        self._inputs: dict[tuple[int, int, int], list[int]] = {}
        self._counts: dict[tuple[int, int, int], bool] = {}
        self._live: dict[int, frozenset[int]] = {}
        self._made: dict[int, list[int]] = {}
        self._known: dict[tuple[int, frozenset[str], str], Held] = {}
        self._read_at: dict[int, tuple[list[int], list[_Event]]] = {}

    def held(self, sites: Iterable[str], ways: Ways) -> Held:
        """Return what the whole program keeps, these sites running again."""
        return self.level(self.root, frozenset(sites), ways)

    def level(self, level: Level, sites: frozenset[str], ways: Ways) -> Held:
        """Return what one run of a level keeps."""
        within = f"{level.path}/" if level.path else ""
        sites = frozenset(site for site in sites if site.startswith(within))
        key = (id(level), sites, ways.inner)
        if level.depth < 0:
            return self._level(level, sites, ways)
        if key not in self._known:
            self._known[key] = self._level(level, sites, ways)
        return self._known[key]

    def _level(self, level: Level, sites: frozenset[str], ways: Ways) -> Held:
        sweep = _Sweep(level)
        self._run(sweep, 0, len(level.flats), _chosen(level.nodes, sites), sites, ways)
        if sweep.each + sweep.once > sweep.peak:
            sweep.peak, sweep.at_peak = sweep.each + sweep.once, ""
        outer = frozenset(v for v in sweep.ids & level.shared if v < len(level.inputs))
        return Held(sweep.each, sweep.once, outer, sweep.peak - sweep.once, sweep.at_peak)

    def _run(
        self,
        sweep: _Sweep,
        start: int,
        stop: int,
        nodes: Sequence[Node],
        sites: frozenset[str],
        ways: Ways,
    ) -> None:
        level = sweep.level
        at = start
        for node in nodes:
            self._read(sweep, at, node.start, sites, ways)
            at = node.stop
            if not self.counts(level, node):
                continue
            sweep.keep(self.inputs(level, node))
            inner = _Sweep(level, set(sweep.ids))
            within = _chosen(node.children, sites)
            self._run(inner, node.start, node.stop, within, sites, ways)
            extra = inner.each + inner.once + self.cotangents(level, node.stop)
            where = inner.at_peak if inner.peak > extra else node.path
            sweep.reach(max(extra, inner.peak), where)
        self._read(sweep, at, stop, sites, ways)

    def _read(
        self, sweep: _Sweep, start: int, stop: int, sites: frozenset[str], ways: Ways
    ) -> None:
        """Keep what the reverse of a stretch of equations reads."""
        places, events = self._events(sweep.level)
        first, last = bisect_left(places, start), bisect_left(places, stop)
        for place, event in zip(places[first:last], events[first:last], strict=True):
            if event.flat is not None:
                made = self.cotangents(sweep.level, place + 1)
                self._within(sweep, event.flat, made, sites, ways)
                continue
            sweep.keep(event.values)
            sweep.each += event.each
            sweep.once += event.once

    def _events(self, level: Level) -> tuple[list[int], list[_Event]]:
        """Return the equations of a level whose reverse reads something, and their places."""
        if id(level) not in self._read_at:
            places: list[int] = []
            events: list[_Event] = []
            for place, flat in enumerate(level.flats):
                event = _event(level, flat) if flat.counts else None
                if event is not None:
                    places.append(place)
                    events.append(event)
            self._read_at[id(level)] = places, events
        return self._read_at[id(level)]

    def _within(
        self, sweep: _Sweep, flat: Flat, made: int, sites: frozenset[str], ways: Ways
    ) -> None:
        """Keep what a loop or a branch keeps, so many bytes of cotangents being there then."""
        varying = sweep.level.varying[flat.outputs[0]]
        held = [self.level(sub, sites, ways) for sub in flat.subs]
        if flat.eqn.primitive.name == "cond":
            sweep.keep(flat.inputs[:1])
            for one in held:
                sweep.keep(flat.inputs[1 + k] for k in one.outer)
                sweep.own(one.each + one.once, varying)
            most = max(held, key=lambda one: one.peak - one.each)
            sweep.reach(most.peak - most.each + made, most.at_peak or flat.path)
            return
        (sub,), (one,) = flat.subs, held
        sweep.keep(flat.inputs[k] for k in one.outer)
        sweep.own(one.once, varying)
        if not isinstance(ways.at(sub)[0], str):  # the first carry is kept where it lies
            live = self.live_values(sub)
            sweep.keep(v for v, w in zip(flat.inputs, sub.inputs, strict=True) if w in live)
        kept, above = self.loop(sub, one, ways.at(sub))
        sweep.own(kept, varying)
        sweep.reach(above + made, one.at_peak or sub.path)

    def running(self, level: Level) -> Callable[[int], int]:
        """Return a function that runs a level up to an equation and returns the bytes added.

        Everything is recorded; what a value adds is told where it is read first.
        """
        sweep = _Sweep(level)
        at = 0

        def to(stop: int) -> int:
            nonlocal at
            before = sweep.each + sweep.once
            self._read(sweep, at, stop, frozenset(), RECORD)
            at = max(at, stop)
            return sweep.each + sweep.once - before

        return to

    def loop(self, sub: Level, one: Held, way: Way) -> tuple[int, int]:
        """Return what a loop keeps, and what it holds above that while it is reversed."""
        slots, window = way
        n, peak = sub.steps, self.step(sub, one)
        if slots == "all":
            return n * one.each, peak - one.each
        if slots == "steps":
            return n * self.carry(sub), peak
        if slots == "segments" and n > 3:
            size = isqrt(n)
            return -(-n // size) * self.carry(sub), size * self.carry(sub) + peak
        count = min(int(slots), n) if not isinstance(slots, str) else n
        return (count - 1) * self.live(sub), (min(window, n) - 1) * one.each + peak

    def step(self, sub: Level, one: Held) -> int:
        """Return the most bytes held while one step of a loop is reversed.

        The cotangents of what a step is given stay where they are until those of the step
        before replace them, beside those being made.
        """
        given = sub.inputs[: sub.consts + sub.carries]
        return one.peak + sum(sub.sizes[v] for v in given if sub.asked[v])

    def cotangents(self, level: Level, place: int) -> int:
        """Return the bytes of cotangents made by the reverse of a level from the end to a place.

        Those that are still to be read: of values made before the place and used after it.
        """
        if id(level) not in self._made:
            self._made[id(level)] = _cotangents(level)
        return self._made[id(level)][place]

    def carry(self, sub: Level) -> int:
        """Return the bytes of a loop's carry."""
        return sum(sub.sizes[v] for v in _carried(sub))

    def live(self, sub: Level) -> int:
        """Return the bytes of the part of a loop's carry that a later step's reverse needs."""
        return sum(sub.sizes[v] for v in self.live_values(sub))

    def live_values(self, sub: Level) -> frozenset[int]:
        """Return the values of a loop's carry that a later step's reverse needs."""
        if id(sub) not in self._live:
            self._live[id(sub)] = _live(sub)
        return self._live[id(sub)]

    def inputs(self, level: Level, node: Node) -> list[int]:
        """Return the values that a site reads from outside."""
        key = (id(level), node.start, node.stop)
        if key not in self._inputs:
            made: set[int] = set()
            read: dict[int, None] = {}
            for flat in level.flats[node.start : node.stop]:
                read.update((v, None) for v in flat.inputs if v is not None and v not in made)
                made.update(flat.outputs)
            self._inputs[key] = list(read)
        return self._inputs[key]

    def inner(self, level: Level, node: Node) -> int:
        """Return the bytes that are held within a site while it is reversed."""
        sweep = _Sweep(level, set(self.inputs(level, node)))
        self._run(sweep, node.start, node.stop, [], frozenset(), RECORD)
        return max(sweep.each + sweep.once, sweep.peak)

    def counts(self, level: Level, node: Node) -> bool:
        """Return whether derivatives pass through a site."""
        key = (id(level), node.start, node.stop)
        if key not in self._counts:
            flats = level.flats[node.start : node.stop]
            self._counts[key] = any(flat.counts for flat in flats)
        return self._counts[key]

    def reads(self, level: Level, node: Node) -> tuple[int, int]:
        """Return which of a level's equations that keep something lie in a site, half open."""
        places, _ = self._events(level)
        return bisect_left(places, node.start), bisect_left(places, node.stop)


def _event(level: Level, flat: Flat) -> _Event | None:
    if flat.subs:
        return _Event((), 0, 0, flat)
    values = [flat.inputs[k] for k in flat.reads.inputs]
    values += [flat.outputs[k] for k in flat.reads.outputs]
    each = once = 0
    for nbytes, sources in flat.reads.made:
        at = (flat.inputs[k] for k in sources)
        if any(v is not None and level.varying[v] for v in at):
            each += nbytes
        else:
            once += nbytes
    if not (values or each or once):
        return None
    return _Event(tuple(v for v in values if v is not None), each, once, None)


def _all(level: Level) -> Iterator[Node]:
    for node in level.nodes:
        yield from node.walk()


def _chosen(nodes: Sequence[Node], sites: frozenset[str]) -> list[Node]:
    """Return the outermost of these sites and of those within that are chosen."""
    found: list[Node] = []
    for node in nodes:
        if node.path in sites:
            found.append(node)
        else:
            found += _chosen(node.children, sites)
    return found


def _cotangents(level: Level) -> list[int]:
    """Return for each place between equations what `InContext.cotangents` tells."""
    last: dict[int, int] = {}
    made = dict.fromkeys(level.inputs, 0)
    for place, flat in enumerate(level.flats):
        made.update((value, place + 1) for value in flat.outputs)
        if flat.counts:
            last.update((value, place) for value in flat.inputs if value is not None)
    changes = [0] * (len(level.flats) + 2)
    for value, place in last.items():
        if level.asked[value]:
            changes[made.get(value, 0)] += level.sizes[value]
            changes[place + 1] -= level.sizes[value]
    return [*accumulate(changes)]


def _carried(sub: Level) -> list[int]:
    """Return the values that a step takes from the one before."""
    return sub.inputs[sub.consts : sub.consts + sub.carries]


def _live(sub: Level) -> frozenset[int]:
    carries = _carried(sub)
    after = sub.results[: sub.carries]
    kept: set[int] = set()
    while True:
        needed: set[int | None] = set()
        needed.update(v for value, v in zip(carries, after, strict=True) if value in kept)
        for flat in reversed(sub.flats):
            reads = flat.reads
            if flat.counts:
                needed.update(flat.inputs[k] for k in reads.inputs)
                needed.update(flat.outputs[k] for k in reads.outputs)
            own = flat.counts and (reads.own or flat.subs)
            if own or needed.intersection(flat.outputs):
                needed.update(flat.inputs)
        grown = {value for value in carries if value in needed}
        if grown <= kept:
            return frozenset(kept)
        kept |= grown
