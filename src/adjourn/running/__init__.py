"""Measuring problems and playing plans on them."""

from ._executor import Executor
from ._measure import measure
from ._record import RunRecord, Verb
from ._run import run

__all__ = ["Executor", "RunRecord", "Verb", "measure", "run"]
