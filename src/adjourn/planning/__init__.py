"""Costs and a budget in, a plan out: where time axis, call tree and tiers meet."""

from ._choose import least_budget, plan, plan_schedule
from ._costs import Costs, Recording
from ._plan import Candidate, Plan

__all__ = ["Candidate", "Costs", "Plan", "Recording", "least_budget", "plan", "plan_schedule"]
