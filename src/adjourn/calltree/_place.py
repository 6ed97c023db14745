"""The best placement within a budget, and the whole curve of seconds against bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._sizes import as_bytes, format_bytes, format_seconds
from ..errors import BudgetTooSmall, WrongType
from ._fold import Chooser, Fold, Folder
from ._made import Body, Made, decide, evaluate
from ._placement import Placement, describe
from ._sets import Columns
from ._sites import Modes, resolve_modes, step_names
from ._tree import Call, CallTree, Item, Leaf

__all__ = ["Curve", "best_within", "curve", "fastest", "place", "settle", "what_if"]

_CLEAR = 1 + 1e-9  # a bound is above a time only if it is so beyond the rounding of sums


def place(
    tree: CallTree,
    budget: int | str,
    *,
    modes: Modes | None = None,
    tied: bool = False,
) -> Placement:
    """Return the fastest placement whose peak is within a budget.

    Every call is joint or split and every loop has a schedule of its own; snapshots along the
    loops and tapes inside them compete for the same bytes. Exact where sizes and sets stay
    small; else sets are thinned and loops get a grid of bytes, and the placement says so and
    gives a lower bound. Never slower with a larger budget.

    Costs one Pareto fold of the tree (milliseconds for tens of sites without loops), and for a
    loop of n iterations O(n^2) additions for each of the units of its grid: a second or two for
    1440 iterations.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    budget : int or str
        Bytes that may be held at once, or a text such as ``"2 GiB"``.
    modes : mapping of site or path to mode, optional
        Modes that are settled.
    tied : bool
        One decision for every context, and every iteration, of a site, as AD tools that
        transform source need it; by branch and bound.

    Returns
    -------
    Placement
        The modes, the loops' schedules, seconds, and bytes.

    Raises
    ------
    BudgetTooSmall
        No placement fits; the error's ``least`` is the least budget that was found to work.
    BadValue
        A mode names a site that the tree does not have.

    References
    ----------
    .. [1] L. Hascoët, J.-L. Bouchot, S. S. Gaikwad, S. H. K. Narayanan and J. Hückelheim,
       "Profiling checkpointing schedules in adjoint ST-AD", arXiv 2405.15590.

    Examples
    --------
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([
    ...     Call(site="a", snapshot=2, copy=0, body=[Leaf(advance=5, seconds=11, left=6, peak=8)]),
    ...     Call(site="b", snapshot=1, copy=0, body=[Leaf(advance=2, seconds=5, left=6, peak=7)]),
    ... ])
    >>> placement = place(tree, 12)
    >>> placement.seconds, placement.peak_bytes, placement.modes
    (21, 10, {'a': 'joint', 'b': 'split'})
    """
    _is_tree(tree)
    nbytes = as_bytes(budget)
    settled, by_path = settle(tree, modes)
    if tied:
        from ._tied import place_tied  # noqa: PLC0415 - it builds on this module

        return place_tied(tree, nbytes, settled, by_path=by_path)
    found = best_within(tree, nbytes, settled, by_path=by_path)
    method = "optimal" if found.seconds <= found.bound else "best found"
    method += "" if modes is None else ", some modes given"
    return describe(
        tree,
        found.body,
        method,
        budget=nbytes,
        seconds=found.seconds,
        bound=found.bound,
        notes=found.notes,
    )


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


def what_if(
    tree: CallTree, modes: Modes, budget: int | str | None = None, *, default: str = "joint"
) -> Placement:
    """Return the exact seconds and peak of any placement, without running anything.

    Costs one visit of each context; with a budget, the planning of the loops.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    modes : mapping of site or path to mode
        The placement. A path wins over its site.
    budget : int or str, optional
        Where given, loops get the best schedule in what the placement leaves of it; else every
        iteration of a loop is recorded in place.
    default : {"joint", "split"}
        The mode of the calls that ``modes`` does not name.

    Raises
    ------
    BadValue
        A site is not in the tree, or a mode is neither joint nor split.
    BudgetTooSmall
        The placement does not fit the budget, however its loops are scheduled.

    Examples
    --------
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([
    ...     Call(site="a", snapshot=2, copy=0, body=[Leaf(advance=5, seconds=11, left=6, peak=8)]),
    ...     Call(site="b", snapshot=1, copy=0, body=[Leaf(advance=2, seconds=5, left=6, peak=7)]),
    ... ])
    >>> seen = what_if(tree, {"b": "split"})
    >>> seen.seconds, seen.peak_bytes, seen.peak_parts[0]
    (21, 10, Holding(path='a', what='snapshot', nbytes=2))
    """
    _is_tree(tree)
    given = resolve_modes(tree, modes)

    def settled(path: str, call: Call) -> str | None:  # noqa: ARG001 - one signature
        return given.get(path, default)

    if budget is None:
        body = made_of(tree.body, settled, default, "")  # type: ignore[arg-type]
        return describe(tree, body, "what if", bound=float(evaluate(body).seconds))
    nbytes = as_bytes(budget)
    found = best_within(tree, nbytes, settled, by_path=True)  # type: ignore[arg-type]
    return describe(
        tree,
        found.body,
        "what if",
        budget=nbytes,
        seconds=found.seconds,
        bound=found.bound,
        notes=found.notes,
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """Least seconds for every budget.

    Attributes
    ----------
    points : tuple of (bytes, seconds)
        Where the curve steps down: each budget from these bytes on takes these seconds.
    primal : float
        Seconds of one plain run.
    notes : tuple of str
        What was rounded; nothing if the curve is exact.
    """

    points: tuple[tuple[int, float], ...]
    primal: float
    notes: tuple[str, ...] = ()

    def seconds(self, budget: int | str) -> float:
        """Return the seconds for a budget; infinite where nothing fits."""
        nbytes = as_bytes(budget)
        fitting = [seconds for peak, seconds in self.points if peak <= nbytes]
        return fitting[-1] if fitting else float("inf")


def curve(tree: CallTree, most: int | str | None = None, *, modes: Modes | None = None) -> Curve:
    """Return the whole curve of least seconds against budget.

    Costs one fold of the tree for each power of two between the least and the largest budget.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    most : int or str, optional
        The largest budget of interest; where nothing gets faster, if not given.
    modes : mapping of site or path to mode, optional
        Modes that are settled.

    Examples
    --------
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([
    ...     Call(site="a", snapshot=2, copy=0, body=[Leaf(advance=5, seconds=11, left=6, peak=8)]),
    ... ])
    >>> curve(tree).points
    ((8, 11.0),)
    """
    _is_tree(tree)
    settled, by_path = settle(tree, modes)
    whole = evaluate(fastest(tree, settled)).peak
    top = whole if most is None else min(whole, as_bytes(most, "most"))
    found: list[tuple[int, float]] = []
    notes: dict[str, None] = {}
    cap = octave(top)
    while True:
        fold, folder = run(tree, min(cap, whole), settled, by_path=by_path)
        rows = fold.options.peak <= top
        found += zip(
            fold.options.peak[rows].tolist(), fold.options.seconds[rows].tolist(), strict=True
        )
        notes.update(folder.notes)
        if not folder.rounded or not len(fold.options) or cap == 0:
            break
        cap >>= 1
    points: list[tuple[int, float]] = []
    for peak, seconds in sorted(found):
        if not points or seconds < points[-1][1]:
            points.append((peak, seconds))
    return Curve(tuple(points), float(tree.primal), tuple(notes))


def _is_tree(tree: CallTree) -> None:
    if not isinstance(tree, CallTree):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"tree is a {type(tree).__name__}. Pass a CallTree, such as CallTree([Leaf(...)])."
        )
