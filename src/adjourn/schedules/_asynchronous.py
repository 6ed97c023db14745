"""Writes in the background, as fast as the disk takes them; Revolve in between."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from .._sizes import as_count
from ..optimum import revolve_advances
from ._checks import as_cost
from ._disk_blocks import DiskBlocks
from ._grammar import Planned
from ._schedule import Reversal

__all__ = ["Asynchronous", "asynchronous"]

_LONGEST = 10**12


@dataclass(frozen=True, slots=True)
class Asynchronous(Planned):
    """Background writes every few steps; made by `asynchronous`."""

    family: ClassVar[str] = "asynchronous"
    steps: int
    ram: int
    write: float
    read: float
    advance: float = 1.0
    record: float | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters, choose the period and write the rules."""
        steps = as_count(self.steps, "steps")
        ram = as_count(self.ram, "ram", least=0)
        write, read = as_cost(self.write, "write"), as_cost(self.read, "read")
        advance = as_cost(self.advance, "advance", zero=False)
        record = advance if self.record is None else as_cost(self.record, "record")
        if self.period is None:
            period = max(1, ceil(min(write / advance, _LONGEST)))
        else:
            period = as_count(self.period, "period")
        blocks = DiskBlocks(ram, min(period, steps), once=True)
        tail = 1 + (steps - 1) % blocks.period
        number = (steps - tail) // blocks.period
        self._settle(
            blocks.rules(number, blocks.live(tail, number * blocks.period)),
            2,
            steps=steps,
            ram=ram,
            write=write,
            read=read,
            advance=advance,
            record=record,
            period=period,
        )

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots in RAM, and what is held at most on disk."""
        return (self.ram, self.counts.snapshots[1])

    @property
    def wait(self) -> float:
        """Predicted time in which neither sweep goes on, in the unit of the costs.

        The forward sweep waits where a write takes longer than the steps of a block, the
        reverse sweep where a read takes longer than the reversal of the block before it. The
        first read starts with the last block, once the last write is done.
        """
        period = min(self.period or 1, self.steps)
        blocks = self.counts.writes[1]
        if not blocks:
            return 0.0
        tail = self.steps - blocks * period
        write = max(0.0, self.write - period * self.advance)
        first = max(0.0, write + self.read - self._reversal_time(tail))
        other = max(0.0, self.read - self._reversal_time(period))
        return (blocks - 1) * (write + other) + first

    @property
    def seconds(self) -> float:
        """Predicted time of the whole gradient with the waits, in the unit of the costs."""
        counts = self.counts
        record = self.record or 0.0
        return counts.advances * self.advance + counts.records * record + self.wait

    def _reversal_time(self, steps: int) -> float:
        """Return the time of a block from its start state to its last reverse."""
        advances = revolve_advances(steps, self.ram) if self.ram else 0
        return advances * self.advance + steps * (self.record or 0.0)


def asynchronous(
    steps: int,
    ram: int,
    write: float,
    read: float,
    advance: float = 1.0,
    *,
    record: float | None = None,
    period: int | None = None,
) -> Asynchronous:
    """Return the schedule that writes every I = ceil(write / advance) steps in the background.

    The forward sweep runs on while a snapshot is written: with this period the disk is done when
    the next one comes. In the reverse sweep each block's start is read ahead, while the block
    after it is reversed by Revolve in RAM. The overhead a step does not depend on the number of
    steps [1]_. Planning and memory do not either. ``wait`` is the predicted time in which the
    disk is waited for, ``seconds`` the whole; the staging buffers are one snapshot for writing
    and one for reading, beside ``ram``.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    ram : int
        Snapshots held at once in RAM (tier 0), 1 or more unless every step is written.
    write, read : float
        Time of one write to disk (tier 1) and one read from it.
    advance : float
        Time of one forward step.
    record : float, optional
        Time to record and reverse a step; ``advance`` by default.
    period : int, optional
        Steps between writes, instead of I.

    Raises
    ------
    BadValue, WrongType
        A parameter cannot be used.

    References
    ----------
    .. [1] N. Kukreja, J. Hückelheim and G. J. Gorman, "Backpropagation for long sequences:
       beyond memory constraints with constant overheads" (2018), arXiv 1806.01117.

    Examples
    --------
    >>> schedule = asynchronous(10_000, ram=3, write=4.5, read=4.5)
    >>> schedule.period, schedule.wait, schedule.forward_steps / schedule.steps
    (5, 0.0, 2.9995)
    """
    return Asynchronous(steps, ram, write, read, advance, record, period)
