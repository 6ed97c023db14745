"""Mixed storage: a slot holds either a snapshot or the recording of one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._sizes import as_count
from ..optimum import Layer, step_table
from ._checks import refuse_unplannable
from ._decisions import Decisions
from ._grammar import Planned, grow
from ._schedule import Reversal

__all__ = ["Mixed", "mixed"]


@dataclass(frozen=True, slots=True)
class Mixed(Planned):
    """Snapshots and recordings in slots of one size; made by `mixed`."""

    family: ClassVar[str] = "mixed"
    steps: int
    capacity: int

    def __post_init__(self) -> None:
        """Check the parameters and plan."""
        steps = as_count(self.steps, "steps")
        capacity = as_count(self.capacity, "slots")
        # The last step of a range is recorded beside the slots: its recording is reversed at
        # once. In the terms of the optimum in bytes it takes a unit, so there is one more.
        units = min(capacity, max(1, steps - 1)) + 1
        refuse_unplannable(
            f"mixed({steps}, {capacity})",
            cells=3 * (steps + 1) * (units + 1),
            work=steps * steps * units // 2,
            instead="Take optimal(), which plans long runs in blocks, or revolve().",
        )
        table = step_table(steps, [(1.0, 1, 1)], 1, 0.0, 0.0, 1.0, units)
        decisions = Decisions([Layer(1, 1, table, None, steps, None)], units)
        rules = grow(decisions.whole(), decisions.expand)
        self._settle(rules, 1, steps=steps, capacity=capacity)

    @property
    def reversal(self) -> Reversal:
        """Recordings stay until they are reversed."""
        return "tape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots; recordings take them as well."""
        return (self.capacity,)


def mixed(steps: int, slots: int) -> Mixed:
    """Return the schedule of Maddison [1]_: each slot holds a snapshot or a step's recording.

    Takes the fewest forward steps M(n, s) of all schedules that hold at most s snapshots and
    recordings, the recording that is reversed next apart; the initial state takes a slot while
    it is kept. Optimal where a recording is as large as a snapshot and survives later advances;
    `optimal` does the same for sizes and times of any kind. Planning costs O(n^2 s) additions
    (0.05 s for 1000 steps and 20 slots) and 24 n s bytes.

    Parameters
    ----------
    steps : int
        Number of steps n, 1 or more.
    slots : int
        Slots s, 1 or more.

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, or below 1, or planning would not fit in memory.

    References
    ----------
    .. [1] J. R. Maddison, "Step-based checkpointing with high-level algorithmic
       differentiation", J. Comput. Sci. 82 (2024) 102405, doi 10.1016/j.jocs.2024.102405.

    Examples
    --------
    >>> mixed(100, 5).forward_steps, mixed(6, 5).forward_steps
    (352, 6)
    """
    return Mixed(steps, slots)
