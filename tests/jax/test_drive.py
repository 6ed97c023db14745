"""A loss whose time loop runs from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjourn
import driven_loss
from adjourn import BadValue, BudgetTooSmall, WrongType
from adjourn.errors import NotSupported, WrongLedger
from adjourn.jax import LossProblem, drive, grad, value_and_grad
from adjourn.planning import plan_schedule
from adjourn.testing import ProblemSuite, bitwise_test
from driven_loss import STEPS, arguments, bits, loss

pytestmark = pytest.mark.jax

WHICH = (0, 1, 3)


def close(found, wanted, rtol=1e-12):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=rtol * float(jnp.abs(other).max()))


@pytest.fixture(scope="module")
def problem():
    return LossProblem(loss, *arguments(), argnums=WHICH, has_aux=True)


@pytest.fixture(scope="module")
def reference(problem):
    """Return the bits of a run that keeps every state."""
    adjourn.run(problem, adjourn.store_all(STEPS), progress=False)
    return bits(problem.value, problem.gradient)


class TestLossProblem(ProblemSuite):
    """Keys, counters, outputs, inputs taken backwards and inner loops keep all laws."""

    @pytest.fixture(autouse=True)
    def _shared(self, problem):
        self.problem = problem

    def make(self):
        return self.problem


def test_value_aux_and_gradient_are_those_of_plain_jax(problem):
    """By parameters, initial field and forces, through jitted functions, to 1e-12."""
    adjourn.run(problem, adjourn.revolve(STEPS, 7, reversal="state"), progress=False)
    plain = jax.jit(jax.value_and_grad(loss, argnums=WHICH, has_aux=True))
    (value, aux), gradient = plain(*arguments())
    close((problem.value, problem.gradient), (value, gradient))
    close(problem.aux["traces"], aux["traces"])
    assert problem.aux["count"] == aux["count"] == STEPS
    assert np.array_equal(problem.aux["counts"], aux["counts"])
    found, wanted = (jax.random.key_data(a["key"]) for a in (problem.aux, aux))
    assert found.tolist() == wanted.tolist()
    assert jax.tree.structure(problem.gradient) == jax.tree.structure(gradient)


def test_only_what_is_read_is_carried(problem):
    """Sums nobody reads are gone; leaves that never change are constants, of a carry of seven."""
    kinds = [(a.dtype.name, a.shape) for a in problem.state(0)]
    assert kinds == [
        ("float64", (4000,)), ("float64", (4000,)), ("uint32", (2,)), ("int64", ()),
    ]  # fmt: skip


def test_every_budget_and_tier_gives_the_same_bits(problem, reference, tmp_path):
    """Main memory, disk, background transfer and a directory: the stored-history gradient."""
    assert (
        len(
            {
                str(record.plan.schedule)
                for record in bitwise_test(
                    problem, costs=adjourn.measure(problem, effort=0.05, progress=False)
                )
            }
        )
        > 2
    )
    mixed = driven_loss.plan()
    for options in (
        {},
        {"storage": adjourn.Storage(background=2)},
        {"directory": tmp_path / "run"},
    ):
        adjourn.run(problem, mixed, progress=False, **options)
        assert bits(problem.value, problem.gradient) == reference
    assert list(tmp_path.iterdir()) == []


def test_other_arguments_of_the_same_shapes_compile_nothing(problem):
    """The problem `at` other arguments shares the programs, and has their gradient."""
    args = arguments(seed=1)
    other = problem.at(*args)
    assert other._run is problem._run
    adjourn.run(other, adjourn.revolve(STEPS, 5, reversal="state"), progress=False)
    wanted = jax.jit(jax.grad(loss, argnums=WHICH, has_aux=True))(*args)[0]
    close(other.gradient, wanted)


def killed(directory, verb, at):
    """Drive the loss in a process that kills itself on the way; return whether it did."""
    code = str(Path(driven_loss.__file__))
    command = [sys.executable, code, str(directory), verb, str(at)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_process_started_again_ends_with_the_same_bits(problem, reference, tmp_path):
    """By SIGKILL in the forward sweep, then in the reverse; other arguments are refused."""
    place = tmp_path / "run"
    assert killed(place, "advance", 41)
    assert killed(place, "reverse", 22)
    with pytest.raises(WrongLedger):
        adjourn.resume(place, problem.at(*arguments(seed=1)), progress=False)
    record = adjourn.resume(place, problem, progress=False)
    assert "resumed at step 23 of the reverse sweep" in record.fallbacks[0]
    assert bits(problem.value, problem.gradient) == reference
    assert not place.exists()


def test_value_and_grad_with_a_disk_is_that_of_jax(tmp_path):
    """As `jax.value_and_grad` returns it, traced and planned once for each shape; `grad` alike."""
    calls = []

    def short(u, force):
        calls.append(1)
        last, ys = jax.lax.scan(lambda c, x: (jnp.sin(c) + x, jnp.sum(c)), u, force)
        return jnp.sum(last**2), ys

    driven = value_and_grad(short, (0, 1), has_aux=True, budget="4 KiB", disk="64 KiB")
    plain = jax.value_and_grad(short, (0, 1), has_aux=True)
    traced = []
    for factor in (1.0, 2.0):
        args = factor * jnp.linspace(0, 1, 50), 0.1 * jnp.ones((20, 50))
        before = len(calls)
        (value, ys), gradient = driven(*args)
        traced.append(len(calls) - before)
        (wanted, plain_ys), slope = plain(*args)
        close((value, ys, gradient), (wanted, plain_ys, slope))
    assert traced == [1, 0]
    force = jnp.zeros((20, 50))
    found = grad(lambda u: short(u, force)[0], budget="64 KiB", directory=tmp_path / "x")
    close(found(args[0]), jax.grad(lambda u: short(u, force)[0])(args[0]))


def test_losses_of_many_shapes_have_the_gradient_of_plain_jax():
    """Nothing before or after the loop, constants, closures, complex numbers, one step, unread ys.

    Every state and the values of each loss are checked against `jax.grad`.
    """
    u, w = jnp.linspace(0.1, 1.0, 6), jnp.asarray(0.7)
    table = jnp.asarray(np.random.default_rng(2).standard_normal((12, 6)))

    def bare(u):
        return jax.lax.scan(lambda c, _: (jnp.sin(c) + 0.1 * c, None), u[0], None, 12)[0]

    def closure(u):
        def step(c, x):
            return jnp.sin(c) * u + x * w, jnp.sum(c) * w

        last, ys = jax.lax.scan(step, jnp.ones(6), table)
        return jnp.sum(last) + jnp.prod(ys[3:5])

    def complex_(u):
        last, _ = jax.lax.scan(lambda c, x: (c * jnp.exp(1j * u) + x, None), u + 0j, table)
        return jnp.sum(jnp.abs(last) ** 2)

    def single(u):
        last, ys = jax.lax.scan(lambda c, x: (c * x, c + x), u, table[:1])
        return jnp.sum(last * ys[0])

    def outputs_only(u):
        return jnp.sum(jax.lax.scan(lambda c, _: (c * 0.9 + u, c**2), u, None, 7)[1])

    def independent(u):
        fixed, _ = jax.lax.scan(lambda c, x: (jnp.sin(c) + x, None), jnp.zeros(6), table)
        return jnp.sum(fixed * u)

    def chosen(u):
        short, _ = jax.lax.scan(lambda c, _: (c * jnp.cos(c), None), u, None, 3)
        long, _ = jax.lax.scan(lambda c, x: (jnp.sin(c + x * u), None), short, table)
        return jnp.sum(long)

    for function in (bare, closure, complex_, single, outputs_only, independent, chosen):
        wanted, slope = jax.value_and_grad(function)(u)
        steps = 1 if function is single else 12
        done = drive(function, u, budget="4 KiB", progress=False)
        close((done.value, done.gradient), (wanted, slope), 1e-13)
        told = [text for text in done.record.fallbacks if "reversed by plain JAX" in text]
        assert bool(told) == (function is chosen)
        assert done.record.plan.steps in (steps, 7)


@settings(max_examples=3)
@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_random_losses(seed, length, slots, backward):
    """Gradients of random small losses agree with plain JAX to 1e-12, and bitwise among plans."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    a, b, u = (jnp.asarray(rng.standard_normal(shape)) for shape in ((size, size), size, size))
    xs = jnp.asarray(rng.standard_normal((length, size)))
    kinds = (jnp.sin, jnp.tanh, lambda u: u / (1 + u**2), lambda u: jnp.where(u > 0, u, 0.5 * u))
    chosen = [kinds[i] for i in rng.integers(0, 4, 3)]
    reads = rng.integers(0, 2, 4)

    def loss(a, b, u, xs):
        start = jnp.tanh(u) * (b if reads[0] else 1)

        def f(carry, x):
            u, total, held = carry
            v = a @ u / size + (held if reads[1] else 0) + (x if reads[2] else 0)
            for kind in chosen:
                v = kind(v)
            return (v, total + v[0], held), (v[0] * u[-1], x)

        (u, total, held), ys = jax.lax.scan(f, (start, 0.0, b), xs, reverse=backward)
        value = jnp.sum(u * b) + jnp.sum(ys[0] ** 2)
        return value + (total if reads[3] else jnp.sum(held * ys[1][0]))

    problem = LossProblem(loss, a, b, u, xs, argnums=(0, 1, 2, 3))
    costs = adjourn.measure(problem, effort=1e-3, progress=False)
    found = []
    for schedule in (adjourn.revolve(length, slots), adjourn.store_all(length)):
        adjourn.run(problem, plan_schedule(schedule, costs), progress=False)
        found.append(bits(problem.value, problem.gradient))
    assert found[0] == found[1]
    for one, two in zip(
        problem.gradient, jax.grad(loss, argnums=(0, 1, 2, 3))(a, b, u, xs), strict=True
    ):
        scale = float(jnp.abs(two).max()) or 1.0
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * scale)


