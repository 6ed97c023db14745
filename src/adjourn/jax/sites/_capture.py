"""The real inputs of every site: the program run once, a level at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter, process_time
from typing import Any

from .._compat import bind, jax
from ._levels import Flat, Level, Node

__all__ = ["Captured", "capture", "run_flats"]


class Captured:
    """What a level was given, and the values of it that were asked for.

    Attributes
    ----------
    level : Level
        The level.
    values : dict of int to array
        Values by their numbers; the inputs of every site of the level are among them.
    seconds : float
        Processor seconds of one run, all that was asked for written out.
    compiling : float
        Seconds that compiling took, for each equation.
    within : dict of int to Captured
        By the place of a loop or branch among the equations: its first step, or the side taken.
    """

    def __init__(
        self, level: Level, values: dict[int, Any], seconds: float, compiling: float
    ) -> None:
        self.level = level
        self.values = values
        self.seconds = seconds
        self.compiling = compiling
        self.within: dict[int, Captured] = {}


def run_flats(
    level: Level, flats: Iterable[Flat], values: dict[int, Any], results: Sequence[int]
) -> list[Any]:
    """Run equations of a level on values, traced or not; return some of what is then known."""
    known = {**level.numbers, **values}
    for flat in flats:
        given = [
            atom.val if value is None else known[value]
            for atom, value in zip(flat.eqn.invars, flat.inputs, strict=True)
        ]
        known.update(zip(flat.outputs, bind(flat.eqn, given), strict=True))
    return [known[value] for value in results]


def capture(
    level: Level,
    given: Sequence[Any],
    inputs: Callable[[Level, Node], Iterable[int]],
    worthy: Callable[[Level, Node], bool],
    shown: Callable[[str], None],
) -> Captured:
    """Run a level and return the inputs of its sites that are worthy, and of those within.

    Costs a compilation and a run of each level without its derivative: of the program, of one
    step of each loop, of the side of a branch that is taken; and the inputs of all those sites
    held.
    """
    shown(f"running {level.path or 'the program'} once")
    wanted: set[int] = set()
    sites = [node for node in level.here() if worthy(level, node)]
    for node in sites:
        wanted.update(inputs(level, node))
    entered = [node.start for node in sites if node.enters]
    for place in entered:
        wanted.update(v for v in level.flats[place].inputs if v is not None)
    start = dict(zip(level.inputs, given, strict=True))
    asked = sorted(wanted - {*start, *level.numbers})
    last = _last(level, asked)

    def run(given: list[Any]) -> list[Any]:
        begin = dict(zip(level.inputs, given, strict=True))
        return run_flats(level, level.flats[:last], begin, asked)

    made: list[Any] = []
    seconds = compiling = 0.0
    if asked:
        began = perf_counter()
        compiled = jax.jit(run).lower(list(given)).compile()
        compiling = (perf_counter() - began) / max(last, 1)
        made = jax.block_until_ready(compiled(list(given)))
        if level.path and not _acts(level):
            again = process_time()
            jax.block_until_ready(compiled(list(given)))
            seconds = process_time() - again
    values = {**level.numbers, **start, **dict(zip(asked, made, strict=True))}
    seen = Captured(level, values, seconds, compiling)
    for place in entered:
        flat = level.flats[place]
        inside = [
            atom.val if v is None else seen.values[v]
            for atom, v in zip(flat.eqn.invars, flat.inputs, strict=True)
        ]
        if flat.eqn.primitive.name == "cond":
            side = min(max(int(inside[0]), 0), len(flat.subs) - 1)
            seen.within[place] = capture(flat.subs[side], inside[1:], inputs, worthy, shown)
            continue
        (sub,) = flat.subs
        if sub.steps == 0:
            continue
        moving = sub.consts + sub.carries
        first = -1 if flat.eqn.params["reverse"] else 0
        inside[moving:] = [x[first] for x in inside[moving:]]
        seen.within[place] = capture(sub, inside, inputs, worthy, shown)
    return seen


def _acts(level: Level) -> bool:
    return any(flat.eqn.effects for flat in level.flats)


def _last(level: Level, asked: Sequence[int]) -> int:
    """Return how many equations make the values asked for."""
    wanted = {*asked}
    places = [k for k, flat in enumerate(level.flats) if wanted.intersection(flat.outputs)]
    return max(places, default=-1) + 1
