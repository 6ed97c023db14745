"""The programs of a functional step, shared by all problems made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import WrongType
from .._compat import as_jaxpr, jax, jnp
from .._trees import has_tangent, join, split
from ._layout import Layout, bytes_of, plain
from ._loop_eager import eager_loop
from ._loop_problem import Seed, SeedProgram
from ._loop_programs import Leaves, LoopCode, Programs, compile_loop, rows_for

__all__ = ["StepFunctions", "StepPrograms", "step_programs"]


@dataclass(frozen=True, slots=True)
class StepPrograms:
    """What `step_programs` made.

    Attributes
    ----------
    loop : Programs
        The loop and its pullback.
    seed : SeedProgram
        The loss and its gradient.
    shapes : Seed
        Abstract values of the seed.
    constants : list of arrays
        What the step closes over: constants of the loop after the parameters.
    """

    loop: Programs
    seed: SeedProgram
    shapes: Seed
    constants: Leaves


@dataclass(frozen=True, slots=True)
class StepFunctions:
    """A step, a loss and a condition, seen as functions of flat lists of plain arrays.

    Attributes
    ----------
    step, loss, cond : callable
        The user's.
    layouts : tuple of Layout
        Of parameters, state and xs.
    numbered, loss_takes_params : bool
        What the functions take.
    """

    step: Callable[..., Any]
    loss: Callable[..., Any]
    cond: Callable[[Any, Any], Any] | None
    layouts: tuple[Layout, Layout, Layout]
    numbered: bool
    loss_takes_params: bool

    def once(self, params: Leaves, state: Leaves, x: Leaves, number: Any) -> Leaves:
        """Run one step."""
        by_params, by_state, by_xs = self.layouts
        given = [by_params.tree(params), by_state.tree(state)]
        if x:
            given.append(by_xs.tree(x))
        if self.numbered:
            given.append(number)
        leaves, after = jax.tree.flatten(self.step(*given))
        if after != by_state.structure:
            raise WrongType(
                f"step returned a state of structure {after}; the initial state has "
                f"{by_state.structure}. Return the same structure at every step."
            )
        leaves = plain(leaves)
        for before, now in zip(state, leaves, strict=True):
            if (before.shape, before.dtype) != (now.shape, now.dtype):
                raise WrongType(
                    f"step turned a leaf of {before.dtype}{before.shape} into "
                    f"{now.dtype}{now.shape}. A state keeps shapes and types: cast what the "
                    "step returns, or the initial state."
                )
        return leaves

    def going(self, params: Leaves, state: Leaves) -> Any:
        """Return whether there is a further step."""
        if self.cond is None:
            return True
        return self.cond(self.layouts[0].tree(params), self.layouts[1].tree(state))

    def value(self, params: Leaves, state: Leaves) -> Any:
        """Return the loss of a last state."""
        tree = self.layouts[1].tree(state)
        if self.loss_takes_params:
            return self.loss(self.layouts[0].tree(params), tree)
        return self.loss(tree)

    def seed(self, move: tuple[bool, ...], params: Leaves, last: Leaves) -> Any:
        """Return the loss and its cotangents by state and parameters, as `Seed` has them."""
        state = [leaf[0] for leaf in last]
        where = [has_tangent(leaf) for leaf in params]
        moving, fixed = split(state, move)
        sought, rest = split(params, where)

        def value(moving: Leaves, sought: Leaves) -> Any:
            found = self.value(join(sought, rest, where), join(moving, fixed, move))
            if jnp.shape(found) or not jnp.issubdtype(jnp.result_type(found), jnp.floating):
                raise WrongType(
                    f"loss returned {found}. Return a real scalar, such as jnp.sum(...)."
                )
            return jnp.asarray(found)

        loss, (adjoint, sums) = jax.value_and_grad(value, argnums=(0, 1))(moving, sought)
        return loss, adjoint, sums


_known: WeakKeyDictionary[Any, WeakKeyDictionary[Any, dict[Any, StepPrograms]]] = (
    WeakKeyDictionary()
)


def step_programs(
    functions: StepFunctions,
    given: tuple[Leaves, Leaves, Leaves],
    steps: int | None,
    *,
    jit: bool,
) -> StepPrograms:
    """Return the programs, those of an earlier problem if it had the same functions.

    They are kept as long as both the step and the loss are.

    Parameters
    ----------
    functions : StepFunctions
        What to compile.
    given : tuple of lists of arrays
        Parameters, initial state and xs.
    steps : int or None
        Number of steps, if it is known.
    jit : bool
        Whether to compile.
    """
    if not jit:
        return _eager(functions, given)
    shapes = tuple(tuple((a.shape, a.dtype) for a in leaves) for leaves in given)
    taken = functions.numbered, functions.loss_takes_params, functions.cond
    try:
        known = _known.setdefault(functions.step, WeakKeyDictionary())
        kept = known.setdefault(functions.loss, {})
    except TypeError:  # not hashable, or not weakly: not shared
        kept = {}
    rows = rows_for(bytes_of(given[1]), steps)
    key = (functions.layouts, taken, shapes, rows)
    if key not in kept:
        kept[key] = _compile(functions, given, rows)
    return kept[key]


def _compile(
    functions: StepFunctions, given: tuple[Leaves, Leaves, Leaves], rows: int
) -> StepPrograms:
    params, state, xs = given
    number = [np.int32(0)] if functions.numbered else []

    def flat(params: Leaves, state: Leaves, x: Leaves) -> Leaves:
        x, number = (x[:-1], x[-1]) if functions.numbered else (x, None)
        return functions.once(params, state, x, number)

    run, constants = as_jaxpr(flat, params, state, [*(x[0] for x in xs), *number])

    def step(consts: Leaves, carry: Leaves, x: Leaves) -> tuple[Leaves, Leaves]:
        return run(consts[len(params) :], [*consts[: len(params)], *carry, *x]), []

    def going(consts: Leaves, carry: Leaves) -> Any:
        return functions.going(consts[: len(params)], carry)

    flags = [tuple(has_tangent(leaf) for leaf in leaves) for leaves in given]
    code = LoopCode(
        step,
        functions.numbered,
        None,
        backward=False,
        going=None if functions.cond is None else going,
        moving=(
            (*flags[0], *(False for _ in constants)),
            flags[1],
            (*flags[2], *(False for _ in number)),
        ),
    )
    loop = compile_loop(code, [*params, *constants], state, xs, rows)
    last = [jax.ShapeDtypeStruct((1, *a.shape), a.dtype) for a in state]

    def found(params: Leaves, last: Leaves) -> Any:
        return functions.seed(loop.move, params, last)

    compiled = jax.jit(found).lower(params, last).compile()

    def seed(consts: Leaves, last: Leaves, ys: Leaves) -> Seed:  # noqa: ARG001
        loss, adjoint, sums = compiled(consts[: len(params)], last)
        return Seed(loss, [], adjoint, [], sums, [])

    loss, adjoint, sums = jax.eval_shape(found, params, last)
    return StepPrograms(loop, seed, Seed(loss, [], adjoint, [], sums, []), constants)


def _eager(functions: StepFunctions, given: tuple[Leaves, Leaves, Leaves]) -> StepPrograms:
    going = None if functions.cond is None else functions.going
    loop = eager_loop(functions.once, going, *given)

    def seed(consts: Leaves, last: Leaves, ys: Leaves) -> Seed:  # noqa: ARG001
        loss, adjoint, sums = functions.seed(loop.move, consts, last)
        return Seed(loss, [], adjoint, [], sums, [])

    params, state, _ = given
    first = seed(params, [leaf[None] for leaf in state], [])
    shapes = Seed(
        _abstract([first.value])[0], [], _abstract(first.adjoint), [], _abstract(first.sums), []
    )
    return StepPrograms(loop, seed, shapes, [])


def _abstract(leaves: Leaves) -> Leaves:
    return [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
