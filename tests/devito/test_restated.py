"""Devito's own tests of checkpointing and of its solvers' gradients, restated for the adapter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjourn
from adjourn import BadValue, LawBroken

pytest.importorskip("devito.operator", reason="Devito is not installed: adjourn[devito]")

from devito import Eq, Function, Grid, Inc, Operator, TimeFunction, switchconfig

from adjourn.devito import Adjoint
from devito_wave import Wave

pytestmark = pytest.mark.devito


def test_steps_are_aligned_with_the_time_loop() -> None:
    """Whole numbers: u counts time up, v counts it down, and every product meets its own step."""
    grid = Grid(shape=(3, 5))
    nt = 13
    u = TimeFunction(name="u", grid=grid, save=nt, time_order=1)
    v = TimeFunction(name="v", grid=grid, time_order=1)
    total = Function(name="total", grid=grid)
    forward = Operator(Eq(u.forward, u + 1), name="Up")
    gradient = Operator([Inc(total, u * v), Eq(v.backward, v + 1)], name="Down")
    last = {"time_M": nt - 2}

    def seed() -> None:
        assert [float(a.flat[a.size // 2]) for a in job.live("u")] == [nt - 1]

    job = Adjoint(forward, gradient, [u], seed, arguments=last, gradient_arguments={"time_m": 0})
    want = sum(n * (nt - 2 - n) for n in range(nt - 1))
    costs = adjourn.measure(job, effort=0.01, progress=False)
    for schedule in (
        adjourn.store_all(nt - 1),
        adjourn.segments(nt - 1, 5),
        adjourn.window(nt - 1, 2, 2),
        adjourn.revolve(nt - 1, 2),
    ):
        job.run(schedule, costs=costs, progress=False)
        assert (total.data == want).all()


def test_a_forward_run_with_breaks_is_one_without() -> None:
    """Broken into pieces, with restarts from copies, the run ends in the same levels."""
    wave = Wave()
    u = wave.u(wave.nt)
    job = Adjoint(wave.forward(u), wave.adjoint(u), [u], arguments={"dt": wave.dt})
    job.reserve(4)
    job.begin()
    job.advance(0, 40, replay=False)
    want = [a.copy() for a in job.state(40)]
    traces = np.array(wave.rec.data)
    job.begin()
    at = 0
    for stop in (3, 4, 11, 12, 30, 40):
        job.advance(at, stop, replay=False)
        kept = [a.copy() for a in job.state(stop)]
        for view in job.state(stop):
            view[...] = 7
        for view, copy in zip(job.state(stop), kept, strict=True):
            view[...] = copy
        job.loaded(stop, {})
        at = stop
    assert all(np.array_equal(a, b) for a, b in zip(want, job.state(40), strict=True))
    assert np.array_equal(traces, wave.rec.data)


def test_a_window_holds_what_a_stored_and_an_unstored_run_hold() -> None:
    """Levels from save=nt, from save=None and from a window are the same."""
    wave = Wave()
    stored, ring = wave.u(wave.nt), wave.u(None)
    wave.forward(stored).apply(dt=wave.dt)
    wave.forward(ring).apply(dt=wave.dt)
    u = wave.u(wave.nt)
    job = Adjoint(wave.forward(u), wave.adjoint(u), [u], arguments={"dt": wave.dt})
    job.reserve(3)
    job.begin()
    job.advance(0, 40, replay=False)
    for level, view in zip((40, 41), job.live("u"), strict=True):
        assert np.array_equal(view, stored._data[level])
        assert np.array_equal(view, ring._data[level % 3])


def test_the_gradient_has_the_same_bits_under_safe_math() -> None:
    """Without fast math too, on three dimensions and in double precision."""
    with switchconfig(safe_math=True):
        wave = Wave(shape=(13, 12, 11), nt=32, dtype=np.float64)
        stored = wave.computed()
        u = wave.u(wave.nt)
        job = Adjoint(
            wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt}
        )
        job.run(budget=14 * job.window().step_bytes, progress=False)
    assert np.array_equal(wave.gradient.data, stored)


def test_a_history_under_another_name_needs_to_be_paired() -> None:
    """A gradient operator that knows u as u0 is told so, and refused until it is."""
    wave = Wave()
    stored = wave.stored()
    u = wave.u(wave.nt)
    other = TimeFunction(name="u0", grid=wave.grid, time_order=2, space_order=4, save=wave.nt)
    forward, gradient = wave.forward(u), wave.adjoint(other)
    dt = {"dt": wave.dt}
    with pytest.raises(BadValue, match=r"reads 'u0', which no operator writes .* names=\{'u0'"):
        Adjoint(forward, gradient, [u], arguments=dt)
    with pytest.raises(BadValue, match="should pair a TimeFunction of operator 'Gradient'"):
        Adjoint(forward, gradient, [u], names={"u0": "w"}, arguments=dt)
    with pytest.raises(LawBroken, match="'Gradient' writes 'v'"):
        Adjoint(forward, gradient, [u], names={"u0": "u", "v": "u"}, arguments=dt)
    job = Adjoint(forward, gradient, [u], wave.residual, names={"u0": "u"}, arguments=dt)
    job.run(budget=20 * job.window().step_bytes, progress=False)
    assert np.array_equal(wave.gradient.data, stored)


def _solver(kind: str) -> tuple[Any, ...]:
    from examples.seismic import demo_model, setup_geometry  # noqa: PLC0415
    from examples.seismic.acoustic import AcousticWaveSolver  # noqa: PLC0415
    from examples.seismic.tti import AnisotropicWaveSolver  # noqa: PLC0415
    from examples.seismic.viscoacoustic import ViscoacousticWaveSolver  # noqa: PLC0415

    preset = {"tti": "layers-tti", "viscoacoustic": "layers-viscoacoustic"}
    model = demo_model(
        preset.get(kind, "layers-isotropic"),
        shape=(21, 21),
        spacing=(15.0, 15.0),
        nbl=10,
        space_order=4,
        dtype=np.float32,
        fs=kind == "free surface",
    )
    geometry = setup_geometry(model, 100.0)
    makers = {"tti": AnisotropicWaveSolver, "viscoacoustic": ViscoacousticWaveSolver}
    solver = makers.get(kind, AcousticWaveSolver)(model, geometry, space_order=4)
    return model, geometry, solver


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Passing `SubDomain`s:DeprecationWarning")
@pytest.mark.parametrize("kind", ["free surface", "tti", "viscoacoustic"])
def test_the_solvers_of_devito_s_examples(kind: str) -> None:
    """Their operators as they are: several wavefields, equal names with other memory, pairs."""
    from examples.seismic import Receiver  # noqa: PLC0415

    model, geometry, solver = _solver(kind)
    recorded, *fields = solver.forward(save=True)
    histories = fields[:2] if kind == "tti" else fields[:1]
    gradient, _ = solver.jacobian_adjoint(recorded, *histories)
    stored = np.array(gradient.data)
    forward = solver.op_fwd(save=True)
    backward = (solver.op_jacadj if kind == "tti" else solver.op_grad)(save=True)
    rec, res = (
        Receiver(
            name="rec",
            grid=model.grid,
            time_range=geometry.time_axis,
            coordinates=geometry.rec_positions,
        )
        for _ in range(2)
    )
    ours = Function(name="ours", grid=model.grid, space_order=gradient.space_order)

    def seed() -> None:
        res.data[:] = rec.data

    def known(op: Any) -> dict[str, Any]:
        return {k: v for k, v in model.physical_params().items() if k in op._known_arguments}

    job = Adjoint(
        forward,
        backward,
        seed=seed,
        names={"u0": "u", "v0": "v"} if kind == "tti" else None,
        arguments={"dt": solver.dt},
        forward_arguments={**known(forward), "rec": rec, "src": geometry.src},
        gradient_arguments={**known(backward), "rec": res, gradient.name: ours},
    )
    level = job.window().step_bytes
    for budget in ("1 GiB", 12 * level):
        job.run(budget=budget, progress=False)
        assert ours.data.any()
        assert np.array_equal(ours.data, stored)
