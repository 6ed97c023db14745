"""Playing schedules on the abstract machine: one sweep, or several of one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from .._sizes import as_count
from ..errors import BadValue, ScheduleError, WrongType
from ..schedules import Action, Reversal
from ._machine import Check, CheckedCosts, Machine

__all__ = ["Sweeps", "check", "check_sweeps"]


class Sweeps(Protocol):
    """Several reverse sweeps of one run, such as `adjourn.schedules.repeated` makes."""

    @property
    def steps(self) -> int:
        """Number of steps of the run."""
        ...

    @property
    def slots(self) -> int:
        """Snapshots that may be held at once."""
        ...

    @property
    def sweeps(self) -> int:
        """Number of reverse sweeps."""
        ...

    def actions(self, sweep: int) -> Iterable[Action]:
        """Return the actions of one sweep, from 0."""
        ...


def check(
    schedule: Iterable[Action],
    limits: Sequence[int] | int | None = None,
    costs: CheckedCosts | None = None,
    *,
    steps: int | None = None,
    reversal: Reversal | None = None,
    timeline: bool = False,
) -> Check:
    """Play a schedule on an abstract machine and return what it took.

    Costs about a microsecond an action, and memory for what is held. The rules: a forward
    action starts where the live state is; a snapshot is saved from the live state, once, within
    its tier's limit; a load needs the snapshot; a snapshot of no further use is dropped before
    anything else happens; the turn comes once, with the live state at the last step's end,
    before the first reverse; steps are reversed from the top, each once, each recorded (or, for
    ``reversal="state"``, live; for ``"nothing"``, always); a state in the tier that lies in
    recordings (``schedule.held``) is there while the recording that reaches it is; nothing is held
    at the end.

    Parameters
    ----------
    schedule : iterable of Action
        A `Schedule`, or any iterable of actions with ``steps`` given.
    limits : int or sequence of int, optional
        Snapshots that each tier may hold; the schedule's own limits by default.
    costs : Costs, optional
        With costs, ``seconds`` and ``peak_bytes`` are counted too.
    steps : int, optional
        Number of steps; the schedule's own by default.
    reversal : {"nothing", "state", "retape", "tape"}, optional
        How steps are reversed; the schedule's own by default, else ``"tape"``.
    timeline : bool
        Keep the live step and what is held after each action.

    Raises
    ------
    ScheduleError
        The first action that breaks a rule, with its index.
    BadValue, WrongType
        ``steps`` is neither given nor known, or an argument cannot be used.

    Examples
    --------
    >>> from adjourn.schedules import revolve
    >>> seen = check(revolve(10, 3))
    >>> seen.advances, seen.peak_slots, seen.reversed
    (15, 3, range(9, -1, -1))
    """
    total = steps if steps is not None else getattr(schedule, "steps", None)
    if total is None:
        raise BadValue("check needs the number of steps. Pass steps=, or a Schedule.")
    total = as_count(total, "steps")
    way = reversal or getattr(schedule, "reversal", "tape")
    if way not in ("nothing", "state", "retape", "tape"):
        raise BadValue(f'reversal={way!r} is unknown. Pass "nothing", "state", "retape" or "tape".')
    if not isinstance(schedule, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"schedule={schedule!r} is no schedule. Pass one, or a list of actions.")
    if costs is not None and not hasattr(costs, "write_seconds"):
        raise WrongType(f"costs={costs!r} is not a Costs. Pass adjourn.Costs(...).")
    inside = getattr(schedule, "held", None)
    machine = Machine(total, way, _limits(schedule, limits), costs, inside)
    return _play(machine, schedule, timeline=timeline)


def check_sweeps(
    schedule: Sweeps,
    limits: Sequence[int] | int | None = None,
    costs: CheckedCosts | None = None,
    *,
    reversal: Reversal = "retape",
) -> tuple[Check, ...]:
    """Play all reverse sweeps of one run on one machine, and return what each took.

    As `check`, with what a sweep leaves held at the disposal of the next, which begins with no
    live state and every step to reverse again. A snapshot of a step that is reversed may be kept
    while there are sweeps to come; in the last one it must be dropped at once, and nothing is
    held at its end. A sweep's peaks include what it began with.

    Parameters
    ----------
    schedule : Sweeps
        Such as `adjourn.schedules.repeated` makes.
    limits : int or sequence of int, optional
        Snapshots that each tier may hold; the schedule's slots by default.
    costs, reversal
        As in `check`.

    Raises
    ------
    ScheduleError
        The first action that breaks a rule, with its index in its sweep.
    WrongType
        The schedule has no ``steps``, ``slots``, ``sweeps`` or ``actions``.

    Examples
    --------
    >>> from adjourn.schedules import repeated
    >>> [seen.advances for seen in check_sweeps(repeated(100, 10, sweeps=3))]
    [237, 158, 143]
    """
    missing = [
        name for name in ("steps", "slots", "sweeps", "actions") if not hasattr(schedule, name)
    ]
    if missing:
        raise WrongType(
            f"schedule={schedule!r} has no {', '.join(missing)}. Pass what repeated() made."
        )
    allowed = (schedule.slots,) if limits is None else _limits(schedule, limits)
    machine = Machine(as_count(schedule.steps, "steps"), reversal, allowed, costs)
    seen: list[Check] = []
    for sweep in range(schedule.sweeps):
        machine.begin(more=sweep < schedule.sweeps - 1)
        seen.append(_play(machine, schedule.actions(sweep), timeline=False))
    return tuple(seen)


def _play(machine: Machine, actions: Iterable[Action], *, timeline: bool) -> Check:
    history: list[tuple[int, int, int]] = []
    for action in actions:
        try:
            machine.play(action)
        except TypeError as error:
            if isinstance(error, WrongType):
                raise
            raise ScheduleError(
                f"action {machine.index}, {action}, has a number that is none ({error}).",
                machine.index,
            ) from error
        if timeline:
            history.append((machine.live, machine.held, machine.recorded))
    return machine.finish(tuple(history))


def _limits(schedule: object, limits: Sequence[int] | int | None) -> Sequence[int] | None:
    """Return the snapshots that each tier may hold, checked; None for no limit."""
    if limits is None:
        return getattr(schedule, "limits", None)
    if isinstance(limits, str) or not isinstance(limits, Sequence):
        return (as_count(cast("int", limits), "limits", least=0),)
    return tuple(as_count(n, f"limits[{i}]", least=0) for i, n in enumerate(limits))
