"""A loop of flat arrays on the problem protocol, driven from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from xxhash import xxh3_128

from ...errors import ProblemFailed
from ...problem import Array, Clock, Reads, Window
from .._compat import jax, jnp
from .._trees import split
from ._layout import bytes_of
from ._loop_programs import Leaves, Programs
from ._memory import Outputs, address, as_host, overwrite, plain_dtype, separate, views

__all__ = ["LoopProblem", "Seed", "SeedProgram", "digest_of"]


@dataclass(frozen=True, slots=True)
class Seed:
    """What the end of a loop gives its reverse.

    Attributes
    ----------
    value : array
        The loss.
    aux : list of arrays
        What goes along with it.
    adjoint, by_ys : list of arrays
        Cotangents of the last carry and of the outputs, of the leaves that have some.
    sums : list of arrays
        Cotangents of the constants that are differentiated, as far as the end reads them.
    direct : list of arrays
        Cotangents of whatever else the end reads.
    """

    value: Any
    aux: Leaves
    adjoint: Leaves
    by_ys: Leaves
    sums: Leaves
    direct: Leaves


class SeedProgram(Protocol):
    """Runs what follows the loop, forward and in reverse."""

    def __call__(self, consts: Leaves, last: Leaves, ys: Leaves) -> Seed:
        """Take constants, live state and outputs to the seed of the reverse."""
        ...


class LoopProblem:
    """A loop driven from Python: `adjourn.Problem` on flat lists of plain arrays.

    The live state, one block of recorded states and the cotangents stay on the device and are
    updated in place. On a CPU a snapshot is copied out of the live state's own memory and into
    it, once; elsewhere by way of one copy of the state in main memory.

    Parameters
    ----------
    programs : Programs
        Compiled, or not.
    seed : SeedProgram
        What follows the loop.
    shapes : Seed
        Abstract values of what ``seed`` returns.
    consts, initial, xs : list of arrays
        Constants of all steps, carry before the first, inputs of the steps.
    steps : int or None
        Number of steps; None if the loop tells itself.
    """

    def __init__(
        self,
        programs: Programs,
        seed: SeedProgram,
        shapes: Seed,
        consts: Leaves,
        initial: Leaves,
        xs: Leaves,
        steps: int | None,
    ) -> None:
        self.steps: Any = steps
        # Small states are recorded in blocks and reversed from there: one call for many.
        self.reads: Reads = "state" if programs.rows == 1 else "tape"
        if not any(programs.keep):
            self.reads = "nothing"
        self._run = programs
        self._seed = seed
        self._consts, self._initial, self._xs = consts, initial, xs
        self._fixed = programs.fixed(consts)
        known = {address(leaf) for leaf in [*consts, *xs]}
        own = [leaf for leaf in self._fixed if address(leaf) not in known]
        self._fixed_bytes = bytes_of(own)
        self._row_bytes = bytes_of(split(initial, programs.keep)[0])
        self._outputs = Outputs(
            {
                "loss": [shapes.value],
                "aux": shapes.aux,
                "ys": programs.ys,
                "adjoint": shapes.adjoint,
                "by_ys": shapes.by_ys,
                "gradient": shapes.sums,
                "direct": shapes.direct,
                "xs_gradient": split(xs, programs.inputs[: len(xs)])[0],
            },
            programs.in_place,
        )
        self._live: Leaves = []
        self._host: list[Array] = []
        self._places: list[int] = []  # where the live state lies, as the views know it
        self._host_at = -1
        self._at = 0
        self.reserve(1)
        self.begin()

    # --- the protocol

    def window(self) -> Window:
        """Return the bytes of recorded states; a live state is its step's record."""
        staging = 0 if self._run.in_place else bytes_of(self._initial)
        return Window(
            self._row_bytes,
            transient_bytes=self._run.transient + staging,
            fixed_bytes=self._fixed_bytes + (self._run.rows - 1) * self._row_bytes,
        )

    def reserve(self, steps: int) -> None:
        """Make room for so many recorded states, in blocks."""
        rows = self._run.rows
        kept = split(self._initial, self._run.keep)[0]
        self._ring: list[Leaves] = []
        for _ in range(-(-steps // rows)):
            self._ring.append([jnp.zeros((rows, *a.shape), a.dtype) for a in kept])
        jax.block_until_ready(self._ring)
        self._room = rows * len(self._ring)
        self._held = range(0)

    def begin(self) -> None:
        """Go to step 0; zero loss, adjoint and gradient."""
        if not self._live:  # at first, and after a step that failed
            self.reserve(len(self._ring) * self._run.rows)
        if self._run.in_place and self._live:
            for view, leaf in zip(self.state(0), self._initial, strict=True):
                np.copyto(view, as_host(leaf))
        else:
            self._live = [jnp.array(leaf[None], copy=True) for leaf in self._initial]
            jax.block_until_ready(self._live)
        self._place(0)
        self._held = range(0)
        self._outputs.clear()

    def state(self, step: int) -> list[Array]:
        """Return arrays that hold the live state; `loaded` takes what is written into them."""
        if self._run.in_place:
            places = [address(leaf) for leaf in self._live]
            if places != self._places:
                self._host = [view[0, ...] for view in views(self._live)]
                self._places = places
            return self._host
        if not self._host:
            kinds = ((leaf.shape, plain_dtype(leaf.dtype)) for leaf in self._initial)
            self._host = [np.zeros(shape, dtype) for shape, dtype in kinds]
        if self._host_at != step and self._at == step:
            for array, leaf in zip(self._host, self._live, strict=True):
                np.copyto(array, as_host(leaf)[0, ...])
            self._host_at = step
        return self._host

    def loaded(self, step: int, clock: Clock) -> None:  # noqa: ARG002
        """Make what was written into `state` the live state."""
        if not self._run.in_place:
            rows = [array[None] for array in self._host]
            self._live = overwrite(self._live, rows, in_place=False)
        self._place(step)
        self._held = range(0)

    def advance(self, start: int, stop: int, *, replay: bool) -> int:  # noqa: ARG002
        """Run [start, stop)."""
        self._held = range(0)
        return self._march(start, 1, stop - start, 0, 0)

    def record(self, start: int, stop: int, *, replay: bool) -> int:  # noqa: ARG002
        """Run the same loop, keeping the state before each step."""
        while start < stop:
            slot = start % self._room
            row = slot % self._run.rows
            count = min(stop - start, self._run.rows - row)
            first = self._held.start if self._held and self._held.stop == start else start
            reached = self._march(start, count, 1, 1, slot)
            self._held = range(max(first, reached - self._room), reached)
            if reached < start + count:
                return reached
            start = reached
        return start

    def turn(self) -> None:
        """Take the loss of the last state and its gradient."""
        if self.steps is not None:
            self._need(self.steps)
        ys = self._outputs.get("ys")
        seed = self._seed(self._consts, self._live, ys)
        given = [*self._consts, *self._live, *ys]
        moved = [seed.adjoint, seed.by_ys, seed.sums, seed.direct]
        apart = iter(separate([leaf for leaves in moved for leaf in leaves], given))
        for name, leaves in zip(("adjoint", "by_ys", "gradient", "direct"), moved, strict=True):
            self._outputs.put(name, [next(apart) for _ in leaves])
        rest = separate([seed.value, *seed.aux], given)
        self._outputs.put("loss", rest[:1])
        self._outputs.put("aux", rest[1:])

    def reverse(self, start: int, stop: int) -> None:
        """Pull the adjoint back over [start, stop), a block at a time."""
        out = self._outputs
        by_ys = out.get("by_ys")
        names = ("adjoint", "gradient", "xs_gradient")
        given = [out.take(name) for name in names]
        fixed = self._consts, self._xs, self._fixed
        while stop > start:
            low, row, block = self._recorded(start, stop)
            given = self._run.pull(*fixed, block, by_ys, *given, low, stop, row)
            stop = low
        _wait([leaf for leaves in given for leaf in leaves[:1]])
        for name, leaves in zip(names, given, strict=True):
            out.put(name, leaves)

    def carried(self) -> Mapping[str, Array]:
        """Return loss, adjoint and gradient, as arrays that may be written to."""
        return self._outputs.show()

    def identity(self) -> str:
        """Return a digest of all that the loop is given: a run is resumed with the same."""
        return digest_of("", [*self._consts, *self._initial, *self._xs])

    # --- within

    def _place(self, step: int) -> None:
        self._at = step
        self._host_at = -1

    def _need(self, step: int) -> None:
        if self._at != step:
            raise ProblemFailed(
                f"step {step} was asked for while the live state is at step {self._at}. Advance, "
                "or load a snapshot, up to the step first."
            )

    def _march(self, start: int, count: int, stride: int, keep: int, slot: int) -> int:
        self._need(start)
        index, row = divmod(slot, self._run.rows)
        ys = self._outputs.take("ys")
        live, self._live = self._live, []
        block, self._ring[index] = self._ring[index], []
        numbers = start, count, stride, keep, row
        live, ys, block, at = self._run.march(self._consts, self._xs, live, ys, block, *numbers)
        _wait([*live[:1], *ys[:1]])
        self._live, self._ring[index] = live, block
        self._outputs.put("ys", ys)
        reached = int(at) if self.steps is None else start + count * stride
        self._place(reached)
        return reached

    def _recorded(self, start: int, stop: int) -> tuple[int, int, Leaves]:
        """Return the lowest step, its row and the block of recorded states below ``stop``."""
        if self.reads == "nothing":
            return start, 0, []
        top, rows = stop - 1, self._run.rows
        if top in self._held:
            index, row = divmod(top % self._room, rows)
            low = max(start, self._held.start, top - row)
            return low, row - (top - low), self._ring[index]
        self._need(top)
        if rows == 1:
            return top, 0, split(self._live, self._run.keep)[0]
        self._march(top, 1, 0, 1, 0)
        return top, 0, self._ring[0]


def digest_of(text: str, leaves: Sequence[Any]) -> str:
    """Return a digest of a text and the bytes of arrays."""
    made = xxh3_128(text.encode())
    for leaf in leaves:
        made.update(np.ascontiguousarray(as_host(leaf)).reshape(-1).view(np.uint8).data)
    return made.hexdigest()


def _wait(leaves: Sequence[Any]) -> None:
    """Wait for a program; its results are ready together."""
    if leaves:
        leaves[0].block_until_ready()
