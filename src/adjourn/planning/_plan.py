"""The plan: a schedule with its predicted time and bytes, and why it was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from ..errors import AdjournError, BadValue
from ..schedules import Schedule, schedule_from_json
from ._costs import Costs

__all__ = ["Candidate", "Plan"]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """One schedule that was considered: its name, seconds and bytes."""

    name: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule that fits the budget, with what it is predicted to take.

    Attributes
    ----------
    schedule : Schedule
        The actions.
    costs : Costs
        The costs it was made for.
    budget : int or None
        Bytes of main memory allowed; None if the schedule was given by hand.
    disk : int or None
        Bytes of disk allowed.
    seconds : float
        Predicted time of the whole gradient.
    peak_bytes : int
        Predicted peak in main memory, by the accounting of DESIGN's promise 1.
    gap : float or None
        0 where the plan is the optimum of the cost model; a fraction by which it may exceed a
        proven lower bound; None where no bound is known.
    reasons : tuple of str
        Why this schedule, in words.
    candidates : tuple of Candidate
        The best of each family considered, the chosen one first.
    checked : bool
        True if the checker played the whole schedule.
    """

    schedule: Schedule
    costs: Costs
    budget: int | None
    disk: int | None
    seconds: float
    peak_bytes: int
    gap: float | None = None
    reasons: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    checked: bool = False

    @property
    def steps(self) -> int:
        """Number of steps reversed."""
        return self.schedule.steps

    @property
    def family(self) -> str:
        """The schedule's family."""
        return self.schedule.family

    @property
    def store_all_seconds(self) -> float:
        """Predicted time if memory were no object."""
        costs = self.costs
        if costs.reads == "nothing":
            return self.steps * (costs.advance + costs.reverse)
        return self.steps * min(r.seconds for r in costs.recordings)

    @property
    def window_steps(self) -> int:
        """Recorded steps that the problem's window must hold; 0 without a fixed window."""
        if self.costs.window is None or self.schedule.reversal in ("tape", "nothing"):
            return 0
        return self.schedule.counts.recorded

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON value; `Plan.from_json` is the way back."""
        return {
            "schema": SCHEMA,
            "schedule": self.schedule.to_json(),
            "costs": self.costs.to_json(),
            "budget": self.budget,
            "disk": self.disk,
            "seconds": self.seconds,
            "peak_bytes": self.peak_bytes,
            "gap": self.gap,
            "reasons": list(self.reasons),
            "candidates": [[c.name, c.seconds, c.peak_bytes] for c in self.candidates],
            "checked": self.checked,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises
        ------
        BadValue
            The value was written under another schema, or is no plan.
        """
        if not isinstance(value, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadValue(f"{value!r} is no plan. Pass what Plan.to_json() wrote.")
        values = dict(value)
        schema = values.pop("schema", None)
        if schema != SCHEMA:
            raise BadValue(
                f"the plan has schema {schema!r}, and this version reads {SCHEMA}. Make the plan "
                "again, or use the version that wrote it."
            )
        try:
            values["schedule"] = schedule_from_json(values["schedule"])
            values["costs"] = Costs.from_json(values["costs"])
            values["reasons"] = tuple(values["reasons"])
            values["candidates"] = tuple(Candidate(*c) for c in values["candidates"])
            made = cls(**values)
            _check(made)
        except AdjournError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadValue(
                f"the plan is damaged ({type(error).__name__}: {error}). Pass what "
                "Plan.to_json() wrote, unchanged."
            ) from error
        return made


def _check(made: Plan) -> None:
    """Raise TypeError or ValueError where a value has no meaning."""
    _number("seconds", made.seconds)
    _whole("peak_bytes", made.peak_bytes)
    for name in ("budget", "disk"):
        if getattr(made, name) is not None:
            _whole(name, getattr(made, name))
    if made.gap is not None:
        _number("gap", made.gap)
    if type(made.checked) is not bool:
        raise TypeError(f"checked={made.checked!r} is neither true nor false")
    for reason in made.reasons:
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the reason {reason!r} is no text")
    for other in made.candidates:
        if not isinstance(other.name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the candidate's name {other.name!r} is no text")
        _number("candidate seconds", other.seconds)
        _whole("candidate bytes", other.peak_bytes)


def _number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}={value!r} is no number")
    if not 0 <= value < inf:
        raise ValueError(f"{name}={value!r} is not a finite number of 0 or more")


def _whole(name: str, value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{name}={value!r} is no whole number")
    if value < 0:
        raise ValueError(f"{name}={value} is negative")
