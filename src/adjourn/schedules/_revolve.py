"""Revolve: the optimal schedule where each step is recorded just before it is reversed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..errors import BadValue
from ._binomial import BinomialBlocks
from ._checks import keep_counts
from ._schedule import Reversal

__all__ = ["Revolve", "revolve"]


@dataclass(frozen=True, slots=True)
class Revolve(BinomialBlocks):
    """Binomial checkpointing of single steps; made by `revolve`."""

    family: ClassVar[str] = "revolve"
    steps: int
    snapshots: int
    way: Literal["retape", "state"] = "retape"

    def __post_init__(self) -> None:
        """Check the parameters."""
        keep_counts(self, steps="steps", snapshots="slots")
        if self.way not in ("retape", "state"):
            raise BadValue(f'reversal={self.way!r} is unknown. Pass "retape" or "state".')

    @property
    def block(self) -> int:
        """Blocks of one step."""
        return 1

    @property
    def capacity(self) -> int:
        """Snapshots that may be held at once."""
        return self.snapshots

    @property
    def reversal(self) -> Reversal:
        """How a step is reversed: by recording it again, or from its state."""
        return self.way


def revolve(steps: int, slots: int, *, reversal: Literal["retape", "state"] = "retape") -> Revolve:
    """Return the binomial schedule of Griewank and Walther [1]_.

    Takes t(n, s) = r n - C(s + r, s + 1) plain advances, the first sweep included, with r the
    least integer for which C(s + r, s) >= n; of all schedules that do, it writes the fewest
    snapshots. Optimal for snapshots of equal size where no more than one step is recorded at a
    time. Making it takes microseconds; iterating takes constant time an action and memory for
    ``slots`` integers.

    Parameters
    ----------
    steps : int
        Number of steps n, 1 or more.
    slots : int
        Snapshots s held at once, the initial state's included, 1 or more.
    reversal : {"retape", "state"}
        ``"retape"``: each step is recorded right before it is reversed (t + n forward steps).
        ``"state"``: a live state is its step's record (t + 1 forward steps).

    Raises
    ------
    WrongType, BadValue
        An argument is not an integer, or below 1.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.

    Examples
    --------
    >>> schedule = revolve(10, 3)
    >>> schedule.advances, schedule.forward_steps, schedule.writes
    (15, 25, 6)
    >>> revolve(10, 10, reversal="state").forward_steps
    10
    """
    return Revolve(steps, slots, reversal)
