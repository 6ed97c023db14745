"""A functional JAX step on the problem protocol."""

from __future__ import annotations

import gc
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import adjourn
from adjourn import BadValue, ProblemFailed, WrongType
from adjourn.errors import WrongLedger
from adjourn.jax import StepProblem
from adjourn.testing import ProblemSuite, bitwise_test, taylor_test

pytestmark = pytest.mark.jax

CELLS, STEPS = 4096, 20


def step(params, state, n):
    """Run a damped wave with a non-linear spring, driven by the step number and by noise."""
    u, before, key, count = state["u"], state["before"], state["key"], state["count"]
    key, use = jax.random.split(key)
    bend = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
    force = params["speed"] ** 2 * bend - jnp.sin(u) * params["spring"]
    force += 0.01 * jax.random.normal(use, u.shape, u.dtype) + jnp.cos(0.3 * n) * params["mask"]
    after = (1 + 0.9) * u - 0.9 * before + 0.2 * force
    return {"u": after, "before": u, "key": key, "count": count + params["mask"].shape[0]}


def loss(state):
    return jnp.sum(state["u"] ** 2) + jnp.sum(jnp.cos(state["before"]))


def data(dtype=jnp.float64):
    rng = np.random.default_rng(3)
    params = {
        "speed": jnp.asarray(rng.uniform(0.5, 1.0, CELLS), dtype),
        "spring": jnp.asarray(0.4, dtype),
        "mask": jnp.arange(CELLS) % 3,
    }
    state = {
        "u": jnp.asarray(rng.standard_normal(CELLS), dtype),
        "before": jnp.zeros(CELLS, dtype),
        "key": jax.random.key(5),
        "count": jnp.int32(0),
    }
    return params, state


def make(steps=STEPS, dtype=jnp.float64):
    params, state = data(dtype)
    return StepProblem(step, state, steps, loss, params=params, numbered=True)


def plain(params, state):
    last, _ = jax.lax.scan(lambda s, n: (step(params, s, n), None), state, jnp.arange(STEPS))
    return loss(last)


@pytest.fixture(scope="module")
def problem():
    return make()


class TestStepProblem(ProblemSuite):
    """Keys, integers and a numbered step keep all laws."""

    @pytest.fixture(autouse=True)
    def _shared(self, problem):
        self.problem = problem

    def make(self):
        return self.problem


def test_the_gradient_is_that_of_plain_jax(problem):
    """By parameters and initial state, to 1e-12."""
    adjourn.run(problem, budget="1 MiB", progress=False)
    params, state = data()

    def value(speed, spring, u, before):
        changed = params | {"speed": speed, "spring": spring}
        return plain(changed, state | {"u": u, "before": before})

    where = (params["speed"], params["spring"], state["u"], state["before"])
    wanted_value, wanted = jax.jit(jax.value_and_grad(value, argnums=(0, 1, 2, 3)))(*where)
    got = (
        problem.gradient["speed"],
        problem.gradient["spring"],
        problem.initial_gradient["u"],
        problem.initial_gradient["before"],
    )
    assert problem.value == pytest.approx(float(wanted_value), rel=1e-14)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * float(jnp.abs(other).max()))
    assert problem.gradient["mask"] is None
    assert problem.initial_gradient["key"] is None


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_every_budget_gives_the_same_bits(dtype):
    """One executable makes every state, so no schedule changes the gradient."""
    records = bitwise_test(make(33, dtype))
    assert len({str(record.plan.schedule) for record in records}) > 2


def test_kill_and_resume_are_those_of_every_problem(problem, tmp_path):
    """A run in a directory leaves the same gradient."""
    adjourn.run(problem, budget="1 MiB", progress=False)
    wanted = problem.gradient["speed"]
    adjourn.run(
        problem, budget=20 * problem.window().step_bytes, directory=tmp_path, progress=False
    )
    assert np.array_equal(problem.gradient["speed"], wanted)


def test_a_run_is_resumed_with_the_same_parameters_only(problem, tmp_path):
    """A run that failed goes on in a problem of the same parameters; others are refused."""
    schedule = adjourn.revolve(STEPS, 4, reversal="state")
    adjourn.run(problem, schedule, progress=False)
    wanted = problem.gradient["speed"]
    params, state = data()
    first = make()

    def fail(start, stop):
        raise OSError("the node went down")

    first.reverse, costs = fail, adjourn.measure(problem, effort=0.01, progress=False)
    made = adjourn.planning.plan_schedule(schedule, costs)
    with pytest.raises(ProblemFailed):
        adjourn.run(first, made, directory=tmp_path / "run", progress=False)
    params["spring"] += 0.1
    other = StepProblem(step, state, STEPS, loss, params=params, numbered=True)
    with pytest.raises(WrongLedger):
        adjourn.resume(tmp_path / "run", other, progress=False)
    again = make()
    adjourn.resume(tmp_path / "run", again, progress=False)
    assert np.array_equal(again.gradient["speed"], wanted)


