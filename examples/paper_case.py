"""The case that put checkpointing into Devito: 230^3 points, 1615 steps, 80 GB of history.

    python examples/paper_case.py                     # what it would take here; runs nothing big
    python examples/paper_case.py --run               # the gradient under 10 GB and under 6 GB
    python examples/paper_case.py --check             # dot-product and Taylor test, small, float64
    python examples/paper_case.py --run --size 60     # the same, smaller

The paper [1]_ brought the memory from 80 GB to about 10 GB with pyRevolve, the gradient being the
same. Here each budget's gradient is computed from the same two operators and compared bit for bit
with the others'. Needs Devito and a C compiler; ``OMP_NUM_THREADS`` says how many cores are used.

.. [1] N. Kukreja et al., "High-level Python abstractions for optimal checkpointing in inversion
   problems", arXiv 1802.02474, 2018.
"""

from __future__ import annotations

import argparse
import os
import resource
from time import perf_counter, process_time
from typing import Any

import numpy as np

os.environ.setdefault("DEVITO_LOGGING", "ERROR")
os.environ.setdefault("DEVITO_LANGUAGE", "openmp")

from devito import (
    Eq,
    Function,
    Grid,
    Inc,
    Operator,
    SparseTimeFunction,
    TimeFunction,
    solve,
)

import adjourn
from adjourn.devito import Adjoint
from adjourn.testing import dot_product_test, taylor_test

SPACE_ORDER = 8


