"""Differential equations of Diffrax under a budget. Needs ``diffrax``."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from ..errors import MissingExtra
from ._compat import jax, jnp
from ._while import while_loop

try:
    diffrax: Any = import_module("diffrax")
    eqx: Any = import_module("equinox")
except ImportError as error:
    raise MissingExtra(
        "adjourn.jax.diffrax needs Diffrax, which is not installed here. Run: pip install diffrax"
    ) from error

__all__ = ["Adjoint"]

_Base: Any = diffrax.AbstractAdjoint


class Adjoint(_Base):
    """Reverses `diffrax.diffeqsolve` as `adjourn.jax.while_loop` does: pass it as ``adjoint=``.

    As `diffrax.RecursiveCheckpointAdjoint`, it differentiates the numerical solution; with any
    solver, step-size controller, event and ``saveat``. With as many carries it runs fewer steps
    again, since gaps are reversed by the binomial schedule rather than by halves, and what is
    only written (saved values) is not kept with the snapshots.

    Parameters
    ----------
    slots : int, optional
        Carries kept at once, the initial one included. Without it the loop is left for
        `adjourn.jax.plan` to find, which chooses the number for a budget; the solution then has
        no gradient but under a plan.

    Examples
    --------
    >>> import diffrax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> from adjourn.jax.diffrax import Adjoint
    >>> decay, tsit = diffrax.ODETerm(lambda t, y, rate: -rate * y), diffrax.Tsit5()
    >>> def loss(rate):
    ...     solution = diffrax.diffeqsolve(
    ...         decay, tsit, 0, 1, 0.01, jnp.ones(1000), rate, adjoint=Adjoint()
    ...     )
    ...     return jnp.sum(solution.ys)
    >>> rate = jnp.linspace(0, 1, 1000)
    >>> plan = adjourn.jax.plan(loss, rate, budget="200 KiB", effort=1, progress=False)
    >>> gradient = adjourn.jax.grad(loss, plan=plan)(rate)
    >>> print(f"{gradient[-1]:.4f}")  # - exp(-1)
    -0.3679
    """

    slots: int | None = None

    def loop(
        self, *, throw: Any, passed_solver_state: Any, passed_controller_state: Any, **kwargs: Any
    ) -> Any:
        """Run the solve; called by Diffrax."""
        del throw, passed_solver_state, passed_controller_state
        outer = partial(_loop, slots=self.slots)
        return self._loop(inner_while_loop=_inner, outer_while_loop=outer, **kwargs)


def _inner(*args: Any, checkpoints: int, **kwargs: Any) -> Any:
    """Loop over the saved times within one step: their number is known."""
    return _loop(*args, slots=max(checkpoints, 1), **kwargs)


def _loop(
    cond_fun: Any,
    body_fun: Any,
    init_val: Any,
    *,
    max_steps: int | None,
    buffers: Any,
    slots: int | None,
) -> Any:
    """Loop as Diffrax wants it: all leaves arrays, at most so many steps, buffers for output."""
    wrapped = eqx.tree_at(buffers, init_val, replace_fn=_wrap, is_leaf=_is_none)
    leaves, tree = jax.tree.flatten(wrapped)

    def going(now: Any) -> Any:
        count, leaves = now
        more = cond_fun(jax.tree.unflatten(tree, leaves))
        return more if max_steps is None else more & (count < max_steps)

    def step(now: Any) -> Any:
        count, leaves = now
        return count + 1, jax.tree.leaves(body_fun(jax.tree.unflatten(tree, leaves)))

    start = jnp.int32(0), [jnp.asarray(leaf) for leaf in leaves]
    _, last = while_loop(going, step, start, slots=slots)
    return jax.tree.map(_unwrap, jax.tree.unflatten(tree, last), is_leaf=_is_output)


@jax.tree_util.register_pytree_node_class
class _Output:
    """An array that is written to once at each place, and read after the loop alone.

    Its cotangent is the same before and after a write, since what was there before is read by
    nobody: the backward pass of a step looks at one place and copies nothing.
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.array,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any]) -> _Output:
        return cls(*children)

    @property
    def at(self) -> _Output:
        """The places, as of an array."""
        return self

    def __getitem__(self, index: Any) -> _Place:
        return _Place(self.array, index)


class _Place:
    """One place of an output."""

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def get(self, **how: Any) -> Any:
        """Return what is there, to write it again: without a gradient."""
        return jax.lax.stop_gradient(self.array.at[self.index].get(**how))

    def set(self, value: Any) -> _Output:
        """Return the output with one place written to."""
        if isinstance(self.array, _Output):  # a loop in a loop
            return _Output(self.array.at[self.index].set(value))
        value = jnp.asarray(value, self.array.dtype)
        return _Output(_written(self.array, jnp.asarray(self.index), value))


@jax.custom_vjp
def _written(array: Any, index: Any, value: Any) -> Any:
    return array.at[index].set(value)


def _write(array: Any, index: Any, value: Any) -> Any:
    return _written(array, index, value), index


def _read(index: Any, cotangent: Any) -> Any:
    return cotangent, None, cotangent.at[index].get(mode="fill", fill_value=0)


_written.defvjp(_write, _read)


def _wrap(node: Any) -> Any:
    return jax.tree.map(_Output, node)


def _unwrap(node: Any) -> Any:
    return node.array if _is_output(node) else node


def _is_output(node: Any) -> bool:
    return isinstance(node, _Output)


def _is_none(node: Any) -> bool:
    return node is None
