"""A functional JAX step on the problem protocol."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import adjourn
from adjourn import WrongType
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
