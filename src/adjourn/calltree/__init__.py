"""The call tree of an adjoint: as data, what-if, exact placement with loops, baselines."""

from ._made import Holding
from ._place import Curve, curve, place, what_if
from ._placement import LoopPlan, Placement, Recorded
from ._tree import Call, CallTree, Leaf, Loop, Repeat

__all__ = [
    "Call",
    "CallTree",
    "Curve",
    "Holding",
    "Leaf",
    "Loop",
    "LoopPlan",
    "Placement",
    "Recorded",
    "Repeat",
    "curve",
    "place",
    "what_if",
]
