"""An unknown number of steps over RAM and a disk: periodic writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from .._sizes import as_count
from ..optimum._period import best_period
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._checks import as_cost, keep_counts
from ._disk_blocks import DiskBlocks
from ._grammar import Part, Planned
from ._rules import Composed, Rule
from ._schedule import Reversal

__all__ = ["OnlineDisk", "OnlineDiskSchedule"]


@dataclass(frozen=True, slots=True)
class OnlineDisk:
    """How to reverse an unknown number of steps in RAM and on disk; made by `online`."""

    slots: int
    write: float = 2.0
    read: float = 2.0
    advance: float = 1.0

    @property
    def period(self) -> int:
        """Steps between writes to disk."""
        return best_period(self.slots, self.write, self.read, self.advance)

    def start(self) -> _DiskDriver:
        """Return a driver for one run."""
        return _DiskDriver(self)

    def schedule(self, steps: int, *, announced: bool = False) -> OnlineDiskSchedule:
        """Return the schedule that a run of ``steps`` steps turns out to be."""
        return OnlineDiskSchedule(steps, self.slots, self.write, self.read, self.advance, announced)


@dataclass(frozen=True, slots=True)
class OnlineDiskSchedule(Planned):
    """What an online run with a disk turned out to be, as a schedule."""

    family: ClassVar[str] = "online_disk"
    steps: int
    ram: int
    write: float = 2.0
    read: float = 2.0
    advance: float = 1.0
    announced: bool = False

    def __post_init__(self) -> None:
        """Write the rules of the whole run."""
        keep_counts(self, steps="steps")
        policy = OnlineDisk(
            as_count(self.ram, "slots", least=0),
            as_cost(self.write, "write"),
            as_cost(self.read, "read"),
            as_cost(self.advance, "advance", zero=False),
        )
        rules = _back(_blocks(policy), self.steps, announced=self.announced, forward=True)
        self._settle(rules, 2)

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots in RAM, and what is held at most on disk."""
        return (self.ram, self.counts.snapshots[1])


class _Reversal(Composed):
    """The part of an online run after its number of steps is known."""

    __slots__ = ("_rules",)

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    @property
    def reversal(self) -> Reversal:
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        return (0, 0)


class _DiskDriver:
    """The driver of an `OnlineDisk` run."""

    def __init__(self, policy: OnlineDisk) -> None:
        self._blocks = _blocks(policy)
        self._due = 0

    @property
    def due(self) -> int:
        return self._due

    def forward(self, step: int) -> list[Action]:
        if step != self._due:
            return []
        self._due += self._blocks.period
        return [Save(step, 1)]

    def reverse(self, steps: int, *, announced: bool = False) -> Iterator[Action]:
        stop = steps - 1 if announced else steps
        period = self._blocks.period
        if self._due == stop + period:  # saved for a model that then did not go on
            yield Drop(stop, 1)
        yield from _Reversal(_back(self._blocks, steps, announced=announced, forward=False))


def _blocks(policy: OnlineDisk) -> DiskBlocks:
    return DiskBlocks(policy.slots, policy.period, policy.write, policy.read, policy.advance)


def _back(blocks: DiskBlocks, steps: int, *, announced: bool, forward: bool) -> tuple[Rule, ...]:
    """Return the rules from the end of the first sweep on, or of the whole run."""
    stop = steps - 1 if announced else steps
    number, rest = divmod(stop, blocks.period)
    if not rest and number and not announced:  # the last block is whole, and not swept twice
        number, rest = number - 1, blocks.period
    start = number * blocks.period
    last: list[Action | Part] = []
    if forward and rest:
        last += [Save(start, 1), Advance(start, stop)]
    if announced:
        last += [Record(stop, steps), Turn(), Reverse(stop, steps)]
    else:
        last.append(Turn())
    if rest:
        last += [Load(start, 1), Part(("from disk", rest), start)]
    return blocks.rules(number, last, forward=forward)
