"""One decision for every context of a site: branch and bound over the untied optimum."""

from __future__ import annotations

import heapq
from collections import Counter

from .._sizes import format_bytes
from ..errors import BudgetTooSmall
from ._baselines import swap_from
from ._fold import Chooser, Fold
from ._made import Body, Made, decide
from ._placement import Placement, describe
from ._tree import Call, CallTree, Loop, Mode, Site, distinct
from ._within import best_within, pick, run

__all__ = ["place_tied"]

_NODES = 400
_NODES_LONG = 3  # with loops of thousands of iterations each part takes a second
_CLEAR = 1e-9


def place_tied(
    tree: CallTree,
    budget: int,
    settled: Chooser | None,
    *,
    by_path: bool,
    nodes: int | None = None,
) -> Placement:
    """Return the fastest placement that decides each site once.

    The untied optimum, some sites settled, bounds every tied placement that agrees with them.
    The search takes the part with the least bound, and settles a site of which contexts or
    iterations disagree. It ends when the best placement is no slower than every bound left: that
    is the certificate. After ``nodes`` parts it stops, improves what it has by exchanges, and
    states the bound.
    """
    if nodes is None:
        work = sum(item.steps**2 for item in distinct(tree.body) if isinstance(item, Loop))
        nodes = _NODES if work < 10**5 else _NODES_LONG
    search = _Search(tree, budget, settled, by_path)
    search.to_end(nodes)
    if search.best is None:
        raise search.too_small()
    seconds, body = search.best
    bound = min(seconds, search.bound)
    notes = dict.fromkeys(search.notes)
    if bound < seconds * (1 - _CLEAR):
        notes[f"tied sites: stopped after {search.nodes} parts of the search"] = None
    else:
        notes[f"tied sites: {search.nodes} parts searched, none left is faster"] = None
        bound = seconds if not search.notes else bound
    return describe(
        tree,
        body,
        ("optimal" if seconds <= bound else "best found") + ", one mode a site",
        budget=budget,
        seconds=seconds,
        bound=bound,
        notes=tuple(notes),
    )


class _Search:
    def __init__(self, tree: CallTree, budget: int, given: Chooser | None, by_path: bool) -> None:
        self.tree, self.budget = tree, budget
        self._given, self._by_path = given, by_path
        self.best: tuple[float, Body] | None = None
        self.bound = float("inf")
        self.nodes = 0
        self.notes: dict[str, None] = {}

    def to_end(self, most: int) -> None:
        parts: list[tuple[float, int, dict[Site, Mode], Site]] = []
        self._look({}, parts)
        if most > _NODES_LONG:
            self._try(dict.fromkeys(swap_from(self.tree, self.budget), "split"), "joint")
        while parts and self.nodes < most:
            if self._beaten(parts[0][0]):
                break
            _, _, modes, site = heapq.heappop(parts)
            for mode in ("split", "joint"):
                self._look({**modes, site: mode}, parts)
        self.bound = parts[0][0] if parts else float("inf")

    def _beaten(self, bound: float) -> bool:
        return self.best is not None and bound >= self.best[0] * (1 - _CLEAR)

    def _look(
        self,
        modes: dict[Site, Mode],
        parts: list[tuple[float, int, dict[Site, Mode], Site]],
    ) -> None:
        """Bound a part, solve it untied, and keep it if it may hold something better."""
        self.nodes += 1
        fold, folder = run(self.tree, self.budget, self._chooser(modes), by_path=self._by_path)
        below = fold
        if folder.rounded:
            self.notes.update(folder.notes)
            below, _ = run(
                self.tree,
                self.budget,
                self._chooser(modes),
                by_path=self._by_path,
                optimistic=True,
            )
        if not len(below.options):
            return
        bound = float(below.options.seconds.min())
        if self._beaten(bound):
            return
        site = self._take(modes, fold, exact=not folder.rounded)
        if site is not None:
            heapq.heappush(parts, (bound, self.nodes, modes, site))

    def _take(self, modes: dict[Site, Mode], fold: Fold, *, exact: bool) -> Site | None:
        """Take the untied optimum if it is tied, else what it suggests; return where to part."""
        row = pick(fold, self.budget)
        left = (site for site in self.tree.sites if site not in modes)
        if row is None:
            return next(left, None)
        body = decide(fold, row)[0]
        votes = _votes(body)
        mixed = [site for site, seen in votes.items() if len(seen) > 1]
        if not mixed:
            seconds = float(fold.options.seconds[row])
            if not self._beaten(seconds):
                self.best = seconds, body
            return None if exact else next(left, None)
        rounded: dict[Site, Mode] = {
            site: max(seen, key=lambda mode: seen[mode]) for site, seen in votes.items()
        }
        self._try({**rounded, **modes}, "joint")
        if self.nodes == 1:
            for common in _iterations(body):
                whole: dict[Site, Mode] = {**rounded, **common}
                self._try(whole, "joint")
        return max(mixed, key=lambda site: min(votes[site].values()))

    def _try(self, modes: dict[Site, Mode], default: Mode) -> None:
        """Take the placement with every site settled, if it fits and is faster."""
        whole: dict[Site, Mode] = {site: modes.get(site, default) for site in self.tree.sites}
        fold, _ = run(self.tree, self.budget, self._chooser(whole), by_path=self._by_path)
        row = pick(fold, self.budget)
        if row is not None:
            body = decide(fold, row)[0]
            if any(len(seen) > 1 for seen in _votes(body).values()):
                return  # modes given by path disagree
            seconds = float(fold.options.seconds[row])
            if self.best is None or seconds < self.best[0]:
                self.best = seconds, body

    def _chooser(self, modes: dict[Site, Mode]) -> Chooser:
        given = self._given

        def settled(path: str, call: Call) -> Mode | None:
            mode = given(path, call) if given is not None else None
            return mode or modes.get(call.site)

        return settled

    def too_small(self) -> BudgetTooSmall:
        best_within(self.tree, self.budget, self._given, by_path=self._by_path)
        return BudgetTooSmall(
            f"budget={format_bytes(self.budget)} ({self.budget} bytes) holds no placement with "
            "one mode a site; some with modes of their own in each context fit. "
            "Pass a larger budget, or tied=False."
        )


def _votes(body: Body) -> dict[Site, dict[Mode, int]]:
    found: dict[Site, dict[Mode, int]] = {}
    seen: set[int] = set()
    stack: list[Made] = list(body)
    while stack:
        made = stack.pop()
        if id(made) in seen:
            continue
        seen.add(id(made))
        call = made.item
        if isinstance(call, Call) and made.mode is not None and not call.external and call.pure:
            count_of = found.setdefault(call.site, {})
            count_of[made.mode] = count_of.get(made.mode, 0) + 1
        for inner in made.bodies:
            stack.extend(inner)
    return found


def _iterations(body: Body, most: int = 4) -> list[dict[Site, Mode]]:
    """Return the modes of the commonest ways to record an iteration of any loop."""
    found: list[tuple[int, dict[Site, Mode]]] = []
    stack: list[Made] = list(body)
    while stack:
        made = stack.pop()
        if made.program:
            uses = Counter(rule.option for rule in made.program if rule.option >= 0)
            for option, number in uses.items():
                votes = _votes(made.bodies[option])
                modes: dict[Site, Mode] = {site: next(iter(seen)) for site, seen in votes.items()}
                found.append((number, modes))
        for inner in made.bodies[:1]:
            stack.extend(inner)
    return [modes for _, modes in sorted(found, key=lambda entry: -entry[0])[:most]]
