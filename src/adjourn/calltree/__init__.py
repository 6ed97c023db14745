"""The call tree of an adjoint: as data, what-if, exact placement with loops, baselines."""

from ._baselines import (
    BASELINES,
    all_joint,
    all_split,
    greedy,
    greedy_swap,
    rank_once,
    revolve_only,
)
from ._curve import Curve, curve
from ._deltas import Delta, deltas
from ._made import Holding
from ._merge import merge
from ._place import place
from ._placement import LoopPlan, Placement, Recorded
from ._recorder import Recorder
from ._report import SiteRow, compared, curve_text, placement_report, site_rows
from ._shares import Share, shares, speedscope
from ._text import tree_text
from ._tree import Call, CallTree, Leaf, Loop, Repeat
from ._what_if import what_if

__all__ = [
    "BASELINES",
    "Call",
    "CallTree",
    "Curve",
    "Delta",
    "Holding",
    "Leaf",
    "Loop",
    "LoopPlan",
    "Placement",
    "Recorded",
    "Recorder",
    "Repeat",
    "Share",
    "SiteRow",
    "all_joint",
    "all_split",
    "compared",
    "curve",
    "curve_text",
    "deltas",
    "greedy",
    "greedy_swap",
    "merge",
    "place",
    "placement_report",
    "rank_once",
    "revolve_only",
    "shares",
    "site_rows",
    "speedscope",
    "tree_text",
    "what_if",
]