def test_what_cannot_be_driven_is_refused_by_name():
    """Traces, losses without a loop or with one in a branch, wrong arguments and results."""
    u = jnp.ones(3)

    def looped(u):
        return jnp.sum(jax.lax.scan(lambda c, _: (jnp.sin(c), None), u, None, 5)[0])

    with pytest.raises(BudgetTooSmall, match="budget"):
        drive(looped, u, budget=10, progress=False)
    with pytest.raises(NotSupported, match="under a trace"):
        jax.jit(lambda u: drive(looped, u, budget="1 MiB").value)(u)
    with pytest.raises(NotSupported, match="under a trace"):
        jax.jit(value_and_grad(looped, budget="1 MiB", disk="1 MiB"))(u)
    with pytest.raises(NotSupported, match="has no scan"):
        drive(jnp.sum, u, budget="1 MiB")
    with pytest.raises(NotSupported, match=r"branches.*cond#0\[1\]/scan#0"):
        drive(lambda u: jax.lax.cond(u[0] > 0, looped, jnp.sum, u), u, budget="1 MiB")
    with pytest.raises(WrongType, match="int"):
        drive(looped, jnp.arange(3), budget="1 MiB")
    with pytest.raises(WrongType, match="argnums=2"):
        drive(looped, u, argnums=2, budget="1 MiB")
    with pytest.raises(WrongType, match="real scalar"):
        drive(lambda u: jax.lax.scan(lambda c, _: (jnp.sin(c), None), u, None, 5)[0], u, budget=1)
    with pytest.raises(BadValue, match="neither a plan nor a budget"):
        drive(looped, u)
    with pytest.raises(WrongType, match="disk="):
        value_and_grad(looped, disk="1 MiB")


