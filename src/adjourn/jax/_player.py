"""Binomial reversal as one compiled program over stacked snapshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..optimum import binomial, repetitions
from ..schedules import Save, Turn, revolve
from ._compat import jax, jnp, lax
from ._trees import has_tangent, join, split

__all__ = ["Loop", "reversible"]

Leaves = list[Any]
_MOST = 2**30  # entries of the table above this are only compared


@dataclass(frozen=True)
class Loop:
    """A scan in flat form.

    Attributes
    ----------
    body : callable
        ``body(consts, carry, x) -> (carry, y)`` on flat lists.
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

    def pick(self, xs: Leaves, step: Any) -> Leaves:
        """Return the inputs of a step."""
        return [_at(x, self.place(step)) for x in xs]

    def advance(self, consts: Leaves, xs: Leaves, carry: Leaves, start: Any, stop: Any) -> Leaves:
        """Run [start, stop), leaving nothing behind."""

        def step(number: Any, carry: Leaves) -> Leaves:
            return self.body(consts, carry, self.pick(xs, number))[0]

        return lax.fori_loop(start, stop, step, carry)


def reversible(loop: Loop, slots: int) -> Callable[[Leaves, Leaves, Leaves], Any]:
    """Return ``run(consts, carry, xs) -> (carry, ys)``, reversed within so many snapshots.

    The forward pass keeps the snapshots of Revolve's first sweep, and the carry before the last
    step. The backward pass decides in the compiled program where the next snapshot lies, by the
    closed form of [1]_ on a table of binomial coefficients as long as the repetition number, so
    that code and compile time do not depend on the length. It advances t(n, slots) - (n - 1)
    steps a second time, the fewest possible; each pullback runs its step once more.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000) 19-45,
       doi 10.1145/347837.347846.
    """
    schedule = revolve(loop.length, slots)
    first: list[int] = []
    for action in schedule:
        if isinstance(action, Turn):
            break
        if isinstance(action, Save):
            first.append(action.step)
    slots = max(schedule.counts.snapshots[0], 1)

    @jax.custom_vjp
    def run(consts: Leaves, carry: Leaves, xs: Leaves) -> Any:
        def step(carry: Leaves, x: Leaves) -> Any:
            return loop.body(consts, carry, x)

        return lax.scan(step, carry, xs, loop.length, reverse=loop.backward)

    def forward(consts: Leaves, carry: Leaves, xs: Leaves) -> Any:
        carry, ys, last, kept = _sweep(loop, first, slots, (consts, carry, xs))
        return (carry, ys), (consts, xs, last, kept)

    def backward(residual: Any, cotangents: Any) -> Any:
        return _reverse(loop, first, slots, residual, cotangents)

    run.defvjp(forward, backward)
    return run


def _sweep(loop: Loop, first: list[int], slots: int, given: tuple[Leaves, Leaves, Leaves]) -> Any:
    """Run forward; return carry, ys, the carry before the last step, and the snapshots."""
    consts, carry, xs = given
    _, shapes = jax.eval_shape(loop.body, consts, carry, jax.eval_shape(loop.pick, xs, 0))
    ys = [_stack(jnp.zeros(y.shape, y.dtype), loop.length) for y in shapes]
    kept = [_stack(leaf, slots) for leaf in carry]
    ends = jnp.asarray([*first[1:], loop.length - 1], jnp.int32)
    starts = jnp.asarray(first, jnp.int32)

    def step(number: Any, now: Any) -> Any:
        carry, ys = now
        carry, y = loop.body(consts, carry, loop.pick(xs, number))
        return carry, _put_all(ys, y, loop.place(number))

    def segment(index: Any, now: Any) -> Any:
        carry, ys, kept = now
        kept = _put_all(kept, carry, index)
        carry, ys = lax.fori_loop(starts[index], ends[index], step, (carry, ys))
        return carry, ys, kept

    last, ys, kept = lax.fori_loop(0, len(first), segment, (carry, ys, kept))
    carry, ys = step(loop.length - 1, (last, ys))
    return carry, ys, last, kept


