"""A schedule given by its list of actions, for what other tools or people made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from ..errors import BadValue, WrongType
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._checks import keep_counts
from ._schedule import Counts, Reversal, Schedule

__all__ = ["Listed", "listed"]

_VERBS: dict[str, type] = {
    verb.__name__: verb for verb in (Advance, Record, Save, Load, Drop, Turn, Reverse)
}


@dataclass(frozen=True, slots=True)
class Listed(Schedule):
    """A schedule that is its actions; made by `listed`."""

    family: ClassVar[str] = "listed"
    steps: int
    actions: tuple[Action, ...] = field(repr=False)
    way: Reversal = "retape"
    _counts: Counts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the actions' types and count them once."""
        keep_counts(self, steps="steps")
        if self.way not in ("nothing", "state", "retape", "tape"):
            raise BadValue(
                f'reversal={self.way!r} is unknown. Pass "nothing", "state", "retape" or "tape".'
            )
        if not isinstance(self.actions, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"actions={self.actions!r} is no list. Pass actions, one by one.")
        kept = tuple(self.actions)
        verbs = tuple(_VERBS.values())
        for index, action in enumerate(kept):
            if not isinstance(action, verbs):
                raise WrongType(
                    f"actions[{index}]={action!r} is no action. "
                    "Pass Advance, Record, Save, Load, Drop, Turn and Reverse objects."
                )
        object.__setattr__(self, "actions", kept)
        object.__setattr__(self, "_counts", _count(kept))

    @property
    def reversal(self) -> Reversal:
        """How a step is reversed."""
        return self.way

    @property
    def counts(self) -> Counts:
        """Counts of the actions."""
        return self._counts

    @property
    def limits(self) -> tuple[int, ...]:
        """The most snapshots that the actions hold at once, for each tier."""
        return self._counts.snapshots

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions)

    def to_json(self) -> dict[str, Any]:
        """Return the schedule as a JSON value: one short list an action."""
        listing = [
            [type(action).__name__, *(getattr(action, name) for name in action.__slots__)]
            for action in self.actions
        ]
        return {"family": self.family, "steps": self.steps, "actions": listing, "way": self.way}

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Schedule:
        listing = cast("Sequence[Sequence[Any]]", values["actions"])
        actions = tuple(_VERBS[verb](*numbers) for verb, *numbers in listing)
        return cls(values["steps"], actions, values["way"])


def listed(steps: int, actions: Iterable[Action], *, reversal: Reversal = "retape") -> Listed:
    """Return a schedule that plays the given actions.

    Memory and making it: one object an action. Nothing is checked but the types: `adjourn.check`
    tells whether the actions reverse ``steps`` steps. The tiers' limits are what the actions
    hold at most.

    Parameters
    ----------
    steps : int
        Number of steps reversed, 1 or more.
    actions : iterable of Action
        What to do, from the first step to the last reverse.
    reversal : {"nothing", "state", "retape", "tape"}
        How a step is reversed.

    Raises
    ------
    WrongType, BadValue
        An item is no action, or ``reversal`` is unknown.

    Examples
    --------
    >>> schedule = listed(2, [Record(0, 2), Turn(), Reverse(0, 2)])
    >>> schedule.forward_steps, schedule.counts.recorded
    (2, 2)
    """
    return Listed(steps, cast("tuple[Action, ...]", actions), reversal)


def _count(actions: Iterable[Action]) -> Counts:
    advances = records = reverses = recorded = most = 0
    tiers = 1
    events: dict[tuple[str, int], int] = {}
    held: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for action in actions:
        match action:
            case Advance(start, stop):
                advances += stop - start
            case Record(start, stop):
                records += stop - start
                recorded += stop - start
                most = max(most, recorded)
            case Reverse(start, stop):
                reverses += stop - start
                recorded = max(recorded - (stop - start), 0)
            case Save(_, tier) | Load(_, tier) | Drop(_, tier):
                tiers = max(tiers, tier + 1)
                verb = type(action).__name__
                events[verb, tier] = events.get((verb, tier), 0) + 1
                change = {"Save": 1, "Load": 0, "Drop": -1}[verb]
                held[tier] = held.get(tier, 0) + change
                peaks[tier] = max(peaks.get(tier, 0), held[tier])
            case Turn():
                pass
    every = range(tiers)
    return Counts(
        advances,
        records,
        reverses,
        tuple(events.get(("Save", tier), 0) for tier in every),
        tuple(events.get(("Load", tier), 0) for tier in every),
        tuple(peaks.get(tier, 0) for tier in every),
        most,
    )
