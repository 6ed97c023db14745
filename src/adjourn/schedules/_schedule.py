"""What every schedule is: an immutable, replayable sequence of actions that states its counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

from ..errors import AdjournError, BadValue
from ._actions import Action, Advance

__all__ = ["Counts", "Reversal", "Schedule", "schedule_from_json"]

Reversal: TypeAlias = Literal["nothing", "state", "retape", "tape"]
"""How a step is reversed.

``"nothing"``
    The reverse reads nothing: it runs by itself.
``"state"``
    The reverse of a step reads the state it starts from: a live state is its record.
``"retape"``
    Recorded steps lie in one fixed window, which any other forward step or load overwrites.
``"tape"``
    Recordings lie anywhere and stay until they are reversed.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What playing a schedule takes.

    Attributes
    ----------
    advances : int
        Steps run without recording (plain advances; the first sweep included).
    records : int
        Steps run recording.
    reverses : int
        Steps reversed.
    writes, reads : tuple of int
        Snapshots saved and loaded, for each tier.
    snapshots : tuple of int
        Most snapshots held at once, for each tier.
    recorded : int
        Most recorded steps held at once.
    """

    advances: int
    records: int
    reverses: int
    writes: tuple[int, ...] = (0,)
    reads: tuple[int, ...] = (0,)
    snapshots: tuple[int, ...] = (0,)
    recorded: int = 0

    def cost(
        self,
        advance: float = 1.0,
        record: float | None = None,
        reverse: float = 0.0,
        write: float | tuple[float, ...] = 0.0,
        read: float | tuple[float, ...] = 0.0,
    ) -> float:
        """Return what that costs; the arguments are those of `Schedule.cost`."""
        record = advance if record is None else record
        return (
            self.advances * advance
            + self.records * record
            + self.reverses * reverse
            + _per_tier(self.writes, write)
            + _per_tier(self.reads, read)
        )


class Schedule(ABC):
    """A sequence of actions that reverses ``steps`` steps within given storage.

    A schedule is a value: comparable, printable, and iterable again and again; each iteration
    generates the actions anew. Its counts are known without running through it.

    Attributes
    ----------
    family : str
        The name of the family, as in ``adjourn.revolve``.
    steps : int
        Number of steps reversed.
    reversal : {"nothing", "state", "retape", "tape"}
        How a step is reversed.
    """

    __slots__ = ()
    _families: ClassVar[dict[str, type[Schedule]]] = {}
    family: ClassVar[str]
    steps: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "family" in cls.__dict__:
            Schedule._families[cls.family] = cls

    @property
    @abstractmethod
    def reversal(self) -> Reversal:
        """How a step is reversed."""

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """What playing the schedule takes, from closed forms or the plan's own tables."""

    @property
    @abstractmethod
    def limits(self) -> tuple[int, ...]:
        """The number of snapshots each tier may hold."""

    @abstractmethod
    def __iter__(self) -> Iterator[Action]:
        """Generate the actions from the start."""

    @property
    def held(self) -> int | None:
        """The tier whose snapshots lie in recordings and take no storage of their own, if any."""
        return None

    @property
    def slots(self) -> int:
        """The number of snapshots that may be held at once, over all tiers."""
        return sum(self.limits)

    @property
    def advances(self) -> int:
        """Plain advances: forward steps run without recording, the first sweep included."""
        return self.counts.advances

    @property
    def records(self) -> int:
        """Forward steps run recording."""
        return self.counts.records

    @property
    def forward_steps(self) -> int:
        """Forward steps of either kind: plain advances and recordings."""
        return self.counts.advances + self.counts.records

    @property
    def recomputed_steps(self) -> int:
        """Forward steps beyond those of one plain run."""
        return self.forward_steps - self.steps

    @property
    def reverses(self) -> int:
        """Steps reversed."""
        return self.counts.reverses

    @property
    def writes(self) -> int:
        """Snapshots saved, over all tiers, the initial state's included."""
        return sum(self.counts.writes)

    @property
    def reads(self) -> int:
        """Snapshots loaded, over all tiers."""
        return sum(self.counts.reads)

    @property
    def peak(self) -> int:
        """Most snapshots held at once, each tier at its own worst."""
        return sum(self.counts.snapshots)

    @property
    def restarts(self) -> int:
        """Advances that begin at step 0; costs one run through the schedule where not closed."""
        return sum(isinstance(action, Advance) and not action.start for action in self)

    def cost(
        self,
        advance: float = 1.0,
        record: float | None = None,
        reverse: float = 0.0,
        write: float | tuple[float, ...] = 0.0,
        read: float | tuple[float, ...] = 0.0,
    ) -> float:
        """Return the cost of playing the schedule, in the unit of the arguments.

        Parameters
        ----------
        advance, record, reverse : float
            Cost of advancing, recording and reversing one step; ``record`` defaults to
            ``advance``.
        write, read : float or tuple of float
            Cost of saving and loading one snapshot; a tuple gives one figure a tier.
        """
        return self.counts.cost(advance, record, reverse, write, read)

    def to_json(self) -> dict[str, Any]:
        """Return the schedule as a JSON value; `schedule_from_json` is the way back."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        return {"family": self.family, **values}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Schedule:
        """Return the schedule that `to_json` wrote; as `schedule_from_json`."""
        try:
            values = dict(value)
            family = values.pop("family")
            return Schedule._families[family]._from_json(values)
        except AdjournError:
            raise
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise BadValue(
                f"the schedule is damaged or of a later version ({type(error).__name__}: {error}). "
                "Pass what Schedule.to_json() wrote, unchanged."
            ) from error

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Schedule:
        return cls(**values)


def _per_tier(counts: tuple[int, ...], cost: float | tuple[float, ...]) -> float:
    if isinstance(cost, tuple):
        return sum(n * c for n, c in zip(counts, cost, strict=True))
    return sum(counts) * cost


def schedule_from_json(value: dict[str, Any]) -> Schedule:
    """Return the schedule that `Schedule.to_json` wrote.

    Raises
    ------
    BadValue, WrongType
        The family is not known to this version, or a parameter cannot be used.
    """
    return Schedule.from_json(value)
