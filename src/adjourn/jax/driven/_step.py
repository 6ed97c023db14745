"""A functional step as a problem: the way to RAM pools, disk, kill and resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._sizes import as_count
from ...errors import BadValue, WrongType
from .._trees import has_tangent, join
from ._layout import Layout
from ._loop_problem import LoopProblem
from ._memory import on_one_device
from ._step_programs import StepFunctions, step_programs

__all__ = ["StepProblem"]


class StepProblem(LoopProblem):
    """A loop of a pure JAX step, driven from Python on the `adjourn.Problem` protocol.

    Snapshots are kept in main memory or on disk, whatever the device, and copied straight out
    of the live state's memory on a CPU. Every state comes from one executable, a loop whose
    bounds are arguments, and every cotangent from another, so that the gradient has the same
    bits under every budget and nothing is compiled again. A call costs about twice that of a
    compiled step of two leaves, 20 us, and 2 us for each further leaf of the state; small
    states are recorded, and reversed, many in one call.

    Three programs are compiled when it is made: the loop, the pullback, and the gradient of the
    loss. A further problem with the same ``step`` and ``loss`` and arrays of the same shapes, as
    each iteration of an inversion makes it, compiles nothing.

    Parameters
    ----------
    step : callable
        ``step(params, state) -> state``: pure and traceable; pytrees of arrays in and out,
        shapes and types of the state fixed. With ``xs`` it takes ``x`` as a third argument, with
        ``numbered=True`` the number of the step as the last.
    initial : pytree of arrays
        The state at step 0. Integers and PRNG keys are carried without derivatives.
    steps : int or None
        Number of steps; None with ``cond``.
    loss : callable
        ``loss(state) -> scalar`` of the last state, or ``loss(params, state)`` with
        ``loss_takes_params=True``.
    params : pytree of arrays
        What the gradient is taken by, besides the initial state.
    xs : pytree of arrays, optional
        Inputs of each step, stacked along the first axis as for ``jax.lax.scan``.
    numbered : bool
        Whether ``step`` takes the number of the step, an int32 scalar.
    loss_takes_params : bool
        Whether ``loss`` takes the parameters too.
    cond : callable, optional
        ``cond(params, state) -> bool``: whether there is a further step, as for
        ``jax.lax.while_loop``. The problem then goes through `adjourn.run_until`.
    jit : bool
        False for a step that cannot be traced: it is then called on real arrays, and under
        `jax.vjp` on tracers of real arrays, which Python may compare. What has no derivative may
        go through NumPy by way of ``jax.lax.stop_gradient``, and what JAX cannot differentiate
        through a ``jax.custom_vjp``.

    Attributes
    ----------
    value : float
        The loss, once turned.
    gradient : pytree
        By ``params``, once reversed to step 0; NumPy arrays, None for integers and keys.
    initial_gradient, xs_gradient : pytree
        By ``initial`` and by ``xs``, likewise.

    Raises
    ------
    WrongType
        The step changes the state's structure, shapes or types, the loss is not a real
        scalar, or the first axis of ``xs`` is not the steps.
    NotSupported
        Arrays are spread over several devices.
    BadValue
        Both or neither of ``steps`` and ``cond`` are given, or ``cond`` with ``xs``.

    Examples
    --------
    >>> import adjourn, jax.numpy as jnp
    >>> from adjourn.jax import StepProblem
    >>> decay = StepProblem(
    ...     lambda rate, u: u - 0.1 * rate * u, jnp.ones(8), 20, lambda u: (u**2).sum(),
    ...     params=jnp.float32(0.5),
    ... )
    >>> record = adjourn.run(decay, budget=1024, progress=False)
    >>> round(float(decay.gradient), 3)
    -4.329
    """

    def __init__(
        self,
        step: Callable[..., Any],
        initial: Any,
        steps: int | None,
        loss: Callable[..., Any],
        *,
        params: Any = None,
        xs: Any = None,
        numbered: bool = False,
        loss_takes_params: bool = False,
        cond: Callable[[Any, Any], Any] | None = None,
        jit: bool = True,
    ) -> None:
        state, self._layout = Layout.of(initial)
        given, self._params_layout = Layout.of(params)
        inputs, self._xs_layout = Layout.of(xs)
        on_one_device([*state, *given, *inputs])
        count = _count(steps, cond, bool(inputs))
        for leaf in inputs:
            if leaf.shape[:1] != (count,):
                raise WrongType(
                    f"xs holds an array of shape {leaf.shape}, and there are {count} steps. "
                    "Stack the inputs of all steps along the first axis."
                )
        functions = StepFunctions(
            step,
            loss,
            cond,
            (self._params_layout, self._layout, self._xs_layout),
            numbered,
            loss_takes_params,
        )
        made = step_programs(functions, (given, state, inputs), count, jit=jit)
        consts = [*given, *made.constants]
        super().__init__(made.loop, made.seed, made.shapes, consts, state, inputs, count)
        self._sought = [has_tangent(leaf) for leaf in given]
        self._asked = [has_tangent(leaf) for leaf in inputs]

    @property
    def value(self) -> float:
        """The loss, once turned."""
        return float(self._outputs.host("loss")[0])

    @property
    def gradient(self) -> Any:
        """The gradient by ``params``, once reversed to step 0."""
        return self._tree("gradient", self._params_layout, self._sought)

    @property
    def initial_gradient(self) -> Any:
        """The gradient by ``initial``, once reversed to step 0."""
        return self._tree("adjoint", self._layout, list(self._run.move))

    @property
    def xs_gradient(self) -> Any:
        """The gradient by ``xs``, once reversed to step 0."""
        return self._tree("xs_gradient", self._xs_layout, self._asked)

    def _tree(self, name: str, layout: Layout, where: list[bool]) -> Any:
        leaves = join(self._outputs.host(name), [None] * where.count(False), where)
        return layout.gradient(leaves)


def _count(steps: int | None, cond: object, inputs: bool) -> int | None:
    if (steps is None) == (cond is None):
        raise BadValue(
            f"steps={steps!r} and cond={cond!r}: pass the number of steps, or steps=None and a "
            "cond that tells when there is none further."
        )
    if cond is not None and inputs:
        raise BadValue(
            "xs is given with cond, and the number of steps is not known. Carry what the steps "
            "read in params, and take it by numbered=True."
        )
    return None if steps is None else as_count(steps, "steps", most=2**31 - 1)
