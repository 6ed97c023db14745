"""Time against budget: what each budget would buy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import log
from typing import Any

from .._sizes import as_bytes, as_count
from ..errors import BadValue, BudgetTooSmall, WrongType
from ._candidates import Fit
from ._choose import MOST_STEPS, candidate_fits, least_budget
from ._costs import Costs

__all__ = ["Curve", "CurvePoint", "FamilyCurve", "curve"]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The fastest schedule within one budget.

    Attributes
    ----------
    budget : int
        Bytes allowed.
    seconds : float
        Predicted time of the whole gradient.
    peak_bytes : int
        Bytes the schedule holds at its peak.
    name : str
        The family of the schedule.
    """

    budget: int
    seconds: float
    peak_bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class FamilyCurve:
    """One family of schedules: its fastest member within each budget that holds one."""

    name: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Predicted time against budget, over every family of schedules that the problem allows.

    Attributes
    ----------
    steps : int
        Number of steps reversed.
    store_all_seconds : float
        Predicted time if memory were no object.
    points : tuple of CurvePoint
        The fastest plan within each budget, budgets ascending, times never rising.
    families : tuple of FamilyCurve
        The same for each family by itself, the fastest family first.
    knee : CurvePoint
        Where the curve bends most: the point farthest below the straight line between the two
        ends, both axes being logarithmic. Memory below it costs much time, memory above it
        saves little.
    chosen : CurvePoint or None
        The point of the budget that was asked for.
    """

    steps: int
    store_all_seconds: float
    points: tuple[CurvePoint, ...]
    families: tuple[FamilyCurve, ...]
    knee: CurvePoint
    chosen: CurvePoint | None = None

    @property
    def least_budget(self) -> int:
        """The least budget in bytes with which the steps can be reversed."""
        return self.points[0].budget

    @property
    def whole_budget(self) -> int:
        """The least budget of the curve beyond which nothing gets faster."""
        return next(p.budget for p in self.points if p.seconds == self.points[-1].seconds)

    def to_json(self) -> dict[str, Any]:
        """Return the curve as a JSON value; `Curve.from_json` is the way back."""
        return {
            "schema": SCHEMA,
            "steps": self.steps,
            "store_all_seconds": self.store_all_seconds,
            "least_budget": self.least_budget,
            "whole_budget": self.whole_budget,
            "points": [_listed(p) for p in self.points],
            "families": [[f.name, [_listed(p) for p in f.points]] for f in self.families],
            "knee": _listed(self.knee),
            "chosen": None if self.chosen is None else _listed(self.chosen),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Curve:
        """Return the curve that `to_json` wrote.

        Raises
        ------
        BadValue
            The value was written under another schema, or is no curve.
        """
        if value.get("schema") != SCHEMA:
            raise BadValue(
                f"the curve has schema {value.get('schema')!r}, and this version reads {SCHEMA}. "
                "Make the curve again, or use the version that wrote it."
            )
        chosen = value["chosen"]
        return cls(
            steps=value["steps"],
            store_all_seconds=value["store_all_seconds"],
            points=tuple(CurvePoint(*p) for p in value["points"]),
            families=tuple(
                FamilyCurve(name, tuple(CurvePoint(*p) for p in points))
                for name, points in value["families"]
            ),
            knee=CurvePoint(*value["knee"]),
            chosen=None if chosen is None else CurvePoint(*chosen),
        )


def curve(
    steps: int,
    costs: Costs,
    budget: int | str | None = None,
    disk: int | str | None = None,
    *,
    points: int = 25,
    progress: Callable[[int, int], object] | None = None,
) -> Curve:
    """Return the predicted time within budgets from the least that works to the whole history.

    Plans once for each point, as `plan` does but without playing the schedules. The budgets
    grow by a constant factor.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    costs : Costs
        Seconds and bytes of a step, measured or stated.
    budget : int or str, optional
        A budget of interest, which gets a point of its own.
    disk : int or str, optional
        Bytes of disk for further snapshots.
    points : int
        Budgets to plan for, 2 or more.
    progress : callable, optional
        Is told before each budget how many are done, and of how many. A budget of a run of 10^6
        steps whose recordings lie anywhere takes a second or two.

    Raises
    ------
    BudgetTooSmall
        ``budget`` is below the least that works.
    WrongType, BadValue
        An argument cannot be used.

    Examples
    --------
    >>> from adjourn import Costs, Recording, Window
    >>> wave = Costs(advance=1, recordings=[Recording(seconds=2.5, left=1)], snapshot=2,
    ...              window=Window(step_bytes=1))
    >>> made = curve(298, wave, budget=54)
    >>> made.least_budget, made.chosen.seconds < made.points[0].seconds
    (3, True)
    """
    steps = as_count(steps, "steps", most=MOST_STEPS)
    count = as_count(points, "points", least=2, most=10_000)
    if not isinstance(costs, Costs):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"costs={costs!r} is not a Costs. Pass adjourn.Costs(...).")
    on_disk = None if disk is None else as_bytes(disk, "disk")
    asked = None if budget is None else as_bytes(budget)
    least = least_budget(steps, costs)
    if asked is not None and asked < least:
        raise BudgetTooSmall(
            f"budget={budget!r} is below the least that works, {least} bytes. "
            f"Pass budget={least} or more.",
            least,
        )
    whole = max(_whole(steps, costs, on_disk), least)
    budgets = _between(least, whole, count)
    if asked is not None:
        budgets.add(asked)
    best: list[CurvePoint] = []
    kept: dict[str, list[CurvePoint]] = {}
    for done, allowed in enumerate(sorted(budgets)):
        if progress is not None:
            progress(done, len(budgets))
        _add(allowed, candidate_fits(steps, costs, allowed, on_disk), best, kept)
    return Curve(
        steps=steps,
        store_all_seconds=_store_all_seconds(steps, costs),
        points=tuple(best),
        families=_families(kept),
        knee=_knee(best),
        chosen=next((p for p in best if p.budget == asked), None),
    )


def _add(
    allowed: int, fits: Iterable[Fit], best: list[CurvePoint], kept: dict[str, list[CurvePoint]]
) -> None:
    """Append the best of each family; a plan for a smaller budget stays possible."""
    found: dict[str, CurvePoint] = {}
    for fit in fits:
        point = CurvePoint(allowed, fit.seconds, fit.peak_bytes, _family(fit))
        known = found.get(point.name)
        if known is None or _order(point) < _order(known):
            found[point.name] = point
    for name, row in kept.items():
        before = replace(row[-1], budget=allowed)
        if name not in found or _order(before) < _order(found[name]):
            found[name] = before
    for name, point in found.items():
        kept.setdefault(name, []).append(point)
    if found:
        best.append(min(found.values(), key=_order))


def _family(fit: Fit) -> str:
    """Return the family's name; that of blocks is the name of what they are blocks of."""
    schedule = fit.schedule
    inner = getattr(schedule, "inner", None)
    name = schedule.family if inner is None else f"{inner.family}, {schedule.family}"
    return f"{name}, from states" if schedule.reversal == "state" else name