def test_arrays_over_several_devices_are_refused_by_name():
    """Two devices, in a child process that has them: loss and step alike."""
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
from adjourn.errors import NotSupported
from adjourn.jax import StepProblem, drive
mesh = jax.sharding.Mesh(jax.devices(), "x")
u = jax.device_put(jnp.ones(8), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))
def loss(u):
    return jnp.sum(jax.lax.scan(lambda c, _: (jnp.sin(c), None), u, None, 5)[0])
for call in (lambda: drive(loss, u, budget="1 MiB"), lambda: StepProblem(jnp.add, u, 3, jnp.sum)):
    try:
        call()
    except NotSupported as error:
        print("over 2 devices" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"]


def test_the_resident_set_stays_within_the_budget():
    """In a child process, peak resident set <= bare run + budget + max(16 MiB, 12%).

    The bare run stores nothing but its last step, which is taken off. glibc is told to give large
    arrays back when they are freed: else it keeps up to some tens of MiB of XLA's temporaries.
    """
    code = """
import resource, sys
import jax, jax.numpy as jnp, numpy as np
import adjourn
from adjourn.jax import StepProblem
u = jnp.asarray(np.random.default_rng(0).standard_normal((1024, 1024)), jnp.float32)
def step(speed, state):
    u, before = state
    return 1.9 * u - 0.9 * before + speed * jnp.roll(u, 1, 0) * jnp.cos(u), u
problem = StepProblem(step, (u, u), 60, lambda s: jnp.sum(s[0] ** 2), params=jnp.float32(0.1))
state, frame = 2 * u.nbytes, problem.window()  # no measuring: it takes memory of its own
costs = adjourn.Costs(
    advance=1e-3, recordings=[adjourn.Recording(3e-3, state, state + frame.transient_bytes)],
    snapshot=state, reverse=2e-3, reads="state", window=frame,
)
own = 0
if sys.argv[1] == "bare":  # one step is recorded, so that the reverse is compiled here too
    problem.reserve(1); problem.begin(); problem.advance(0, 59, replay=False)
    problem.record(59, 60, replay=False); problem.turn(); problem.reverse(59, 60)
    own = frame.nbytes(1)
else:
    adjourn.run(problem, costs=costs, budget=sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - own)
"""

    def resident(argument: str) -> int:
        seen = subprocess.run(
            [sys.executable, "-c", code, argument],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "1048576"},
        )
        return int(seen.stdout)

    bare = resident("bare")
    allowed = 120 * 2**20
    assert resident("120 MiB") <= bare + allowed + max(16 * 2**20, 0.12 * (bare + allowed))
