"""The recurrences and Pareto sets of the theory as pure functions on numbers."""

from ._binomial import binomial, repetitions, revolve_advances
from ._bound import lower_bound
from ._layers import Layer
from ._loops import LoopTable, loop_options, loop_table
from ._menu import Option
from ._search import Effort, Found, Search, least_bytes
from ._tables import Choice, StepTable, step_table

__all__ = [
    "Choice",
    "Effort",
    "Found",
    "Layer",
    "LoopTable",
    "Option",
    "Search",
    "StepTable",
    "binomial",
    "least_bytes",
    "loop_options",
    "loop_table",
    "lower_bound",
    "repetitions",
    "revolve_advances",
    "step_table",
]
