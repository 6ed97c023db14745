"""The errors of adjourn: one root, each also a builtin kind.

Every message has three parts: what was asked, what is so, what to do.
"""

from __future__ import annotations

__all__ = [
    "AdjournError",
    "BadFile",
    "BadValue",
    "BudgetTooSmall",
    "CorruptSnapshot",
    "DirectoryBusy",
    "DiskFull",
    "LawBroken",
    "MissingExtra",
    "NotFinite",
    "NotSupported",
    "ProblemFailed",
    "ScheduleError",
    "StorageFailed",
    "TierFull",
    "WrongLedger",
    "WrongType",
]


class AdjournError(Exception):
    """The root of every error raised by adjourn."""


class BadValue(AdjournError, ValueError):
    """An argument has the right type and a value that cannot be used."""


class WrongType(AdjournError, TypeError):
    """An argument has a type that cannot be used."""


class BudgetTooSmall(AdjournError, ValueError):
    """The budget cannot hold what any plan needs.

    Parameters
    ----------
    message : str
        What was asked, what is so, what to do.
    least : int or None
        The least budget in bytes that would work, where it is known.
    """

    def __init__(self, message: str, least: int | None = None) -> None:
        super().__init__(message)
        self.least = least


class ScheduleError(AdjournError, ValueError):
    """A schedule breaks a rule; the message names the action and the rule.

    Parameters
    ----------
    message : str
        The rule, the state of the machine and the action.
    index : int or None
        Position of the offending action in the schedule, from 0.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


class LawBroken(AdjournError, RuntimeError):
    """A problem breaks one of the laws of the protocol.

    Parameters
    ----------
    law : str
        The short name of the law.
    message : str
        What was seen, and where.
    """

    def __init__(self, law: str, message: str) -> None:
        super().__init__(f"law {law!r} is broken: {message}")
        self.law = law


class ProblemFailed(AdjournError, RuntimeError):
    """The user's problem raised during a run; the cause is chained."""


class NotSupported(AdjournError, NotImplementedError):
    """The combination asked for has no meaning here."""


class MissingExtra(AdjournError, ImportError):
    """An optional part needs a package that is not installed."""


class DiskFull(AdjournError, OSError):
    """The disk cannot hold what the plan needs.

    Parameters
    ----------
    message : str
        What was asked, what is so, what to do.
    needed, free : int or None
        Bytes needed, and bytes that were free.
    """

    def __init__(self, message: str, needed: int | None = None, free: int | None = None) -> None:
        super().__init__(message)
        self.errno = 28  # ENOSPC
        self.needed = needed
        self.free = free


class CorruptSnapshot(AdjournError, OSError):
    """A snapshot read back differs from what was written.

    Parameters
    ----------
    message : str
        File, slot, step and what differs.
    step : int or None
        The step of the snapshot that was asked for.
    """

    def __init__(self, message: str, step: int | None = None) -> None:
        super().__init__(message)
        self.step = step


class TierFull(AdjournError, MemoryError):
    """A snapshot does not fit in what is free of its tier: it compressed less well than planned."""


class StorageFailed(AdjournError, OSError):
    """The system failed to write or read; the message names the file and what was meant.

    Parameters
    ----------
    message : str
        What was asked, what is so, what to do.
    errno : int or None
        The system's number for what went wrong.
    """

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class DirectoryBusy(AdjournError, BlockingIOError):
    """Another process runs in the directory; the message names its pid and host."""


class WrongLedger(AdjournError, ValueError):
    """The directory belongs to another problem, plan or version; the message says which."""


class NotFinite(AdjournError, ArithmeticError):
    """A simulation left the finite numbers; the message names the field and the step."""


class BadFile(AdjournError, OSError):
    """A file is missing, or does not hold what it should; the message names it."""