def test_taylor(problem):
    """Slopes 1 and 2 along a random direction."""
    adjourn.run(problem, budget="1 MiB", progress=False)
    params, state = data()
    value = jax.jit(lambda speed: plain(params | {"speed": speed}, state))
    taylor = taylor_test(
        lambda x: float(value(x)), problem.gradient["speed"], np.asarray(params["speed"])
    )
    assert taylor.passed(0.02), taylor


def test_what_is_no_step_is_refused():
    """Changing types, shapes or structure, and a vector as loss, are named."""
    u = jnp.ones(3)
    with pytest.raises(WrongType, match=r"float64\(3,\) into float32"):
        StepProblem(lambda p, s: s.astype(jnp.float32), u, 3, jnp.sum)
    with pytest.raises(WrongType, match="structure"):
        StepProblem(lambda p, s: (s, s), u, 3, jnp.sum)
    with pytest.raises(WrongType, match="real scalar"):
        StepProblem(lambda p, s: s, u, 3, lambda s: s)


def test_inputs_and_a_loss_of_parameters_are_differentiated():
    """With stacked inputs and a loss that reads the parameters, the gradient is that of a scan."""

    def turn(params, state, x, n):
        return {"u": jnp.sin(state["u"]) * params + x["kick"] * n, "i": state["i"] + x["by"]}

    def value(params, state):
        return jnp.sum(state["u"] ** 2 * params) + state["i"]

    def whole(params, u, kick):
        xs = {"kick": kick, "by": jnp.arange(9)}
        start = {"u": u, "i": jnp.int64(0)}
        last, _ = jax.lax.scan(
            lambda s, x: (turn(params, s, x[0], x[1]), None), start, (xs, jnp.arange(9))
        )
        return value(params, last)

    params, u, kick = jnp.float64(0.9), jnp.linspace(0.1, 1, 5), 0.01 * jnp.ones((9, 5))
    made = StepProblem(
        turn,
        {"u": u, "i": jnp.int64(0)},
        9,
        value,
        params=params,
        xs={"kick": kick, "by": jnp.arange(9)},
        numbered=True,
        loss_takes_params=True,
    )
    adjourn.run(made, adjourn.revolve(9, 3, reversal="state"), progress=False)
    expected = jax.grad(whole, argnums=(0, 1, 2))(params, u, kick)
    seen = made.gradient, made.initial_gradient["u"], made.xs_gradient["kick"]
    for one, other in zip(seen, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    assert made.xs_gradient["by"] is None
    with pytest.raises(WrongType, match="first axis"):
        StepProblem(lambda p, s, x: s + x, u, 9, jnp.sum, xs=jnp.ones(4))


def test_problems_of_one_step_share_their_programs():
    """New parameters and a new state compile nothing; other shapes do."""
    one, two = make(steps=3), make(steps=5)
    assert one._run is two._run
    assert make(steps=3, dtype=jnp.float32)._run is not one._run


def test_a_live_state_keeps_its_memory_and_recordings_take_what_is_declared(problem):
    """Advances, loads and reverses are in place, and a window takes the bytes of its rows."""

    def device_bytes():
        gc.collect()
        return sum(a.nbytes for a in jax.live_arrays())

    problem.reserve(1)
    problem.begin()
    places = [view.ctypes.data for view in problem.state(0)]
    before = device_bytes()
    problem.reserve(9)
    assert device_bytes() - before == 8 * problem.window().step_bytes
    problem.begin()
    problem.advance(0, 7, replay=False)
    kept = [view.copy() for view in problem.state(7)]
    problem.record(7, 13, replay=False)
    for view, array in zip(problem.state(7), kept, strict=True):
        np.copyto(view, array)
    problem.loaded(7, {})
    problem.reverse(7, 8)
    assert [view.ctypes.data for view in problem.state(7)] == places


def test_small_states_are_reversed_in_blocks_with_the_same_bits():
    """Recorded many in a call, at any place of the ring and through a live state alike."""
    rng = np.random.default_rng(0)
    u = jnp.asarray(rng.standard_normal(5))

    def made():
        return StepProblem(
            lambda p, u, n: jnp.sin(u) + p * u[::-1] + 0.1 * jnp.cos(n * 0.3),
            u, 300, lambda u: jnp.sum(u**2), params=jnp.float64(0.3), numbered=True,
        )  # fmt: skip

    one = made()
    assert one.window().nbytes(1) - one.window().transient_bytes > one.window().step_bytes
    results = []
    for schedule in (
        adjourn.revolve(300, 4),
        adjourn.store_all(300),
        adjourn.segments(300, 23),
    ):
        adjourn.run(one, schedule, progress=False)
        results.append((one.value, one.gradient, one.initial_gradient))
    for found in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found, results[0], strict=True))


