"""install() in processes of their own: what Devito sees, and the errors of coming late."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from textwrap import dedent

import pytest

needs_devito = pytest.mark.skipif(
    find_spec("devito") is None or find_spec("devito.operator") is None or not shutil.which("gcc"),
    reason="needs Devito (adjourn[devito]) and gcc",
)


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    quiet = {"DEVITO_LOGGING": "ERROR", "DEVITO_LANGUAGE": "C", "PYTHONPATH": "tests"}
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **quiet},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_install_takes_the_place_of_the_package() -> None:
    """Import pyrevolve and its parts are ours, without pyrevolve installed; twice is once."""
    out = python("""
        import adjourn.pyrevolve
        adjourn.pyrevolve.install()
        adjourn.pyrevolve.install()
        import pyrevolve
        from pyrevolve import Revolver, Checkpoint, Operator
        from pyrevolve.crevolve import adjust
        from pyrevolve.schedulers import Action, CRevolve
        from pyrevolve.storage import NumpyStorage
        from pyrevolve.profiling import Profiler
        from pyrevolve.compression import init_compression
        print(pyrevolve is adjourn.pyrevolve, pyrevolve.__version__)
    """)
    assert out == "True 2.2.8"


@needs_devito
@pytest.mark.devito
def test_install_after_devito_is_refused() -> None:
    """Devito decides at its import whether pyrevolve is there."""
    out = python("""
        import devito, adjourn.pyrevolve
        try:
            adjourn.pyrevolve.install()
        except adjourn.NotSupported as error:
            print(error)
    """)
    assert "after devito was imported" in out
    assert "Call it before" in out


@needs_devito
@pytest.mark.devito
def test_devito_s_own_solver_runs_on_it_with_the_same_bits() -> None:
    """examples.seismic's gradient with checkpointing=True equals the stored-history one.

    Its operators prove that stored levels suffice, so that no forward step precedes a reverse
    step: one call at the turn beside the plain advances.
    """
    out = python("""
        import adjourn.pyrevolve
        adjourn.pyrevolve.install()
        import numpy as np
        from devito import Function
        from examples.seismic import demo_model, setup_geometry
        from examples.seismic.acoustic import AcousticWaveSolver
        model = demo_model('layers-isotropic', shape=(31, 31), spacing=(15., 15.), nbl=10,
                           space_order=4, dtype=np.float32)
        geometry = setup_geometry(model, 150.)
        solver = AcousticWaveSolver(model, geometry, space_order=4)
        rec, u, _ = solver.forward(save=True)
        grads = []
        for checkpointing in (False, True):
            grad, _ = solver.jacobian_adjoint(rec, u, checkpointing=checkpointing)
            grads.append(np.array(grad.data))
        print(np.array_equal(*grads), bool(grads[0].any()))
        from devito import CheckpointOperator, DevitoCheckpoint, Revolver, TimeFunction
        counts = []
        for reads in (None, "next"):
            w = TimeFunction(name='u', grid=model.grid, time_order=2, space_order=4)
            v = TimeFunction(name='v', grid=model.grid, time_order=2, space_order=4)
            g = Function(name='grad', grid=model.grid)
            dt = model.critical_dt
            fw = CheckpointOperator(solver.op_fwd(save=False), src=geometry.src, u=w, dt=dt,
                                    vp=model.vp)
            bw = CheckpointOperator(solver.op_grad(save=False), u=w, v=v, rec=rec, dt=dt,
                                    grad=g, vp=model.vp)
            n = rec.data.shape[0] - 2
            calls, apply = [], fw.apply
            fw.apply = lambda t_start, t_end: (calls.append(t_end - t_start),
                                               apply(t_start, t_end))
            revolver = Revolver(DevitoCheckpoint([w]), fw, bw, 5, n, reverse_reads=reads)
            revolver.apply_forward()
            revolver.apply_reverse()
            counts.append(sum(calls))
            print(np.array_equal(np.array(g.data), grads[0]))
        t = adjourn.pyrevolve.numforw(n, 5)
        print(counts == [t + 1, t + n])
    """)
    assert out.split() == ["True", "True", "True", "True", "True"]


@needs_devito
@pytest.mark.devito
def test_a_gradient_that_reads_the_next_level_keeps_its_forward_steps() -> None:
    """Where u.dt2 is read, the operators prove that a forward step is needed; bits are the same."""
    out = python("""
        import adjourn.pyrevolve
        adjourn.pyrevolve.install()
        import numpy as np
        from devito import CheckpointOperator, DevitoCheckpoint, Revolver
        from devito_wave import Wave
        wave = Wave(reads_dt2=True)
        stored = wave.stored()
        wave.gradient.data[:] = 0
        u = wave.u(None)
        fw = CheckpointOperator(wave.forward(u), dt=wave.dt)
        bw = CheckpointOperator(wave.adjoint(u), dt=wave.dt)
        revolver = Revolver(DevitoCheckpoint([u]), fw, bw, 4, wave.nt - 2)
        revolver.apply_forward()
        wave.residual()
        revolver.apply_reverse()
        print(np.array_equal(wave.gradient.data, stored), revolver._steps_before_reverse)
    """)
    assert out == "True True"