def _reverse(loop: Loop, first: list[int], slots: int, residual: Any, cotangents: Any) -> Any:
    consts, xs, last, kept = residual
    by_carry, by_ys = cotangents
    where_c, where_x = ([has_tangent(leaf) for leaf in leaves] for leaves in (consts, xs))
    where_s = [has_tangent(leaf) for leaf in last]
    moving = split(consts, where_c)[0]
    by_consts = [jnp.zeros_like(leaf) for leaf in moving]
    by_xs = [jnp.zeros_like(leaf) for leaf in split(xs, where_x)[0]]
    by_carry = split(by_carry, where_s)[0]
    where_y = [leaf.dtype != jax.dtypes.float0 for leaf in by_ys]
    by_ys = split(by_ys, where_y)[0]
    choose = _chooser(loop.length, slots)
    places = jnp.zeros(slots, jnp.int32).at[: len(first)].set(jnp.asarray(first, jnp.int32))

    def pull(step: Any, carry: Leaves, by: Any) -> Any:
        by_consts, by_carry, by_xs = by
        state, fixed = split(carry, where_s)
        x, other = split(loop.pick(xs, step), where_x)

        def once(consts_: Leaves, state: Leaves, x: Leaves) -> Any:
            every = join(consts_, split(consts, where_c)[1], where_c)
            after, y = loop.body(every, join(state, fixed, where_s), join(x, other, where_x))
            return split(after, where_s)[0], split(y, where_y)[0]

        place = loop.place(step)
        _, pullback = jax.vjp(once, moving, state, x)
        more, by_carry, by_x = pullback((by_carry, [_at(leaf, place) for leaf in by_ys]))
        by_consts = [one + two for one, two in zip(by_consts, more, strict=True)]
        return by_consts, by_carry, _put_all(by_xs, by_x, place)

    def unfinished(now: Any) -> Any:
        at, top, depth, *_ = now
        left = top - at
        return (left > 1) & (left - choose(left, slots - depth + 1) > 1)

    def descend(now: Any) -> Any:
        """Advance to where the next snapshot lies, and keep it."""
        at, top, depth, carry, kept, places = now
        stop = at + choose(top - at, slots - depth + 1)
        carry = loop.advance(consts, xs, carry, at, stop)
        kept, places = _put_all(kept, carry, depth), _put(places, stop, depth)
        return stop, top, depth + 1, carry, kept, places

    def turn_back(now: Any) -> Any:
        """Reverse the step below ``top`` from the topmost snapshot."""
        top, depth, kept, places, by = now
        at, carry = places[depth - 1], [_at(leaf, depth - 1) for leaf in kept]
        depth = jnp.where(top - at == 1, depth - 1, depth)  # its last use
        state = (at, top, depth, carry, kept, places)
        at, top, depth, carry, kept, places = lax.while_loop(unfinished, descend, state)
        carry = loop.advance(consts, xs, carry, at, top - 1)
        return top - 1, depth, kept, places, pull(top - 1, carry, by)

    by = pull(loop.length - 1, last, (by_consts, by_carry, by_xs))
    now = (jnp.int32(loop.length - 1), jnp.int32(len(first)), kept, places, by)
    *_, by = lax.while_loop(lambda now: now[0] > 0, turn_back, now)
    by_consts, by_carry, by_xs = by
    return (
        join(by_consts, [None] * where_c.count(False), where_c),
        join(by_carry, [None] * where_s.count(False), where_s),
        join(by_xs, [None] * where_x.count(False), where_x),
    )


def _chooser(length: int, slots: int) -> Callable[[Any, Any], Any]:
    """Return ``choose(left, free)``: `schedules.split` on traced integers."""
    most = repetitions(length, slots) + 1
    rows = [[min(binomial(k, r), _MOST) for r in range(most + 1)] for k in range(slots + 1)]
    table = jnp.asarray(np.array(rows, np.int32))

    def choose(left: Any, free: Any) -> Any:
        row = table[free]
        r = jnp.maximum(jnp.sum(row < left, dtype=jnp.int32), 2)
        two = table[jnp.maximum(free - 2, 0), r - 1]
        tail = jnp.where(free > 2, table[jnp.maximum(free - 3, 0), r], 0)
        step = left - table[jnp.maximum(free - 1, 0), r - 1] - two
        step = jnp.where(left >= row[r] - tail, row[r - 1], step)
        step = jnp.where(left <= row[r - 1] + two, row[r - 2], step)
        step = jnp.where(left <= free + 1, 1, step)  # one repetition reaches
        return jnp.where(free == 1, left - 1, step)

    return choose


def _stack(leaf: Any, count: int) -> Any:
    """Return room for so many leaves."""
    return lax.broadcast(leaf, (count,))


def _at(stacked: Any, index: Any) -> Any:
    return lax.dynamic_index_in_dim(stacked, index, keepdims=False)


def _put(stacked: Any, leaf: Any, index: Any) -> Any:
    return lax.dynamic_update_index_in_dim(stacked, leaf, index, 0)


def _put_all(stacked: Leaves, leaves: Leaves, index: Any) -> Leaves:
    return [_put(one, two, index) for one, two in zip(stacked, leaves, strict=True)]
