"""Every schedule family, and the actions they are made of; pure, no arrays, no I/O."""

from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._hrevolve import HRevolve, Level, hrevolve
from ._multistage import Multistage, multistage
from ._revolve import Revolve, revolve
from ._rules import Composed, Rule, Use
from ._schedule import Counts, Reversal, Schedule, schedule_from_json
from ._trivial import StoreAll, StoreNothing, store_all, store_nothing
from ._window import Segments, Window, segments, window

__all__ = [
    "Action",
    "Advance",
    "Composed",
    "Counts",
    "Drop",
    "HRevolve",
    "Level",
    "Load",
    "Multistage",
    "Record",
    "Reversal",
    "Reverse",
    "Revolve",
    "Rule",
    "Save",
    "Schedule",
    "Segments",
    "StoreAll",
    "StoreNothing",
    "Turn",
    "Use",
    "Window",
    "hrevolve",
    "multistage",
    "revolve",
    "schedule_from_json",
    "segments",
    "store_all",
    "store_nothing",
    "window",
]
