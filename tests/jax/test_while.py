"""While loops with reverse mode: results of lax.while_loop, gradients, counts and memory."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import adjourn
from adjourn import BadValue, NotSupported, WrongType
from adjourn.jax import while_loop
from adjourn.jax._moves import moves

pytestmark = pytest.mark.jax


def close(got, wanted, tolerance=1e-12):
    def one(a, b):
        assert a.dtype == b.dtype
        scale = float(jnp.abs(b).max()) if b.size else 0.0
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)

    jax.tree.map(one, got, wanted)


@pytest.mark.parametrize(
    ("slots", "lengths"),
    [
        (1, (1, 2, 9, 30)),
        (2, (1, 5, 40, 77)),
        (3, (2, 3, 10, 100)),
        (5, (4, 6, 33, 400)),
        (12, (11, 13, 211, 500)),
        (30, (20, 31, 333, 1000)),
    ],
)
def test_the_steps_are_those_of_the_online_schedule(slots, lengths):
    """Counted by a callback, for lengths known at run time only: sweep, advances, recordings."""
    runs = []

    def body(carry):
        u, step = carry
        jax.debug.callback(lambda: runs.append(1))
        return 1.01 * jnp.sin(u), step + 1

    def loss(u, steps):
        return while_loop(lambda carry: carry[1] < steps, body, (u, 0), slots=slots)[0]

    gradient = jax.jit(jax.grad(loss))
    plain = jax.jit(jax.grad(lambda u, w: jax.lax.scan(lambda u, w: scanned(u, w), u, w)[0]))

    def scanned(u, _):
        return 1.01 * jnp.sin(u), None

    for steps in lengths:
        runs.clear()
        got = gradient(1.0, steps)
        jax.effects_barrier()
        schedule = adjourn.online(slots).schedule(steps)
        assert len(runs) == schedule.advances + schedule.records
        np.testing.assert_allclose(got, plain(1.0, jnp.ones(steps)), rtol=1e-12)


def turned_off(limit, slots, noisy=False):
    """Return a loss over a while loop with every kind of leaf, and one over a masked scan."""

    def body(weight, carry):
        u, total, count, key, half, seen = carry
        if noisy:
            key, use = jax.random.split(key)
            u = u + 0.1 * jax.random.uniform(use, u.shape)
        new = jnp.sin(u * weight["a"]) * half + weight["b"]
        seen = seen.at[count].set(new[0])
        return new, total + jnp.sum(new**2), count + 1, key, half * jnp.float32(0.9), seen

    def start(u, half):
        return u, jnp.zeros(()), 0, jax.random.key(3), half, jnp.zeros(limit)

    def value(carry):
        u, total, count, _, half, seen = carry
        return jnp.sum(u) + total + half * count + jnp.sum(seen**3)

    def unbounded(weight, u, half, bound):
        def going(carry):
            return (carry[1] < bound) & (carry[2] < limit)

        def step(carry):
            return body(weight, carry)

        return value(while_loop(going, step, start(u, half), slots=slots))

    def bounded(weight, u, half, bound):
        def step(carry, _):
            new = body(weight, carry)
            here = carry[1] < jax.lax.stop_gradient(bound)
            return jax.tree.map(lambda a, b: jnp.where(here, a, b), new, carry), None

        return value(jax.lax.scan(step, start(u, half), None, limit)[0])

    where = {"a": jnp.linspace(0.5, 1.4, 4), "b": jnp.full(4, 0.3)}, jnp.ones(4), jnp.float32(0.5)
    return unbounded, bounded, where


def test_results_and_gradients_are_those_of_a_masked_scan():
    """By constants, carry and pytrees; with integers, keys, two precisions and an array filled."""
    unbounded, bounded, where = turned_off(25, 3, noisy=True)
    ours = jax.jit(jax.value_and_grad(unbounded, (0, 1, 2)))
    theirs = jax.jit(jax.value_and_grad(bounded, (0, 1, 2)))
    for bound in (0.0, 1.0, 12.0, 1e9):
        (value, got), (wanted_value, wanted) = ours(*where, bound), theirs(*where, bound)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-12)
        close(got[:2], wanted[:2])
        np.testing.assert_allclose(got[2], wanted[2], rtol=1e-5)


def test_lanes_of_different_lengths():
    """Under vmap, before and after the gradient, each lane has the gradient of its own length."""
    unbounded, bounded, (weight, u, half) = turned_off(25, 3)
    bounds, us = jnp.array([0.0, 12.0, 1.0, 1e9]), jnp.outer(jnp.linspace(0.5, 1.5, 4), u)
    by = (0, 1)

    def each(loss):
        return jax.jit(jax.vmap(jax.grad(loss, by), (None, 0, None, 0)))(weight, us, half, bounds)

    def together(loss):
        def total(weight, us):
            return jnp.sum(jax.vmap(loss, (None, 0, None, 0))(weight, us, half, bounds))

        return jax.jit(jax.grad(total, by))(weight, us)

    close(each(unbounded), each(bounded))
    close(together(unbounded), together(bounded))


def test_a_lane_that_has_ended_stays_clear_of_what_the_others_meet():
    """A step that is not defined after the end of a lane leaves no NaN in its gradient."""

    def loss(u, bound):
        def body(u):  # the root of a negative number after some steps
            return jnp.sqrt(u - 1.0)

        return while_loop(lambda u: u > bound, body, u, slots=2)

    us, bounds = jnp.array([1.5, 9.0, 900.0]), jnp.array([1.0, 1.0, 1.0])
    got = jax.jit(jax.vmap(jax.grad(loss)))(us, bounds)
    wanted = jnp.stack([jax.grad(loss)(u, b) for u, b in zip(us, bounds, strict=True)])
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_loops_in_loops():
    """A while loop in a scan, in a while loop, and a scan in one."""

    def inner(u, w):
        return while_loop(
            lambda c: jnp.sum(c[0] ** 2) > 0.3, lambda c: (c[0] * w, c[1] + 1), (u, 0), slots=2
        )

    def loss(w, u):
        def outer(carry):
            u, total, step = carry
            u, count = inner(u + 1, w)
            u, _ = adjourn.jax.scan(lambda u, _: (jnp.cos(u) * w, None), u, None, 3, slots=2)
            return u, total + jnp.sum(u**2) * count, step + 1

        u, total, _ = while_loop(lambda c: c[2] < 4, outer, (u, 0.0, 0), slots=3)
        _, us = jax.lax.scan(lambda u, _: (inner(u + 1, w)[0], u), u, None, 3)
        return jnp.sum(us**2) + total

    w, u = jnp.array([0.9, 0.8]), jnp.array([0.2, 0.9])
    got = jax.jit(jax.grad(loss, (0, 1)))(w, u)
    value = jax.jit(loss)
    step = 1e-6
    for index, direction in ((0, jnp.array([1.0, -0.5])), (1, jnp.array([0.3, 0.8]))):
        ahead, behind = [w, u], [w, u]
        ahead[index] += step * direction
        behind[index] -= step * direction
        slope = (value(*ahead) - value(*behind)) / (2 * step)
        np.testing.assert_allclose(jnp.vdot(got[index], direction), slope, rtol=1e-6, atol=1e-9)
        assert abs(slope) > 1e-3


def test_memory_is_that_of_the_slots():
    """At 8 slots, 10 states at most; an array that is only written to takes room once."""
    state = jnp.zeros((64, 64)), jnp.ones((64, 64))
    written = jnp.zeros((40, 64, 64))

    def body(carry):
        u, v, step, seen = carry
        bend = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u
        return 2 * u - v + 0.1 * bend * jnp.cos(u), u, step + 1, seen.at[step % 40].add(u)

    def loss(u, v, steps):
        start = (u, v, 0, written)
        last = while_loop(lambda c: c[2] < steps, body, start, slots=8)
        return jnp.sum(last[0] ** 2) + jnp.sum(last[3])

    compiled = jax.jit(jax.grad(loss, (0, 1))).lower(*state, 100).compile()
    nbytes = compiled.memory_analysis().temp_size_in_bytes - 2 * written.nbytes
    assert nbytes / (2 * state[0].nbytes) <= 10


def test_beyond_the_table_places_go_on_at_half_the_scale():
    """The rows are those of the core as far as they go; the cost stays near the optimum beyond."""
    for slots in (2, 5, 30):
        table = moves(slots)
        rows = list(zip(table.steps[1:].tolist(), table.given_up[1:].tolist(), strict=True))
        theirs = adjourn.schedules.Online(slots).moves()
        assert rows == [next(theirs) for _ in rows]
        last, end = rows[-1][0], 11 * rows[-1][0]
        assert last > 100_000

        def follow(at, _, table=table):
            return table.after(*at), (table.due(*at), at[0], at[1])

        start = jnp.int32(1), jnp.int32(0)
        count = 5 * len(rows)
        _, found = jax.jit(lambda at: jax.lax.scan(follow, at, None, count))(start)  # noqa: B023
        kept = [0]
        for due, row, scale in zip(*(np.asarray(x).tolist() for x in found), strict=True):
            if due > end:
                assert scale == 4
                break
            if table.given_up[row]:
                kept.pop(table.given_up[row])
            assert due > kept[-1]
            kept.append(due)
        gaps = np.diff([*kept, end]).tolist()
        took = sum(adjourn.optimum.revolve_advances(g, slots - i) for i, g in enumerate(gaps))
        best = adjourn.optimum.revolve_advances(end, slots)
        assert (2 * end + took) / (end + best) < 1.25


def test_errors():
    """What slots can be, forward mode, and lax.while_loop's own errors."""

    def body(u):
        return jnp.sin(u) / 2

    for bad, kind in ((0, BadValue), (2.5, WrongType), ("some", WrongType), (True, WrongType)):
        with pytest.raises(kind, match="slots"):
            while_loop(lambda u: u > 1e-3, body, 1.0, slots=bad)
    with pytest.raises(WrongType, match="unknown length"):
        while_loop(lambda u: u > 1e-3, body, 1.0, slots="segments")
    with pytest.raises(NotSupported, match="forward-mode"):
        jax.jvp(lambda u: while_loop(lambda u: u > 1e-3, body, u, slots=2), (1.0,), (1.0,))
    with pytest.raises(TypeError, match="carry"):
        while_loop(lambda u: u > 1e-3, lambda u: jnp.ones(3), 1.0, slots=2)
    with pytest.raises(ValueError, match="while_loop"):
        jax.grad(lambda u: while_loop(lambda u: u > 1e-3, body, u))(1.0)
