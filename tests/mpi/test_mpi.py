"""Problems spread over two ranks: one plan, the same gradient, failures that end every rank."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(
    MPIRUN is None or find_spec("mpi4py") is None,
    reason="needs mpi4py and mpirun: pip install 'adjourn[mpi]'",
)
needs_devito = pytest.mark.skipif(
    find_spec("devito") is None or find_spec("devito.operator") is None or not shutil.which("gcc"),
    reason="needs Devito (adjourn[devito]) and gcc",
)


def ranks(code: str, count: int = 2, timeout: float = 150) -> subprocess.CompletedProcess[str]:
    """Run code on ``count`` ranks."""
    quiet = {
        "DEVITO_LOGGING": "ERROR",
        "DEVITO_LANGUAGE": "C",
        "DEVITO_MPI": "1",
        "PYTHONPATH": f"{ROOT / 'tests'}",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return subprocess.run(
        [
            str(MPIRUN),
            *("-n", str(count), "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"),
            *(sys.executable, "-c", PROBLEM + dedent(code)),
        ],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **quiet},
        check=False,
    )


PROBLEM = dedent('''
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    class Chain:
        """u[i] += h (u[i-1] - u[i]^2) round a ring of cells, some on each rank."""

        reads = "state"

        def __init__(self, steps=60, cells=40):
            self.steps = steps
            low = cells * comm.rank // comm.size
            high = cells * (comm.rank + 1) // comm.size
            self.start = np.sin(1.0 + np.arange(cells))[low:high].copy()
            self.u, self.adjoint = self.start.copy(), np.zeros(high - low)
            self.loss = None

        def shifted(self, values, by):
            ends = np.array([values[-1] if by > 0 else values[0]])
            got = np.empty(1)
            left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
            to, origin = (right, left) if by > 0 else (left, right)
            comm.Sendrecv(ends, dest=to, recvbuf=got, source=origin)
            return np.concatenate([got, values[:-1]] if by > 0 else [values[1:], got])

        def begin(self):
            self.u[:], self.adjoint[:] = self.start, 0
            self.kept = {}

        def state(self, step):
            return [self.u]

        def advance(self, start, stop, *, replay):
            for step in range(start, stop):
                self.check(step, replay)
                self.u += 0.01 * (self.shifted(self.u, 1) - self.u**2)
            return stop

        def check(self, step, replay):
            pass

        def record(self, start, stop, *, replay):
            for step in range(start, stop):
                self.kept[step] = self.u.copy()
                self.advance(step, step + 1, replay=replay)
            return stop

        def turn(self):
            self.loss = comm.allreduce(float((self.u**2).sum()) / 2)
            self.adjoint[:] = self.u

        def reverse(self, start, stop):
            for step in range(stop - 1, start - 1, -1):
                u = self.kept.pop(step) if step in self.kept else self.u
                a = self.adjoint
                self.adjoint = a + 0.01 * (self.shifted(a, -1) - 2 * u * a)

        def carried(self):
            return {"adjoint": self.adjoint}

        def window(self):
            from adjourn import Window
            return Window(self.u.nbytes)

        def reserve(self, steps):
            self.kept = {}
''')


def test_two_ranks_follow_one_plan_to_the_gradient_of_one() -> None:
    """The plan is the same on both; the joined gradient is the one of a single rank."""
    code = """
        import adjourn.mpi
        problem = Chain()
        rows = []
        for budget in ("1 MiB", 1200 // comm.size + 400, 800 // comm.size + 400):
            record = adjourn.mpi.run(problem, budget=budget, progress=False)
            plans = comm.allgather(str(record.plan.schedule))
            gradient = np.concatenate(comm.allgather(problem.adjoint))
            rows.append((len(set(plans)), record.plan.family, gradient.sum().hex()))
        if comm.rank == 0:
            print(rows)
            np.savetxt("/dev/stdout", gradient)
    """
    outputs = []
    for count in (1, 2):
        done = ranks(code, count)
        assert done.returncode == 0, done.stderr
        rows, *values = done.stdout.strip().splitlines()
        families = eval(rows)
        assert all(row[0] == 1 and row[2] == families[0][2] for row in families)
        assert families[0][1] == "store_all"
        assert families[-1][1] != "store_all"
        outputs.append([float(v) for v in values])
    assert outputs[0] == pytest.approx(outputs[1], rel=1e-12)


def test_a_budget_too_small_for_one_rank_is_refused_on_all() -> None:
    """The error, with the least budget, is raised on every rank; parts may differ in size."""
    done = ranks("""
        import adjourn, adjourn.mpi
        problem = Chain(cells=41)
        try:
            adjourn.mpi.run(problem, budget=100, progress=False)
        except adjourn.BudgetTooSmall as error:
            least = error.least
        adjourn.mpi.run(problem, budget=least, progress=False)
        print(comm.rank, least, problem.u.nbytes)
    """)
    assert done.returncode == 0, done.stderr
    rows = sorted(line.split() for line in done.stdout.strip().splitlines())
    assert [row[0] for row in rows] == ["0", "1"]
    assert rows[0][1] == rows[1][1]
    assert rows[0][2] != rows[1][2]


def test_parts_of_different_length_are_refused() -> None:
    """All ranks must have the same steps."""
    done = ranks("""
        import adjourn, adjourn.mpi
        try:
            adjourn.mpi.plan(Chain(steps=10 + comm.rank), "1 MiB")
        except adjourn.BadValue as error:
            print(error)
    """)
    assert done.stdout.count("problems of 10 to 11 steps") == 2


def test_a_failure_on_one_rank_ends_all_with_its_cause() -> None:
    """While the other rank waits for its halo, the cause is written and everything ends."""
    done = ranks(
        """
        import adjourn.mpi
        class Breaks(Chain):
            def check(self, step, replay):
                if replay and comm.rank == 1 and step == 7:
                    raise FloatingPointError("the seventh step failed")
        adjourn.mpi.run(Breaks(), budget=800, progress=False)
        print("never")
    """,
        timeout=60,
    )
    assert done.returncode != 0
    assert "rank 1 of 2 failed; every rank is ended" in done.stderr
    assert "the seventh step failed" in done.stderr
    assert "never" not in done.stdout


def test_a_killed_rank_ends_the_other() -> None:
    """Kill -9 of one rank is seen by mpirun, which names the signal and ends the rest."""
    done = ranks(
        """
        import os, signal
        import adjourn.mpi
        class Dies(Chain):
            def check(self, step, replay):
                if replay and comm.rank == 1 and step == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
        adjourn.mpi.run(Dies(), budget=800, progress=False)
        print("never")
    """,
        timeout=60,
    )
    assert done.returncode != 0
    assert "signal 9" in done.stderr + done.stdout
    assert "never" not in done.stdout


@needs_devito
@pytest.mark.devito
def test_devito_on_two_ranks_gives_the_gradient_of_one() -> None:
    """A decomposed grid, sources and receivers on either rank: equal to rounding."""
    code = """
        from devito_wave import Wave
        from adjourn.devito import Adjoint
        wave = Wave(shape=(40, 36), nt=82)
        stored = wave.computed()
        u = wave.u(wave.nt)
        job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual,
                      arguments={"dt": wave.dt})
        level = job.window().step_bytes
        same = []
        for budget in ("10 MiB", 12 * level):
            job.run(budget=budget, progress=False)
            same.append(np.array_equal(np.asarray(wave.gradient.data), stored))
        assert all(comm.allgather(all(same)))
        loss = comm.allreduce(job.loss)
        whole = wave.gradient.data_gather()
        if comm.rank == 0:
            print(loss)
            np.savetxt("/dev/stdout", np.asarray(whole).reshape(-1))
    """
    outputs = []
    for count in (1, 2):
        done = ranks(code, count)
        assert done.returncode == 0, done.stderr
        outputs.append([float(v) for v in done.stdout.split()])
    largest = max(abs(v) for v in outputs[0][1:])
    assert outputs[0][0] == pytest.approx(outputs[1][0], rel=1e-5)
    assert outputs[0][1:] == pytest.approx(outputs[1][1:], abs=1e-5 * largest)
