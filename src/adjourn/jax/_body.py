"""One step of a loop, prepared for reversal: what is live, what is recorded, what is pulled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

from ._compat import (
    as_closed,
    bare,
    evaluate,
    is_literal,
    jax,
    prune,
    without_effects,
    without_rules,
)
from ._trees import has_tangent, join, split

__all__ = ["Body", "Flags", "moving_carry"]

Leaves: TypeAlias = list[Any]
Flags: TypeAlias = tuple[bool, ...]
Step: TypeAlias = Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]


def moving_carry(closed: Any, consts: Flags, carry: Flags, inputs: Flags) -> tuple[Flags, Flags]:
    """Return which leaves of the carry, and of the outputs, have derivatives in some step.

    ``consts``, ``carry`` and ``inputs`` tell which leaves have them at the start. A leaf that
    depends on one that has is taken to have one, if its numbers are real or complex.
    """
    while True:
        where = dependants(closed, (*consts, *carry, *inputs), has_tangent)
        grown = tuple(a or b for a, b in zip(carry, where[: len(carry)], strict=True))
        if grown == carry:
            return carry, tuple(where[len(carry) :])
        carry = grown


def dependants(closed: Any, marks: Sequence[bool], carries: Callable[[Any], bool]) -> list[bool]:
    """Return which outputs of a program depend on marked inputs, through values that count.

    An equation's outputs are taken to depend on all of its inputs; those of an equation with
    effects count as dependent.
    """
    jaxpr = bare(closed)
    marked = {var for var, mark in zip(jaxpr.invars, marks, strict=True) if mark}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "stop_gradient" and carries is has_tangent:
            continue
        if eqn.effects or any(not is_literal(a) and a in marked for a in eqn.invars):
            marked.update(var for var in eqn.outvars if carries(var.aval))
    return [not is_literal(atom) and atom in marked for atom in jaxpr.outvars]


def reaching(closed: Any, first: int, carry: Flags, outputs: Flags) -> tuple[bool, ...]:
    """Return which leaves of the carry have a cotangent that may differ from zero in some step.

    ``carry`` and ``outputs`` tell which have one at the end, and in some step; ``first`` is the
    number of constants before the carry.
    """
    while True:
        chosen = [index for index, here in enumerate((*carry, *outputs)) if here]
        reads = prune(closed, chosen)[1][first:]
        grown = tuple(a or b for a, b in zip(carry, reads[: len(carry)], strict=True))
        if grown == carry:
            return carry
        carry = grown


@dataclass(frozen=True, eq=False)
class Body:
    """A step ``(consts, carry, x) -> (carry, y)`` taken apart; made by `Body.of`.

    Only the leaves of the carry that a recomputed pullback reads, directly or through later
    steps, are live: sums that are only added to are not. Residuals that depend on constants
    alone are computed once a loop, not once a step.

    Attributes
    ----------
    consts, inputs : tuple of bool
        Which constants and inputs are differentiated.
    move : tuple of bool
        Which leaves of the carry have a cotangent.
    outputs : tuple of bool
        Which outputs have a cotangent.
    keep : tuple of bool
        Which leaves of the carry are live.
    moved_outputs : tuple
        The abstract values of the outputs that have a cotangent.
    """

    consts: Flags
    inputs: Flags
    move: Flags
    outputs: Flags
    keep: Flags
    moved_outputs: tuple[Any, ...]
    _step: Any
    _record: Any
    _tree: Any
    _leaves: tuple[tuple[str, Any], ...]  # how each leaf of the pullback is found
    _whole: Any  # the program of the step
    _plain: Any  # the same with what has its own backward rule written out
    _again: Callable[..., Body]  # prepares the step for other cotangents

    @classmethod
    def of(
        cls,
        step: Step,
        consts: Sequence[Any],
        carry: Sequence[Any],
        inputs: Sequence[Any],
        moving: tuple[Flags, Flags, Flags],
        asked: tuple[Flags, Flags] | None = None,
    ) -> Body:
        """Trace a step on arrays or abstract values and take it apart; nothing is compiled.

        Parameters
        ----------
        step : callable
            Closes over no traced values.
        consts, carry, inputs : sequence
            Arrays or abstract values of one step.
        moving : tuple
            Which constants, leaves of the initial carry and inputs have derivatives.
        asked : tuple, optional
            Which of the leaves of the carry, and of the outputs, that have derivatives have a
            cotangent; all by default.
        """

        def flat(consts: Leaves, carry: Leaves, inputs: Leaves) -> Leaves:
            after, outputs = step(consts, carry, inputs)
            return [*after, *outputs]

        args = tuple([_abstract(leaf) for leaf in leaves] for leaves in (consts, carry, inputs))
        whole = as_closed(flat, *args)
        move, outputs = moving_carry(whole, *moving) if asked is None else asked
        recorded, tree = _with_pullback(whole, args, moving, move, outputs)
        closed, recorded = without_rules(whole), without_rules(recorded)
        first, second = len(consts), len(consts) + len(carry)
        marks = [False] * first + [True] * (len(carry) + len(inputs))
        varying = dependants(recorded, marks, lambda _: True)
        leaves: list[tuple[str, Any]] = []
        stacked: list[int] = []  # outputs of `recorded` that differ from step to step
        fixed: list[int] = []
        names: dict[Any, tuple[str, Any]] = {}
        outvars = bare(recorded).outvars
        for index in range(len(carry), len(outvars)):
            atom = outvars[index]
            if is_literal(atom):
                leaves.append(("number", atom.val))
                continue
            if atom not in names:
                chosen, kind = (stacked, "stacked") if varying[index] else (fixed, "fixed")
                names[atom] = (kind, len(chosen))
                chosen.append(index)
            leaves.append(names[atom])
        keep = _live(closed, recorded, stacked, first, second)
        kept = [i for i, live in enumerate(keep) if live]
        return cls(
            consts=moving[0],
            inputs=moving[2],
            move=move,
            outputs=outputs,
            keep=keep,
            moved_outputs=tuple(
                _take([v.aval for v in bare(closed).outvars[len(carry) :]], outputs)
            ),
            _step=prune(closed, kept),
            _record=(prune(recorded, [*kept, *stacked]), prune(without_effects(recorded), fixed)),
            _tree=tree,
            _leaves=tuple(leaves),
            _whole=whole,
            _plain=closed,
            _again=partial(cls.of, step, *args, moving),
        )

    def asked(self, carry: Flags, outputs: Flags) -> Body:
        """Return the step prepared for fewer cotangents.

        Those of results that no later step reads, and that the loss does not read either, are
        zero at every step: they are neither held nor pulled back. Costs another trace where
        there are any.

        Parameters
        ----------
        carry, outputs : tuple of bool
            For the leaves in `move` and `outputs`: whether the cotangent of the last carry, and
            those of the outputs, may differ from zero.
        """
        flags = zip((self.move, self.outputs), (carry, outputs), strict=True)
        last, ys = (tuple(join(here, [False] * f.count(False), f)) for f, here in flags)
        reach = reaching(self._whole, len(self.consts), last, ys)
        move = tuple(a and b for a, b in zip(self.move, reach, strict=True))
        if (move, ys) == (self.move, self.outputs):
            return self
        return self._again((move, ys))

    def run(self, consts: Leaves, carry: Leaves, inputs: Leaves) -> tuple[Leaves, Leaves]:
        """Run the whole step, with tangents in forward mode too."""
        out = evaluate(self._plain, [*consts, *carry, *inputs])
        return out[: len(carry)], out[len(carry) :]

    def advance(self, consts: Leaves, kept: Leaves, inputs: Leaves) -> Leaves:
        """Run the step on the live leaves of the carry."""
        program, used = self._step
        return evaluate(program, self._given(used, consts, kept, inputs))

    def fixed(self, consts: Leaves) -> Leaves:
        """Return the residuals that are the same for all steps."""
        program, used = self._record[1]
        return evaluate(program, _take([*consts], used[: len(consts)]))

    def record(self, consts: Leaves, kept: Leaves, inputs: Leaves) -> tuple[Leaves, Leaves]:
        """Run the step on the live leaves; return them, and the residuals of this step."""
        program, used = self._record[0]
        out = evaluate(program, self._given(used, consts, kept, inputs))
        return out[: len(kept)], out[len(kept) :]

    def pull(
        self, fixed: Leaves, residuals: Leaves, carry: Leaves, outputs: Leaves
    ) -> tuple[Leaves, Leaves, Leaves]:
        """Take cotangents back over a recorded step.

        ``carry`` and ``outputs`` are the cotangents of the leaves in `move` and `outputs`; those
        of the constants, the carry and the inputs that are differentiated are returned.
        """
        found = {"stacked": residuals, "fixed": fixed}
        leaves = [x if kind == "number" else found[kind][x] for kind, x in self._leaves]
        pullback = jax.tree.unflatten(self._tree, leaves)
        return pullback((carry, outputs))

    @cached_property
    def residuals(self) -> tuple[Any, ...]:
        """The abstract values of the residuals of one step."""
        program, _ = self._record[0]
        return tuple(v.aval for v in bare(program).outvars[sum(self.keep) :])

    def _given(self, used: Sequence[bool], consts: Leaves, kept: Leaves, inputs: Leaves) -> Leaves:
        carry = iter(kept)
        slots = [next(carry) if live else None for live in self.keep]
        return _take([*consts, *slots, *inputs], used)


def _abstract(leaf: Any) -> Any:
    """Return the shape and type of a leaf, which may be traced."""
    weak = bool(getattr(leaf, "weak_type", False))
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=weak)


def _take(values: Sequence[Any], used: Sequence[bool]) -> Leaves:
    return [value for value, here in zip(values, used, strict=True) if here]


def _with_pullback(
    closed: Any, args: tuple[Leaves, ...], moving: Any, move: Flags, outputs: Flags
) -> tuple[Any, Any]:
    """Return a program of the new carry and the leaves of the step's pullback, and their tree."""
    trees: list[Any] = []
    flags = (moving[0], move, moving[2])

    def record(consts: Leaves, carry: Leaves, inputs: Leaves) -> Leaves:
        parts = [split(x, f) for x, f in zip((consts, carry, inputs), flags, strict=True)]

        def floats(*chosen: Leaves) -> Any:
            whole = [join(c, rest, f) for c, (_, rest), f in zip(chosen, parts, flags, strict=True)]
            out = evaluate(closed, [*whole[0], *whole[1], *whole[2]])
            after, ys = out[: len(carry)], out[len(carry) :]
            return (split(after, move)[0], split(ys, outputs)[0]), after

        _, pullback, after = jax.vjp(floats, *(chosen for chosen, _ in parts), has_aux=True)
        leaves, tree = jax.tree.flatten(pullback)
        trees[:] = [tree]
        return [*after, *leaves]

    return as_closed(record, *args), trees[0]


def _live(closed: Any, recorded: Any, stacked: Sequence[int], first: int, second: int) -> Flags:
    """Return the leaves of the carry that recording a later step needs."""
    keep = [False] * (second - first)
    while True:
        kept = [index for index, live in enumerate(keep) if live]
        by_record = prune(recorded, [*kept, *stacked])[1][first:second]
        by_step = prune(closed, kept)[1][first:second]
        grown = [a or b or c for a, b, c in zip(keep, by_record, by_step, strict=True)]
        if grown == keep:
            return tuple(keep)
        keep = grown
