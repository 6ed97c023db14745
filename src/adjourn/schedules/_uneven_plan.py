"""How runs of uneven steps are grouped and planned: numbers between the user and the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._sizes import as_bytes, format_bytes
from ..errors import BadValue, BudgetTooSmall, WrongType
from ..optimum._uneven import alone_costs, sized_table, uneven_table
from ._binomial import split
from ._checks import as_cost, refuse_unplannable

__all__ = ["UnevenPlan", "as_costs", "as_sizes", "plan_sizes", "plan_slots"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_STEPS = 1024  # planned one by one
_MOST_GROUPS = 512
_MOST_ROWS = 20_000  # groups times slots: a second or two
_MOST_PARTS = 200  # of a budget, where snapshots differ in size
_MOST_SIZED = 160  # groups, where snapshots differ in size


@dataclass(frozen=True, slots=True)
class UnevenPlan:
    """Units of consecutive steps, and where to keep snapshots among them.

    ``room`` is what a range may use: slots, its start's included, or parts of memory beside its
    start's snapshot.

    Attributes
    ----------
    bounds : ndarray of int
        First step of each unit, and the end.
    whole : int
        Room at the start, nothing being stored.
    cost : float
        Cost of the plain advances.
    exact : bool
        Whether that is the optimum.
    most : int
        Most snapshots that can ever be held at once.
    """

    bounds: Ints
    whole: int
    cost: float
    exact: bool
    most: int
    split: Callable[[int, int, int], int]
    inside: Callable[[int, int], int]
    after_saving: Callable[[int, int], int]
    for_rest: Callable[[int], int]

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.bounds) - 1


def plan_slots(costs: Floats, slots: int, group: int | None) -> UnevenPlan:
    """Plan for ``slots`` snapshots of equal size."""
    steps = len(costs)
    slots = min(slots, max(steps - 1, 1))
    if group is None:
        most = max(1, min(_MOST_GROUPS, _MOST_ROWS // slots))
        few = steps <= _MOST_STEPS and steps * slots <= _MOST_ROWS
        group = 1 if few else -(-steps // most)
    bounds = _bounds(steps, group)
    units = len(bounds) - 1
    refuse_unplannable(
        f"uneven of {steps} steps in groups of {group} and {slots} slots",
        cells=units * units * (slots // 4 + 10),
        work=100 * units * slots * (units + 1000),
        instead="Leave group= out, or pass a larger one.",
    )
    alone = alone_costs(costs, bounds)
    if group == 1:
        leaves = np.zeros((slots + 1, units))
    else:
        leaves = np.stack([_leaves(costs, bounds, s) for s in range(slots + 1)])
    table = uneven_table(_ahead(costs, bounds), leaves, alone)
    plain = float(costs @ _repeats(steps, slots))
    if plain < table.cost or units == 1:  # groups can be worse than Revolve over everything
        bounds, cost = _bounds(steps, steps), plain
    else:
        cost = table.cost
    return UnevenPlan(
        bounds,
        slots,
        cost,
        group == 1,
        slots,
        table.split,
        lambda _, room: room,
        lambda _, room: room,
        lambda room: room - 1,
    )


def plan_sizes(costs: Floats, sizes: Ints, budget: int, group: int | None) -> UnevenPlan:
    """Plan for snapshots of uneven size in ``budget`` bytes."""
    steps = len(costs)
    if steps > 1 and sizes[0] > budget:
        raise BudgetTooSmall(
            f"budget={format_bytes(budget)} does not hold the initial state of "
            f"{format_bytes(int(sizes[0]))}. Pass at least that.",
            least=int(sizes[0]),
        )
    if group is None:
        group = -(-steps // _MOST_SIZED)
    bounds = _bounds(steps, group)
    units = len(bounds) - 1
    part = gcd(*(int(size) for size in sizes)) or 1
    rounded = budget // part > _MOST_PARTS
    if rounded:
        part = max(1, -(-budget // _MOST_PARTS))
    whole = budget // part
    takes = -(-sizes // part)
    if steps > 1 and takes[0] > whole:  # the rounding alone makes it too large
        takes[0] = whole
    refuse_unplannable(
        f"uneven of {steps} steps in groups of {group} and {whole} parts of memory",
        cells=2 * units * units * (whole + 1),
        work=units**3 * (whole + 1) // 2 + units * units * 10_000,
        instead="Leave group= out, or pass a larger one.",
    )
    largest = np.array([int(takes[a:b].max()) for a, b in pairwise(bounds)])
    single = np.diff(bounds) == 1
    leaves = np.zeros((units, whole + 1))
    slots = 1 + np.arange(whole + 1)[None, :] // np.maximum(largest, 1)[:, None]
    for number in np.unique(slots):
        chosen = slots == number
        leaves[chosen] = np.broadcast_to(
            _leaves(costs, bounds, int(number))[:, None], leaves.shape
        )[chosen]
    table = sized_table(
        _ahead(costs, bounds), takes[bounds[:-1]], leaves, single, alone_costs(costs, bounds)
    )
    first = int(takes[0]) if steps > 1 else 0
    return UnevenPlan(
        bounds,
        whole,
        float(table.least[0, units, whole - first]),
        group == 1 and not rounded,
        1 + int((budget - sizes[0]) // max(1, sizes.min())) if steps > 1 else 1,
        table.split,
        lambda unit, room: int(slots[unit, room]),
        lambda unit, room: room - int(takes[bounds[unit]]),
        lambda room: room,
    )


def as_costs(values: Iterable[float]) -> tuple[float, ...]:
    """Return the costs of the steps, each checked."""
    return tuple(
        as_cost(value, f"costs[{index}]") for index, value in enumerate(_listed(values, "costs"))
    )


def as_sizes(values: Iterable[int] | None, steps: int) -> tuple[int, ...]:
    """Return the bytes of each step's snapshot, each checked."""
    sizes = tuple(
        as_bytes(value, f"sizes[{index}]") for index, value in enumerate(_listed(values, "sizes"))
    )
    if len(sizes) != steps:
        raise BadValue(f"sizes has {len(sizes)} entries and costs {steps}. Pass one each a step.")
    return sizes


