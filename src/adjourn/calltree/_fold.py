"""The Pareto dynamic programme over a call tree with loops inside.

A body is folded from its end: what follows is a set of options, and each item in front of it
makes a new one. Where nothing held at the end of a body matters (the root, and the body of a
joint call, which is reversed as soon as it has run) the bytes left are dropped, and a set is a
curve of seconds against peak. A split call folds the callee's items onto what follows the call;
only bodies of loops and repeats need all three columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._loopset import LONG, LoopSet, bound_set, loop_set
from ._sets import Columns, columns, pareto, pool, thin
from ._sites import step_names
from ._tree import Call, Item, Leaf, Loop, Mode, Repeat

__all__ = ["Chooser", "Fold", "Folder", "Policy"]

Rows: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]
Chooser: TypeAlias = Callable[[str, Call], Mode | None]
"""Says which mode is settled for a call in the context with this path, if any."""

Policy: TypeAlias = Callable[[Loop, Columns, "Columns | None", int], LoopSet]
"""Makes a loop's options from its body's, what follows (None if its end matters) and the cap."""

_FLAT = 4000  # options kept of a curve
_FULL = 1500  # options kept of a set in three columns


@dataclass(slots=True, eq=False)
class Fold:
    """The options of a stretch with all that follows it, and where each comes from.

    Attributes
    ----------
    options : Columns
        The options.
    item : Leaf, Call, Loop, Repeat or None
        The first item of the stretch; None where nothing follows.
    rest : Fold or None
        What follows the item.
    behind : ndarray of int
        The row of ``rest`` that each option goes on with; -1 where the loop's schedule tells.
    inside : ndarray of int
        The row of the item's own options: of ``split`` or ``joint`` for a call (``joint`` where
        ``is_joint``), of ``body`` for a repeat, of ``loop`` for a loop.
    shadow : bool
        The item is the beginning of the loop that follows it, planned apart.
    """

    options: Columns
    item: Item | None = None
    rest: Fold | None = None
    behind: Rows | None = None
    inside: Rows | None = None
    is_joint: Bools | None = None
    split: Fold | None = None
    joint: Fold | None = None
    body: Fold | None = None
    loop: LoopSet | None = None
    shadow: bool = False


@dataclass(slots=True)
class Folder:
    """Folds trees under one cap, remembering shared parts.

    Parameters
    ----------
    cap : int
        Bytes that no option exceeds.
    settled : callable or None
        Which modes are given; None leaves every call open.
    by_path : bool
        Whether ``settled`` depends on the path and not only on the call.
    optimistic : bool
        Round in the direction that makes the least seconds a lower bound.
    policy : callable or None
        How a loop's options come about; None for the optimum.

    Attributes
    ----------
    rounded : bool
        Whether a set was thinned or a size rounded: without, the options are exact.
    notes : dict
        What was rounded, each once.
    """

    cap: int
    settled: Chooser | None = None
    by_path: bool = False
    optimistic: bool = False
    policy: Policy | None = None
    rounded: bool = False
    notes: dict[str, None] = field(default_factory=dict[str, None])
    _done: dict[tuple[int, bool, str], Fold] = field(
        default_factory=dict[tuple[int, bool, str], Fold]
    )

    def body(self, items: tuple[Item, ...], *, held: bool, prefix: str = "") -> Fold:
        """Return the options of a body that nothing follows.

        Parameters
        ----------
        items : tuple of items
            The body.
        held : bool
            Whether what is left at its end matters to the caller.
        prefix : str
            The path of the routine that the body is part of.
        """
        key = (id(items), held, prefix if self.by_path else "")
        if key not in self._done:
            nothing = Fold(columns((0.0, 0, 0)))
            self._done[key] = self.onto(items, nothing, held=held, prefix=prefix)
        return self._done[key]

    def onto(self, items: tuple[Item, ...], rest: Fold, *, held: bool, prefix: str) -> Fold:
        """Return the options of a body followed by ``rest``."""
        names = _names(items, prefix) if self.by_path else None
        return self._onto(items, rest, held, prefix, names)

    def _onto(
        self,
        items: tuple[Item, ...],
        rest: Fold,
        held: bool,
        prefix: str,
        names: dict[int, str] | None,
    ) -> Fold:
        for position in range(len(items) - 1, -1, -1):
            if not len(rest.options):
                return rest  # what follows does not fit
            item = items[position]
            if isinstance(item, Leaf):
                rest = self._leaf(item, rest, held)
            elif isinstance(item, Call):
                path = names.pop(len(names) - 1) if names is not None else ""
                rest = self._call(item, rest, held, path)
            elif isinstance(item, Repeat):
                rest = self._repeat(item, rest, held, prefix, names)
            else:
                rest = self._loop(item, rest, held, prefix, names)
        return rest

    def _inner(self, items: tuple[Item, ...], prefix: str, names: dict[int, str] | None) -> Fold:
        """Return the options of the body of a repeat or loop, which is part of the routine."""
        if names is None:
            return self.body(items, held=True, prefix=prefix)
        nothing = Fold(columns((0.0, 0, 0)))
        return self._onto(items, nothing, True, prefix, names)

    def _leaf(self, item: Leaf, rest: Fold, held: bool) -> Fold:
        after = rest.options
        peak = np.maximum(after.peak + item.left, item.peak)
        left = after.left + item.left if held else after.left
        made = Columns(after.seconds + item.seconds, left, peak)
        return self._keep(Fold(made, item, rest, np.arange(len(made))), held)

    def _call(self, item: Call, rest: Fold, held: bool, path: str) -> Fold:
        mode = self.settled(path, item) if self.settled is not None else None
        if item.external:
            mode = "joint"
        elif not item.pure:
            mode = "split"
        split = joint = None
        parts: list[Columns] = []
        behind: list[Rows] = []
        inside: list[Rows] = []
        flags: list[Bools] = []
        if mode != "joint":
            split = self.onto(item.body, rest, held=held, prefix=path)
            some = split.options
            parts.append(
                Columns(some.seconds + item.extra, some.left, some.peak) if item.extra else some
            )
            behind.append(np.full(len(split.options), -1))
            inside.append(np.arange(len(split.options)))
            flags.append(np.zeros(len(split.options), dtype=bool))
        if mode != "split":
            joint = self.body(item.body, held=False, prefix=path)
            rows, made = self._joint(item, joint.options, rest.options, held)
            parts.append(made)
            behind.append(rows[1])
            inside.append(rows[0])
            flags.append(np.ones(len(made), dtype=bool))
        fold = Fold(
            _stack(parts),
            item,
            rest,
            np.concatenate(behind),
            np.concatenate(inside),
            np.concatenate(flags),
            split,
            joint,
        )
        return self._keep(fold, held)

    def _joint(
        self, item: Call, again: Columns, rest: Columns, held: bool
    ) -> tuple[tuple[Rows, Rows], Columns]:
        """Return the options of a joint call: every way to run it again with every rest."""
        size = item.snapshot
        t_again = again.seconds + (item.primal + item.copy)
        k_again = again.peak + size if item.keep else np.maximum(again.peak, size)
        t = (t_again[:, None] + rest.seconds[None, :]).ravel()
        k = np.maximum(k_again[:, None], rest.peak[None, :] + size).ravel()
        left = np.broadcast_to(rest.left + (size if held else 0), (len(again), len(rest))).ravel()
        made = Columns(t, left, k)
        rows = pareto(made, self.cap)
        return (rows // len(rest), rows % len(rest)), made.take(rows)

    def _repeat(
        self, item: Repeat, rest: Fold, held: bool, prefix: str, names: dict[int, str] | None
    ) -> Fold:
        body = self._inner(item.body, prefix, names)
        one, times = body.options, item.times
        whole = Columns(one.seconds * times, one.left * times, one.left * (times - 1) + one.peak)
        made, inside, behind = self._before(whole, rest.options, held)
        return self._keep(Fold(made, item, rest, behind, inside, body=body), held)

    def _loop(
        self, item: Loop, rest: Fold, held: bool, prefix: str, names: dict[int, str] | None
    ) -> Fold:
        body = self._inner(item.body, prefix, names)
        if self.policy is not None or item.steps <= LONG:
            return self._loop_onto(item, body, rest, held)
        if self.optimistic:
            loop = bound_set(item, body.options, self.cap)
            return self._after_loop(item, body, loop, rest, held)
        block = -(-item.steps // (LONG // 2))
        self.notes.setdefault(f"{item.name}: planned in blocks of {block} iterations")
        self.rounded = True
        nothing = Fold(columns((0.0, 0, 0)))
        one = replace_steps(item, block, item.body)
        inner = self._loop_onto(one, body, nothing, held=True)
        whole = replace_steps(item, item.steps // block, (one,))
        rest = self._loop_onto(whole, inner, rest, held)
        over = item.steps % block
        if over:
            rest = self._loop_onto(replace_steps(item, over, item.body), body, rest, held)
            rest.shadow = True
        return rest

    def _loop_onto(self, item: Loop, body: Fold, rest: Fold, held: bool) -> Fold:
        after = None if held else rest.options
        if self.policy is not None:
            loop = self.policy(item, body.options, after, self.cap)
        else:
            loop = loop_set(item, body.options, after, self.cap, optimistic=self.optimistic)
        return self._after_loop(item, body, loop, rest, held)

    def _after_loop(self, item: Loop, body: Fold, loop: LoopSet, rest: Fold, held: bool) -> Fold:
        if loop.note:
            self.rounded = True
            self.notes.setdefault(loop.note)
        if loop.with_rest:
            rows = pareto(loop.options, self.cap)
            made = loop.options.take(rows)
            behind, inside = np.full(len(rows), -1), rows
        else:
            made, inside, behind = self._before(loop.options, rest.options, held)
        return self._keep(Fold(made, item, rest, behind, inside, body=body, loop=loop), held)

    def _before(self, item: Columns, rest: Columns, held: bool) -> tuple[Columns, Rows, Rows]:
        """Return every option of an item in front of every rest, without those that never win."""
        fitting = np.nonzero(item.peak <= self.cap)[0]
        step = max(1, (1 << 21) // max(1, len(rest)))
        made = columns()
        inside = behind = np.zeros(0, dtype=np.intp)
        for start in range(0, len(fitting), step):
            some = fitting[start : start + step]
            t = (item.seconds[some, None] + rest.seconds[None, :]).ravel()
            k = item.left[some, None] + rest.peak[None, :]
            k = np.maximum(k, item.peak[some, None]).ravel()
            if held:
                left = (item.left[some, None] + rest.left[None, :]).ravel()
            else:
                left = np.zeros(len(t), dtype=np.int64)
            both = _stack([made, Columns(t, left, k)])
            rows = pareto(both, self.cap)
            made = both.take(rows)
            inside = np.concatenate([inside, np.repeat(some, len(rest))])[rows]
            behind = np.concatenate([behind, np.tile(np.arange(len(rest)), len(some))])[rows]
        return made, inside, behind

    def _keep(self, fold: Fold, held: bool) -> Fold:
        """Drop what never wins, and more where too much is left."""
        rows = pareto(fold.options, self.cap)
        limit = _FULL if held else _FLAT
        if len(rows) > limit:
            self.rounded = True
            self.notes.setdefault(f"sets of more than {limit} options were thinned")
            some = fold.options.take(rows)
            if self.optimistic:
                pooled = pool(some, limit)
                fold.options = pooled.take(pareto(pooled, self.cap))
                fold.behind = fold.inside = fold.is_joint = None
                return fold
            rows = rows[thin(some, limit)]
        fold.options = fold.options.take(rows)
        fold.behind = None if fold.behind is None else fold.behind[rows]
        fold.inside = None if fold.inside is None else fold.inside[rows]
        fold.is_joint = None if fold.is_joint is None else fold.is_joint[rows]
        return fold


def _names(items: tuple[Item, ...], prefix: str) -> dict[int, str]:
    """Return the paths of a routine's calls by their order; they are taken from the last on."""
    return dict(enumerate(path for _, path in step_names(items, prefix)))


def replace_steps(loop: Loop, steps: int, body: tuple[Item, ...]) -> Loop:
    """Return the loop with another number of iterations and another body."""
    return Loop(steps, loop.snapshot, loop.write, loop.read, body, loop.name)


def _stack(parts: Iterable[Columns]) -> Columns:
    parts = list(parts)
    return Columns(
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.peak for part in parts]),
    )
