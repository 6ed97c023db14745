"""The Devito adapter on a user's own operators, against the gradient of the stored history."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from adjourn import BadValue, LawBroken, NotSupported, Window, WrongType
from adjourn.errors import NotFinite, ScheduleError

pytest.importorskip("devito.operator", reason="Devito is not installed: adjourn[devito]")

from devito import (
    Buffer,
    ConditionalDimension,
    Eq,
    Function,
    Inc,
    Operator,
    TimeFunction,
    VectorTimeFunction,
    configuration,
    div,
    grad,
    switchconfig,
)

from adjourn.devito import Adjoint
from devito_wave import Wave

pytestmark = pytest.mark.devito


def play(job: Any, length: int) -> None:
    """Reverse in plain segments, with restart copies of whatever `state` returns."""
    job.reserve(length)
    job.begin()
    kept = {}
    starts = range(0, job.steps, length)
    for start in starts:
        stop = min(start + length, job.steps)
        kept[start] = [a.copy() for a in job.state(start)]
        run = job.record if stop == job.steps else job.advance
        assert run(start, stop, replay=False) == stop
    job.turn()
    for start in reversed(starts):
        stop = min(start + length, job.steps)
        if stop < job.steps:
            for view, copy in zip(job.state(start), kept[start], strict=True):
                view[...] = copy
            job.loaded(start, {})
            job.record(start, stop, replay=True)
        job.reverse(start, stop)


@pytest.fixture(scope="module")
def wave() -> Wave:
    return Wave()


@pytest.fixture(scope="module")
def stored(wave: Wave) -> np.ndarray:
    return wave.stored()


@pytest.fixture(scope="module")
def operators(wave: Wave) -> tuple[Any, Operator, Operator]:
    u = wave.u(wave.nt)
    return u, wave.forward(u), wave.adjoint(u)


@pytest.fixture
def job(wave: Wave, operators: tuple[Any, Operator, Operator]) -> Iterator[Adjoint]:
    u, forward, gradient = operators
    with Adjoint(forward, gradient, [u], wave.residual, arguments={"dt": wave.dt}) as made:
        yield made


@pytest.mark.parametrize("length", [1, 2, 7, 20, 39, 40])
def test_every_window_length_gives_the_bits_of_the_stored_history(
    length: int, job: Adjoint, wave: Wave, stored: np.ndarray
) -> None:
    """One executable serves every window; the gradient is bitwise that of full storage."""
    play(job, length)
    assert np.array_equal(wave.gradient.data, stored)
    assert job.loss == wave.residual()


def test_the_user_s_wavefield_is_never_allocated(
    operators: tuple[Any, Operator, Operator], job: Adjoint
) -> None:
    """A history that is only named costs no memory; the window is all there is."""
    play(job, 5)
    assert operators[0]._data is None


def test_the_window_states_its_bytes(wave: Wave, job: Adjoint) -> None:
    """One level a recorded step, two to restart from, and a spare copy of the receivers.

    Three more are what a run that stores nothing holds anyway.
    """
    level = 4 * (31 + 8) * (28 + 8)
    level = 4 * int(np.prod([n + 2 * wave.order for n in wave.shape]))
    assert job.window() == Window(level, fixed_bytes=2 * level + wave.rec.data.nbytes)
    job.reserve(9)
    (line,) = job._fields
    assert line._levels.nbytes == (9 + 2 + 3) * level


def test_splitting_a_range_changes_nothing(job: Adjoint, wave: Wave, stored: np.ndarray) -> None:
    """Advance, record and reverse give the same bits in one call or in many."""
    job.reserve(20)
    job.begin()
    for start, stop in ((0, 3), (3, 4), (4, 20)):
        job.advance(start, stop, replay=False)
    kept = [a.copy() for a in job.state(20)]
    for start, stop in ((20, 21), (21, 33), (33, 40)):
        job.record(start, stop, replay=False)
    job.turn()
    for start, stop in ((38, 40), (25, 38), (20, 25)):
        job.reverse(start, stop)
    assert len(kept) == 2
    job_two = wave.gradient.data.copy()
    job.begin()
    job.advance(0, 20, replay=False)
    job.record(20, 40, replay=False)
    job.turn()
    job.reverse(20, 40)
    assert np.array_equal(wave.gradient.data, job_two)


def test_a_replay_leaves_the_outputs_alone(job: Adjoint, wave: Wave, stored: np.ndarray) -> None:
    """The seed may change the receivers in place: replays write into a spare copy."""

    def in_place() -> None:
        wave.rec.data[:] -= wave.obs.data
        wave.res.data[:] = wave.rec.data

    job._seed = in_place
    play(job, 6)
    assert np.array_equal(wave.gradient.data, stored)
    assert np.array_equal(wave.rec.data, wave.res.data)


@pytest.mark.parametrize("save", [None, Buffer(9)], ids=["three levels", "nine levels"])
@pytest.mark.parametrize("reads_dt2", [False, True])
def test_a_compiled_ring_is_used_as_it_is(save: Any, reads_dt2: bool) -> None:
    """With save=None or Buffer(n) the ring index is resolved and the ring is the window."""
    wave = Wave(reads_dt2=reads_dt2)
    stored = wave.stored()
    u = wave.u(save)
    job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt})
    longest = job.window().max_steps
    assert longest == u.shape[0] - 1 - reads_dt2
    assert job.window().step_bytes == 0
    for length in range(1, longest + 1):
        play(job, length)
        assert np.array_equal(wave.gradient.data, stored)
    with pytest.raises(BadValue, match="can have 1 to"):
        job.reserve(longest + 1)


def test_factories_are_called_once_with_the_number_of_levels(stored: np.ndarray) -> None:
    """Functions of save get save=nt, known from the sources and receivers."""
    wave = Wave()
    asked: list[Any] = []

    def forward(save: Any) -> Operator:
        asked.append(save)
        return wave.forward(wave.u(save))

    job = Adjoint(
        forward,
        lambda save: wave.adjoint(wave.u(save)),
        [wave.u(None)],
        wave.residual,
        arguments={"dt": wave.dt},
    )
    assert asked == [None, wave.nt]
    play(job, 11)
    assert np.array_equal(wave.gradient.data, stored)


def test_a_given_gradient_decides_the_ring_of_a_factory() -> None:
    """A factory beside a finished operator is called with that operator's ring length."""
    wave = Wave()
    stored = wave.stored()
    u = wave.u(Buffer(6))
    job = Adjoint(
        lambda save: wave.forward(wave.u(save)),
        wave.adjoint(u),
        [u],
        wave.residual,
        arguments={"dt": wave.dt},
    )
    play(job, 5)
    assert np.array_equal(wave.gradient.data, stored)