def _listed(values: object, name: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise WrongType(f"{name}={values!r} is no list of numbers. Pass one number a step.")
    found = list(cast("Iterable[Any]", values))
    if not found:
        raise BadValue(f"{name} is empty. Pass one number a step, for one step or more.")
    return found


def _bounds(steps: int, group: int) -> Ints:
    return np.append(np.arange(0, steps, group), steps)


def _ahead(costs: Floats, bounds: Ints) -> Floats:
    return np.concatenate([[0.0], np.cumsum(costs)])[bounds]


def _leaves(costs: Floats, bounds: Ints, slots: int) -> Floats:
    """Return the cost of Revolve inside each unit, its start stored in one of the slots."""
    sizes = np.diff(bounds)
    found = np.zeros(len(sizes))
    for size in np.unique(sizes):
        units = np.flatnonzero(sizes == size)
        if slots == 0:
            found[units] = 0.0 if size == 1 else np.inf
        elif size > 1:
            blocks = costs[bounds[units][:, None] + np.arange(size)]
            found[units] = blocks @ _repeats(int(size), slots)
    return found


def _repeats(steps: int, slots: int) -> Floats:
    """Return how often Revolve advances each step; their sum is t(steps, slots)."""
    found = np.zeros(steps)
    waiting = [(0, steps, slots, 0)]
    while waiting:
        start, left, free, base = waiting.pop()
        if left == 1:
            found[start] = base
        elif free >= left - 1:
            found[start : start + left - 1] = base + 1
            found[start + left - 1] = base
        elif free == 1:
            found[start : start + left] = base + np.arange(left - 1, -1, -1)
        else:
            span = split(left, free)
            waiting.append((start + span, left - span, free - 1, base))
            waiting.append((start, span, free, base + 1))
    return found
