"""Equal blocks of steps, each from a snapshot on disk: what periodic families are made of."""

from __future__ import annotations

from typing import Any

from ..errors import BadValue
from ..optimum._levels import level_table
from ..optimum._period import LONGEST_TABLE
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._binomial import split
from ._grammar import Body, Part, grow
from ._hrevolve import LevelBodies, Stored
from ._rules import Rule

__all__ = ["DiskBlocks", "stored_in_ram"]


class DiskBlocks:
    """How to reverse blocks of ``period`` steps in ``ram`` slots, their starts on disk.

    Up to 16 384 steps a block is reversed at least cost, its start read again from disk where
    that pays, from a table for ``longest`` steps; longer blocks, and all where ``once`` is true,
    are read once and reversed by Revolve.
    """

    def __init__(
        self,
        ram: int,
        period: int,
        write: float = 0.0,
        read: float = 0.0,
        advance: float = 1.0,
        *,
        longest: int = 0,
        once: bool = False,
    ) -> None:
        self.ram = ram
        self.period = period
        self._bodies: LevelBodies | None = None
        if not once and period <= LONGEST_TABLE:
            levels = [(ram, 0.0, 0.0), (None, write, read)]
            table = level_table(max(longest, period), levels, advance)
            self._bodies = LevelBodies(table, binomial=True)
        elif ram == 0 and period > 1:
            raise BadValue(
                f"ram=0 holds no snapshot, and blocks of {period} steps need their start kept "
                "while they are reversed. Pass ram=1 or more, or a shorter period."
            )

    def live(self, steps: int, at: int) -> list[Action | Part]:
        """Return how to reverse ``steps`` steps from a live start at ``at``, not stored."""
        if self._bodies is not None:
            return self._bodies.live(1, 1, steps, at)
        return _in_ram(self.ram, steps, at)

    def kept(self, steps: int) -> list[Action | Part]:
        """Return how to reverse ``steps`` steps from a live start at 0, stored on disk."""
        if self._bodies is not None:
            return self._bodies.kept(1, 1, steps)
        return [Drop(0, 1), *_in_ram(self.ram, steps, 0)]

    def rules(self, blocks: int, last: Body, *, forward: bool = True) -> tuple[Rule, ...]:
        """Return the rules of ``blocks`` blocks and what comes last; or only the way back.

        Blocks are doubled, out and back, so that their number enters by its logarithm only.
        """
        out: list[Action | Part] = []
        back: list[Action | Part] = []
        at = 0
        for i in reversed(range(blocks.bit_length())):
            if blocks >> i & 1:
                if forward:
                    out.append(Part(("out", i), at))
                back.insert(0, Part(("back", i), at))
                at += self.period << i
        return grow([*out, *last, *back], self._expand)

    def _expand(self, key: tuple[Any, ...]) -> Body:
        period = self.period
        match key:
            case ("out", 0):
                return [Save(0, 1), Advance(0, period)]
            case ("back", 0):
                return [Load(0, 1), *self.kept(period)]
            case ("out", i):
                return [Part(("out", i - 1), 0), Part(("out", i - 1), period << (i - 1))]
            case ("back", i):
                return [Part(("back", i - 1), period << (i - 1)), Part(("back", i - 1), 0)]
            case ("from disk", steps):
                return self.kept(steps)
            case _:
                return self._bodies.stored(key) if self._bodies else stored_in_ram(key)


def _in_ram(ram: int, steps: int, at: int) -> list[Action | Part]:
    """Return what to do with a live start state at ``at`` in RAM alone."""
    if steps == 1:
        return [Record(at, at + 1), Reverse(at, at + 1)]
    return [Save(at, 0), Part((0, ram, steps), at)]


def stored_in_ram(key: Stored) -> Body:
    """Return Revolve from a start state stored in RAM."""
    _, slots, steps = key[:3]
    span = split(steps, slots)
    rest = _in_ram(slots - 1, steps - span, span)
    head = LevelBodies.kept(0, slots, span)
    return [Advance(0, span), *rest, Load(0, 0), *head]
