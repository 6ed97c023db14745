"""A functional step as a problem: the way to RAM pools, disk, kill and resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._sizes import as_count
from ..errors import ProblemFailed, WrongType
from ..problem import Array, Clock, Reads, Window
from ._compat import jax, jnp
from ._step_programs import Functions, compiled
from ._trees import as_device, as_host, as_leaves, has_tangent, join, nbytes, split

__all__ = ["StepProblem"]


class StepProblem:
    """A loop of a pure JAX step, driven from Python on the `adjourn.Problem` protocol.

    States are recorded and snapshots kept in main memory or on disk, whatever the device; the
    budget counts those bytes. Every state comes from one executable, a loop whose bounds are
    arguments, so that the gradient has the same bits under every budget and nothing is compiled
    again. A call costs some 20 us over the step itself, and a recorded step one copy more.

    Three programs are compiled when it is made: the loop, the pullback of one step, and the
    gradient of the loss. A further problem with the same ``step`` and ``loss`` and arrays of
    the same shapes, as each iteration of an inversion makes it, compiles nothing.

    Parameters
    ----------
    step : callable
        ``step(params, state) -> state``: pure and traceable; pytrees of arrays in and out,
        shapes and types of the state fixed. With ``xs`` it takes ``x`` as a third argument, with
        ``numbered=True`` the number of the step as the last.
    initial : pytree of arrays
        The state at step 0. Integers and PRNG keys are carried without derivatives.
    steps : int
        Number of steps.
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

    reads: Reads = "state"

    def __init__(
        self,
        step: Callable[..., Any],
        initial: Any,
        steps: int,
        loss: Callable[[Any], Any],
        *,
        params: Any = None,
        xs: Any = None,
        numbered: bool = False,
        loss_takes_params: bool = False,
    ) -> None:
        self.steps = as_count(steps, "steps", most=2**31 - 1)
        self._initial, self._structure = as_leaves(initial)
        self._params, self._params_structure = as_leaves(params)
        self._xs, self._xs_structure = as_leaves(xs)
        for leaf in self._xs:
            if leaf.shape[:1] != (self.steps,):
                raise WrongType(
                    f"xs holds an array of shape {leaf.shape}, and there are {self.steps} steps. "
                    "Stack the inputs of all steps along the first axis."
                )
        self._moving = [has_tangent(leaf) for leaf in self._initial]
        self._sought = [has_tangent(leaf) for leaf in self._params]
        self._asked = [has_tangent(leaf) for leaf in self._xs]
        functions = Functions(
            step,
            loss,
            (self._structure, self._params_structure, self._xs_structure),
            (tuple(self._moving), tuple(self._sought), tuple(self._asked)),
            numbered,
            loss_takes_params,
        )
        self._run = compiled(functions, self._initial, self._params, self._xs)
        self._bytes = nbytes(self._initial)
        self._transient = self._bytes + self._run.transient
        self._host = [np.array(as_host(leaf)) for leaf in self._initial]
        self._outputs: dict[str, Array] = {"loss": np.zeros((), self._run.value_dtype)}
        for name, leaves in (
            ("adjoint", split(self._initial, self._moving)[0]),
            ("gradient", split(self._params, self._sought)[0]),
            ("xs_gradient", split(self._xs, self._asked)[0]),
        ):
            for index, leaf in enumerate(leaves):
                self._outputs[f"{name}[{index}]"] = np.zeros(leaf.shape, leaf.dtype)
        self.reserve(1)
        self.begin()

    # --- the protocol

    def window(self) -> Window:
        """Return the bytes of recorded states; a live state is its step's record."""
        return Window(self._bytes, transient_bytes=self._transient)

    def reserve(self, steps: int) -> None:
        """Make room for so many recorded states."""
        self._window = [np.zeros((steps, *a.shape), a.dtype) for a in self._host]
        self._room = steps
        self._held: dict[int, int] = {}
        for ring in self._window:
            ring.fill(0)  # touch the memory

    def begin(self) -> None:
        """Go to step 0; zero loss, adjoint and gradient."""
        self._place(0, [jnp.array(leaf, copy=True) for leaf in self._initial])
        self._held.clear()
        for array in self._outputs.values():
            array[...] = 0

    def state(self, step: int) -> list[Array]:
        """Return arrays that hold the live state; `loaded` takes what is written into them."""
        if self._host_at != step and self._at == step:
            for array, leaf in zip(self._host, self._live, strict=True):
                np.copyto(array, as_host(leaf))
            self._host_at = step
        return self._host

    def loaded(self, step: int, clock: Clock) -> None:  # noqa: ARG002
        """Make what was written into `state` the live state."""
        live = [as_device(a, leaf) for a, leaf in zip(self._host, self._initial, strict=True)]
        self._place(step, live)
        self._held.clear()

    def advance(self, start: int, stop: int, *, replay: bool) -> int:  # noqa: ARG002
        """Run the compiled loop over [start, stop)."""
        self._held.clear()
        return self._go(start, stop)

    def record(self, start: int, stop: int, *, replay: bool) -> int:  # noqa: ARG002
        """Run the same loop one step at a time, keeping the state before each."""
        for step in range(start, stop):
            self._need(step)
            slot = step % self._room
            for ring, leaf in zip(self._window, self._live, strict=True):
                np.copyto(ring[slot, ...], as_host(leaf))
            self._held[slot] = step
            self._go(step, step + 1)
        return stop

    def turn(self) -> None:
        """Take the loss of the last state and its gradient."""
        self._need(self.steps)
        value, adjoint, gradient = self._run.seed(self._params, self._live)
        self._outputs["loss"][...] = as_host(value)
        self._write("adjoint", adjoint)
        self._write("gradient", gradient)

    def reverse(self, start: int, stop: int) -> None:
        """Pull the adjoint back over [start, stop), one step at a time."""
        adjoint, gradient = self._read("adjoint"), self._read("gradient")
        rows = self._named("xs_gradient")
        for step in range(stop - 1, start - 1, -1):
            args = (self._params, self._recorded(step), self._xs, np.int32(step))
            adjoint, gradient, by_x = self._run.pull(*args, adjoint, gradient)
            for row, leaf in zip(rows, by_x, strict=True):
                np.copyto(row[step, ...], as_host(leaf))
        jax.block_until_ready((adjoint, gradient))
        self._write("adjoint", adjoint)
        self._write("gradient", gradient)

    def carried(self) -> Mapping[str, Array]:
        """Return loss, adjoint and gradient, as live arrays."""
        return self._outputs

    # --- the results

    @property
    def value(self) -> float:
        """The loss, once turned."""
        return float(self._outputs["loss"])

    @property
    def gradient(self) -> Any:
        """The gradient by ``params``, once reversed to step 0."""
        return self._tree("gradient", self._params_structure, self._sought)

    @property
    def initial_gradient(self) -> Any:
        """The gradient by ``initial``, once reversed to step 0."""
        return self._tree("adjoint", self._structure, self._moving)

    @property
    def xs_gradient(self) -> Any:
        """The gradient by ``xs``, once reversed to step 0."""
        return self._tree("xs_gradient", self._xs_structure, self._asked)

    # --- within

    def _place(self, step: int, live: list[Any]) -> None:
        self._live = live
        self._at = step
        self._host_at = -1

    def _need(self, step: int) -> None:
        if self._at != step:
            raise ProblemFailed(
                f"step {step} was asked for while the live state is at step {self._at}. Advance, "
                "or load a snapshot, up to the step first."
            )

    def _go(self, start: int, stop: int) -> int:
        self._need(start)
        bounds = np.int32(start), np.int32(stop)
        live, self._live = self._live, []
        live = self._run.march(self._params, live, self._xs, *bounds)
        self._place(stop, jax.block_until_ready(live))
        return stop

    def _recorded(self, step: int) -> list[Any]:
        slot = step % self._room
        if self._held.get(slot) == step:
            rows = (ring[slot, ...] for ring in self._window)
            return [as_device(a, leaf) for a, leaf in zip(rows, self._initial, strict=True)]
        self._need(step)
        return self._live

    def _named(self, name: str) -> list[Array]:
        return [a for key, a in self._outputs.items() if key.startswith(f"{name}[")]

    def _read(self, name: str) -> list[Any]:
        return [jnp.array(a, copy=True) for a in self._named(name)]

    def _write(self, name: str, leaves: list[Any]) -> None:
        for array, leaf in zip(self._named(name), leaves, strict=True):
            np.copyto(array, as_host(leaf))

    def _tree(self, name: str, structure: Any, where: list[bool]) -> Any:
        copies = [a.copy() for a in self._named(name)]
        leaves = join(copies, [None] * where.count(False), where)
        return jax.tree.unflatten(structure, leaves)
