"""Several reverse sweeps of one run: further functionals, second-order adjoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from .._sizes import as_count
from ..errors import BadValue
from ..optimum import revolve_advances
from ..optimum._repeated import least_repeated_advances, repeated_gaps
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._binomial import revolve_writes, split
from ._listed import Listed, listed
from ._schedule import Counts

__all__ = ["Repeated", "repeated"]

_MOST_SLOTS = 2000  # that are planned, in a second or two


@dataclass(frozen=True, slots=True)
class Repeated:
    """How to reverse one run several times; made by `repeated`.

    Attributes
    ----------
    steps, slots, sweeps : int
        Number of steps, snapshots held at once, reverse sweeps.
    kept : tuple of int
        Steps whose snapshots are kept through all sweeps.
    advances : int
        Plain advances of all sweeps together.
    gap : float
        Fraction by which ``forward_steps`` may exceed the least possible.
    """

    steps: int
    slots: int
    sweeps: int
    kept: tuple[int, ...] = field(init=False, compare=False)
    advances: int = field(init=False, compare=False)
    gap: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters and place the snapshots."""
        steps = as_count(self.steps, "steps")
        slots = as_count(self.slots, "slots")
        sweeps = as_count(self.sweeps, "sweeps")
        if sweeps == 1 or slots == 1:
            advances = bound = sweeps * revolve_advances(steps, slots)
            gaps = [steps]
        elif slots >= steps:
            advances = bound = steps - 1
            gaps = [1] * steps
        elif slots > _MOST_SLOTS:
            raise BadValue(
                f"slots={slots} are more than {_MOST_SLOTS}, and fewer than the {steps} steps. "
                "Take fewer, or enough for every step."
            )
        else:
            advances, gaps = repeated_gaps(steps, slots, sweeps)
            bound = least_repeated_advances(steps, slots, sweeps)
        kept = tuple(accumulate(gaps[:-1], initial=0))
        recorded = steps * sweeps
        for name, value in (
            ("steps", steps),
            ("slots", slots),
            ("sweeps", sweeps),
            ("kept", kept),
            ("advances", advances),
            ("gap", (advances + recorded) / (bound + recorded) - 1),
        ):
            object.__setattr__(self, name, value)

    @property
    def forward_steps(self) -> int:
        """Forward steps of either kind, of all sweeps together."""
        return self.advances + self.steps * self.sweeps

    def actions(self, sweep: int) -> Iterator[Action]:
        """Yield the actions of one sweep, from 0: with its own turn, ending at step 0.

        The first runs the model and saves the kept snapshots; the last gives them up. What one
        sweep leaves held, the next begins with.
        """
        sweep = self._number(sweep)
        kept, top = self.kept, self.steps
        last = sweep == self.sweeps - 1
        turned = False
        if sweep == 0:
            for start, stop in zip(kept, (*kept[1:], 0), strict=True):
                if self._saves:
                    yield Save(start)
                if stop:
                    yield Advance(start, stop)
        for index in reversed(range(len(kept))):
            if sweep or top < self.steps:
                yield Load(kept[index])
            for action in self._gap(index, top, last=last):
                if not turned and isinstance(action, Reverse):
                    turned = True
                    yield Turn()
                yield action
            top = kept[index]

    def counts(self, sweep: int) -> Counts:
        """Return what one sweep takes, from closed forms."""
        sweep = self._number(sweep)
        last = sweep == self.sweeps - 1
        kept = self.kept
        advances = kept[-1] if sweep == 0 else 0
        writes = len(kept) if sweep == 0 and self._saves else 0
        reads, most, top = -1 if sweep == 0 else 0, len(kept) if self._saves else 0, self.steps
        for index in reversed(range(len(kept))):
            gap, free = top - kept[index], self._free(index, last=last)
            advances += revolve_advances(gap, free)
            reads += gap
            if gap > 1:
                writes += revolve_writes(gap, free) - 1
                below = index if last else len(kept) - 1
                most = max(most, below + min(gap - 1, free))
            top = kept[index]
        return Counts(advances, self.steps, self.steps, (writes,), (reads,), (most,), 1)

    def schedule(self, sweep: int) -> Listed:
        """Return one sweep as a schedule by itself, to be drawn; see `adjourn.check_sweeps`.

        The snapshots that it begins with are saved by a run before it, and those it would leave
        to the next sweep are dropped as soon as they are of no more use to it.
        """
        sweep = self._number(sweep)
        actions: list[Action] = []
        if sweep:
            for start, stop in zip(self.kept, (*self.kept[1:], 0), strict=True):
                if self._saves:
                    actions.append(Save(start))
                if stop:
                    actions.append(Advance(start, stop))
        held = set(self.kept) if self._saves else set[int]()
        for action in self.actions(sweep):
            if isinstance(action, Drop):
                held.discard(action.step)
            actions.append(action)
            if isinstance(action, Reverse) and action.start in held:
                held.remove(action.start)
                actions.append(Drop(action.start))
        return listed(self.steps, actions)

    @property
    def _saves(self) -> bool:
        """Whether the initial state is kept at all."""
        return self.steps > 1 or self.sweeps > 1

    def _number(self, sweep: int) -> int:
        return as_count(sweep, "sweep", least=0, most=self.sweeps - 1)

    def _free(self, index: int, *, last: bool) -> int:
        """Return the slots for a gap, its own start's included."""
        return self.slots - index if last else self.slots - len(self.kept) + 1

    def _gap(self, index: int, stop: int, *, last: bool) -> Iterator[Action]:
        """Revolve on a gap whose start is live and stored; the start is dropped by the last."""
        start = self.kept[index]
        slots = self._free(index, last=last)
        held = [start]
        at = start
        while True:
            if stop - at > 1:
                begin = at
                at += split(stop - at, slots - len(held) + 1)
                yield Advance(begin, at)
                if stop - at > 1:
                    held.append(at)
                    yield Save(at)
                    continue
            else:
                held.pop()
                if self._saves and (held or last):
                    yield Drop(at)
            yield Record(at, stop)
            yield Reverse(at, stop)
            stop = at
            if not held:
                return
            at = held[-1]
            yield Load(at)


def repeated(steps: int, slots: int, sweeps: int = 2) -> Repeated:
    """Return how to reverse one run ``sweeps`` times within ``slots`` snapshots.

    For several functionals, or second-order adjoints. Some snapshots are kept through all
    sweeps, the others serve Revolve between them; the last sweep gives the kept ones up as it
    goes. How many, and where, is chosen so that all sweeps together take the fewest plain
    advances of schedules of this form; ``gap`` states how far that may be from the least
    possible. ``counts(1).advances`` is what a second sweep costs.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    slots : int
        Snapshots held at once, the initial state's included, 1 or more.
    sweeps : int
        Reverse sweeps, 1 or more; one is `revolve`.

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, or below 1.

    Examples
    --------
    >>> plan = repeated(100, 10, sweeps=3)
    >>> [plan.counts(sweep).advances for sweep in range(3)]
    [237, 158, 143]
    """
    return Repeated(steps, slots, sweeps)
