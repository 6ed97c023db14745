"""Schedules for a fixed window of recorded steps: plain segments, and Revolve on blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._binomial import BinomialBlocks
from ._checks import keep_counts

__all__ = ["Segments", "Window", "segments", "window"]


@dataclass(frozen=True, slots=True)
class Segments(BinomialBlocks):
    """One snapshot a segment; made by `segments`."""

    family: ClassVar[str] = "segments"
    steps: int
    length: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        keep_counts(self, steps="steps", length="length")

    @property
    def block(self) -> int:
        """Steps of a segment, but perhaps the first."""
        return self.length

    @property
    def capacity(self) -> int:
        """One snapshot for each segment but the last."""
        return max(self.blocks - 1, 1)


@dataclass(frozen=True, slots=True)
class Window(BinomialBlocks):
    """Binomial checkpointing of blocks that fill a fixed window; made by `window`."""

    family: ClassVar[str] = "window"
    steps: int
    length: int
    snapshots: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        keep_counts(self, steps="steps", length="length", snapshots="slots")

    @property
    def block(self) -> int:
        """Steps of a block, but perhaps the first."""
        return self.length

    @property
    def capacity(self) -> int:
        """Snapshots that may be held at once."""
        return self.snapshots


def segments(steps: int, length: int) -> Segments:
    """Return the schedule that keeps a snapshot at the start of each segment.

    The first sweep saves ceil(n / k) - 1 snapshots and records the last segment; each other
    segment is then loaded and run again, recording. Takes 2 n - k forward steps. The first
    segment is the short one, so that the recorded last one is full. With ``length >= steps`` it
    stores everything.

    Parameters
    ----------
    steps : int
        Number of steps n, 1 or more.
    length : int
        Steps k of a segment, 1 or more: the recorded steps the window holds.

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, or below 1.

    Examples
    --------
    >>> schedule = segments(10, 4)
    >>> schedule.forward_steps, schedule.slots
    (16, 2)
    """
    return Segments(steps, length)


def window(steps: int, length: int, slots: int) -> Window:
    """Return the optimal schedule for a window of ``length`` steps and ``slots`` snapshots.

    The window is a fixed buffer (Devito's ring) which any advance overwrites. Revolve on
    ceil(n / k) blocks, the short one first, takes W(n, s) forward steps, the
    optimum over all schedules for such a problem: equal to exhaustive search on small cases.

    Parameters
    ----------
    steps : int
        Number of steps n, 1 or more.
    length : int
        Recorded steps k that fit the window, 1 or more.
    slots : int
        Snapshots s held at once, the initial state's included, 1 or more.

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, or below 1.

    Examples
    --------
    >>> window(9, 2, 2).forward_steps, window(5, 2, 2).forward_steps
    (19, 8)
    """
    return Window(steps, length, slots)
