"""The fastest decisions on a tree within a budget, by folds of Pareto sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._sizes import format_bytes, format_seconds
from ..errors import BudgetTooSmall, WrongType
from ._fold import Chooser, Fold, Folder
from ._made import Body, Made, decide, evaluate
from ._sets import Columns
from ._sites import Modes, resolve_modes, step_names
from ._tree import Call, CallTree, Item, Leaf

__all__ = [
    "Found",
    "best_within",
    "fastest",
    "made_of",
    "octave",
    "pick",
    "require_tree",
    "run",
    "settle",
]

_CLEAR = 1 + 1e-9  # a bound is above a time only if it is so beyond the rounding of sums


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The fastest decisions within a budget, with a lower bound."""

    body: Body
    seconds: float
    bound: float
    notes: tuple[str, ...]


def best_within(
    tree: CallTree, budget: int, settled: Chooser | None = None, *, by_path: bool = False
) -> Found:
    """Return the fastest decisions within ``budget`` bytes.

    Sets are made for caps that are powers of two less one, whatever the budget below: within an
    octave a larger budget chooses from more options of the same sets. The next octave below is
    tried as well unless a bound shows that it holds nothing better. So a larger budget is never
    slower, also where sets were rounded.
    """
    whole = evaluate(fastest(tree, settled)).peak
    limit = min(budget, whole)
    best: tuple[float, Fold, int] | None = None
    notes: tuple[str, ...] = ()
    bound = 0.0
    cap = octave(limit)
    while True:
        fold, folder = run(tree, min(cap, whole), settled, by_path=by_path)
        row = pick(fold, limit)
        if row is not None and (best is None or fold.options.seconds[row] < best[0]):
            best = float(fold.options.seconds[row]), fold, row
            notes = tuple(folder.notes)
        if not folder.rounded or cap == 0:
            break
        below = run(tree, min(cap, whole), settled, by_path=by_path, optimistic=True)[0].options
        bound = bound or _least(below, limit)
        cap = limit = cap >> 1
        if best is None:
            if not len(below):
                break
        elif _least(below, limit) >= best[0] * _CLEAR:
            break
    if best is None:
        raise _too_small(tree, budget, settled, by_path=by_path, cap=octave(min(budget, whole)))
    seconds, fold, row = best
    return Found(decide(fold, row)[0], seconds, min(seconds, bound) if notes else seconds, notes)


def _least(options: Columns, limit: int) -> float:
    return float(np.min(options.seconds[options.peak <= limit], initial=np.inf))


def run(
    tree: CallTree,
    cap: int,
    settled: Chooser | None,
    *,
    by_path: bool = False,
    optimistic: bool = False,
) -> tuple[Fold, Folder]:
    """Fold the tree under a cap."""
    folder = Folder(cap, settled, by_path, optimistic)
    return folder.body(tree.body, held=False), folder


def octave(nbytes: int) -> int:
    """Return the least power of two less one that is not below."""
    return (1 << nbytes.bit_length()) - 1


def pick(fold: Fold, limit: int) -> int | None:
    """Return the row of the fastest option within ``limit``, if any."""
    rows = np.nonzero(fold.options.peak <= limit)[0]
    if not len(rows):
        return None
    return int(rows[np.lexsort((fold.options.peak[rows], fold.options.seconds[rows]))[0]])


def _too_small(
    tree: CallTree, budget: int, settled: Chooser | None, *, by_path: bool, cap: int
) -> BudgetTooSmall:
    while True:
        fold, folder = run(tree, cap, settled, by_path=by_path)
        if len(fold.options):
            break
        cap = 2 * cap + 1
    row = int(np.argmin(fold.options.peak))
    value = evaluate(decide(fold, row)[0])
    about = " (to the rounding of bytes)" if folder.rounded else ""
    return BudgetTooSmall(
        f"budget={format_bytes(budget)} ({budget} bytes) holds no placement of this tree; the "
        f"least that works{about} is {format_bytes(value.peak)} ({value.peak} bytes), in "
        f"{format_seconds(float(fold.options.seconds[row]))}. Pass budget={value.peak} or more.",
        value.peak,
    )


def settle(tree: CallTree, modes: Modes | None) -> tuple[Chooser | None, bool]:
    """Return a function that tells the given mode of a call, and whether it needs paths."""
    if not modes:
        return None, False
    found = resolve_modes(tree, modes)

    def by_context(path: str, call: Call) -> str | None:  # noqa: ARG001 - one signature
        return found.get(path)

    return by_context, True  # type: ignore[return-value]


def fastest(tree: CallTree, settled: Chooser | None = None) -> Body:
    """Return the decisions that take the least time: split and recorded wherever that is open."""
    return made_of(tree.body, settled, "split", "")


def made_of(items: tuple[Item, ...], settled: Chooser | None, default: str, prefix: str) -> Body:
    """Return decisions for a body: the settled modes, else ``default``; loops recorded."""
    names = iter([path for _, path in step_names(items, prefix)])

    def walk(part: tuple[Item, ...]) -> Body:
        made: list[Made] = []
        for item in part:
            if isinstance(item, Leaf):
                made.append(Made(item))
            elif isinstance(item, Call):
                path = next(names)
                mode = (settled(path, item) if settled is not None else None) or default
                mode = "joint" if item.external else mode if item.pure else "split"
                body = made_of(item.body, settled, default, path)
                made.append(Made(item, mode, (body,)))  # type: ignore[arg-type]
            else:
                made.append(Made(item, bodies=(walk(item.body),)))
        return tuple(made)

    return walk(items)


def require_tree(tree: CallTree) -> None:
    """Refuse what is no call tree."""
    if not isinstance(tree, CallTree):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"tree is a {type(tree).__name__}. Pass a CallTree, such as CallTree([Leaf(...)])."
        )
