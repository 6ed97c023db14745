"""The two schedules without snapshots: record everything, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ._actions import Action, Advance, Record, Reverse, Turn
from ._checks import keep_counts
from ._schedule import Counts, Reversal, Schedule

__all__ = ["StoreAll", "StoreNothing", "store_all", "store_nothing"]


@dataclass(frozen=True, slots=True)
class StoreAll(Schedule):
    """Record every step in the first sweep; made by `store_all`."""

    family: ClassVar[str] = "store_all"
    steps: int

    def __post_init__(self) -> None:
        """Check the number of steps."""
        keep_counts(self, steps="steps")

    @property
    def reversal(self) -> Reversal:
        """Recordings lie in one window."""
        return "retape"

    @property
    def counts(self) -> Counts:
        """As many recorded steps as steps, no snapshots."""
        return Counts(0, self.steps, self.steps, recorded=self.steps)

    @property
    def limits(self) -> tuple[int, ...]:
        """No snapshots."""
        return (0,)

    def __iter__(self) -> Iterator[Action]:
        yield Record(0, self.steps)
        yield Turn()
        yield Reverse(0, self.steps)


@dataclass(frozen=True, slots=True)
class StoreNothing(Schedule):
    """Advance, turn, reverse; made by `store_nothing`."""

    family: ClassVar[str] = "store_nothing"
    steps: int

    def __post_init__(self) -> None:
        """Check the number of steps."""
        keep_counts(self, steps="steps")

    @property
    def reversal(self) -> Reversal:
        """The reverse reads nothing."""
        return "nothing"

    @property
    def counts(self) -> Counts:
        """One forward sweep, one reverse sweep."""
        return Counts(self.steps, 0, self.steps)

    @property
    def limits(self) -> tuple[int, ...]:
        """No snapshots."""
        return (0,)

    def __iter__(self) -> Iterator[Action]:
        yield Advance(0, self.steps)
        yield Turn()
        yield Reverse(0, self.steps)


def store_all(steps: int) -> StoreAll:
    """Return the schedule that records every step: the fastest, where it fits.

    Takes ``steps`` forward steps, all recorded, in a window of ``steps`` recorded steps, and no
    snapshots.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.

    Raises
    ------
    WrongType, BadValue
        ``steps`` is not an integer, or below 1.

    Examples
    --------
    >>> list(store_all(3))
    [Record(start=0, stop=3, option=0), Turn(), Reverse(start=0, stop=3)]
    """
    return StoreAll(steps)


def store_nothing(steps: int) -> StoreNothing:
    """Return the schedule of a linear problem whose reverse reads nothing of the forward run.

    Takes ``steps`` forward steps and no storage at all.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.

    Raises
    ------
    WrongType, BadValue
        ``steps`` is not an integer, or below 1.

    Examples
    --------
    >>> list(store_nothing(3))
    [Advance(start=0, stop=3), Turn(), Reverse(start=0, stop=3)]
    """
    return StoreNothing(steps)
