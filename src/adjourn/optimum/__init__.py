"""The recurrences and Pareto sets of the theory as pure functions on numbers."""

from ._binomial import binomial, repetitions, revolve_advances
from ._loops import LoopTable, loop_options, loop_table
from ._menu import Option
from ._tables import Choice, StepTable, step_table

__all__ = [
    "Choice",
    "LoopTable",
    "Option",
    "StepTable",
    "binomial",
    "loop_options",
    "loop_table",
    "repetitions",
    "revolve_advances",
    "step_table",
]
