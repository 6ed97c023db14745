"""The acoustic gradient that the Devito benchmarks time, as a user writes it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

for _name, _value in {
    "DEVITO_LOGGING": "ERROR",
    "DEVITO_LANGUAGE": "C",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}.items():
    os.environ.setdefault(_name, _value)  # Devito reads them when it is imported

from devito import (  # noqa: E402
    Eq,
    Function,
    Grid,
    Inc,
    Operator,
    SparseTimeFunction,
    TimeFunction,
    solve,
)

__all__ = ["Acoustic"]


class Acoustic:
    """Variable velocity, absorbing layer, Ricker source, a line of receivers, float32.

    Time order 2, space order 8. The grid is as given: the layer lies inside it.
    """

    def __init__(self, velocity: np.ndarray, spacing: float, steps: int, layer: int = 10) -> None:
        shape = velocity.shape
        self.steps, self.nt = steps, steps + 2
        self.grid = grid = Grid(shape, extent=tuple(spacing * (n - 1) for n in shape))
        self.dt = float(0.38 * spacing / velocity.max())
        self.m = Function(name="m", grid=grid, space_order=8)
        self.m.data[:] = 1 / velocity**2
        self.damp = Function(name="damp", grid=grid, space_order=8)
        depth = np.minimum.reduce(
            np.meshgrid(
                *(np.minimum(np.arange(n), n - 1 - np.arange(n)) for n in shape), indexing="ij"
            )
        )
        ramp = np.clip((layer - depth) / layer, 0, 1)
        self.damp.data[:] = 0.02 * ramp**2 / self.dt
        extent = np.array(grid.extent)
        self.src = self._sparse("src", 1)
        self.src.coordinates.data[:] = extent / 2
        self.src.coordinates.data[:, -1] = (layer + 2) * spacing
        peak = velocity.min() / (8 * spacing)  # ten cells a wave length or so
        time = np.arange(self.nt) * self.dt - 1.2 / peak
        a = (np.pi * peak * time) ** 2
        self.src.data[:, 0] = (1 - 2 * a) * np.exp(-a)
        points = 101
        self.rec, self.res = self._sparse("rec", points), self._sparse("res", points)
        line = np.tile(extent / 2, (points, 1))
        line[:, 0] = np.linspace(layer * spacing, extent[0] - layer * spacing, points)
        line[:, -1] = (layer + 2) * spacing
        self.rec.coordinates.data[:] = self.res.coordinates.data[:] = line
        self.observed = np.random.default_rng(0).standard_normal((self.nt, points), np.float32)
        self.gradient = Function(name="gradient", grid=grid, space_order=8)
        self.v = TimeFunction(name="v", grid=grid, time_order=2, space_order=8)

    def _sparse(self, name: str, points: int) -> Any:
        return SparseTimeFunction(name=name, grid=self.grid, npoint=points, nt=self.nt)

    def u(self, save: Any) -> Any:
        return TimeFunction(name="u", grid=self.grid, time_order=2, space_order=8, save=save)

    def forward(self, u: Any) -> Operator:
        s = self.grid.stepping_dim.spacing
        step = solve(self.m * u.dt2 - u.laplace + self.damp * u.dt, u.forward)
        source = self.src.inject(u.forward, expr=self.src * s**2 / self.m)
        return Operator([Eq(u.forward, step), source, self.rec.interpolate(u)], name="Forward")

    def adjoint(self, u: Any) -> Operator:
        v, s = self.v, self.grid.stepping_dim.spacing
        step = solve(self.m * v.dt2 - v.laplace + self.damp * v.dt.T, v.backward)
        inject = self.res.inject(v.backward, expr=self.res * s**2 / self.m)
        return Operator(
            [Eq(v.backward, step), inject, Inc(self.gradient, -u * v.dt2)], name="Gradient"
        )

    def residual(self) -> None:
        self.res.data[:] = self.rec.data - self.observed

    def zero(self) -> None:
        self.v.data_with_halo[:] = 0
        self.gradient.data_with_halo[:] = 0
