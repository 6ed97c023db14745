"""The exact seconds and bytes of a given placement."""

from __future__ import annotations

from .._sizes import as_bytes
from ._made import evaluate
from ._placement import Placement, describe
from ._sites import Modes, resolve_modes
from ._tree import Call, CallTree
from ._within import best_within, made_of, require_tree

__all__ = ["what_if"]


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
    require_tree(tree)
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
