"""The named ways to choose a placement that are not optimal: what others do, and shortcuts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._sizes import as_bytes
from ._deltas import profile
from ._fold import Folder
from ._loopset import LoopSet
from ._made import Value, decide
from ._placement import Placement, describe
from ._revolve import recorded_set, revolve_set
from ._sets import Columns
from ._sites import contexts
from ._tree import Call, CallTree, Loop, Mode, Site, distinct
from ._within import made_of, pick

__all__ = [
    "BASELINES",
    "all_joint",
    "all_split",
    "greedy",
    "greedy_swap",
    "rank_once",
    "revolve_only",
]


def all_joint(tree: CallTree, budget: int | str) -> Placement:
    """Checkpoint every call, as AD tools do by default; the longest loop by Revolve.

    Costs one visit of the tree, and the tables of Revolve.
    """
    return _with(tree, {}, as_bytes(budget), "all_joint")


def all_split(tree: CallTree, budget: int | str) -> Placement:
    """Record everything in place: the fastest way, whatever it takes in bytes."""
    body = made_of(tree.body, None, "split", "")
    return describe(tree, body, "all_split", budget=as_bytes(budget))


def revolve_only(tree: CallTree, budget: int | str) -> Placement:
    """Record calls in place, and reverse the longest loop by Revolve in the bytes left."""
    modes: dict[Site, Mode] = dict.fromkeys(tree.sites, "split")
    return _with(tree, modes, as_bytes(budget), "revolve_only")


def rank_once(tree: CallTree, budget: int | str) -> Placement:
    """Split by a ranking of single sites, the published way.

    Each site is measured alone with every other one joint; sites are ranked by seconds gained
    per byte of peak (sites that cost no bytes first), and taken in that order as long as the
    sum of their single figures says that they fit. Figures of single sites do not add up: the
    result may exceed the budget (`Placement.fits`). The longest loop is reversed by Revolve;
    of several numbers of snapshots the best is taken, which flatters the ranking.

    Costs one pass for the single-site figures.

    References
    ----------
    .. [1] L. Hascoët, J.-L. Bouchot, S. S. Gaikwad, S. H. K. Narayanan and J. Hückelheim,
       "Profiling checkpointing schedules in adjoint ST-AD", arXiv 2405.15590.
    """
    nbytes = as_bytes(budget)
    plan = _Loops(tree)
    base, known = plan.profile({})
    ranked = sorted(
        (
            (value.peak - base.peak, value.seconds - base.seconds, site)
            for site, value in known.items()
            if value.seconds < base.seconds
        ),
        key=lambda entry: (entry[0] > 0, entry[1] / entry[0] if entry[0] > 0 else entry[1]),
    )
    tried: dict[tuple[Site, ...], None] = {}
    for slots in plan.numbers(nbytes):
        said = base.peak + slots * plan.snapshot
        chosen: list[Site] = []
        for bytes_more, _, site in ranked:
            if said + bytes_more > nbytes and bytes_more > 0:
                break
            said += max(0, bytes_more)
            chosen.append(site)
        tried.setdefault(tuple(chosen))
    return _best(tree, tried, nbytes, "rank_once")


def greedy(tree: CallTree, budget: int | str) -> Placement:
    """Split the site that gains most per byte, measure again, and so on while it fits.

    Costs one pass over the tree for each site that is split. For budgets and trees of many
    thousand sites, where the exact fold becomes slow.
    """
    nbytes = as_bytes(budget)
    plan = _Loops(tree)
    tried = {
        tuple(_climb(plan, nbytes - slots * plan.snapshot)): None for slots in plan.numbers(nbytes)
    }
    return _best(tree, tried, nbytes, "greedy")


def greedy_swap(tree: CallTree, budget: int | str) -> Placement:
    """As `greedy`, then exchange a split site for a joint one while that gains time."""
    nbytes = as_bytes(budget)
    plan = _Loops(tree)
    tried: dict[tuple[Site, ...], None] = {}
    for slots in plan.numbers(nbytes):
        free = nbytes - slots * plan.snapshot
        tried[tuple(_swapped(plan, _climb(plan, free), free))] = None
    return _best(tree, tried, nbytes, "greedy_swap")


BASELINES = {
    "all_joint": all_joint,
    "all_split": all_split,
    "revolve_only": revolve_only,
    "rank_once": rank_once,
    "greedy": greedy,
    "greedy_swap": greedy_swap,
}


class _Loops:
    """The figures of placements with the longest loop reversed one iteration at a time."""

    def __init__(self, tree: CallTree) -> None:
        self._tree = tree
        self.loop = longest(tree)
        self.snapshot = self.loop.snapshot if self.loop else 0
        self._paths: dict[Site, list[str]] = {}
        for path, call in contexts(tree):
            self._paths.setdefault(call.site, []).append(path)

    def profile(self, modes: dict[Site, Mode]) -> tuple[Value, dict[Site, Value]]:
        """Return the figures of a placement, and with each site the other way."""
        given: dict[str, Mode] = {
            path: mode for site, mode in modes.items() for path in self._paths[site]
        }
        return profile(self._tree, given, lambda loop: loop is self.loop)

    def numbers(self, budget: int) -> list[int]:
        """Return numbers of snapshots to try."""
        if self.loop is None or not self.snapshot:
            return [0]
        most = min(self.loop.steps, budget // self.snapshot)
        return sorted({int(slots) for slots in np.linspace(min(1, most), most, 12)})


def _climb(plan: _Loops, free: int, start: Iterable[Site] = ()) -> list[Site]:
    modes: dict[Site, Mode] = dict.fromkeys(start, "split")
    while True:
        base, known = plan.profile(modes)
        moves: list[tuple[bool, float, Site]] = []
        for site, value in known.items():
            gain, more = base.seconds - value.seconds, value.peak - base.peak
            if modes.get(site) == "split":
                continue
            if value.peak <= free and gain > 0:
                moves.append((more > 0, -gain / more if more > 0 else -gain, site))
            elif base.peak > free and more < 0:
                moves.append((False, float(more), site))
        if not moves:
            return list(modes)
        modes[min(moves, key=lambda move: move[:2])[2]] = "split"


def _swapped(plan: _Loops, sites: list[Site], free: int) -> list[Site]:
    """Return the split sites after one pass that exchanges each where that gains time."""
    best, _ = plan.profile(dict.fromkeys(sites, "split"))
    for site in list(sites):
        others = [other for other in sites if other != site]
        _, known = plan.profile(dict.fromkeys(others, "split"))
        fitting = [
            (value.seconds, number, other)
            for number, (other, value) in enumerate(known.items())
            if other not in others and other != site and value.peak <= free
        ]
        if not fitting:
            continue
        tried = _climb(plan, free, [*others, min(fitting)[2]])
        seconds = plan.profile(dict.fromkeys(tried, "split"))[0].seconds
        if seconds < best.seconds:
            sites = tried
            best, _ = plan.profile(dict.fromkeys(sites, "split"))
    return sites


def _best(tree: CallTree, tried: Iterable[tuple[Site, ...]], budget: int, method: str) -> Placement:
    found = [_with(tree, dict.fromkeys(sites, "split"), budget, method) for sites in tried]
    return min(
        found,
        key=lambda one: (not one.fits, one.seconds if one.fits else one.peak_bytes),
    )


def longest(tree: CallTree) -> Loop | None:
    """Return the loop that takes most of a plain run, if there is one."""
    loops = [item for item in distinct(tree.body) if isinstance(item, Loop)]
    return max(loops, key=lambda loop: loop.primal, default=None)


def _with(tree: CallTree, modes: dict[Site, Mode], budget: int, method: str) -> Placement:
    """Return a placement with the given sites split and the longest loop by Revolve."""

    def settled(path: str, call: Call) -> Mode:  # noqa: ARG001 - one signature
        return modes.get(call.site, "joint")

    target = longest(tree)
    if target is None:
        body = made_of(tree.body, settled, "joint", "")
        return describe(tree, body, method, budget=budget)

    def policy(loop: Loop, body: Columns, rest: Columns | None, cap: int) -> LoopSet:
        if loop is target and rest is not None:
            return revolve_set(loop, body, rest, cap)
        return recorded_set(loop, body)

    cap = budget
    while True:
        folder = Folder(cap, settled, policy=policy)
        fold = folder.body(tree.body, held=False)
        row = pick(fold, cap)
        if row is not None:
            return describe(tree, decide(fold, row)[0], method, budget=budget)
        cap = 2 * cap + 1


def swap_from(tree: CallTree, budget: int) -> list[Site]:
    """Return the sites that `greedy_swap` splits."""
    return [site for site in greedy_swap(tree, budget).split if site in tree.sites]
