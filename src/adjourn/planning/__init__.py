"""Costs and a budget in, a plan out: where time axis, call tree and tiers meet."""

from ._choose import least_budget, plan, plan_schedule
from ._costs import Costs, Encoding, Recording
from ._curve import Curve, CurvePoint, FamilyCurve, curve
from ._plan import Candidate, Plan

__all__ = [
    "Candidate",
    "Costs",
    "Curve",
    "CurvePoint",
    "Encoding",
    "FamilyCurve",
    "Plan",
    "Recording",
    "curve",
    "least_budget",
    "plan",
    "plan_schedule",
]
