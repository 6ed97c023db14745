"""The best placement within a budget."""

from __future__ import annotations

from .._sizes import as_bytes
from ._placement import Placement, describe
from ._sites import Modes
from ._tied import place_tied
from ._tree import CallTree
from ._within import best_within, require_tree, settle

__all__ = ["place"]


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
    require_tree(tree)
    nbytes = as_bytes(budget)
    settled, by_path = settle(tree, modes)
    if tied:
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
