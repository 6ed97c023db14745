"""The options of one loop, from those of its body, on a grid of units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, isqrt

import numpy as np

from ..optimum import StepTable, revolve_advances, step_table
from ._held import Program, ending_of, follow, slack_end
from ._sets import Columns, Floats, columns, pareto, thin
from ._tree import Loop

__all__ = ["LONG", "Grid", "LoopSet", "bound_set", "loop_set"]

LONG = 3000
"""Iterations beyond which a loop is planned in blocks."""

_TAIL_WORK = 1.2e9  # additions for a loop whose end does not matter: a second or two
_HELD_WORK = 6e8
_HELD_SIZE = 6e6  # doubles kept for a loop whose end matters
_MOST_UNITS = 4096
_MENU = 256  # options of the body that a loop chooses from


@dataclass(frozen=True, slots=True)
class Grid:
    """Bytes as multiples of ``size / parts``: exactly the snapshot in whole units."""

    size: int
    parts: int
    exact: bool

    def up(self, nbytes: int) -> int:
        """Return the units that hold so many bytes."""
        return -(-nbytes * self.parts // self.size)

    def down(self, nbytes: int) -> int:
        """Return the whole units in so many bytes."""
        return nbytes * self.parts // self.size

    def bytes_of(self, units: int, *, up: bool = False) -> int:
        """Return the whole bytes in so many units, or the least that takes them."""
        return -(-units * self.size // self.parts) if up else units * self.size // self.parts


@dataclass(frozen=True, slots=True, eq=False)
class LoopSet:
    """The options of a loop.

    Attributes
    ----------
    options : Columns
        The options; with the seconds of what follows where ``with_rest``.
    with_rest : bool
        Whether what follows the loop is part of the options.
    note : str
        What was rounded; empty if nothing was.
    recorded : bool
        Whether every iteration is recorded in place, by the body's option ``menu[row]``.
    """

    options: Columns
    with_rest: bool
    note: str = ""
    table: StepTable | None = None
    endings: tuple[Floats, ...] = ()
    ending: tuple[int, ...] = ()
    units: tuple[int, ...] = ()
    menu: tuple[int, ...] = ()
    rest_units: tuple[int, ...] = ()
    recorded: bool = False

    def program(self, row: int) -> tuple[Program, int]:
        """Return the schedule of an option, and the row of what follows (-1 if not part).

        The schedule's options are rows of the body's own options.
        """
        if self.table is None:
            raise ValueError("this set was made for a bound and has no schedules.")
        rules, free = follow(self.table, self.endings[self.ending[row]], self.units[row])
        program = tuple(
            rule if rule.option < 0 else rule._replace(option=self.menu[rule.option])
            for rule in rules
        )
        if not self.with_rest:
            return program, -1
        return program, int(np.searchsorted(self.rest_units, free, side="right")) - 1


def loop_set(
    loop: Loop, body: Columns, rest: Columns | None, cap: int, *, optimistic: bool = False
) -> LoopSet:
    """Return the Pareto options of a loop.

    Costs O(steps^2 units) additions for the tables, once more for each slack between peak and
    bytes left that matters; the units are as fine as a second or two of work allow.

    Parameters
    ----------
    loop : Loop
        The loop.
    body : Columns
        The options of an iteration.
    rest : Columns or None
        What follows the loop, sorted by peak, where nothing held at the end of it all matters;
        None where it does.
    cap : int
        Bytes that no option exceeds.
    optimistic : bool
        Round down, for a lower bound.
    """
    if not len(body):
        return LoopSet(columns(), rest is not None)
    advance = sum(item.primal for item in loop.body)
    steps, size = loop.steps, loop.snapshot
    most = max(int(body.left.max()), size if loop.pure else 0)
    useful = steps * most + int(body.peak.max()) + (0 if rest is None else int(rest.peak.max()))
    cap = min(cap, useful)
    needs = gcd(size if loop.pure else 0, *body.left.tolist(), *body.peak.tolist())
    if rest is not None:
        needs = gcd(needs, *rest.peak.tolist())
    grid, slacks = _grid(steps, size if loop.pure else 0, cap, needs or 1, held=rest is None)
    turn = grid.down if optimistic else grid.up
    units = grid.down(cap)
    rows, menu = _menu(body, turn, advance, units)
    if not rows:
        return LoopSet(columns(), rest is not None)
    table = step_table(
        steps,
        menu,
        turn(size) if loop.pure else units + 1,
        float(loop.write),
        float(loop.read),
        float(advance),
        units,
    )
    note = "" if grid.exact else f"{loop.name}: bytes in units of {grid.size / grid.parts:.0f} B"
    if rest is not None:
        return _before_rest(table, grid, rest, rows, optimistic, note)
    if len(slacks) <= units:
        note += f", {len(slacks)} slacks"
    return _held(table, grid, slacks, rows, optimistic, note)


def _menu(
    body: Columns, turn: Callable[[int], int], advance: float, units: int
) -> tuple[tuple[int, ...], list[tuple[float, int, int]]]:
    """Return the body's options on the grid with their rows, without those that never win."""
    left = np.array([turn(size) for size in body.left.tolist()], dtype=np.int64)
    peak = np.array([turn(size) for size in body.peak.tolist()], dtype=np.int64)
    seconds = np.maximum(body.seconds, advance)  # equal but for the order of their sums
    made = Columns(seconds, left, peak)
    rows = pareto(made, units)
    if len(rows) > _MENU:
        rows = rows[thin(made.take(rows), _MENU)]
    menu = [(float(seconds[row]), int(left[row]), int(peak[row])) for row in rows]
    return tuple(rows.tolist()), menu


