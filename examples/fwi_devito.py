"""Full-waveform inversion in Devito under a memory budget, with SciPy's L-BFGS-B.

    python examples/fwi_devito.py                          # a lens in a layered model, a minute
    python examples/fwi_devito.py --budget "1 MiB" --shots 3 --iterations 4
    python examples/fwi_devito.py --model vp.f32 --shape 221,601 --spacing 15 --budget "64 MiB"

A raw float32 model is in km/s, depth slowest. Traces are made in the true model, the inversion
starts from a smoothed one. One adjoint job serves all shots and all iterations: planned once,
its window allocated once. Pictures and a report are written to ``--out``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

os.environ.setdefault("DEVITO_LOGGING", "ERROR")
os.environ.setdefault("DEVITO_LANGUAGE", "C")

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
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

from adjourn import RunRecord
from adjourn.devito import Adjoint
from adjourn.reports import Report, field_of, html_page

SPACE_ORDER = 8
LAYER = 20  # cells of the absorbing layer, added around the model


def lens(shape: tuple[int, int] = (81, 121)) -> np.ndarray:
    """Return a layered model with a fast lens, km/s, (depth, distance)."""
    depth, across = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    velocity = 1.6 + 0.9 * depth / shape[0] + 0.15 * (depth > 0.6 * shape[0])
    inside = ((depth - 0.45 * shape[0]) / 10) ** 2 + ((across - 0.5 * shape[1]) / 22) ** 2 < 1
    return (velocity + 0.25 * inside).astype(np.float32)


class Survey:
    """Devito's objects and the two operators, as any Devito program has them."""

    def __init__(self, velocity: np.ndarray, spacing: float, steps: int, shots: int) -> None:
        self.spacing = spacing
        padded = np.pad(velocity, LAYER, mode="edge")
        self.inner = tuple(slice(LAYER, LAYER + n) for n in velocity.shape)
        self.shape = velocity.shape
        self.nt = steps + 2
        self.dt = float(0.4 * spacing / velocity.max())
        extent = tuple(spacing * (n - 1) for n in padded.shape)
        self.grid = grid = Grid(padded.shape, extent=extent, dtype=np.float32)
        self.m = Function(name="m", grid=grid, space_order=SPACE_ORDER)
        self.gradient = Function(name="gradient", grid=grid, space_order=SPACE_ORDER)
        self.damp = Function(name="damp", grid=grid, space_order=SPACE_ORDER)
        sides = [np.minimum(np.arange(n), n - 1 - np.arange(n)) for n in padded.shape]
        depth = np.minimum(*np.meshgrid(*sides, indexing="ij"))
        ramp = np.clip((LAYER - depth) / LAYER, 0, 1)
        self.damp.data[:] = 0.05 / self.dt * ramp**2
        self.src = self._sparse("src", 1)
        time = np.arange(self.nt) * self.dt
        peak = velocity.min() / (14 * spacing)  # kHz, as km/s and m go together
        a = (np.pi * peak * (time - 1.2 / peak)) ** 2
        self.src.data[:, 0] = (1 - 2 * a) * np.exp(-a)
        across = velocity.shape[1]
        self.shots = np.linspace(0.05, 0.95, shots) * (across - 1) + LAYER
        self.rec, self.res = self._sparse("rec", across), self._sparse("res", across)
        line = np.column_stack([np.full(across, 2 + LAYER), np.arange(across) + LAYER]) * spacing
        self.rec.coordinates.data[:] = self.res.coordinates.data[:] = line
        self.observed: list[np.ndarray] = []
        self.shot = 0
        u = TimeFunction(
            name="u", grid=grid, time_order=2, space_order=SPACE_ORDER, save=self.nt
        )  # named only: its memory is never allocated
        self.job = Adjoint(
            self.forward(u), self.adjoint(u), [u], self.residual, arguments={"dt": self.dt}
        )

    def _sparse(self, name: str, points: int) -> Any:
        return SparseTimeFunction(name=name, grid=self.grid, npoint=points, nt=self.nt)

    def forward(self, u: Any) -> Operator:
        s = self.grid.stepping_dim.spacing
        step = solve(self.m * u.dt2 - u.laplace + self.damp * u.dt, u.forward)
        source = self.src.inject(u.forward, expr=self.src * s**2 / self.m)
        return Operator([Eq(u.forward, step), source, self.rec.interpolate(u)], name="Forward")

    def adjoint(self, u: Any) -> Operator:
        v = TimeFunction(name="v", grid=self.grid, time_order=2, space_order=SPACE_ORDER)
        s = self.grid.stepping_dim.spacing
        step = solve(self.m * v.dt2 - v.laplace + self.damp * v.dt.T, v.backward)
        inject = self.res.inject(v.backward, expr=self.res * s**2 / self.m)
        return Operator(
            [Eq(v.backward, step), inject, Inc(self.gradient, -u * v.dt2)], name="Gradient"
        )

    def residual(self) -> float:
        """Fill the adjoint source; return the misfit of the present shot."""
        self.res.data[:] = self.rec.data - self.observed[self.shot]
        return 0.5 * float((np.asarray(self.res.data, np.float64) ** 2).sum())

    def set_model(self, velocity: np.ndarray) -> None:
        self.m.data[:] = np.pad(1 / velocity**2, LAYER, mode="edge")

    def set_shot(self, number: int) -> None:
        self.shot = number
        self.src.coordinates.data[0] = np.array([2 + LAYER, self.shots[number]]) * self.spacing

    def observe(self, velocity: np.ndarray) -> None:
        """Make the traces of every shot in a model, with a forward run that stores nothing."""
        self.set_model(velocity)
        u = TimeFunction(name="u", grid=self.grid, time_order=2, space_order=SPACE_ORDER)
        op = self.forward(u)
        for number in range(len(self.shots)):
            self.set_shot(number)
            u.data_with_halo[:] = 0
            op.apply(dt=self.dt)
            self.observed.append(np.array(self.rec.data))


