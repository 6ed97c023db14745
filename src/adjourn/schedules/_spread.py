"""Spread: any schedule of one tier, its least used stack positions on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any, ClassVar, Literal

from .._sizes import as_count
from ..errors import BadValue, WrongType
from ._actions import Action, Drop, Load, Save
from ._schedule import Counts, Reversal, Schedule, schedule_from_json

__all__ = ["Spread", "spread"]


@dataclass(frozen=True, slots=True)
class Spread(Schedule):
    """A schedule over main memory and disk; made by `spread`."""

    family: ClassVar[str] = "spread"
    steps: int
    inner: Schedule
    disk: int
    first: int | None = None
    _tiers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _counts: Counts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Play the inner schedule once, to learn how often each position is used."""
        if not isinstance(self.inner, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"schedule={self.inner!r} is no schedule. Pass one of one tier, such as "
                "revolve(50, 7)."
            )
        object.__setattr__(self, "steps", as_count(self.steps, "steps"))
        object.__setattr__(self, "disk", as_count(self.disk, "disk", least=0))
        if self.first not in (None, 0, 1):
            raise BadValue(f"first={self.first!r} is no tier of two. Pass 0, 1 or None.")
        writes: list[int] = []
        reads: list[int] = []
        for kind, position in _positions(self.inner):
            if position == len(writes):
                writes.append(0)
                reads.append(0)
            if kind is Save:
                writes[position] += 1
            elif kind is Load:
                reads[position] += 1
        used = range(len(writes))
        # Of positions used equally often the lower ones go to disk: they are held longest.
        # The lowest position, which keeps the start, may have its tier already.
        rank = {0: len(used), 1: -1, None: 0}[self.first]
        idle = sorted(used, key=lambda i: (rank * (not i), writes[i] + reads[i], i))[: self.disk]
        tiers = tuple(int(i in idle) for i in used)
        counts = replace(
            self.inner.counts,
            writes=_by_tier(writes, tiers),
            reads=_by_tier(reads, tiers),
            snapshots=_by_tier([1] * len(tiers), tiers),
        )
        object.__setattr__(self, "_tiers", tiers)
        object.__setattr__(self, "_counts", counts)

    @property
    def reversal(self) -> Reversal:
        """As that of the inner schedule."""
        return self.inner.reversal

    @property
    def counts(self) -> Counts:
        """Counts of the inner schedule, snapshots by tier."""
        return self._counts

    @property
    def limits(self) -> tuple[int, ...]:
        """Snapshots in main memory and on disk."""
        return self._counts.snapshots

    def __iter__(self) -> Iterator[Action]:
        tiers = self._tiers
        free: list[int] = []
        where: dict[int, int] = {}
        top = 0
        for action in self.inner:
            if isinstance(action, Save):
                if free:
                    position = heappop(free)
                else:
                    position, top = top, top + 1
                where[action.step] = position
                yield Save(action.step, tiers[position])
            elif isinstance(action, Load):
                yield Load(action.step, tiers[where[action.step]])
            elif isinstance(action, Drop):
                position = where.pop(action.step)
                heappush(free, position)
                yield Drop(action.step, tiers[position])
            else:
                yield action

    def to_json(self) -> dict[str, Any]:
        """Return the schedule as a JSON value."""
        return {
            "family": self.family,
            "steps": self.steps,
            "inner": self.inner.to_json(),
            "disk": self.disk,
            "first": self.first,
        }

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Schedule:
        inner = schedule_from_json(values["inner"])
        return cls(values["steps"], inner, values["disk"], values["first"])


def spread(schedule: Schedule, disk: int, first: Literal[0, 1] | None = None) -> Spread:
    """Return a schedule of one tier with ``disk`` of its snapshots on disk, the least used ones.

    The forward steps are those of the inner schedule. Of all ways to allot its stack positions
    to two tiers, this has the fewest transfers to and from the disk: the idea of Stumm and
    Walther [1]_, for any schedule. Plays the inner schedule once, about a microsecond an action.

    Parameters
    ----------
    schedule : Schedule
        Keeps all its snapshots in tier 0.
    disk : int
        Snapshots that may lie on disk; the others stay in main memory.
    first : {0, 1}, optional
        The tier of the lowest position, which keeps the start, if that is settled.

    Returns
    -------
    Spread
        Tier 0 is main memory, tier 1 the disk.

    Raises
    ------
    WrongType, BadValue
        An argument is no schedule, no count or no tier.

    References
    ----------
    .. [1] P. Stumm and A. Walther, "MultiStage Approaches for Optimal Offline Checkpointing",
       SIAM J. Sci. Comput. 31 (2009) 1946-1967, doi 10.1137/080718036.

    Examples
    --------
    >>> from adjourn.schedules import revolve, spread
    >>> both = spread(revolve(50, 7), 5)
    >>> both.limits, both.advances == revolve(50, 7).advances
    ((2, 5), True)
    """
    return Spread(getattr(schedule, "steps", 1), schedule, disk, first)


def _positions(schedule: Schedule) -> Iterator[tuple[type, int]]:
    """Yield each use of a stack position: the lowest free one is taken."""
    free: list[int] = []
    where: dict[int, int] = {}
    top = 0
    for action in schedule:
        kind = type(action)
        if isinstance(action, Save):
            if free:
                position = heappop(free)
            else:
                position, top = top, top + 1
            where[action.step] = position
            yield kind, position
        elif isinstance(action, Load):
            yield kind, where[action.step]
        elif isinstance(action, Drop):
            heappush(free, where.pop(action.step))


def _by_tier(figures: list[int], tiers: tuple[int, ...]) -> tuple[int, int]:
    total = [0, 0]
    for figure, tier in zip(figures, tiers, strict=True):
        total[tier] += figure
    return total[0], total[1]