def _grid(
    steps: int, size: int, cap: int, needs: int, *, held: bool
) -> tuple[Grid, tuple[int, ...]]:
    """Return the finest grid that can be afforded, and the slacks to follow on it."""
    square = steps * steps
    exact = cap // needs
    if held:
        most = max(8, min(isqrt(int(2 * _HELD_WORK / square)), isqrt(int(_HELD_SIZE / steps))))
    else:
        most = max(32, min(_MOST_UNITS, int(_TAIL_WORK / square)))
    if exact <= most:
        return Grid(needs, 1, exact=True), tuple(range(exact + 1))
    slacks = most
    if held and most < 128:  # fewer slacks for more units
        most, slacks = most * 4, max(2, most // 4)
    parts = size * most // cap
    grid = Grid(size, parts, exact=False) if parts else Grid(-(-cap // most), 1, exact=False)
    units = grid.down(cap)
    if slacks > units:
        return grid, tuple(range(units + 1))
    # fine where little follows the loop
    return grid, tuple(sorted({number**2 * units // (slacks - 1) ** 2 for number in range(slacks)}))


def _before_rest(
    table: StepTable,
    grid: Grid,
    rest: Columns,
    rows: tuple[int, ...],
    optimistic: bool,
    note: str,
) -> LoopSet:
    turn = grid.down if optimistic else grid.up
    need = np.array([turn(peak) for peak in rest.peak.tolist()], dtype=np.int64)
    at = np.searchsorted(need, np.arange(table.units + 1), side="right") - 1
    end = np.where(at >= 0, rest.seconds[np.maximum(at, 0)], np.inf)
    ending = ending_of(table, end)
    last = ending[table.steps]
    before = np.concatenate([[np.inf], np.minimum.accumulate(last)[:-1]])
    units = np.nonzero(last < before)[0].tolist()
    options = columns(*((float(last[m]), 0, grid.bytes_of(m, up=optimistic)) for m in units))
    return LoopSet(
        options,
        True,
        note,
        table,
        (ending,),
        (0,) * len(units),
        tuple(units),
        rows,
        tuple(need.tolist()),
    )


def _held(
    table: StepTable,
    grid: Grid,
    slacks: tuple[int, ...],
    rows: tuple[int, ...],
    optimistic: bool,
    note: str,
) -> LoopSet:
    endings: list[Floats] = []
    found: list[tuple[float, int, int]] = []
    place: list[tuple[int, int]] = []
    for number, slack in enumerate(slacks):
        ending = ending_of(table, slack_end(table.units, slack))
        endings.append(ending)
        last = ending[table.steps]
        below = slack
        if optimistic:  # this row also stands for the slacks up to the next
            below = slacks[number + 1] - 1 if number + 1 < len(slacks) else table.units
        for m in np.nonzero(np.isfinite(last))[0].tolist():
            left = grid.bytes_of(max(0, m - below), up=optimistic)
            found.append((float(last[m]), left, grid.bytes_of(m, up=optimistic)))
            place.append((number, m))
    options = columns(*found)
    rows_kept = pareto(options, 2**62)
    keep: list[int] = rows_kept.tolist()
    return LoopSet(
        options.take(rows_kept),
        False,
        note,
        table,
        tuple(endings),
        tuple(place[row][0] for row in keep),
        tuple(place[row][1] for row in keep),
        rows,
    )


def bound_set(loop: Loop, body: Columns, cap: int) -> LoopSet:
    """Return options that no schedule of a long loop beats, for a lower bound.

    ``n min t + p max(0, t(n, s') - (n - 1))`` with ``s' = floor(m / min(s, R)) + 1``.
    """
    if not len(body):
        return LoopSet(columns(), False)
    steps = loop.steps
    advance = sum(item.primal for item in loop.body)
    least = float(body.seconds.min()) * steps
    unit = int(body.left.min()) if not loop.pure else min(loop.snapshot, int(body.left.min()))
    low = int(body.peak.min())
    if not unit:
        return LoopSet(columns((least, 0, low)), False, f"{loop.name}: bound of a long loop")
    counts = np.unique(np.geomspace(1, max(1, min(steps, cap // unit)), 400).astype(np.int64))
    found = [
        (
            least + advance * max(0, revolve_advances(steps, int(slots) + 1) - (steps - 1)),
            0,
            # the options with fewer slots than the next count start where these begin
            max(low, int(begin) * unit),
        )
        for slots, begin in zip(counts, [0, *(counts[:-1] + 1)], strict=True)
    ]
    return LoopSet(columns(*found), False, f"{loop.name}: bound of a long loop")
