"""The search for loops and sites together: place in context, compile, compare, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ...errors import BadValue
from ...running._progress import Spinner
from .._choice import Choice
from .._marks import label_of
from .._pieces import Again
from .._plan import Plan, Tried
from .._program import Program
from .._search import Search, fastest_of
from ._explain import figures_of
from ._incontext import Ways
from ._placing import Cost, Placer, Sites
from ._profile import opened_up, profiled

__all__ = ["SiteSearch", "resolved"]

_SECONDS = 15.0  # for looking at placements, at most, each time
_DOUBT = 0.03  # of the budget, left free as long as nothing was compiled
_CLOSE = 0.97  # of a placement's predicted time: nearer ones cannot be told apart
_OVER = 1.25  # what the model may say too much for a baseline that fits
_NEAR = 1.5  # finalists whose predicted time is further from the best are not compiled


class SiteSearch(Search):
    """Candidates that choose sites too.

    Parameters
    ----------
    program, args, how, shown
        As in `Search`.
    packages : tuple of str
        What the program was traced with.
    sites : sequence of str, optional
        Sites that run again whatever happens; None lets the search decide.
    drops : bool
        Whether the user's own `jax.checkpoint` are sites as others.
    seconds : float
        For timing sites; with 0 nothing is compiled or run.
    """

    def __init__(
        self,
        program: Program,
        args: tuple[Any, ...],
        how: Any,
        shown: Spinner,
        *,
        packages: tuple[str, ...],
        sites: Sequence[str] | None,
        drops: bool,
        seconds: float,
    ) -> None:
        super().__init__(program, args, how, shown)
        self.packages = packages
        self.drops = drops
        root = opened_up(program, args, self.argnums, drops=drops)
        self.placer = Placer(profiled(root, args, seconds, shown.update))
        if sites is not None:
            self.placer.fix(resolved(sites, program))
        self.above: dict[str, int] = {}  # most that the compiler added, by kind of loop
        self.alike: dict[Choice, int] = {}  # the same for what differs in the number of carries
        self.placed: list[tuple[Cost, Sites]] = []
        self.placed_for: Any = None

    def choice(self, sites: Sites, ways: Ways) -> Choice:
        """Return a placement and what the loops keep as a choice."""
        again = Again(tuple(sorted(sites)), self.drops)
        opened = 1 if self.opened else 0
        return Choice(ways.outer, ways.inner, opened, ways.window, again)

    def parts(self, choice: Choice) -> tuple[Sites, Ways]:
        """Return the sites of a choice, and what its loops keep."""
        ways = Ways(choice.outer, choice.window, choice.inner)
        return frozenset(choice.again.sites), ways

    def kind(self, ways: Ways) -> str:
        return ways.outer if isinstance(ways.outer, str) else "slots"

    def offset(self, ways: Ways) -> int:
        """Return what the compiler may add to a placement that was not compiled.

        The most that it added to others. That it took less for one of them, by the order in
        which it runs the equations, says little about the next.
        """
        near = [self.above[k] for k in (self.kind(ways), "slots", "steps") if k in self.above]
        doubt = round(_DOUBT * self.budget)
        return near[0] if near and near[0] > 0 else doubt

    def room(self, ways: Ways) -> int:
        return self.budget - self.offset(ways)

    def room_of(self, sites: Sites) -> Callable[[Ways], int]:
        """Return the room for some sites, known better once they were compiled."""

        def room(ways: Ways) -> int:
            alike = self.choice(sites, ways).numbered(0)
            return self.budget - self.alike.get(alike, self.offset(ways))

        return room

    def model(self, choice: Choice) -> int:
        """Return the bytes of a choice in context, with what the compiler adds."""
        sites, ways = self.parts(choice)
        added = self.budget - self.room_of(sites)(ways)
        return max(self.placer.nbytes(sites, ways) + added, 0)

    def correct(self, choice: Choice, compiled: int) -> None:
        """Note what the compiler added to a choice."""
        sites, ways = self.parts(choice)
        added = self.alike[choice.numbered(0)] = compiled - self.placer.nbytes(sites, ways)
        kind = self.kind(ways)
        self.above[kind] = max(added, self.above.get(kind, added))

    def work(self, choice: Choice) -> float:
        return self.placer.seconds(*self.parts(choice))

    def fitting(self) -> list[Choice]:
        """Return the best choices of loops and sites, and the baselines that fit, by time.

        Those are the best of all, and the best of other numbers of carries if it is about as
        fast; and the best with the sites of each that was compiled, whose bytes are known well.
        """
        key = (self.budget, tuple(sorted(self.above.items())))
        if key != self.placed_for:
            self.placed = self.placer.best(self.room, _SECONDS, self.shown.update)
            self.placed_for = key
        near = [(cost, sites) for cost, sites in self.placed if self.close(cost.seconds)]
        each = {cost.ways: self.choice(sites, cost.ways) for cost, sites in reversed(near)}
        found = [*each.values(), *self.again(), *self.baselines(self.room)]
        return sorted(dict.fromkeys(found), key=self.work)

    def close(self, seconds: float) -> bool:
        """Return whether a placement is predicted to be about as fast as the fastest."""
        return seconds * _CLOSE <= self.placed[0][0].seconds

    def again(self) -> Iterator[Choice]:
        """Yield the best choice with the sites of each that was compiled."""
        for sites in dict.fromkeys(self.parts(choice)[0] for choice in self.tried):
            for cost in self.placer.costs(sites, self.room_of(sites))[:1]:
                yield self.choice(sites, cost.ways)

    def baselines(self, room: Callable[[Ways], int]) -> list[Choice]:
        """Return none, every step, all sites, the best single site: those within a room."""
        every = frozenset(self.placer.sites)
        single = [frozenset({site}) for site in self.placer.sites]
        plain = Ways()
        best = min(single, key=lambda s: self.placer.nbytes(s, plain), default=frozenset[str]())
        candidates = [(frozenset[str](), plain), (every, plain), (best, plain)]
        if self.placer.loops:
            candidates.append((frozenset[str](), Ways("steps")))
        fixed = self.placer.fixed
        return [
            self.choice(sites | fixed, ways)
            for sites, ways in candidates
            if self.placer.allowed(ways) and self.placer.nbytes(sites | fixed, ways) <= room(ways)
        ]

    def doubtful(self, _: Ways) -> int:
        """Return the bytes in context up to which a baseline may fit all the same."""
        return round(_OVER * self.budget)

    def least(self) -> Choice:
        """Return the choice of least bytes, for a budget below what the model thinks possible."""
        starts = self.placer.starts()
        ways = [Ways(1)] if self.placer.loops and self.placer.allowed(Ways(1)) else [Ways()]
        pairs = [(sites, way) for sites in starts for way in ways]
        return self.choice(*min(pairs, key=lambda pair: self.placer.nbytes(*pair)))

    def best(self, budget: int, compiles: int) -> Plan:
        """Compile and run what is promising, and every baseline that may be as good."""
        made = super().best(budget, compiles)
        if not compiles:
            return made
        near = _NEAR * self.work(self.finalists()[0].choice)
        for choice in self.baselines(self.doubtful):
            if choice not in self.tried and self.work(choice) <= near:
                self.compile(choice)
        finalists = self.finalists()
        rest = [t for t in self.tried.values() if t not in finalists]
        return self.made([*finalists, *rest], fastest_of(len(finalists)))

    def made(self, tried: Sequence[Tried], reason: str) -> Plan:
        """Return the plan, with what each site would save and cost."""
        plan = super().made(tried, reason)
        figures = figures_of(self.placer, *self.parts(plan.choice))
        return replace(plan, packages=self.packages, figures=figures)


def resolved(sites: Sequence[str] | str, program: Program) -> Sites:
    """Return the paths of sites given by their paths or names.

    Raises
    ------
    BadValue
        The program has no such site.
    """
    names = (sites,) if isinstance(sites, str) else sites
    found: set[str] = set()
    for name in names:
        paths = {p for p in program.paths if name in (p, label_of(p))}
        if not paths:
            known = {*program.paths, *map(label_of, program.paths)}
            near = get_close_matches(str(name), known, 3)
            hint = f"Did you mean {' or '.join(near)}?" if near else "Pass its package."
            raise BadValue(
                f"site {name!r} is not in the program, which has {len(program.paths)}. {hint}"
            )
        found |= paths
    return frozenset(found)
