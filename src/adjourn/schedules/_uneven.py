"""Steps of uneven cost, and snapshots of uneven size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .._sizes import as_bytes, as_count
from ..errors import BadValue
from ..optimum._uneven import least_uneven_cost
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._disk_blocks import stored_in_ram
from ._grammar import Body, Part, Planned, grow
from ._schedule import Reversal
from ._uneven_plan import UnevenPlan, as_costs, as_sizes, plan_sizes, plan_slots

__all__ = ["Uneven", "uneven"]


@dataclass(frozen=True, slots=True)
class Uneven(Planned):
    """Optimal for steps of known, uneven cost; made by `uneven`.

    Attributes
    ----------
    advance_cost : float
        Cost of the plain advances, by the costs of the steps.
    gap : float
        0 if this is the optimum; else the fraction by which ``advance_cost`` may exceed it.
    """

    family: ClassVar[str] = "uneven"
    costs: tuple[float, ...] = field(repr=False)
    snapshots: int | None = None
    sizes: tuple[int, ...] | None = field(default=None, repr=False)
    budget: int | None = None
    group: int | None = None
    steps: int = field(init=False, compare=False)
    advance_cost: float = field(init=False, compare=False)
    gap: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters and plan."""
        costs = as_costs(self.costs)
        group = None if self.group is None else as_count(self.group, "group")
        if self.snapshots is not None:
            snapshots, sizes, budget = as_count(self.snapshots, "slots"), None, None
            plan = plan_slots(np.array(costs), snapshots, group)
        else:
            snapshots, sizes = None, as_sizes(self.sizes, len(costs))
            budget = as_bytes(self.budget or 0)
            plan = plan_sizes(np.array(costs), np.array(sizes), budget, group)
        ranges = _Ranges(plan)
        rules = grow(ranges.live(0, plan.units, plan.whole), ranges.stored)
        bound = least_uneven_cost(np.array(costs), plan.most)
        exact = plan.exact or plan.cost <= bound
        self._settle(
            rules,
            1,
            costs=costs,
            snapshots=snapshots,
            sizes=sizes,
            budget=budget,
            group=group,
            steps=len(costs),
            advance_cost=plan.cost,
            gap=0.0 if exact else plan.cost / bound - 1 if bound else float("inf"),
        )

    @property
    def reversal(self) -> Reversal:
        """Each step is recorded just before its reverse."""
        return "retape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The slots; what is held at most where snapshots differ in size."""
        return (self.counts.snapshots[0] if self.snapshots is None else self.snapshots,)


def uneven(
    costs: Sequence[float],
    slots: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    budget: int | str | None = None,
    group: int | None = None,
) -> Uneven:
    """Return the optimal schedule for steps whose costs are known and differ.

    Ignoring that they differ loses 3 to 58% in a study of random costs. Each step is recorded
    just before its reverse. Up to 1024 steps in a moderate number of slots it is exact: O(n^2 s)
    operations (0.6 s for 1000 steps in 10 slots). Longer runs are planned in groups of
    consecutive steps, with Revolve inside a group; ``gap`` states how far from a proven lower
    bound the plan may be: the dearest steps cannot all be run the fewest times.

    With ``sizes`` and ``budget`` the snapshots differ in size too (moving meshes). Sizes are
    counted in parts of the budget, rounded up to 1/200 of it where that is not exact; full
    search, exact up to 160 steps, in groups beyond.

    Parameters
    ----------
    costs : sequence of float
        Cost of each step, 0 or more.
    slots : int, optional
        Snapshots held at once, the initial state's included, 1 or more.
    sizes : sequence of int, optional
        Bytes of the snapshot at the start of each step, instead of ``slots``.
    budget : int or str, optional
        Bytes for all snapshots held at once, such as ``"2 GiB"``; with ``sizes``.
    group : int, optional
        Steps planned as one; by default as few as can be planned in seconds.

    Raises
    ------
    BadValue, WrongType
        A parameter cannot be used.
    BudgetTooSmall
        The initial state does not fit.

    References
    ----------
    .. [1] D. E. Knuth, "Optimum binary search trees", Acta Informatica 1 (1971) 14-25: the
       window of the search.

    Examples
    --------
    >>> schedule = uneven([1, 1, 1, 9, 1, 1, 1, 1], 2)
    >>> schedule.advance_cost, schedule.gap, schedule.advances
    (22.0, 0.0, 14)
    """
    if slots is not None:
        if sizes is not None or budget is not None:
            raise BadValue("slots and sizes are given. Pass slots=, or sizes= with budget=.")
        return Uneven(costs, slots, group=group)  # type: ignore[arg-type]
    if sizes is None or budget is None:
        raise BadValue("no storage is given. Pass slots=, or sizes= with budget=.")
    return Uneven(costs, None, sizes, as_bytes(budget), group)  # type: ignore[arg-type]


class _Ranges:
    """What to do in each range of units, for `grow`; offsets are absolute."""

    def __init__(self, plan: UnevenPlan) -> None:
        self._plan = plan

    def live(self, start: int, stop: int, room: int) -> list[Action | Part]:
        """Return how to reverse [start, stop) from a live start that is not stored."""
        bounds = self._plan.bounds
        at = int(bounds[start])
        if bounds[stop] - at == 1:
            return [Record(at, at + 1), Reverse(at, at + 1)]
        return [Save(at), *self._kept(start, stop, self._plan.after_saving(start, room))]

    def stored(self, key: tuple[int, ...]) -> Body:
        """Return what to do in a range whose start is live and stored."""
        if key[0] == 0:  # Revolve inside a group, from 0
            return stored_in_ram((0, key[1], key[2]))
        _, start, stop, room = key
        plan = self._plan
        middle = plan.split(start, stop, room)
        at, to = int(plan.bounds[start]), int(plan.bounds[middle])
        return [
            Advance(at, to),
            *self.live(middle, stop, plan.for_rest(room)),
            Load(at),
            *self._kept(start, middle, room),
        ]

    def _kept(self, start: int, stop: int, room: int) -> list[Action | Part]:
        plan = self._plan
        at, end = int(plan.bounds[start]), int(plan.bounds[stop])
        if end - at == 1:
            return [Drop(at), Record(at, end), Reverse(at, end)]
        if stop - start == 1:
            return [Part((0, plan.inside(start, room), end - at), at)]
        if plan.split(start, stop, room) == start:
            return [Part((0, 1, end - at), at)]
        return [Part((1, start, stop, room), 0)]