def test_an_initial_state_is_kept_for_every_run() -> None:
    """What the wavefield holds at construction is where each run begins, line and ring."""
    wave = Wave()
    bump = np.random.default_rng(0).standard_normal((2, *wave.shape)).astype(np.float32)
    results = []
    for save in (wave.nt, None):
        u = wave.u(save)
        u.data[:2] = bump
        job = Adjoint(
            wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt}
        )
        for length in (2, 1):
            play(job, length)
            results.append(np.array(wave.gradient.data))
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert not np.array_equal(results[0], Wave().stored())


def test_a_subsampled_history_is_a_window_too() -> None:
    """With a ConditionalDimension one step of the problem is one stored level."""
    wave = Wave(nt=45)
    factor = 4
    u = wave.u(None)
    every = ConditionalDimension("every", parent=wave.grid.time_dim, factor=factor)
    levels = (wave.nt + factor - 1) // factor
    kept = TimeFunction(
        name="kept", grid=wave.grid, time_order=0, space_order=4, save=levels, time_dim=every
    )
    s = wave.grid.stepping_dim.spacing
    v = TimeFunction(name="v", grid=wave.grid, time_order=2, space_order=4)
    illumination = Function(name="illumination", grid=wave.grid, space_order=4)
    forward = wave.forward(u, extra=(Eq(kept, u), Inc(illumination, u * u)))
    from devito import solve  # noqa: PLC0415

    step = solve(wave.m * v.dt2 - v.laplace + wave.damp * v.dt.T, v.backward)
    gradient = Operator(
        [
            Eq(v.backward, step),
            wave.res.inject(v.backward, expr=wave.res * s**2 / wave.m),
            Inc(wave.gradient, -kept * v.dt2),
        ],
        name="Gradient",
    )
    forward.apply(dt=wave.dt)
    wave.residual()
    gradient.apply(dt=wave.dt)
    stored = np.array(wave.gradient.data)
    lit = np.array(illumination.data)
    u.data[:] = 0
    job = Adjoint(forward, gradient, [u], wave.residual, arguments={"dt": wave.dt})
    assert job.steps == 11
    level = kept[0].nbytes if hasattr(kept[0], "nbytes") else 4 * 39 * 36
    assert job.window().step_bytes == kept._data[0].nbytes == level
    for length in (1, 3, 11):
        play(job, length)
        assert np.array_equal(wave.gradient.data, stored)
        assert np.array_equal(illumination.data, lit), "accumulated once, replays apart"


