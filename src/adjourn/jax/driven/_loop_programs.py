"""The compiled programs of a loop that is driven from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._body import Body, Flags
from .._compat import jax, jnp, lax
from .._player import at_all, put_all
from .._trees import split
from ._forward import compile_forwarding

__all__ = ["Leaves", "LoopCode", "Programs", "compile_loop", "rows_for"]

Leaves: TypeAlias = list[Any]
_BLOCK_BYTES = 2**16  # of recorded states that one call reverses; larger states go one by one
_MOST_ROWS = 256


@dataclass(frozen=True, slots=True)
class LoopCode:
    """A loop as flat functions of plain arrays.

    Attributes
    ----------
    step : callable
        ``step(consts, carry, x) -> (carry, y)``; closes over no traced values. With ``numbered``
        the last of ``x`` is the number of the step, an int32 scalar.
    numbered : bool
        Whether the step takes its number.
    length : int or None
        Number of steps; None where ``going`` tells.
    backward : bool
        Whether the first step reads the last ``x``.
    going : callable or None
        ``going(consts, carry) -> bool``: whether there is a further step.
    moving : tuple of tuple of bool
        Which constants, leaves of the initial carry and inputs have derivatives.
    """

    step: Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]
    numbered: bool
    length: int | None
    backward: bool
    going: Callable[[Leaves, Leaves], Any] | None
    moving: tuple[Flags, Flags, Flags]

    def place(self, number: Any) -> Any:
        """Return where in ``xs`` and ``ys`` a step reads and writes."""
        return (self.length or 0) - 1 - number if self.backward else number

    def inputs(self, xs: Leaves, number: Any) -> Leaves:
        """Return what one step reads besides constants and carry."""
        rest = [number] if self.numbered else []
        return [*at_all(xs, self.place(number)), *rest]


@dataclass(frozen=True, slots=True)
class Programs:
    """What drives a loop, compiled or not.

    A live state is a list of leaves with one axis of length 1 more than the carry's; a block is
    the same with ``rows`` in place of 1, of the leaves in ``keep`` alone.

    Attributes
    ----------
    march : callable
        ``(consts, xs, live, ys, block, start, count, stride, keep, row) -> live, ys, block,
        reached``: ``count`` times, note the live state in the block at ``row`` and what follows
        (if ``keep`` is 1, not if it is 0), and run ``stride`` steps. Takes the memory of live
        state, outputs and block.
    pull : callable
        ``(consts, xs, fixed, block, by_ys, adjoint, sums, by_xs, start, stop, row) -> adjoint,
        sums, by_xs``: take the cotangents back over [start, stop), the states of which lie in
        the block from ``row`` on. Takes the memory of the last three.
    fixed : callable
        ``consts ->`` what pullbacks read that is the same for all steps.
    ys : tuple
        Abstract values of the outputs of all steps.
    move, outputs, keep, consts, inputs : tuple of bool
        Which leaves of the carry and which outputs have cotangents, which leaves of the carry
        a pullback reads, which constants and inputs are differentiated.
    rows : int
        Recorded states in a block.
    transient : int
        Bytes of temporaries of the pullbacks.
    in_place : bool
        Whether live state and block are arrays of their own that keep their memory.
    """

    march: Callable[..., tuple[Leaves, Leaves, Leaves, Any]]
    pull: Callable[..., tuple[Leaves, Leaves, Leaves]]
    fixed: Callable[[Leaves], Leaves]
    ys: tuple[Any, ...]
    move: Flags
    outputs: Flags
    keep: Flags
    consts: Flags
    inputs: Flags
    rows: int
    transient: int
    in_place: bool


def rows_for(nbytes: int, steps: int | None) -> int:
    """Return how many states a block should hold: few bytes, and a small part of the steps.

    A power of two, so that problems of about the same length share their programs.
    """
    fit = min(_BLOCK_BYTES // max(nbytes, 1), _MOST_ROWS, 1 if steps is None else steps // 16)
    return 1 << max(fit.bit_length() - 1, 0)


def compile_loop(
    code: LoopCode,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    rows: int = 1,
) -> Programs:
    """Compile what drives a loop, on arrays or abstract values of its shapes.

    Costs three compilations, of the loop, of the pullback and of what is the same for all
    steps. Every state comes from the first and every cotangent from the second, whatever the
    ranges: the numbers of steps are arguments, and recording is the same loop with a counter
    set, so that a schedule cannot change a bit.

    Recorded are states, and a pullback runs its step again. Residuals instead take 2 to 60 times
    the bytes; recording and reversing by them was 0.90 (matrix products), 1.07 (stencil), 2.5
    (few numbers) and 4.2 (inner loop) times the work, and the loop that leaves them, which would
    have to make all other states too for equal bits, up to 3 times as slow and more.
    """
    numbers = [jax.ShapeDtypeStruct((), jnp.int32)] if code.numbered else []
    slices = [*(jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs), *numbers]
    body = Body.of(code.step, consts, carry, slices, code.moving)
    kept = split(carry, body.keep)[0]
    _, y = jax.eval_shape(code.step, list(consts), list(carry), slices)
    ys = [jax.ShapeDtypeStruct((code.length or 0, *a.shape), a.dtype) for a in y]
    consts, xs = list(consts), list(xs)
    live = [jax.ShapeDtypeStruct((1, *a.shape), a.dtype) for a in carry]
    block = [jax.ShapeDtypeStruct((rows, *a.shape), a.dtype) for a in kept]
    by_ys = [
        jax.ShapeDtypeStruct((code.length or 0, *a.shape), a.dtype) for a in body.moved_outputs
    ]
    adjoint = split(carry, body.move)[0]
    sums = split(consts, body.consts)[0]
    by_xs = split([*xs, *numbers], body.inputs)[0]
    fixed = compile_forwarding(body.fixed, consts)
    shapes = jax.eval_shape(body.fixed, consts)
    pulled = (
        jax.jit(_pull(code, body), donate_argnums=(5, 6, 7))
        .lower(consts, xs, shapes, block, by_ys, adjoint, sums, by_xs, 0, 0, 0)
        .compile()
    )
    if rows > 1:
        march = (
            jax.jit(_in_blocks(code, body.keep), donate_argnums=(2, 3, 4))
            .lower(consts, xs, live, ys, block, 0, 0, 0, 0, 0)
            .compile()
        )
    else:
        marched = (
            jax.jit(_one_by_one(code), donate_argnums=(2, 3))
            .lower(consts, xs, live, ys, 0, 0)
            .compile()
        )
        march = _keeping(marched, block, body.keep)
    temporaries = pulled.memory_analysis()
    return Programs(
        march=march,
        pull=pulled,
        fixed=fixed,
        ys=tuple(ys),
        move=body.move,
        outputs=body.outputs,
        keep=body.keep,
        consts=body.consts,
        inputs=body.inputs,
        rows=rows,
        transient=int(getattr(temporaries, "temp_size_in_bytes", 0)),
        in_place=jax.default_backend() == "cpu",
    )


def _run(code: LoopCode, consts: Leaves, xs: Leaves, begun: Any, stop: Any) -> Any:
    """Run from (step, carry, outputs) to a step, or to where the loop ends itself."""

    def step(now: Any) -> Any:
        at, carry, ys = now
        carry, y = code.step(consts, carry, code.inputs(xs, at))
        return at + 1, carry, put_all(ys, y, code.place(at))

    def unfinished(now: Any) -> Any:
        more = now[0] < stop
        return more if code.going is None else more & code.going(consts, now[1])

    return lax.while_loop(unfinished, step, begun)


def _one_by_one(code: LoopCode) -> Callable[..., Any]:
    """Return the loop without a block."""

    def march(consts: Leaves, xs: Leaves, live: Leaves, ys: Leaves, start: Any, stride: Any) -> Any:
        start, stride = _int32(start, stride)
        begun = (start, [leaf[0] for leaf in live], ys)
        at, carry, ys = _run(code, consts, xs, begun, start + stride)
        return [leaf[None] for leaf in carry], ys, at

    return march


def _in_blocks(code: LoopCode, kept: Flags) -> Callable[..., Any]:
    """Return `Programs.march` for blocks of many states."""

    def march(
        consts: Leaves,
        xs: Leaves,
        live: Leaves,
        ys: Leaves,
        block: Leaves,
        start: Any,
        count: Any,
        stride: Any,
        keep: Any,
        row: Any,
    ) -> Any:
        def note(_: Any, noted: Any) -> Any:
            block, carry, index = noted
            return put_all(block, split(carry, kept)[0], index), carry, index

        def turn(index: Any, now: Any) -> Any:
            at, carry, ys, block = now
            block = lax.fori_loop(0, keep, note, (block, carry, row + index))[0]
            return (*_run(code, consts, xs, (at, carry, ys), at + stride), block)

        start, count, stride, keep, row = _int32(start, count, stride, keep, row)
        begun = (start, [leaf[0] for leaf in live], ys, block)
        at, carry, ys, block = lax.fori_loop(0, count, turn, begun)
        return [leaf[None] for leaf in carry], ys, block, at

    return march


def _pull(code: LoopCode, body: Body) -> Callable[..., Any]:
    """Return `Programs.pull`."""

    def pull(
        consts: Leaves,
        xs: Leaves,
        fixed: Leaves,
        block: Leaves,
        by_ys: Leaves,
        adjoint: Leaves,
        sums: Leaves,
        by_xs: Leaves,
        start: Any,
        stop: Any,
        row: Any,
    ) -> Any:
        def back(index: Any, now: Any) -> Any:
            adjoint, sums, by_xs = now
            number = stop - 1 - index
            at = code.place(number)
            state = at_all(block, row + number - start)
            _, residuals = body.record(consts, state, code.inputs(xs, number))
            more, adjoint, by_x = body.pull(fixed, residuals, adjoint, at_all(by_ys, at))
            sums = [one + other for one, other in zip(sums, more, strict=True)]
            return adjoint, sums, put_all(by_xs, by_x, at)

        start, stop, row = _int32(start, stop, row)
        return lax.fori_loop(0, stop - start, back, (adjoint, sums, by_xs))

    return pull


def _keeping(marched: Any, block: Leaves, kept: Flags) -> Callable[..., Any]:
    """Return `Programs.march` for blocks of one state, which is copied before the loop runs.

    The loop then has half the arguments, which is what a call costs.
    """

    def copied(state: Leaves, block: Leaves) -> Leaves:  # noqa: ARG001 - its memory is taken
        return [jnp.copy(leaf) for leaf in state]

    copy = jax.jit(copied, donate_argnums=(1,), keep_unused=True).lower(block, block).compile()

    def march(
        consts: Leaves,
        xs: Leaves,
        live: Leaves,
        ys: Leaves,
        block: Leaves,
        start: int,
        count: int,  # noqa: ARG001 - one
        stride: int,
        keep: int,
        row: int,  # noqa: ARG001 - the first
    ) -> tuple[Leaves, Leaves, Leaves, Any]:
        if keep:
            block = copy(split(live, kept)[0], block)
        live, ys, at = marched(consts, xs, live, ys, start, stride)
        return live, ys, block, at

    return march


def _int32(*numbers: Any) -> Leaves:
    return [lax.convert_element_type(number, jnp.int32) for number in numbers]