def _families(kept: dict[str, list[CurvePoint]]) -> tuple[FamilyCurve, ...]:
    """Return the families in the order of their mean rank; names settle ties."""
    order = sorted(kept, key=lambda name: (-len(kept[name]), sum(p.seconds for p in kept[name])))
    return tuple(FamilyCurve(name, tuple(kept[name])) for name in order)


def _knee(points: list[CurvePoint]) -> CurvePoint:
    first, last = points[0], points[-1]
    width = _log(last.budget) - _log(first.budget)
    height = _log(first.seconds) - _log(last.seconds)
    if width <= 0 or height <= 0:
        return first

    def below(point: CurvePoint) -> float:
        along = (_log(point.budget) - _log(first.budget)) / width
        return (_log(first.seconds) - _log(point.seconds)) / height - along

    return max(points, key=below)


def _log(value: float) -> float:
    return log(max(value, 1e-30))


def _whole(steps: int, costs: Costs, disk: int | None) -> int:
    """Return the peak of the fastest schedule where memory is no object."""
    fits = sorted(
        candidate_fits(steps, costs, 2**61, disk), key=lambda f: (f.seconds, f.peak_bytes)
    )
    return fits[0].peak_bytes if fits else 0


def _between(least: int, whole: int, count: int) -> set[int]:
    if whole <= least:
        return {least}
    low = max(least, 1)
    ratio = whole / low
    return {least, whole} | {round(low * ratio ** (k / (count - 1))) for k in range(1, count - 1)}


def _store_all_seconds(steps: int, costs: Costs) -> float:
    if costs.reads == "nothing":
        return steps * (costs.advance + costs.reverse)
    return steps * min(r.seconds for r in costs.recordings)


def _order(point: CurvePoint) -> tuple[float, int]:
    return point.seconds, point.peak_bytes


def _listed(point: CurvePoint) -> list[Any]:
    return [point.budget, point.seconds, point.peak_bytes, point.name]