def test_several_wavefields_of_mixed_time_order() -> None:
    """First-order systems with vector fields: components, extended ranges and a plain field."""
    wave = Wave()
    grid, s = wave.grid, wave.grid.stepping_dim.spacing

    def build(save: Any) -> tuple[Any, Any, Operator, Operator]:
        p = TimeFunction(name="p", grid=grid, time_order=1, space_order=4, save=save)
        q = VectorTimeFunction(name="q", grid=grid, time_order=1, space_order=4, save=save)
        forward = Operator(
            [
                Eq(q.forward, q + 0.1 * s * grad(p)),
                Eq(p.forward, p + 0.1 * s * div(q.forward) / wave.m),
                wave.src.inject(p.forward, expr=wave.src * s),
                wave.rec.interpolate(p),
            ],
            name="First",
        )
        a = TimeFunction(name="a", grid=grid, time_order=1, space_order=4)
        gradient = Operator(
            [
                Eq(a.backward, a - 0.1 * s * a.laplace),
                wave.res.inject(a.backward, expr=wave.res * s),
                Inc(wave.gradient, a * div(q) + a * p),
            ],
            name="FirstGradient",
        )
        return p, q, forward, gradient

    _, _, forward, gradient = build(wave.nt)
    wave.gradient.data[:] = 0
    forward.apply(dt=wave.dt)
    wave.residual()
    gradient.apply(dt=wave.dt)
    stored = np.array(wave.gradient.data)
    assert stored.any()
    p, q, forward, gradient = build(wave.nt)
    job = Adjoint(forward, gradient, [p, q], wave.residual, arguments={"dt": wave.dt})
    assert job.steps == wave.nt - 1
    assert len(job._fields) == 3
    for length in (1, 4, job.steps):
        play(job, length)
        assert np.array_equal(wave.gradient.data, stored)


def test_the_residual_in_the_receivers_is_refused_with_its_name() -> None:
    """The trap: a replay would overwrite what the gradient operator injects."""
    wave = Wave()
    u = wave.u(wave.nt)
    with pytest.raises(LawBroken, match=r"'Forward' writes 'rec', which operator 'Gradient' uses"):
        Adjoint(wave.forward(u), wave.adjoint(u, residual=wave.rec), [u], arguments={"dt": wave.dt})


