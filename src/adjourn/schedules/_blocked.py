"""Any schedule of single steps, played on blocks of steps that fill a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from ..errors import BadValue, WrongType
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._checks import keep_counts
from ._schedule import Counts, Reversal, Schedule

__all__ = ["Blocked", "blocked"]


@dataclass(frozen=True, slots=True)
class Blocked(Schedule):
    """A schedule whose steps are blocks of steps; made by `blocked`."""

    family: ClassVar[str] = "blocked"
    inner: Schedule
    steps: int
    length: int

    def __post_init__(self) -> None:
        """Check that the blocks are the steps of the inner schedule."""
        keep_counts(self, steps="steps", length="length")
        inner, blocks = self.inner, -(-self.steps // self.length)
        if not isinstance(inner, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"inner={inner!r} is no schedule. Pass one of {blocks} steps.")
        if inner.steps != blocks or inner.reversal != "retape":
            raise BadValue(
                f"inner reverses {inner.steps} steps ({inner.reversal}), and {self.steps} steps "
                f"make {blocks} blocks of {self.length}. Pass a schedule of {blocks} steps that "
                "records each just before its reverse."
            )

    @property
    def reversal(self) -> Reversal:
        """Recordings lie in one window."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The limits of the schedule of blocks."""
        return self.inner.limits

    @property
    def counts(self) -> Counts:
        """The counts of the schedule of blocks in steps; costs one pass over it, once."""
        return _counts(self)

    def __iter__(self) -> Iterator[Action]:
        length = self.length
        offset = self.steps - self.inner.steps * length  # block b > 0 starts at offset + b length
        for action in self.inner:
            match action:
                case Advance(start, stop):
                    yield Advance(start and offset + start * length, offset + stop * length)
                case Record(start, stop, option):
                    yield Record(start and offset + start * length, offset + stop * length, option)
                case Reverse(start, stop):
                    yield Reverse(start and offset + start * length, offset + stop * length)
                case Save(step, tier):
                    yield Save(step and offset + step * length, tier)
                case Load(step, tier):
                    yield Load(step and offset + step * length, tier)
                case Drop(step, tier):
                    yield Drop(step and offset + step * length, tier)
                case Turn():
                    yield action

    def to_json(self) -> dict[str, Any]:
        """Return the schedule as a JSON value."""
        return {
            "family": self.family,
            "inner": self.inner.to_json(),
            "steps": self.steps,
            "length": self.length,
        }

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Schedule:
        return cls(Schedule.from_json(values["inner"]), values["steps"], values["length"])


@lru_cache(maxsize=64)
def _counts(schedule: Blocked) -> Counts:
    inner, length = schedule.inner.counts, schedule.length
    first = schedule.inner.restarts
    short = schedule.inner.steps * length - schedule.steps
    return Counts(
        advances=inner.advances * length - first * short,
        records=schedule.steps,
        reverses=schedule.steps,
        writes=inner.writes,
        reads=inner.reads,
        snapshots=inner.snapshots,
        recorded=min(length, schedule.steps),
    )


def blocked(inner: Schedule, steps: int, length: int) -> Blocked:
    """Return a schedule of single steps played on blocks of ``length`` steps, the first short.

    A block is recorded into the window and reversed at once. Takes ``length`` times the plain
    advances of the inner schedule, less what the short first block saves, and as many writes
    and reads.

    Parameters
    ----------
    inner : Schedule
        A schedule of ceil(steps / length) single steps, each recorded just before its reverse.
    steps : int
        Number of steps, 1 or more.
    length : int
        Steps of a block, 1 or more.

    Raises
    ------
    WrongType, BadValue
        A number cannot be used, or the inner schedule is of another kind or length.

    Examples
    --------
    >>> from adjourn.schedules import revolve, window
    >>> blocked(revolve(5, 2), 10, 2).forward_steps == window(10, 2, 2).forward_steps
    True
    """
    return Blocked(inner, steps, length)
