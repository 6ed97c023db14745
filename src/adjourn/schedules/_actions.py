"""The vocabulary of every schedule: seven immutable actions on half-open step ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Action", "Advance", "Drop", "Load", "Record", "Reverse", "Save", "Turn"]


@dataclass(frozen=True, slots=True)
class Advance:
    """Run the forward model over [start, stop), leaving nothing behind."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Record:
    """Run the forward model over [start, stop), leaving it reversible.

    ``option`` is the index into the problem's menu of recordings.
    """

    start: int
    stop: int
    option: int = 0


@dataclass(frozen=True, slots=True)
class Save:
    """Keep the live state, which is at ``step``, as a snapshot in tier number ``tier``."""

    step: int
    tier: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """Make the snapshot of ``step`` in tier number ``tier`` the live state; it stays kept."""

    step: int
    tier: int = 0


@dataclass(frozen=True, slots=True)
class Drop:
    """Give the snapshot of ``step`` in tier number ``tier`` up."""

    step: int
    tier: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """The moment between the forward and the reverse sweep."""


@dataclass(frozen=True, slots=True)
class Reverse:
    """Run the adjoint over [start, stop) from the top, consuming its recording."""

    start: int
    stop: int


Action: TypeAlias = Advance | Record | Save | Load | Drop | Turn | Reverse
