"""Schedules for an unknown number of steps: adaptive step sizes, while loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from .._sizes import as_count
from ..errors import BadValue
from ..optimum import revolve_advances
from ..optimum._online import least_total_placement, wang_placement
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._binomial import revolve_writes, split
from ._checks import as_cost, keep_counts
from ._online_disk import OnlineDisk
from ._schedule import Counts, Reversal, Schedule

__all__ = ["Driver", "Online", "OnlineSchedule", "online"]

Rule = Literal["least total", "wang-moin-iaccarino"]
_PLACEMENTS = {"least total": least_total_placement, "wang-moin-iaccarino": wang_placement}
_NEVER = 2**62


class Driver(Protocol):
    """One run whose number of steps is not known: told how far it is, it says what to do.

    The forward sweep, with the state of ``step`` live::

        step = 0
        while True:
            for action in driver.forward(step): ...      # saves and drops
            step = advance(step, driver.due)             # or less, if that was the last
            if finished: break
        for action in driver.reverse(step): ...          # turn, loads, advances, reverses

    The driver holds only integers. Clocks (times, step sizes) are kept with the snapshots by
    whoever plays the actions, so that a range that is run again takes the same step sizes.
    """

    @property
    def due(self) -> int:
        """The next step at which `forward` must be called; in between there is nothing to do."""
        ...

    def forward(self, step: int) -> list[Action]:
        """Return what to do before the model advances from ``step``, where its live state is.

        To be called at step 0 and at ``due``, only if the model will go on.
        """
        ...

    def reverse(self, steps: int, *, announced: bool = False) -> Iterator[Action]:
        """Yield what to do when the number of steps is known.

        ``announced``: that the next step is the last was known before it was run, and the live
        state is at ``steps - 1``. Otherwise it is at ``steps``, and the last step is run again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Online:
    """How to reverse an unknown number of steps in RAM; made by `online`."""

    slots: int
    rule: Rule = "least total"

    def start(self) -> Driver:
        """Return a driver for one run."""
        return _RamDriver(self)

    def schedule(self, steps: int, *, announced: bool = False) -> OnlineSchedule:
        """Return the schedule that a run of ``steps`` steps turns out to be."""
        return OnlineSchedule(steps, self.slots, self.rule, announced)

    def moves(self) -> Iterator[tuple[int, int]]:
        """Return the placements: (step to keep, index given up, or 0 for a free slot)."""
        return _PLACEMENTS[self.rule](self.slots)