def test_the_same_name_with_other_memory_is_no_trap(stored: np.ndarray) -> None:
    """Overrides are looked through: 'rec' of the gradient may be another object."""
    wave = Wave()
    u = wave.u(wave.nt)
    job = Adjoint(
        wave.forward(u),
        wave.adjoint(u, residual=wave.rec),
        [u],
        wave.residual,
        arguments={"dt": wave.dt},
        gradient_arguments={"rec": wave.res},
    )
    play(job, 13)
    assert np.array_equal(wave.gradient.data, stored)


def test_an_adjoint_that_writes_the_wavefield_is_refused(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """An adjoint field of the same name would overwrite the history."""
    u, forward, _ = operators
    gradient = Operator([Eq(u.backward, 0.5 * u), Inc(wave.gradient, u)], name="Overwrites")
    with pytest.raises(LawBroken, match="'Overwrites' writes 'u'"):
        Adjoint(forward, gradient, [u], arguments={"dt": wave.dt})


def test_bad_arguments_are_told_apart(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """Each mistake in the constructor has its own message."""
    u, forward, gradient = operators
    dt = {"dt": wave.dt}
    stranger = TimeFunction(name="w", grid=wave.grid)
    cases: list[tuple[type[Exception], str, Any]] = [
        (BadValue, "'w', which operator 'Forward' does not write", lambda: ([stranger], None, dt)),
        (WrongType, "wavefields holds 3", lambda: ([3], None, dt)),
        (WrongType, "seed=3", lambda: ([u], 3, dt)),
        (BadValue, "arguments velocity were given", lambda: ([u], None, {**dt, "velocity": 1.0})),
        (BadValue, "no step at all", lambda: ([u], None, {**dt, "time_m": 9, "time_M": 8})),
    ]
    for kind, text, make in cases:
        fields, seed, arguments = make()
        with pytest.raises(kind, match=text):
            Adjoint(forward, gradient, fields, seed, arguments=arguments)
    with pytest.raises(WrongType, match="forward=7 is neither"):
        Adjoint(7, gradient, [u], arguments=dt)
    with pytest.raises(WrongType, match="returned str, not a devito"):
        Adjoint(lambda save: "op", gradient, [u], arguments=dt)
    with pytest.raises(BadValue, match="forward in time"):
        Adjoint(gradient, forward, [], arguments=dt)


def test_operators_of_different_kind_are_refused(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """A history for one operator and a ring for the other cannot share a window."""
    u, forward, _ = operators
    ring = wave.u(None)
    with pytest.raises(BadValue, match="same save"):
        Adjoint(forward, wave.adjoint(ring), [u], arguments={"dt": wave.dt})


def test_ranges_that_disagree_are_refused(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """The gradient may not read levels that the forward run does not leave."""
    u, forward, gradient = operators
    with pytest.raises(NotSupported, match="beyond what the forward run"):
        Adjoint(
            forward,
            gradient,
            [u],
            arguments={"dt": wave.dt},
            forward_arguments={"time_M": 20},
        )


def test_a_shorter_gradient_range_is_kept_in_every_segment(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """A user's own time_m and time_M for the gradient hold across segments."""
    u, forward, gradient = operators
    full = wave.u(wave.nt)
    wave.gradient.data[:] = 0
    forward.apply(dt=wave.dt, u=full)
    wave.residual()
    v = next(f for f in gradient.writes if f.name == "v")
    v.data[:] = 0
    gradient.apply(dt=wave.dt, u=full, time_m=6, time_M=31)
    want = np.array(wave.gradient.data)
    job = Adjoint(
        forward,
        gradient,
        [u],
        wave.residual,
        arguments={"dt": wave.dt},
        gradient_arguments={"time_m": 6, "time_M": 31},
    )
    for length in (3, 40):
        play(job, length)
        assert np.array_equal(wave.gradient.data, want)


def test_the_oldest_steps_give_way(job: Adjoint, wave: Wave, stored: np.ndarray) -> None:
    """Recording more than was reserved, at once or by adding up, keeps the last steps."""
    gradients = []
    for cuts in ((0, 40), (0, 3, 40), (0, 28, 33, 39, 40)):
        job.reserve(7)
        job.begin()
        for start, stop in pairwise(cuts):
            job.record(start, stop, replay=False)
        job.turn()
        job.reverse(33, 40)
        with pytest.raises(ScheduleError, match="steps 33 to 33 are recorded"):
            job.reverse(32, 33)
        gradients.append(np.array(wave.gradient.data))
    assert gradients[0].any()
    assert all(np.array_equal(gradients[0], g) for g in gradients)


def test_the_protocol_refuses_what_is_out_of_order(job: Adjoint) -> None:
    """Steps run from the live state only, and only recorded steps are reversed."""
    job.reserve(5)
    job.begin()
    with pytest.raises(ScheduleError, match="live state is at step 0"):
        job.advance(3, 4, replay=False)
    job.record(0, 5, replay=False)
    with pytest.raises(ScheduleError, match="reverse from the top"):
        job.reverse(0, 4)
    job.advance(5, 6, replay=False)
    with pytest.raises(ScheduleError, match="steps 0 to 0 are recorded"):
        job.reverse(4, 5)
    with pytest.raises(BadValue, match="a window of 0 steps"):
        job.reserve(0)


def test_an_unstable_run_is_named_at_the_turn(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """A wavefield that left the finite numbers ends the run before the reverse sweep."""
    u, forward, gradient = operators
    job = Adjoint(forward, gradient, [u], wave.residual, arguments={"dt": 1e6})
    with np.errstate(all="ignore"), pytest.raises(NotFinite, match="'u' is not finite at step 40"):
        play(job, 40)


def test_devito_s_own_error_code_is_raised_with_the_steps() -> None:
    """A return code of the compiled code is never dropped; a note says where it was."""
    from devito.exceptions import ExecutionError  # noqa: PLC0415

    wave = Wave(nt=240)
    u = wave.u(None)
    with switchconfig(safe_math=True):  # under fast math the compiler drops the check
        forward = wave.forward(u, opt=("advanced", {"errctl": "max"}))
        job = Adjoint(forward, wave.adjoint(u), [u], arguments={"dt": 1e6})
    job.begin()
    with pytest.raises(ExecutionError, match="nan/inf") as caught:
        job.advance(0, 238, replay=False)
    assert caught.value.__notes__ == ["Operator 'Forward' failed in time steps 1 to 238."]


def test_the_window_is_released_at_once(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """close() and losing the last reference both free the memory, without the collector."""
    u, forward, gradient = operators
    job = Adjoint(forward, gradient, [u], wave.residual, arguments={"dt": wave.dt})
    gc.disable()
    try:
        job.reserve(7)
        (line,) = job._fields
        buffer = weakref.ref(
            line._levels.base.base if line._levels.base.base is not None else line._levels.base
        )
        assert buffer() is not None
        job.close()
        assert buffer() is None
        job.reserve(7)
        gone = weakref.ref(job)
        del job, line
        assert gone() is None
    finally:
        gc.enable()


def test_the_window_is_kept_across_shots(job: Adjoint) -> None:
    """Reserving the same length again allocates nothing."""
    job.reserve(7)
    (line,) = job._fields
    before = line._levels.ctypes.data
    play(job, 7)
    job.reserve(7)
    assert line._levels.ctypes.data == before


def test_the_autotuner_never_runs_on_a_placeholder(
    wave: Wave, operators: tuple[Any, Operator, Operator]
) -> None:
    """Arguments are prepared with autotuning off; the user's setting comes back."""
    u, forward, gradient = operators
    configuration["autotuning"] = "basic"
    try:
        Adjoint(forward, gradient, [u], arguments={"dt": wave.dt})
        assert configuration["autotuning"] == ("basic", "preemptive")
    finally:
        configuration["autotuning"] = "off"
