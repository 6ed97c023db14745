"""Exact gradients of long simulations inside a memory budget stated in bytes.

Names are imported when they are first used, so that ``import adjourn`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calltree import (
        CallTree,
        Placement,
        place,
    )
    from .checker import (
        Check,
        check,
        check_sweeps,
    )
    from .errors import (
        AdjournError,
        BadFile,
        BadValue,
        BudgetTooSmall,
        CorruptSnapshot,
        DirectoryBusy,
        DiskFull,
        LawBroken,
        MissingExtra,
        NotFinite,
        NotSupported,
        ProblemFailed,
        ScheduleError,
        StorageFailed,
        TierFull,
        WrongLedger,
        WrongType,
    )
    from .planning import (
        Candidate,
        Costs,
        Curve,
        Plan,
        Recording,
        curve,
        plan,
    )
    from .problem import (
        Problem,
        Window,
    )
    from .running import (
        RunRecord,
        Storage,
        clean,
        measure,
        resume,
        run,
        run_until,
    )
    from .schedules import (
        Level,
        Schedule,
        asynchronous,
        disk_revolve,
        hrevolve,
        listed,
        mixed,
        multistage,
        online,
        optimal,
        periodic,
        repeated,
        revolve,
        segments,
        spread,
        stages,
        store_all,
        store_nothing,
        uneven,
        window,
    )
    from .tiers import (
        Tier,
    )

__version__ = "0.1.0"

__all__ = [
    "AdjournError",
    "BadFile",
    "BadValue",
    "BudgetTooSmall",
    "CallTree",
    "Candidate",
    "Check",
    "CorruptSnapshot",
    "Costs",
    "Curve",
    "DirectoryBusy",
    "DiskFull",
    "LawBroken",
    "Level",
    "MissingExtra",
    "NotFinite",
    "NotSupported",
    "Placement",
    "Plan",
    "Problem",
    "ProblemFailed",
    "Recording",
    "RunRecord",
    "Schedule",
    "ScheduleError",
    "Storage",
    "StorageFailed",
    "Tier",
    "TierFull",
    "Window",
    "WrongLedger",
    "WrongType",
    "asynchronous",
    "check",
    "check_sweeps",
    "clean",
    "curve",
    "disk_revolve",
    "hrevolve",
    "listed",
    "measure",
    "mixed",
    "multistage",
    "online",
    "optimal",
    "periodic",
    "place",
    "plan",
    "repeated",
    "resume",
    "revolve",
    "run",
    "run_until",
    "segments",
    "spread",
    "stages",
    "store_all",
    "store_nothing",
    "uneven",
    "window",
]

_ROOMS = {
    "calltree": "CallTree Placement place",
    "checker": "Check check check_sweeps",
    "errors": "AdjournError BadFile BadValue BudgetTooSmall CorruptSnapshot DirectoryBusy "
    "DiskFull LawBroken MissingExtra NotFinite NotSupported ProblemFailed "
    "ScheduleError StorageFailed TierFull WrongLedger WrongType",
    "planning": "Candidate Costs Curve Plan Recording curve plan",
    "problem": "Problem Window",
    "running": "RunRecord Storage clean measure resume run run_until",
    "schedules": "Level Schedule asynchronous disk_revolve hrevolve listed mixed multistage "
    "online optimal periodic repeated revolve segments spread stages store_all "
    "store_nothing uneven window",
    "tiers": "Tier",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}
_SUBMODULES = ("models", "optimum", "reports", "testing", *_ROOMS)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{room}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
