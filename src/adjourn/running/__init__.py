"""Measuring problems and playing plans on them."""

from ._directory import StaleRun, clean, find_runs
from ._executor import Executor
from ._measure import measure
from ._record import RunRecord, TierUse, Verb
from ._resume import resume
from ._run import run
from ._storage import Storage
from ._until import run_until

__all__ = [
    "Executor",
    "RunRecord",
    "StaleRun",
    "Storage",
    "TierUse",
    "Verb",
    "clean",
    "find_runs",
    "measure",
    "resume",
    "run",
    "run_until",
]