@dataclass(frozen=True, slots=True)
class OnlineSchedule(Schedule):
    """What an online run turned out to be, as a schedule that can be played again."""

    family: ClassVar[str] = "online"
    steps: int
    snapshots: int
    rule: Rule = "least total"
    announced: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        keep_counts(self, steps="steps", snapshots="slots")
        if self.rule not in _PLACEMENTS:
            raise BadValue(_unknown(self.rule))

    @property
    def policy(self) -> Online:
        """How the snapshots were placed."""
        return Online(self.snapshots, self.rule)

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots in RAM."""
        return (self.snapshots,)

    @property
    def counts(self) -> Counts:
        """Counts from the placements and closed forms for each gap."""
        kept, saves, most = self._placed()
        top = self.steps - 1 if self.announced else self.steps
        advances, reads, stop = top, 0, top
        for index in reversed(range(len(kept))):
            gap, free = stop - kept[index], self.snapshots - index
            advances += revolve_advances(gap, free)
            reads += gap
            if gap > 1:
                saves += revolve_writes(gap, free) - 1
                most = max(most, index + min(gap - 1, free))
            stop = kept[index]
        return Counts(advances, self.steps, self.steps, (saves,), (reads,), (most,), 1)

    def __iter__(self) -> Iterator[Action]:
        driver = self.policy.start()
        step = 0
        last = self.steps - 1 if self.announced else self.steps
        while step < last:
            yield from driver.forward(step)
            stop = min(driver.due, last)
            yield Advance(step, stop)
            step = stop
        yield from driver.reverse(self.steps, announced=self.announced)

    def _placed(self) -> tuple[list[int], int, int]:
        """Return the snapshots held at the end of the first sweep, the saves, the most held."""
        last = self.steps - 1 if self.announced else self.steps
        if not last:
            return [], 0, 0
        kept, saves = [0], 1
        for step, index in self.policy.moves():
            if step >= last:
                break
            if index:
                kept.pop(index)
            kept.append(step)
            saves += 1
        return kept, saves, len(kept)


def online(
    slots: int,
    *,
    write: float | None = None,
    read: float | None = None,
    advance: float = 1.0,
    rule: Rule = "least total",
) -> Online | OnlineDisk:
    """Return how to reverse a run whose number of steps is not known before it ends.

    In RAM alone: when the slots are full, the snapshot is given up whose loss leaves the least
    total, and each gap is then reversed by optimal Revolve in the slots that are free. Forward
    steps and recordings over those of `revolve`, which knows the number, for all n < 1500: at
    worst 1.041, 1.032, 1.008 for 5, 10, 30 slots if the end is announced (Wang, Moin and
    Iaccarino: 1.186, 1.240, 1.299); 1.182, 1.095, 1.033 if it is not, for the last step must then
    be run again. Bookkeeping takes 0.1 to 0.3 us a step on average, in memory for the slots.

    With ``write`` and ``read``: a disk without limit below the slots in RAM, written every
    period as in `periodic`, which is optimal in the long run.

    Parameters
    ----------
    slots : int
        Snapshots held at once in RAM (tier 0), 1 or more; the initial state's included unless
        there is a disk (tier 1), and 0 or more then.
    write, read : float, optional
        Cost of one write to disk and one read from it; both or none.
    advance : float
        Cost of one forward step, where there is a disk.
    rule : {"least total", "wang-moin-iaccarino"}
        Which snapshot is given up.

    Returns
    -------
    Online or OnlineDisk
        ``start()`` gives the `Driver` of one run; ``schedule(steps)`` what a run of so many
        steps would be.

    Raises
    ------
    BadValue, WrongType
        A parameter cannot be used.

    References
    ----------
    .. [1] P. Stumm and A. Walther, "New algorithms for optimal online checkpointing", SIAM J.
       Sci. Comput. 32 (2010) 836-854, doi 10.1137/080742439.
    .. [2] Q. Wang, P. Moin and G. Iaccarino, "Minimal repetition dynamic checkpointing algorithm
       for unsteady adjoint calculation", SIAM J. Sci. Comput. 31 (2009) 2549-2567,
       doi 10.1137/080727890.

    Examples
    --------
    >>> driver = online(3).start()
    >>> driver.forward(0), driver.due
    ([Save(step=0, tier=0)], 1)
    >>> schedule = online(10).schedule(1000, announced=True)
    >>> schedule.advances
    3738
    """
    if rule not in _PLACEMENTS:
        raise BadValue(_unknown(rule))
    if write is None and read is None:
        return Online(as_count(slots, "slots"), rule)
    if write is None or read is None:
        raise BadValue(
            f"write={write!r} and read={read!r}: a disk needs the cost of both. Pass both, or none."
        )
    return OnlineDisk(
        as_count(slots, "slots", least=0),
        as_cost(write, "write"),
        as_cost(read, "read"),
        as_cost(advance, "advance", zero=False),
    )


def _unknown(rule: object) -> str:
    return f'rule={rule!r} is unknown. Pass "least total" or "wang-moin-iaccarino".'


class _RamDriver:
    """The driver of an `Online` run."""

    def __init__(self, policy: Online) -> None:
        self._slots = policy.slots
        self._moves = policy.moves()
        self._kept: list[int] = []
        self._due, self._index = next(self._moves, (_NEVER, 0))

    @property
    def due(self) -> int:
        return self._due

    def forward(self, step: int) -> list[Action]:
        kept = self._kept
        if not kept:
            kept.append(step)
            return [Save(step)]
        if step != self._due:
            return []
        given_up = [Drop(kept.pop(self._index))] if self._index else []
        kept.append(step)
        self._due, self._index = next(self._moves, (_NEVER, 0))
        return [*given_up, Save(step)]

    def reverse(self, steps: int, *, announced: bool = False) -> Iterator[Action]:
        kept = self._kept
        stop = steps - 1 if announced else steps
        if kept and kept[-1] == stop:  # saved for a model that then did not go on
            yield Drop(kept.pop())
        if announced:
            yield Record(stop, steps)
        yield Turn()
        if announced:
            yield Reverse(stop, steps)
        while kept:
            start = kept.pop()
            yield Load(start)
            yield from _gap(start, stop, self._slots - len(kept))
            stop = start


def _gap(start: int, stop: int, slots: int) -> Iterator[Action]:
    """Revolve on [start, stop) from a stored, live start in ``slots`` slots, its own included."""
    kept = [start]
    at = start
    while True:
        if stop - at > 1:
            begin = at
            at += split(stop - at, slots - len(kept) + 1)
            yield Advance(begin, at)
            if stop - at > 1:
                kept.append(at)
                yield Save(at)
                continue
        else:
            yield Drop(kept.pop())
        yield Record(at, stop)
        yield Reverse(at, stop)
        stop = at
        if not kept:
            return
        at = kept[-1]
        yield Load(at)
