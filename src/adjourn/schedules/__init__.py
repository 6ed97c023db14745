"""Every schedule family, and the actions they are made of; pure, no arrays, no I/O."""

from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._rules import Composed, Rule, Use
from ._schedule import Counts, Reversal, Schedule, schedule_from_json

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
    "Rule",
    "Save",
    "Schedule",
    "Turn",
    "Use",
    "schedule_from_json",
]
