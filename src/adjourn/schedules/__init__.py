"""Every schedule family, and the actions they are made of; pure, no arrays, no I/O."""

from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
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
    "Load",
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
    "revolve",
    "schedule_from_json",
    "segments",
    "store_all",
    "store_nothing",
    "window",
]
