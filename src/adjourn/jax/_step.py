"""A functional step as a problem: the way to RAM pools, disk, kill and resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._sizes import as_count
from ..errors import ProblemFailed, WrongType
from ..problem import Array, Clock, Reads, Window
from ._compat import jax, jnp
from ._trees import as_device, as_host, as_leaves, has_tangent, join, nbytes, split

__all__ = ["StepProblem"]


class StepProblem:
    """A loop of a pure JAX step, driven from Python on the `adjourn.Problem` protocol.

    States are recorded and snapshots kept in main memory or on disk, whatever the device; the
    budget counts those bytes. Every state comes from one executable, a loop whose bounds are
    arguments, so that the gradient has the same bits under every budget and nothing is compiled
    again. A call costs some 20 us over the step itself, and a recorded step one copy more.

    Three programs are compiled when it is made: the loop, the pullback of one step, and the
    gradient of the loss.

    Parameters
    ----------
    step : callable
        ``step(params, state) -> state``, or ``step(params, state, n) -> state`` with
        ``numbered=True``: pure and traceable; pytrees of arrays in and out, shapes and types
        of the state fixed.
    initial : pytree of arrays
        The state at step 0. Integers and PRNG keys are carried without derivatives.
    steps : int
        Number of steps.
    loss : callable
        ``loss(state) -> scalar`` of the last state.
    params : pytree of arrays
        What the gradient is taken by, besides the initial state.
    numbered : bool
        Whether ``step`` takes the number of the step, an int32 scalar.

    Attributes
    ----------
    value : float
        The loss, once turned.
    gradient : pytree
        By ``params``, once reversed to step 0; NumPy arrays, None for integers and keys.
    initial_gradient : pytree
        By ``initial``, likewise.

    Raises
    ------
    WrongType
        The step changes the state's structure, shapes or types, or the loss is not a real
        scalar.

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
        numbered: bool = False,
    ) -> None:
        self.steps = as_count(steps, "steps", most=2**31 - 1)
        self._initial, self._structure = as_leaves(initial)
        self._params, self._params_structure = as_leaves(params)
        self._moving = [has_tangent(leaf) for leaf in self._initial]
        self._sought = [has_tangent(leaf) for leaf in self._params]
        programs = _Programs(self, step, loss, numbered)
        self._march, self._pull, self._seed = programs.compiled()
        self._bytes = nbytes(self._initial)
        self._transient = self._bytes + programs.transient
        self._host = [np.array(as_host(leaf)) for leaf in self._initial]
        self._outputs: dict[str, Array] = {"loss": np.zeros((), programs.value_dtype)}
        for name, leaves in (
            ("adjoint", split(self._initial, self._moving)[0]),
            ("gradient", split(self._params, self._sought)[0]),
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
        self._place(0, self._initial)
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
        value, adjoint = self._seed(self._live)
        self._outputs["loss"][...] = as_host(value)
        self._write("adjoint", adjoint)

    def reverse(self, start: int, stop: int) -> None:
        """Pull the adjoint back over [start, stop), one step at a time."""
        adjoint, gradient = self._read("adjoint"), self._read("gradient")
        for step in range(stop - 1, start - 1, -1):
            state = self._recorded(step)
            adjoint, gradient = self._pull(self._params, state, np.int32(step), adjoint, gradient)
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
        live = self._march(self._params, self._live, np.int32(start), np.int32(stop))
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


class _Programs:
    """The three programs of a step problem, traced on flat lists of leaves."""

    def __init__(
        self, owner: Any, step: Callable[..., Any], loss: Callable[[Any], Any], numbered: bool
    ) -> None:
        self.step = step
        self.loss = loss
        self.numbered = numbered
        self.initial, self.structure = owner._initial, owner._structure
        self.params, self.params_structure = owner._params, owner._params_structure
        self.moving, self.sought = owner._moving, owner._sought
        self.transient = 0
        self.value_dtype: Any = None

    def compiled(self) -> tuple[Any, Any, Any]:
        """Return the compiled loop, pullback and seed."""
        number = np.int32(0)
        self.check(number)
        adjoint = split(self.initial, self.moving)[0]
        gradient = split(self.params, self.sought)[0]
        march = _compile(self.march, self.params, self.initial, number, number)
        pull = _compile(self.pull, self.params, self.initial, number, adjoint, gradient)
        seed = _compile(self.seed, self.initial)
        temporaries = pull.memory_analysis()
        self.transient = int(getattr(temporaries, "temp_size_in_bytes", 0))
        return march, pull, seed

    def once(self, params: list[Any], state: list[Any], number: Any) -> list[Any]:
        """Run one step."""
        given = (
            jax.tree.unflatten(self.params_structure, params),
            jax.tree.unflatten(self.structure, state),
        )
        after = self.step(*given, number) if self.numbered else self.step(*given)
        leaves, structure = jax.tree.flatten(after)
        if structure != self.structure:
            raise WrongType(
                f"step returned a state of structure {structure}; the initial state has "
                f"{self.structure}. Return the same structure at every step."
            )
        return leaves

    def march(self, params: list[Any], state: list[Any], start: Any, stop: Any) -> list[Any]:
        """Run steps [start, stop)."""

        def body(number: Any, now: list[Any]) -> list[Any]:
            return self.once(params, now, number)

        return jax.lax.fori_loop(start, stop, body, state)

    def pull(
        self,
        params: list[Any],
        state: list[Any],
        number: Any,
        adjoint: list[Any],
        gradient: list[Any],
    ) -> tuple[list[Any], list[Any]]:
        """Pull the adjoint of a step back, and add to the gradient."""
        chosen, rest = split(params, self.sought)
        moving, fixed = split(state, self.moving)

        def once(chosen: list[Any], moving: list[Any]) -> list[Any]:
            after = self.once(
                join(chosen, rest, self.sought), join(moving, fixed, self.moving), number
            )
            return split(after, self.moving)[0]

        _, pullback = jax.vjp(once, chosen, moving)
        more, back = pullback(adjoint)
        return back, [one + other for one, other in zip(gradient, more, strict=True)]

    def seed(self, state: list[Any]) -> tuple[Any, list[Any]]:
        """Return the loss and its gradient by the moving leaves."""
        moving, fixed = split(state, self.moving)

        def value(moving: list[Any]) -> Any:
            leaves = join(moving, fixed, self.moving)
            return self.loss(jax.tree.unflatten(self.structure, leaves))

        return jax.value_and_grad(value)(moving)

    def check(self, number: Any) -> None:
        """Refuse a step that changes shapes or types, and a loss that is no real scalar."""
        after = jax.eval_shape(self.once, self.params, self.initial, number)
        for before, now in zip(self.initial, after, strict=True):
            if (before.shape, before.dtype) != (now.shape, now.dtype):
                raise WrongType(
                    f"step turned a leaf of {before.dtype}{before.shape} into "
                    f"{now.dtype}{now.shape}. A state keeps shapes and types: cast what the "
                    "step returns, or the initial state."
                )
        state = jax.tree.unflatten(self.structure, self.initial)
        value = jax.eval_shape(self.loss, state)
        if getattr(value, "shape", None) != () or not jnp.issubdtype(value.dtype, jnp.floating):
            raise WrongType(f"loss returned {value}. Return a real scalar, such as jnp.sum(...).")
        self.value_dtype = value.dtype


def _compile(function: Callable[..., Any], *args: Any) -> Any:
    return jax.jit(function).lower(*args).compile()
