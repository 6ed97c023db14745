"""The adapter in processes of its own: memory over many shots, and the examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("devito.operator", reason="Devito is not installed: adjourn[devito]")

pytestmark = pytest.mark.devito

ROOT = Path(__file__).parents[2]


def python(*arguments: str) -> str:
    quiet = {"DEVITO_LOGGING": "ERROR", "DEVITO_LANGUAGE": "C", "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, **quiet},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_resident_memory_is_flat_over_ten_shots() -> None:
    """Ten shots take the memory of one: within 5 percent."""
    out = python(
        "-c",
        """if True:
        import os
        from devito_wave import Wave
        from adjourn.devito import Adjoint
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        wave = Wave(shape=(180, 170), nt=202)
        u = wave.u(wave.nt)
        job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual,
                      arguments={"dt": wave.dt})
        for shot in range(10):
            wave.src.coordinates.data[:] = 100.0 + 50 * shot
            job.run(budget="8 MiB", progress=False)
            print(resident())
        """,
    )
    seen = [int(line) for line in out.split()]
    assert max(seen) - min(seen) <= 0.05 * min(seen)


def test_a_budget_is_kept_by_the_resident_set() -> None:
    """A run within a budget takes no more than a bare run, the budget, and 16 MiB or 12%."""
    out = python(
        "-c",
        """if True:
        import resource
        from devito_wave import Wave
        from adjourn.devito import Adjoint
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        wave = Wave(shape=(300, 280), nt=402)
        u = wave.u(wave.nt)
        job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual,
                      arguments={"dt": wave.dt})
        job.begin()
        job.advance(0, 10, replay=False)
        bare = peak()
        record = job.run(budget="64 MiB", progress=False)
        print(peak() - bare, record.peak_bytes, job.window().nbytes(job.steps))
        """,
    )
    grown, own, whole = map(int, out.split())
    budget = 64 * 2**20
    assert own <= budget < whole
    assert grown <= budget + 16 * 2**20


def test_the_inversion_example_runs(tmp_path: Path) -> None:
    """It lowers the misfit under its budget and writes pictures and a report."""
    out = python(
        str(ROOT / "examples" / "fwi_devito.py"),
        *("--steps", "300", "--shots", "1", "--iterations", "2", "--budget", "1 MiB"),
        *("--out", str(tmp_path)),
    )
    misfits = out.split("misfit ")[-1].split(";")[0].split(" -> ")
    assert float(misfits[1]) < float(misfits[0])
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"report.html", "inverted-model.png", "first-gradient.png"}


def test_the_paper_s_case_runs_small() -> None:
    """The script of the 80 GB case, at a size of seconds: both budgets give the same bits."""
    out = python(
        str(ROOT / "examples" / "paper_case.py"),
        *("--run", "--size", "24", "--steps", "80", "--budget", "4 MB", "--budget", "2 MB"),
    )
    assert "equal to each other bit for bit: True; any non-zero: True" in out
