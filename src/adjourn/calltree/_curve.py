"""Least seconds of an adjoint for every budget."""

from __future__ import annotations

from dataclasses import dataclass

from .._sizes import as_bytes
from ._made import evaluate
from ._sites import Modes
from ._tree import CallTree
from ._within import fastest, octave, require_tree, run, settle

__all__ = ["Curve", "curve"]


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
    require_tree(tree)
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
