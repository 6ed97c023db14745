"""Exact gradients of long simulations inside a memory budget stated in bytes."""

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
from .problem import Problem, Window

__version__ = "0.1.0"

__all__ = [
    "AdjournError",
    "BadValue",
    "BudgetTooSmall",
    "CorruptSnapshot",
    "DiskFull",
    "LawBroken",
    "MissingExtra",
    "NotSupported",
    "Problem",
    "ProblemFailed",
    "ScheduleError",
    "Window",
    "WrongType",
]