def invert(
    survey: Survey, start: np.ndarray, budget: str, iterations: int, tell: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray, list[float], RunRecord]:
    """Return the model, the first gradient, the misfits, and the record of the last shot."""
    shape = start.shape
    water = 6  # rows around sources and receivers that are known
    misfits: list[float] = []
    first: list[np.ndarray] = []
    records: list[RunRecord] = []

    def objective(slowness: np.ndarray) -> tuple[float, np.ndarray]:
        velocity = (1 / np.sqrt(slowness.reshape(shape))).astype(np.float32)
        survey.set_model(velocity)
        misfit, gradient = 0.0, np.zeros(shape)
        for number in range(len(survey.shots)):
            survey.set_shot(number)
            records[:] = [survey.job.run(budget=budget, progress=False)]
            misfit += survey.job.loss
            gradient += np.asarray(survey.gradient.data[survey.inner])
        gradient[:water] = 0
        first.append(gradient)
        misfits.append(misfit)
        return misfit, gradient.ravel()

    begin = (1 / start.astype(np.float64) ** 2).ravel()
    unit = 0.02 / float(np.abs(objective(begin)[1]).max())  # the first step changes it by 2%
    began = perf_counter()

    def scaled(slowness: np.ndarray) -> tuple[float, np.ndarray]:
        misfit, gradient = objective(slowness)
        return misfit * unit, gradient * unit

    def show(slowness: np.ndarray) -> None:
        del slowness
        tell(
            f"  misfit {100 * min(misfits) / misfits[0]:6.2f}% of the first, "
            f"{len(misfits)} gradients, {perf_counter() - began:.1f} s"
        )

    result = minimize(
        scaled,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(1 / 6.0**2, 1 / 1.4**2)] * start.size,
        callback=show,
        options={"maxiter": iterations, "maxfun": 3 * iterations},
    )
    model = (1 / np.sqrt(result.x.reshape(shape))).astype(np.float32)
    return model, first[0], misfits, records[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="raw float32, km/s")
    parser.add_argument("--shape", default="", help="depth,distance of --model")
    parser.add_argument("--spacing", type=float, default=10.0, help="metres")
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--shots", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--budget", default="4 MiB")
    parser.add_argument("--out", type=Path, default=Path("fwi"))
    options = parser.parse_args()
    if options.model is None:
        true = lens()
    else:
        shape = tuple(int(n) for n in options.shape.split(","))
        true = np.fromfile(options.model, "<f4").reshape(shape)
    start = gaussian_filter(true, 8.0)
    start[:6] = true[:6]
    survey = Survey(true, options.spacing, options.steps, options.shots)
    whole = survey.job.window().nbytes(survey.job.steps)
    print(
        f"{len(survey.shots)} shots, {survey.job.steps} steps; history {whole / 2**20:.0f} MiB, "
        f"budget {options.budget}"
    )
    survey.observe(true)
    model, gradient, misfits, record = invert(
        survey, start, options.budget, options.iterations, print
    )
    error = [float(np.sqrt(((v - true) ** 2).mean())) for v in (start, model)]
    print(
        f"misfit {misfits[0]:.4g} -> {min(misfits):.4g}; "
        f"error of the model {1000 * error[0]:.1f} -> {1000 * error[1]:.1f} m/s"
    )
    print(f"each gradient: {record.plan.reasons[0]}; {record.cpu_seconds:.2f} s measured")
    options.out.mkdir(parents=True, exist_ok=True)
    cell = (options.spacing, options.spacing)
    fields = (
        field_of(true, cell, name="true model", unit="km/s"),
        field_of(start, cell, name="starting model", unit="km/s"),
        field_of(model, cell, name="inverted model", unit="km/s"),
        field_of(gradient, cell, name="first gradient", unit="", ramp="signed"),
    )
    for field in fields:
        (options.out / f"{field.name.replace(' ', '-')}.png").write_bytes(field.image)
    page = html_page(Report(record, title="Inversion in Devito, last shot", fields=fields))
    (options.out / "report.html").write_text(page)
    print(f"pictures and report in {options.out}/")


if __name__ == "__main__":
    main()
