"""Which sites run again, together with what the loops keep: seconds and bytes of both at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

from ...calltree import CallTree, place
from ...calltree._sites import Modes, contexts, keys_of
from ...errors import BadValue, BudgetTooSmall
from ...optimum import revolve_advances
from ._incontext import InContext, Ways
from ._levels import Level, Node
from ._measured import Figures
from ._profile import Profiled, pruned

__all__ = ["Cost", "Placer", "Sites"]

Sites = frozenset[str]
_WINDOWS = (1, 2, 4)
_FEW = 24  # sites up to which pairs are exchanged
_WORTH = 0.004  # of what a step keeps: sites that hold less than that are not looked at
_PLAYED = 1.3  # a forward step of a played schedule, in those of a plain loop
_SHARES = (0.75, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)  # of a step's peak, for the tree programme


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a choice is predicted to take.

    Attributes
    ----------
    seconds : float
        Of one value and gradient.
    nbytes : int
        Most bytes held.
    ways : Ways
        What the loops keep.
    """

    seconds: float
    nbytes: int
    ways: Ways


@dataclass(frozen=True, slots=True, eq=False)
class _Loop:
    """A loop of the program itself: a step's seconds forward, and recorded and reversed."""

    level: Level
    primal: float
    both: float


class Placer:
    """Predicts and chooses placements of one profiled program.

    A placement is one way to record a step, an entry of the menu of its time loop; each is
    combined with every number of snapshots and every window, so that sites and snapshots
    compete for the same bytes.

    Parameters
    ----------
    profiled : Profiled
        The program.
    """

    def __init__(self, profiled: Profiled) -> None:
        self.model: InContext = profiled.model
        self.figures = profiled.figures
        self.profiled = profiled
        self.fresh, self.copied = _seconds_per_byte()
        self.turns: dict[str, int] = {}
        self.impure: tuple[str, ...] = ()
        self.loops: list[_Loop] = []
        self._visit(self.model.root, 1)
        self.impure = tuple(p for p in self.turns if not self.of(p).pure)
        self.sites = tuple(self._sites())
        self.fixed: Sites = frozenset()

    def of(self, path: str) -> Figures:
        """Return what was measured for a site."""
        return self.figures.get(path, Figures(0.0, 0.0, measured=False))

    def fix(self, sites: Sites) -> None:
        """Decide which sites run again: these and no others."""
        self.fixed = self.allowed_sites(sites)
        self.sites = ()

    def allowed_sites(self, sites: Sites) -> Sites:
        """Return sites that may run again, or say which must not.

        Raises
        ------
        BadValue
            One of them must not.
        """
        for path in sites:
            bad = next((p for p in self.impure if f"{p}/".startswith(f"{path}/")), None)
            if bad is not None:
                raise BadValue(
                    f"site {path} is to run again, and a second run of {bad} gives other results "
                    "or acts on the world. Leave it out, or make it pure: pass random keys and "
                    "the state it keeps as arguments."
                )
        return sites

    def allowed(self, ways: Ways) -> bool:
        """Return whether the loops may be reversed so: steps with impure sites run once."""
        if ways.outer == "all" and ways.inner == "all":
            return True
        return not any("scan#" in path for path in self.impure)

    def _visit(self, level: Level, turns: int) -> None:
        for node in level.here():
            self.turns[node.path] = turns
        for flat in level.flats:
            for sub in flat.subs:
                if flat.eqn.primitive.name == "scan":
                    if not sub.depth:
                        once = self.of(f"{sub.path}/")
                        self.loops.append(_Loop(sub, once.primal, once.both))
                    self._visit(sub, turns * sub.steps)
                else:
                    self._visit(sub, turns)

    def _sites(self) -> Iterator[str]:
        """Yield the sites that may run again and hold enough to matter, callers first."""

        def visit(level: Level) -> Iterator[str]:
            whole = self.model.level(level, frozenset(), Ways())
            least = _WORTH * (whole.each + whole.once)
            found: dict[tuple[int, int], str] = {}
            for node in level.here():
                if self._may(level, node) and self.model.inner(level, node) > least:
                    found[self.model.reads(level, node)] = node.path  # of equal ones the inner
            yield from found.values()
            for flat in level.flats:
                for sub in flat.subs:
                    yield from visit(sub)

        return visit(self.model.root)

    def _may(self, level: Level, node: Node) -> bool:
        if node.kind in ("while", "checkpoint") or not self.model.counts(level, node):
            return False
        if level.depth < 0 and any(
            f.subs and f.eqn.primitive.name == "scan" for f in level.flats[node.start : node.stop]
        ):
            return False  # a loop of the program itself has ways of its own
        return not any(p == node.path or p in self._below(node) for p in self.impure)

    def _below(self, node: Node) -> set[str]:
        return {one.path for one in node.walk()}

    # --- what a choice costs

    def seconds(self, sites: Sites, ways: Ways) -> float:
        """Return the predicted seconds of one value and gradient."""
        total = 0.0
        held = 0
        within: set[str] = set()
        for loop in self.loops:
            level, n = loop.level, loop.level.steps
            here = [site for site in sites if site.startswith(f"{level.path}/")]
            within.update(here)
            again = sum(self.of(s).primal * self.turns[s] for s in here) / max(n, 1)
            one = self.model.level(level, sites, ways)
            kept, above = self.model.loop(level, one, ways.at(level))
            held += kept + above
            total += n * (loop.both + again) + loop.primal * _plain(n, ways)
            if ways.at(level)[0] == "all" or ways.window > 1:
                total += 2 * n * one.each * self.copied  # written to where they are kept, and read
        total += sum(self.of(s).primal * self.turns[s] for s in sites if s not in within)
        if not self.loops:
            total += self.of("/").both
            held = self.model.held(sites, ways).peak
        return total + held * self.fresh

    def nbytes(self, sites: Sites, ways: Ways) -> int:
        """Return the predicted bytes, what the compiler adds left out."""
        return self.model.held(sites, ways).peak

    def costs(self, sites: Sites, room: Callable[[Ways], int]) -> list[Cost]:
        """Return a placement with each way of the loops that fits, the fastest first."""
        ways = [Ways()]
        if self.loops:
            nested = any(self._nested(loop.level) for loop in self.loops)
            inner = ("all", "steps") if nested else ("all",)
            ways = [Ways(kind, 1, i) for kind in ("all", "steps", "segments") for i in inner]
            ways += [fit for i in inner for w in _WINDOWS for fit in self._slots(sites, i, w, room)]
        found: list[Cost] = []
        for way in filter(self.allowed, ways):
            nbytes = self.nbytes(sites, way)
            if nbytes <= room(way):
                found.append(Cost(self.seconds(sites, way), nbytes, way))
        return sorted(found, key=lambda cost: (cost.seconds, cost.nbytes))

    def _slots(
        self, sites: Sites, inner: str, window: int, room: Callable[[Ways], int]
    ) -> Iterator[Ways]:
        """Yield the number of snapshots that fills the room, if any fits."""
        one, two = (self.nbytes(sites, Ways(k, window, inner)) for k in (1, 2))
        free = room(Ways(1, window, inner)) - one
        longest = max(loop.level.steps for loop in self.loops)
        if free < 0 or longest < 2:
            return
        most = 1 + (free // (two - one) if two > one else longest)
        count = min(most, longest)
        wanted = _plain(longest, Ways(count, window, inner))
        low = 0
        while count - low > 1:  # the fewest snapshots that take no more steps
            middle = (low + count) // 2
            if _plain(longest, Ways(middle, window, inner)) <= wanted:
                count = middle
            else:
                low = middle
        yield Ways(count, window, inner)

    def _nested(self, level: Level) -> bool:
        """Return whether a loop with derivatives lies in a level."""
        return any(
            flat.eqn.primitive.name == "scan" or any(self._nested(sub) for sub in flat.subs)
            for flat in level.flats
            if flat.subs
        )

    # --- choosing

    def starts(self) -> list[Sites]:
        """Return placements to start from: none, all, and those of the tree programme."""
        found: dict[Sites, None] = {self.fixed: None, self.fixed | {*self.sites}: None}
        if not self.sites:
            return [self.fixed]
        for items, contexts_of in self.profiled.steps:
            body, paths = pruned(items, contexts_of, {*self.sites})
            tree = CallTree(body)
            most = place(tree, 2**61).peak_bytes
            for share in _SHARES:
                try:
                    modes = place(tree, round(most * share)).modes
                except BudgetTooSmall:
                    break
                found.setdefault(self._joint(tree, paths, modes))
        return list(found)

    def _joint(self, tree: CallTree, paths: Sequence[str], modes: Modes) -> Sites:
        keys = keys_of(tree)
        order = [keys[path] for path, _ in contexts(tree)]
        joint = (path for path, key in zip(paths, order, strict=True) if modes[key] == "joint")
        return frozenset(joint)

    def trimmed(self, sites: Sites, cost: Cost | None) -> Sites:
        """Return a placement without the sites that save nothing in it."""
        ways = cost.ways if cost is not None else Ways(1 if self.loops else "all")
        for site in self.sites:
            less = sites - {site}
            if site in sites and self.nbytes(less, ways) <= self.nbytes(sites, ways):
                sites = less
        return sites

    def best(
        self, room: Callable[[Ways], int], seconds: float, shown: Callable[[str], object]
    ) -> list[tuple[Cost, Sites]]:
        """Return placements with the fastest ways that fit, the fastest first.

        From each start, sites are switched one after the other as long as that gains; then one
        that runs again and one that does not are exchanged. Each placement looked at takes
        milliseconds in context; the search ends after about so many seconds.
        """
        until = perf_counter() + seconds
        known: dict[Sites, Cost | None] = {}

        def cost(sites: Sites) -> Cost | None:
            if sites not in known:
                shown(f"placing: {len(known)} placements looked at")
                known[sites] = next(iter(self.costs(sites, room)), None)
            return known[sites]

        def rank(sites: Sites) -> tuple[int, float, int]:
            found = cost(sites)
            if found is None:
                return 1, float(self.nbytes(sites, Ways(1 if self.loops else "all"))), 0
            return 0, found.seconds, found.nbytes

        def better(sites: Sites, others: Iterable[Sites]) -> Sites:
            for other in others:
                if perf_counter() < until and rank(sites ^ other) < rank(sites):
                    sites = sites ^ other
            return sites

        singles = [frozenset({site}) for site in self.sites]
        for start in sorted(self.starts(), key=rank)[:3]:
            sites = self.trimmed(start, cost(start))
            before = None
            while sites != before:
                before, sites = sites, better(sites, singles)
                if sites == before and len(singles) <= _FEW:
                    inside = [one for one in singles if one <= sites]
                    outside = [one for one in singles if not one <= sites]
                    sites = better(sites, [one | two for one in inside for two in outside])
        found = [(one, sites) for sites, one in known.items() if one is not None]
        return sorted(found, key=lambda pair: (pair[0].seconds, pair[0].nbytes, len(pair[1])))


def _plain(n: int, ways: Ways) -> float:
    """Return the forward steps besides one recording of each."""
    slots, window = ways.outer, ways.window
    if slots == "all" or n < 2:
        return 0.0
    if slots == "steps":
        return n
    if slots == "segments":
        return 2.0 * n
    blocks = -(-n // window)
    again = revolve_advances(blocks, min(int(slots), blocks)) - max(blocks - 1, 0)
    return _PLAYED * (n + window * again)


def _seconds_per_byte() -> tuple[float, float]:
    """Return the processor seconds of a byte of new memory, written once, and of one copied."""
    size = 1 << 25
    began = process_time()
    made = np.empty(size, np.uint8)
    made.fill(1)
    between = process_time()
    other = made.copy()
    middle = process_time()
    np.copyto(other, made)
    return (between - began) / size, (process_time() - middle) / size