class Shot:
    """One shot over a layered velocity model with an absorbing layer inside the grid."""

    def __init__(self, size: int, steps: int, dtype: Any = np.float32) -> None:
        shape, spacing = (size,) * 3, 20.0
        self.steps, self.nt, self.dtype = steps, steps + 2, dtype
        extent = (spacing * (size - 1),) * 3
        self.grid = Grid(shape, extent=extent, dtype=dtype)
        velocity = np.linspace(1.5, 4.5, size, dtype=dtype) * np.ones(shape, dtype)
        self.dt = float(0.3 * spacing / velocity.max())
        self.m = self._function("m")
        self.m.data[:] = 1 / velocity**2
        width = max(2, size // 6)
        side = np.minimum(np.arange(size), size - 1 - np.arange(size))
        depth = np.minimum.reduce(np.meshgrid(side, side, side, indexing="ij"))
        self.damp = self._function("damp")
        self.damp.data[:] = 0.02 / self.dt * np.clip((width - depth) / width, 0, 1) ** 2
        self.src = self._sparse("src", 1)
        self.src.coordinates.data[:] = np.array(extent) / 2
        self.src.coordinates.data[:, -1] = (width + 1) * spacing
        time = np.arange(self.nt) * self.dt
        a = (np.pi * 0.012 * (time - 100.0)) ** 2
        self.src.data[:, 0] = (1 - 2 * a) * np.exp(-a)
        # more than two cells apart: threads would add neighbours' residuals up in any order
        points = max(3, size // 4)
        self.rec, self.res = self._sparse("rec", points), self._sparse("res", points)
        line = np.tile(np.array(extent) / 2, (points, 1))
        line[:, 0] = np.linspace((width + 1) * spacing, extent[0] - (width + 1) * spacing, points)
        line[:, -1] = (width + 1) * spacing
        self.rec.coordinates.data[:] = self.res.coordinates.data[:] = line
        self.observed = np.zeros((self.nt, points), dtype)
        self.gradient = self._function("gradient")

    def _function(self, name: str) -> Any:
        return Function(name=name, grid=self.grid, space_order=SPACE_ORDER)

    def _sparse(self, name: str, points: int) -> Any:
        return SparseTimeFunction(name=name, grid=self.grid, npoint=points, nt=self.nt)

    def field(self, name: str, save: Any = None) -> Any:
        return TimeFunction(
            name=name, grid=self.grid, time_order=2, space_order=SPACE_ORDER, save=save
        )

    def forward(self, u: Any) -> Operator:
        s = self.grid.stepping_dim.spacing
        step = solve(self.m * u.dt2 - u.laplace + self.damp * u.dt, u.forward)
        source = self.src.inject(u.forward, expr=self.src * s**2 / self.m)
        return Operator([Eq(u.forward, step), source, self.rec.interpolate(u)], name="Forward")

    def adjoint(self, u: Any, back: Any = None) -> Operator:
        v, s = self.field("v"), self.grid.stepping_dim.spacing
        step = solve(self.m * v.dt2 - v.laplace + self.damp * v.dt.T, v.backward)
        inject = self.res.inject(v.backward, expr=self.res * s**2 / self.m)
        if back is not None:  # the transpose of the source, for the dot-product test
            return Operator([Eq(v.backward, step), inject, back.interpolate(v)], name="Back")
        return Operator(
            [Eq(v.backward, step), inject, Inc(self.gradient, -u * v.dt2)], name="Gradient"
        )

    def residual(self) -> float:
        self.res.data[:] = self.rec.data - self.observed
        return 0.5 * float((np.asarray(self.res.data, np.float64) ** 2).sum())

    def job(self) -> Adjoint:
        u = self.field("u", save=self.nt)  # named, never allocated
        return Adjoint(
            self.forward(u), self.adjoint(u), [u], self.residual, arguments={"dt": self.dt}
        )


def estimate(job: Adjoint, budgets: list[str]) -> adjourn.Costs:
    """Measure a few steps and print what each budget would take."""
    costs = adjourn.measure(job)
    bare = job.steps * (costs.advance + costs.reverse)
    print(f"stored history: {job.window().nbytes(job.steps) / 1e9:.1f} GB, {bare:.0f} CPU seconds")
    for budget in budgets:
        plan = adjourn.plan(job.steps, costs, budget)
        print(f"budget {budget}: {plan.seconds:.0f} CPU seconds predicted, {plan.reasons[0]}")
    job.close()
    return costs


def run(shot: Shot, job: Adjoint, budgets: list[str], costs: adjourn.Costs) -> None:
    """Compute the gradient under each budget and print the table."""
    bare = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    results, rows = [], []
    for budget in sorted(budgets, key=adjourn_bytes):
        began = perf_counter(), process_time()
        record = job.run(budget=budget, costs=costs)
        wall, cpu = perf_counter() - began[0], process_time() - began[1]
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        results.append(np.array(shot.gradient.data))
        rows.append((budget, record, wall, cpu, resident - bare))
        job.close()
    print(
        "\nbudget    family    forward steps  predicted s  CPU s  wall s  own GB  resident GB more"
    )
    for budget, record, wall, cpu, resident in rows:
        print(
            f"{budget:9s} {record.plan.family:9s} {record.forward_steps:13d} "
            f"{record.predicted_seconds:12.0f} {cpu:6.0f} {wall:7.0f} "
            f"{record.peak_bytes / 1e9:7.2f} {resident / 1e9:8.2f}"
        )
    print("the paper: 80 GB of history brought to about 10 GB")
    same = all(np.array_equal(results[0], other) for other in results[1:])
    print(f"gradients equal to each other bit for bit: {same}; any non-zero: {results[0].any()}")


def adjourn_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"MB": 1e6, "GB": 1e9, "MiB": 2**20, "GiB": 2**30}[unit]


def check(size: int = 30, steps: int = 100) -> None:
    """Run the dot-product and the Taylor test of the same code, small, in double precision."""
    shot = Shot(size, steps, np.float64)
    back = shot._sparse("back", 1)
    back.coordinates.data[:] = shot.src.coordinates.data
    ring = shot.field("u")
    forward, transpose = shot.forward(ring), shot.adjoint(ring, back)
    rng = np.random.default_rng(0)

    def linear(source: np.ndarray) -> np.ndarray:
        ring.data_with_halo[:] = 0
        shot.src.data[:, 0] = source
        forward.apply(dt=shot.dt)
        return np.array(shot.rec.data)

    def adjoint(traces: np.ndarray) -> np.ndarray:
        shot.res.data[:] = traces
        v = next(f for f in transpose.writes if f.name == "v")
        v.data_with_halo[:] = 0
        transpose.apply(dt=shot.dt)
        return np.array(back.data[:, 0])

    wavelet = np.array(shot.src.data[:, 0])
    inside = np.zeros(shot.nt)
    inside[1:-2] = rng.standard_normal(shot.nt - 3)  # times whose effect is recorded
    seen = np.zeros_like(shot.rec.data)
    seen[1:-1] = rng.standard_normal(seen[1:-1].shape)  # the times the operators run over
    print(f"dot-product test, relative: {dot_product_test(linear, adjoint, inside, seen):.1e}")
    shot.src.data[:, 0] = wavelet
    shot.observed = 0.7 * linear(wavelet)
    job = shot.job()
    level = job.window().step_bytes
    start = np.array(shot.m.data)

    def misfit(m: np.ndarray) -> float:
        shot.m.data[:] = m
        linear(wavelet)
        return shot.residual()

    job.run(budget=30 * level)
    gradient = np.array(shot.gradient.data)
    direction = np.zeros(shot.grid.shape)
    width = max(2, size // 6)
    inner = (slice(width + 3, -width - 3),) * 3
    direction[inner] = rng.standard_normal(direction[inner].shape) * start[inner]
    print(f"Taylor test, {taylor_test(misfit, gradient, start, direction)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=230, help="points in each direction")
    parser.add_argument("--steps", type=int, default=1615)
    parser.add_argument("--budget", action="append", metavar='"10 GB"')
    parser.add_argument("--run", action="store_true", help="compute the gradients")
    parser.add_argument("--check", action="store_true", help="test the gradient at a small size")
    options = parser.parse_args()
    if options.check:
        check()
        return
    budgets = options.budget or ["10 GB", "6 GB"]
    shot = Shot(options.size, options.steps)
    job = shot.job()
    costs = estimate(job, budgets)
    if options.run:
        run(shot, job, budgets, costs)


if __name__ == "__main__":
    main()