def decay(params, state):
    """One step of its own length: the smaller the larger the slope."""
    slope = params["rate"] * state["u"] * jnp.sin(state["u"])
    by = 0.05 / (1 + jnp.max(jnp.abs(slope)))
    return {"u": state["u"] - by * slope, "t": state["t"] + by}


def unfinished(params, state):
    return state["t"] < 1.0


@pytest.mark.parametrize("jit", [True, False])
def test_a_loop_that_ends_itself_is_reversed_by_run_until(jit):
    """Steps are counted by the condition; the gradient is that of the same number of steps."""
    params, u = {"rate": jnp.float64(0.7)}, jnp.linspace(0.5, 2.0, 4)
    start = {"u": u, "t": jnp.float64(0.0)}
    problem = StepProblem(
        decay, start, None, lambda s: jnp.sum(s["u"] ** 2), params=params, cond=unfinished, jit=jit
    )
    record = adjourn.run_until(problem, slots=4, progress=False)
    steps = record.plan.steps

    def whole(rate, u):
        state = {"u": u, "t": jnp.float64(0.0)}
        run = jax.lax.scan(lambda s, _: (decay({"rate": rate}, s), None), state, None, steps)
        return jnp.sum(run[0]["u"] ** 2), run[0]["t"]

    (value, end), wanted = jax.value_and_grad(whole, (0, 1), has_aux=True)(params["rate"], u)
    assert steps > 20
    assert 1.0 <= end < 1.05
    assert problem.value == pytest.approx(float(value), rel=1e-14)
    np.testing.assert_allclose(problem.gradient["rate"], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(problem.initial_gradient["u"], wanted[1], rtol=1e-12)
    more = adjourn.run_until(problem, slots=9, progress=False)
    assert more.forward_steps < record.forward_steps
    again = problem.gradient["rate"]
    adjourn.run_until(problem, slots=4, progress=False)
    assert np.array_equal(problem.gradient["rate"], again)


def test_steps_and_condition_exclude_each_other():
    """Both, neither, and a condition with inputs of steps whose number is not known."""
    u = jnp.ones(3)
    for steps, cond in ((None, None), (3, unfinished)):
        with pytest.raises(BadValue, match="number of steps"):
            StepProblem(lambda p, s: s, u, steps, jnp.sum, cond=cond)
    with pytest.raises(BadValue, match="xs is given with cond"):
        StepProblem(lambda p, s, x: s, u, None, jnp.sum, cond=unfinished, xs=u)


@jax.custom_vjp
def outside(u):
    """Call NumPy, as a solver of another library would be; the derivative is given by hand."""
    return jnp.asarray(np.tanh(np.asarray(u)))


outside.defvjp(
    lambda u: (outside(u), u),
    lambda u, by: (jnp.asarray(np.asarray(by) / np.cosh(np.asarray(u)) ** 2),),
)


class TestUnjittable(ProblemSuite):
    """A step that calls NumPy and decides in Python keeps all laws."""

    @staticmethod
    def step(params, u, n):
        for _ in range(1 + int(np.asarray(jax.lax.stop_gradient(u)).max() > 1)):
            u = 1.1 * outside(u) + params * jnp.roll(u, 1)
        return u + 0.01 * np.sin(n)

    def make(self):
        u = jnp.linspace(0.2, 1.4, 2**16)
        params = jnp.float64(0.2)
        return StepProblem(
            self.step, u, 12, lambda u: jnp.sum(u**2), params=params, numbered=True, jit=False
        )


def test_an_unjittable_step_has_the_gradient_of_its_traceable_twin():
    """With NumPy written in JAX, plain JAX gives the same gradient."""
    suite = TestUnjittable()
    problem = suite.make()
    adjourn.run(problem, adjourn.revolve(12, 3, reversal="state"), progress=False)

    def twin(params, u):
        for n in range(12):
            often = 1 + (jax.lax.stop_gradient(u).max() > 1)

            def once(_, u):
                return 1.1 * jnp.tanh(u) + params * jnp.roll(u, 1)

            u = once(0, once(0, u)) if often == 2 else once(0, u)
            u += 0.01 * np.sin(n)
        return jnp.sum(u**2)

    wanted = jax.grad(twin, (0, 1))(jnp.float64(0.2), jnp.linspace(0.2, 1.4, 2**16))
    np.testing.assert_allclose(problem.gradient, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(problem.initial_gradient, wanted[1], rtol=1e-12)


def test_a_loop_whose_pullback_reads_nothing_stores_nothing():
    """Linear in the state, with constant coefficients: no snapshot, whatever the budget."""
    matrix = jnp.asarray(np.random.default_rng(1).standard_normal((6, 6)) / 3)
    problem = StepProblem(
        lambda p, u: matrix @ u + p, jnp.ones(6), 40, jnp.sum, params=jnp.float64(0.1)
    )
    record = adjourn.run(problem, budget=1, progress=False)
    assert problem.reads == "nothing"
    assert record.recomputed_steps == record.writes == 0

    def whole(p, u):
        return jnp.sum(jax.lax.fori_loop(0, 40, lambda _, u: matrix @ u + p, u))

    wanted = jax.jacrev(whole, (0, 1))(jnp.float64(0.1), jnp.ones(6))
    np.testing.assert_allclose(problem.gradient, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(problem.initial_gradient, wanted[1], rtol=1e-12)


def test_half_precision_and_outputs_that_are_inputs_are_safe():
    """Types NumPy lacks are kept bit for bit, and a gradient that is an argument stays intact."""
    weights = jnp.arange(1.0, 7.0, dtype=jnp.bfloat16)
    problem = StepProblem(
        lambda p, u: jnp.sin(u) * p, jnp.ones(6, jnp.bfloat16), 9,
        lambda p, u: jnp.sum((u * p).astype(jnp.float32)), params=weights, loss_takes_params=True,
    )  # fmt: skip
    bits = []
    for slots in (2, 9):
        adjourn.run(problem, adjourn.revolve(9, slots, reversal="state"), progress=False)
        bits.append(problem.gradient.tobytes())
    assert bits[0] == bits[1]
    assert np.array_equal(weights, np.arange(1.0, 7.0))


def test_a_run_holds_no_device_memory_beyond_its_window_and_adjoint():
    """After every verb of a run: live state, adjoint, gradient and declared window, no more."""
    u = jnp.linspace(0.0, 1.0, 2**15)
    params = jnp.linspace(0.1, 0.2, 2**15)
    seen = []

    class Watched(StepProblem):
        def advance(self, start, stop, *, replay):
            seen.append(sum(a.nbytes for a in jax.live_arrays()))
            return super().advance(start, stop, replay=replay)

        def reverse(self, start, stop):
            super().reverse(start, stop)
            seen.append(sum(a.nbytes for a in jax.live_arrays()))

    gc.collect()
    before = sum(a.nbytes for a in jax.live_arrays())
    problem = Watched(lambda p, u: jnp.sin(u) * (1 + p), u, 30, jnp.sum, params=params)
    costs = adjourn.measure(problem, effort=0.01, progress=False)
    seen.clear()
    made = adjourn.planning.plan_schedule(adjourn.revolve(30, 3, reversal="state"), costs)
    adjourn.run(problem, made, progress=False)
    frame = problem.window()  # 1 + p is the same for all steps, and kept for the pullbacks
    assert frame.fixed_bytes == u.nbytes
    live = adjoint = gradient = u.nbytes
    declared = frame.nbytes(1) - frame.transient_bytes
    assert max(seen) - before <= live + adjoint + gradient + declared + 4096


def test_memory_that_is_not_the_hosts_is_reached_by_copies(problem):
    """As on a device other than a CPU: snapshots go by way of main memory, and the bits agree."""
    params, state = data()
    far = StepProblem(step, state, STEPS, loss, params=params, numbered=True)
    far._run = replace(far._run, in_place=False)
    far._outputs._in_place = False
    far._host = far._live = []
    schedule = adjourn.revolve(STEPS, 4, reversal="state")
    found = []
    for one in (problem, far):
        adjourn.run(one, schedule, progress=False)
        found.append([np.array(a) for a in one.carried().values()])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert far.window().transient_bytes > problem.window().transient_bytes
