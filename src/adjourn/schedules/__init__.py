"""Every schedule family, and the actions they are made of; pure, no arrays, no I/O."""

from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._asynchronous import Asynchronous, asynchronous
from ._blocked import Blocked, blocked
from ._disk_revolve import DiskRevolve, disk_revolve
from ._hrevolve import HRevolve, Level, hrevolve
from ._listed import Listed, listed
from ._mixed import Mixed, mixed
from ._multistage import Multistage, multistage
from ._online import Driver, Online, OnlineSchedule, online
from ._online_disk import OnlineDisk, OnlineDiskSchedule
from ._optimal import Optimal, OptimalSearch, Optimum, optimal
from ._periodic import Periodic, periodic
from ._repeated import Repeated, repeated
from ._revolve import Revolve, revolve
from ._rules import Composed, Rule, Use
from ._schedule import Counts, Reversal, Schedule, schedule_from_json
from ._spread import Spread, spread
from ._stages import Stages, stages
from ._trivial import StoreAll, StoreNothing, store_all, store_nothing
from ._uneven import Uneven, uneven
from ._window import Segments, Window, segments, window

__all__ = [
    "Action",
    "Advance",
    "Asynchronous",
    "Blocked",
    "Composed",
    "Counts",
    "DiskRevolve",
    "Driver",
    "Drop",
    "HRevolve",
    "Level",
    "Listed",
    "Load",
    "Mixed",
    "Multistage",
    "Online",
    "OnlineDisk",
    "OnlineDiskSchedule",
    "OnlineSchedule",
    "Optimal",
    "OptimalSearch",
    "Optimum",
    "Periodic",
    "Record",
    "Repeated",
    "Reversal",
    "Reverse",
    "Revolve",
    "Rule",
    "Save",
    "Schedule",
    "Segments",
    "Spread",
    "Stages",
    "StoreAll",
    "StoreNothing",
    "Turn",
    "Uneven",
    "Use",
    "Window",
    "asynchronous",
    "blocked",
    "disk_revolve",
    "hrevolve",
    "listed",
    "mixed",
    "multistage",
    "online",
    "optimal",
    "periodic",
    "repeated",
    "revolve",
    "schedule_from_json",
    "segments",
    "spread",
    "stages",
    "store_all",
    "store_nothing",
    "uneven",
    "window",
]
