"""A scan that keeps a few carries and reverses by Revolve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..optimum import repetitions
from ..schedules import Save, Turn
from ..schedules import window as window_schedule
from ._body import Body, Flags
from ._compat import jax, jnp, lax, perturbed, static, zero
from ._player import Given, Player, Stack, Sums, at_all, chooser, keep, put_all, slots_for
from ._trees import join, split

__all__ = ["Loop", "Run", "full", "needed", "prepare", "reversible", "still_live", "zeros"]

Leaves: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]


@dataclass(frozen=True)
class Loop:
    """A scan in flat form.

    Attributes
    ----------
    body : callable
        ``body(consts, carry, x) -> (carry, y)`` on flat lists; closes over no traced values.
    length : int
        Number of steps, 2 or more.
    backward : bool
        Whether it starts at the last ``x``.
    """

    body: Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]
    length: int
    backward: bool

    def place(self, step: Any) -> Any:
        """Return where in ``xs`` and ``ys`` a step reads and writes."""
        return self.length - 1 - step if self.backward else step


def reversible(loop: Loop, slots: int, window: int = 1) -> Run:
    """Return ``run(consts, carry, xs) -> (carry, ys)``, reversed within so many snapshots.

    The forward pass keeps the snapshots of Revolve's first sweep over blocks of ``window``
    steps, the first of them short if need be, and the carry before the last block; of the carry
    only what recomputation reads. The backward pass runs t(blocks, slots) - (blocks - 1) blocks
    a second time, the fewest possible, and each block once more to record it.

    Parameters
    ----------
    loop : Loop
        What to run.
    slots : int
        Carries kept at once, the initial one included.
    window : int
        Steps of a block, whose residuals are kept while it is reversed.
    """
    window = min(window, loop.length)
    blocks = -(-loop.length // window)
    short = blocks * window - loop.length
    schedule = window_schedule(loop.length, window, slots)
    first: list[int] = []  # blocks before which the first sweep saves
    for action in schedule:
        if isinstance(action, Turn):
            break
        if isinstance(action, Save):
            first.append((action.step + short) // window if action.step else 0)
    slots = max(schedule.counts.snapshots[0], 1)

    def start(block: Any) -> Any:
        return jnp.maximum(block * window - short, 0)

    @jax.custom_vjp
    def run(consts: Leaves, carry: Leaves, xs: Leaves) -> Any:
        def step(carry: Leaves, x: Leaves) -> Any:
            return loop.body(consts, carry, x)

        return lax.scan(step, carry, xs, loop.length, reverse=loop.backward)

    def forward(consts: Leaves, carry: Leaves, xs: Leaves) -> Any:
        (consts, carry, xs), moving = perturbed((consts, carry, xs))
        body = Body.of(loop.body, consts, carry, _slices(xs), moving)
        most = max(repetitions(blocks, slots), 2)
        choose = chooser(slots, most)
        player = Player(body, loop.place, start, window, slots, choose, short > 0)
        begin = split(carry, body.keep)[0]
        carry, ys, last, kept = _sweep(loop, player, first, (consts, carry, xs))
        return (carry, ys), (consts, xs, begin, last, kept, static(player))

    def backward(residual: Any, cotangents: Any) -> Any:
        consts, xs, begin, last, kept, shared = residual
        by_carry, by_ys = cotangents
        player: Player = shared.value
        body = needed(player.body, by_carry, by_ys)
        begin, last, kept = (
            still_live(leaves, player.body, body) for leaves in (begin, last, kept)
        )
        player = replace(player, body=body)
        given = prepare(body, consts, xs, begin, by_ys)
        sums = zeros(player.body, consts, xs, by_carry)
        tape, sums = player.reverse(given, jnp.int32(blocks - 1), last, player.tape(), sums)
        places = np.zeros(slots, np.int32)
        places[: len(first)] = first
        order = jnp.arange(slots, dtype=jnp.int32)
        stack = Stack(kept, order, jnp.asarray(places), jnp.int32(len(first)))
        if blocks > 1:
            sums = player.play(given, stack, jnp.int32(blocks - 1), tape, sums)
        return (
            full(sums.consts, player.body.consts),
            full(sums.carry, player.body.move),
            full(sums.xs, player.body.inputs),
        )

    run.defvjp(forward, backward, symbolic_zeros=True)
    return run


def needed(body: Body, by_carry: Leaves, by_ys: Leaves) -> Body:
    """Return a step prepared for those cotangents that are not known to be zero."""
    carry = tuple(not zero(by) for by in split(by_carry, body.move)[0])
    return body.asked(carry, tuple(not zero(by) for by in split(by_ys, body.outputs)[0]))


def still_live(kept: Leaves, before: Body, body: Body) -> Leaves:
    """Return of the live leaves of a step those that are live in one prepared for less."""
    return [leaf for leaf, here in zip(kept, split(body.keep, before.keep)[0], strict=True) if here]


def prepare(body: Body, consts: Leaves, xs: Leaves, first: Leaves, by_ys: Leaves) -> Given:
    """Return what the steps of the backward pass read."""
    moved = [None if zero(by) else by for by in split(by_ys, body.outputs)[0]]
    return Given(consts, xs, body.fixed(consts), first, moved)


def zeros(body: Body, consts: Leaves, xs: Leaves, by_carry: Leaves) -> Sums:
    """Return the cotangents before the first step of the backward pass."""
    by_consts = [jnp.zeros_like(leaf) for leaf in split(consts, body.consts)[0]]
    by_xs = [jnp.zeros_like(leaf) for leaf in split(xs, body.inputs)[0]]
    carry = split(by_carry, body.move)[0]
    return Sums(by_consts, [jnp.zeros(a.shape, a.dtype) if zero(a) else a for a in carry], by_xs)


def full(cotangents: Leaves, where: Flags) -> Leaves:
    """Return cotangents of all leaves; None for those that have none."""
    return join(cotangents, [None] * where.count(False), where)


def _slices(xs: Sequence[Any]) -> Leaves:
    return [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]


def _sweep(
    loop: Loop, player: Player, first: list[int], given: tuple[Leaves, Leaves, Leaves]
) -> Any:
    """Run forward; return carry, ys, the live carry before the last block, and the snapshots."""
    consts, carry, xs = given
    live = player.body.keep
    _, shapes = jax.eval_shape(player.body.run, consts, carry, _slices(xs))
    ys = [jnp.zeros((loop.length, *y.shape), y.dtype) for y in shapes]
    kept = slots_for(split(carry, live)[0], player.slots)
    blocks = -(-loop.length // player.window)
    starts = player.start(jnp.asarray([*first, blocks - 1], jnp.int32))

    def step(number: Any, now: Any) -> Any:
        carry, ys = now
        place = loop.place(number)
        carry, y = player.body.run(consts, carry, at_all(xs, place))
        return carry, put_all(ys, y, place)

    def segment(index: Any, now: Any) -> Any:
        carry, ys, kept = now
        kept = keep(kept, split(carry, live)[0], index, player.slots)
        carry, ys = lax.fori_loop(starts[index], starts[index + 1], step, (carry, ys))
        return carry, ys, kept

    carry, ys, kept = lax.fori_loop(0, len(first), segment, (carry, ys, kept))
    last = split(carry, live)[0]
    carry, ys = lax.fori_loop(starts[len(first)], loop.length, step, (carry, ys))
    return carry, ys, last, kept
