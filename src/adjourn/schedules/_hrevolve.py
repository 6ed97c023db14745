"""H-Revolve and Disk-Revolve: optimal over several levels of storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

from .._sizes import as_count
from ..errors import BadValue, WrongType
from ..optimum._levels import LevelTable, level_table
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._binomial import split
from ._checks import as_cost, refuse_unplannable
from ._grammar import Body, Part, Planned, grow
from ._schedule import Reversal

__all__ = ["HRevolve", "Level", "LevelBodies", "hrevolve"]

Stored: TypeAlias = tuple[int, ...]  # level, slots, steps; 1 more at the very first step


class Level(NamedTuple):
    """A level of storage: how many snapshots it holds, and what one costs.

    Attributes
    ----------
    slots : int or None
        Snapshots that may be held at once; None for no limit.
    write, read : float
        Cost of one write and one read, in the unit of the cost of an advance.
    """

    slots: int | None
    write: float = 0.0
    read: float = 0.0


@dataclass(frozen=True, slots=True)
class HRevolve(Planned):
    """Optimal over any number of levels of storage; made by `hrevolve`."""

    family: ClassVar[str] = "hrevolve"
    steps: int
    levels: tuple[Level, ...]
    advance: float = 1.0
    first: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters and plan."""
        steps = as_count(self.steps, "steps")
        advance = as_cost(self.advance, "advance", zero=False)
        levels = as_levels(self.levels)
        first = None if self.first is None else as_cost(self.first, "first")
        if first is not None and first > advance:
            raise BadValue(
                f"first={first} is more than advance={advance}, and only a cheaper first step can "
                "be told apart. Pass first=None, or uneven() for costs that differ."
            )
        table = _table(steps, levels, advance, first)
        free = levels[0].write == levels[0].read == 0 and levels[0].slots is not None
        bodies = LevelBodies(table, binomial=free)
        top = len(levels) - 1
        start = bool(table.saved)
        rules = grow(bodies.live(top, table.slots[top], steps, 0, start=start), bodies.stored)
        self._settle(rules, len(levels), steps=steps, levels=levels, advance=advance, first=first)

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots of each level; what is held at most where there is no limit."""
        held = self.counts.snapshots
        return tuple(
            most if level.slots is None else level.slots
            for level, most in zip(self.levels, held, strict=True)
        )


def hrevolve(
    steps: int,
    levels: Sequence[Level | Sequence[float | None]],
    advance: float = 1.0,
    *,
    first: float | None = None,
) -> HRevolve:
    """Return the optimal schedule for any number of levels of storage.

    The cost of advances, writes and reads together is least among all schedules that keep
    snapshots in these levels and record each step just before its reverse; recording and
    reversing cost the same in all of them. Planning takes O(n^2 sum of slots) operations
    (0.2 s for 4000 steps in 10 + 10 slots) and 16 n (sum of slots) bytes; more than 1 GiB or
    about two minutes is refused at once. Each snapshot is dropped before its level is asked
    for more than it holds, and as soon as nothing will read it again.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    levels : sequence of Level or of (slots, write, read)
        Fastest level first; its number in the list is its tier. ``slots=None``: no limit.
    advance : float
        Cost of one forward step, in the unit of the writes and reads.
    first : float, optional
        Cost of the very first step, where it is less: a short first block of a window. With
        several levels the schedule is then the best of those that use a slower level only for
        snapshots below all those of faster ones, and in rare cases (1 in 250) 1% above the
        optimum.

    Raises
    ------
    BadValue, WrongType
        A parameter cannot be used, no level has a slot, or planning would not fit in memory.

    References
    ----------
    .. [1] J. Herrmann and G. Pallez, "H-Revolve: a framework for adjoint computation on
       synchronous hierarchical platforms", ACM TOMS 46 (2020), doi 10.1145/3378672.

    Examples
    --------
    >>> schedule = hrevolve(100, [Level(5), Level(10, write=2, read=2)])
    >>> schedule.cost(record=0, write=(0, 2), read=(0, 2))
    242.0
    >>> schedule.counts.snapshots
    (5, 10)
    """
    return HRevolve(steps, cast("tuple[Level, ...]", levels), advance, first)


def as_levels(levels: object) -> tuple[Level, ...]:
    """Return the levels with their numbers checked."""
    if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
        raise WrongType(
            f"levels={levels!r} is no list of levels. "
            "Pass levels=[(slots, write, read), ...], fastest first."
        )
    checked: list[Level] = []
    for tier, level in enumerate(cast("Sequence[Any]", levels)):
        parts = cast("Sequence[Any]", level)
        if isinstance(level, str) or not isinstance(level, Sequence) or not 1 <= len(parts) <= 3:
            raise WrongType(f"levels[{tier}]={level!r} is no level. Pass (slots, write, read).")
        slots, write, read = Level(*parts)
        checked.append(
            Level(
                None if slots is None else as_count(slots, f"levels[{tier}].slots", least=0),
                as_cost(write, f"levels[{tier}].write"),
                as_cost(read, f"levels[{tier}].read"),
            )
        )
    return tuple(checked)


def _table(
    steps: int, levels: tuple[Level, ...], advance: float, first: float | None
) -> LevelTable:
    if steps > 1 and all(level.slots == 0 for level in levels):
        raise BadValue(
            f"levels={levels!r} have no slot, and {steps} steps need the initial state kept. "
            "Give one of the levels a slot."
        )
    slots = [1 if level.slots is None else min(level.slots, steps) for level in levels]
    closed = slots[0] if levels[0].write == levels[0].read == 0 and first is None else 0
    refuse_unplannable(
        f"hrevolve of {steps} steps in {sum(slots)} slots",
        cells=(steps + 1) * (5 * (sum(slots) + len(levels)) - 4 * closed),
        work=steps * steps * (sum(slots) - closed) // 2,
        instead="Take periodic() or multistage(), which need no tables, or fewer, longer steps.",
    )
    return level_table(steps, levels, advance, first)


class LevelBodies:
    """What to do in each sub-problem of a `LevelTable`, for `grow`.

    A sub-problem is (level, slots, steps), its start state stored at that level and live; one
    that begins with the very first step, where that is cheaper, has a fourth number.
    ``binomial``: level 0 costs nothing, and of its best splits the one with fewest writes is
    taken.
    """

    def __init__(self, table: LevelTable, *, binomial: bool) -> None:
        self._table = table
        self._binomial = binomial
        self._most = table.slots

    def live(
        self, level: int, slots: int, steps: int, at: int, *, start: bool = False
    ) -> list[Action | Part]:
        """Return what to do with a live start state at ``at`` that is not stored."""
        if steps == 1:
            return [Record(at, at + 1), Reverse(at, at + 1)]
        while not self._table.stores(level, slots, steps, start=start):
            level -= 1
            slots = self._most[level]
        key = (level, slots, steps, 1) if start else (level, slots, steps)
        return [Save(at, level), Part(key, at)]

    def stored(self, key: Stored) -> Body:
        """Return what to do in a sub-problem, its start at 0."""
        level, slots, steps, *begins = key
        start = bool(begins)
        if level == 0 and self._binomial and not start:
            span = split(steps, slots)
        else:
            span = self._table.split(level, slots, steps, start=start)
        if span == 0:
            below = self._most[level - 1]
            return [Drop(0, level), *self.live(level - 1, below, steps, 0, start=start)]
        rest = self.live(level, self._table.fewer(level, slots), steps - span, span)
        head = self.kept(level, slots, span, start=start)
        return [Advance(0, span), *rest, Load(0, level), *head]

    @staticmethod
    def kept(level: int, slots: int, steps: int, *, start: bool = False) -> list[Action | Part]:
        """Return what to do with a live start state at 0 that is stored."""
        if steps == 1:
            return [Drop(0, level), Record(0, 1), Reverse(0, 1)]
        return [Part((level, slots, steps, 1) if start else (level, slots, steps), 0)]
