"""Exact gradients of long simulations inside a memory budget stated in bytes."""

from .checker import Check, check
from .errors import (
    AdjournError,
    BadValue,
    BudgetTooSmall,
    CorruptSnapshot,
    DiskFull,
    LawBroken,
    MissingExtra,
    NotSupported,
    ProblemFailed,
    ScheduleError,
    WrongType,
)
from .planning import Candidate, Costs, Plan, Recording, plan
from .problem import Problem, Window
from .running import RunRecord, measure, run
from .schedules import Schedule, revolve, segments, store_all, store_nothing, window

__version__ = "0.1.0"

__all__ = [
    "AdjournError",
    "BadValue",
    "BudgetTooSmall",
    "Candidate",
    "Check",
    "CorruptSnapshot",
    "Costs",
    "DiskFull",
    "LawBroken",
    "MissingExtra",
    "NotSupported",
    "Plan",
    "Problem",
    "ProblemFailed",
    "Recording",
    "RunRecord",
    "Schedule",
    "ScheduleError",
    "Window",
    "WrongType",
    "check",
    "measure",
    "plan",
    "revolve",
    "run",
    "segments",
    "store_all",
    "store_nothing",
    "window",
]
