"""The compiled programs of a functional step, shared by all problems made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import WrongType
from ._compat import jax, jnp
from ._trees import join, split

__all__ = ["Functions", "Programs", "compiled"]

Leaves = list[Any]
Flags = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Programs:
    """What `compiled` made.

    Attributes
    ----------
    march : callable
        ``(params, state, xs, start, stop) -> state``; takes the state's memory.
    pull : callable
        ``(params, state, xs, n, adjoint, gradient) -> adjoint, gradient, by x``; takes the
        memory of adjoint and gradient.
    seed : callable
        ``(params, state) -> loss, adjoint, gradient``.
    transient : int
        Bytes of temporaries of one pullback.
    value_dtype : dtype
        Of the loss.
    """

    march: Any
    pull: Any
    seed: Any
    transient: int
    value_dtype: Any


@dataclass(frozen=True, slots=True)
class Functions:
    """A step and a loss, seen as functions of flat lists of leaves.

    Attributes
    ----------
    step, loss : callable
        The user's.
    structures : tuple of PyTreeDef
        Of state, parameters and xs.
    flags : tuple of tuple of bool
        Which of their leaves have derivatives.
    numbered, loss_takes_params : bool
        What the functions take.
    """

    step: Callable[..., Any]
    loss: Callable[..., Any]
    structures: tuple[Any, Any, Any]
    flags: tuple[Flags, Flags, Flags]
    numbered: bool
    loss_takes_params: bool

    def once(self, params: Leaves, state: Leaves, x: Leaves, number: Any) -> Leaves:
        """Run one step."""
        structure, params_structure, xs_structure = self.structures
        given = [jax.tree.unflatten(params_structure, params), jax.tree.unflatten(structure, state)]
        if x:
            given.append(jax.tree.unflatten(xs_structure, x))
        if self.numbered:
            given.append(number)
        leaves, after = jax.tree.flatten(self.step(*given))
        if after != structure:
            raise WrongType(
                f"step returned a state of structure {after}; the initial state has {structure}. "
                "Return the same structure at every step."
            )
        return leaves

    def value(self, params: Leaves, state: Leaves) -> Any:
        """Return the loss of a last state."""
        tree = jax.tree.unflatten(self.structures[0], state)
        if self.loss_takes_params:
            return self.loss(jax.tree.unflatten(self.structures[1], params), tree)
        return self.loss(tree)

    def march(self, params: Leaves, state: Leaves, xs: Leaves, start: Any, stop: Any) -> Leaves:
        """Run steps [start, stop)."""

        def body(number: Any, now: Leaves) -> Leaves:
            return self.once(params, now, [x[number] for x in xs], number)

        return jax.lax.fori_loop(start, stop, body, state)

    def pull(
        self,
        params: Leaves,
        state: Leaves,
        xs: Leaves,
        number: Any,
        adjoint: Leaves,
        gradient: Leaves,
    ) -> tuple[Leaves, Leaves, Leaves]:
        """Pull the adjoint of a step back, add to the gradient, return that by the inputs."""
        given = (state, params, [x[number] for x in xs])
        parts = [split(leaves, where) for leaves, where in zip(given, self.flags, strict=True)]

        def once(*chosen: Leaves) -> Leaves:
            every = zip(chosen, parts, self.flags, strict=True)
            state, params, x = [join(some, part[1], where) for some, part, where in every]
            return split(self.once(params, state, x, number), self.flags[0])[0]

        _, pullback = jax.vjp(once, *[chosen for chosen, _ in parts])
        back, more, by_x = pullback(adjoint)
        return back, [one + other for one, other in zip(gradient, more, strict=True)], by_x

    def seed(self, params: Leaves, state: Leaves) -> tuple[Any, Leaves, Leaves]:
        """Return the loss and its gradient by the differentiable leaves."""
        moving, fixed = split(state, self.flags[0])
        sought, rest = split(params, self.flags[1])

        def value(moving: Leaves, sought: Leaves) -> Any:
            whole = join(sought, rest, self.flags[1])
            return self.value(whole, join(moving, fixed, self.flags[0]))

        loss, (adjoint, gradient) = jax.value_and_grad(value, argnums=(0, 1))(moving, sought)
        return loss, adjoint, gradient

    def check(self, params: Leaves, state: Leaves, x: Leaves) -> Any:
        """Refuse a step that changes shapes or types, and a loss that is no real scalar."""
        after = jax.eval_shape(self.once, params, state, x, np.int32(0))
        for before, now in zip(state, after, strict=True):
            if (before.shape, before.dtype) != (now.shape, now.dtype):
                raise WrongType(
                    f"step turned a leaf of {before.dtype}{before.shape} into "
                    f"{now.dtype}{now.shape}. A state keeps shapes and types: cast what the "
                    "step returns, or the initial state."
                )
        value = jax.eval_shape(self.value, params, state)
        if getattr(value, "shape", None) != () or not jnp.issubdtype(value.dtype, jnp.floating):
            raise WrongType(f"loss returned {value}. Return a real scalar, such as jnp.sum(...).")
        return value.dtype


_known: WeakKeyDictionary[Any, WeakKeyDictionary[Any, dict[Any, Programs]]] = WeakKeyDictionary()


def compiled(functions: Functions, state: Leaves, params: Leaves, xs: Leaves) -> Programs:
    """Return the compiled programs, those of an earlier problem if it had the same functions.

    They are kept as long as both the step and the loss are.
    """
    shapes = tuple(tuple((a.shape, a.dtype) for a in leaves) for leaves in (state, params, xs))
    rest = (functions.structures, functions.numbered, functions.loss_takes_params, shapes)
    try:
        known = _known.setdefault(functions.step, WeakKeyDictionary())
        kept = known.setdefault(functions.loss, {})
    except TypeError:  # not hashable, or not weakly: not shared
        kept = {}
    if rest not in kept:
        kept[rest] = _compile(functions, state, params, xs)
    return kept[rest]


def _compile(functions: Functions, state: Leaves, params: Leaves, xs: Leaves) -> Programs:
    number = np.int32(0)
    dtype = functions.check(params, state, [x[0] for x in xs])
    adjoint, gradient = split(state, functions.flags[0])[0], split(params, functions.flags[1])[0]

    def program(function: Any, donated: tuple[int, ...], *args: Any) -> Any:
        return jax.jit(function, donate_argnums=donated).lower(*args).compile()

    pull = program(functions.pull, (4, 5), params, state, xs, number, adjoint, gradient)
    temporaries = pull.memory_analysis()
    return Programs(
        march=program(functions.march, (1,), params, state, xs, number, number),
        pull=pull,
        seed=program(functions.seed, (), params, state),
        transient=int(getattr(temporaries, "temp_size_in_bytes", 0)),
        value_dtype=dtype,
    )
