"""Several measurements of one call tree merged: of ranks, or of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Literal

from ..errors import BadValue
from ._tree import Call, CallTree, Item, Leaf, Loop, Repeat

__all__ = ["merge"]


def merge(trees: Iterable[CallTree], how: Literal["ranks", "runs"] = "ranks") -> CallTree:
    """Return one tree for several of the same shape.

    Bytes are the largest. Seconds are the largest over ranks, which wait for the slowest, and the
    median over runs. The spread is the larger of the measured one and half the range over the
    trees. Costs one visit of each tree; parts shared within all trees stay shared.

    Parameters
    ----------
    trees : iterable of CallTree
        Trees that make the same calls in the same order.
    how : {"ranks", "runs"}
        What they are.

    Raises
    ------
    BadValue
        No trees, or they differ in a call, a count, or the order.

    Examples
    --------
    >>> slow = CallTree([Leaf(advance=2, seconds=6, left=4, peak=5)])
    >>> fast = CallTree([Leaf(advance=1, seconds=4, left=4, peak=4)])
    >>> merge([slow, fast]).body
    (Leaf(advance=2, seconds=6, left=4, peak=5, record=None, spread=1.0, samples=2),)
    """
    given = list(trees)
    if not given:
        raise BadValue("merge([]) has no trees. Pass at least one.")
    if how not in ("ranks", "runs"):
        raise BadValue(f"how={how!r} is neither 'ranks' nor 'runs'.")
    if len(given) == 1:
        return given[0]
    merged = _Merger(max if how == "ranks" else median)
    body = merged.body([tree.body for tree in given], "the root")
    notes = dict.fromkeys(tree.note for tree in given if tree.note)
    note = f"{len(given)} {how} merged"
    return CallTree(body, "; ".join([note, *notes]))


class _Merger:
    def __init__(self, typical: Callable[[list[float]], float]) -> None:
        self._typical = typical
        self._done: dict[tuple[int, ...], Item] = {}

    def body(self, bodies: Sequence[tuple[Item, ...]], where: str) -> tuple[Item, ...]:
        lengths = {len(body) for body in bodies}
        if len(lengths) > 1:
            raise BadValue(
                f"merge: {where} has {sorted(lengths)} items in different trees. Merge trees of "
                "the same run only, or plan for the slowest one alone."
            )
        return tuple(self._item(items, where) for items in zip(*bodies, strict=True))

    def _item(self, items: tuple[Item, ...], where: str) -> Item:
        key = tuple(map(id, items))
        if key not in self._done:
            self._done[key] = self._merged(items, where)
        return self._done[key]

    def _merged(self, items: tuple[Item, ...], where: str) -> Item:
        first = items[0]
        if any(_shape(item) != _shape(first) for item in items):
            raise BadValue(
                f"merge: in {where} one tree has {_shape(first)} where another has "
                f"{next(_shape(item) for item in items if _shape(item) != _shape(first))}. "
                "Merge trees of the same run only, or plan for the slowest one alone."
            )
        if isinstance(first, Leaf):
            return self._leaf([item for item in items if isinstance(item, Leaf)])
        inner = f"site {first.site!r}" if isinstance(first, Call) else where
        body = self.body([item.body for item in items if not isinstance(item, Leaf)], inner)
        if isinstance(first, Call):
            calls = [item for item in items if isinstance(item, Call)]
            copies = [call.copy for call in calls]
            return replace(
                first,
                snapshot=max(call.snapshot for call in calls),
                copy=self._typical(copies),
                spread=_spread(copies, [call.spread for call in calls]),
                samples=sum(call.samples for call in calls),
                external=all(call.external for call in calls),
                body=body,
            )
        if isinstance(first, Loop):
            loops = [item for item in items if isinstance(item, Loop)]
            return Loop(
                first.steps,
                max(loop.snapshot for loop in loops),
                self._typical([loop.write for loop in loops]),
                self._typical([loop.read for loop in loops]),
                body,
                first.name,
            )
        return Repeat(first.times, body)

    def _leaf(self, leaves: list[Leaf]) -> Leaf:
        seconds = [leaf.seconds for leaf in leaves]
        advance = self._typical([leaf.advance for leaf in leaves])
        records = [leaf.record for leaf in leaves if leaf.record is not None]
        left = max(leaf.left for leaf in leaves)
        return Leaf(
            advance,
            max(self._typical(seconds), advance),
            left,
            max(left, *(leaf.peak for leaf in leaves)),
            self._typical(records) if len(records) == len(leaves) else None,
            _spread(seconds, [leaf.spread for leaf in leaves]),
            sum(leaf.samples for leaf in leaves),
        )


def _spread(values: list[float], spreads: list[float]) -> float:
    return max((max(values) - min(values)) / 2, *spreads)


def _shape(item: Item) -> str:
    match item:
        case Leaf():
            return "a leaf"
        case Call():
            return f"a call of {item.site!r}"
        case Loop():
            return f"a loop of {item.steps} iterations"
        case Repeat():
            return f"{item.times} repeats"
