"""A small acoustic wave problem in Devito, as a user writes it, and its stored-history run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from devito import (
    Buffer,
    Eq,
    Function,
    Grid,
    Inc,
    Operator,
    SparseTimeFunction,
    TimeFunction,
    solve,
)

__all__ = ["Buffer", "Wave"]


@dataclass
class Wave:
    """Variable velocity, damping at the rim, Ricker source, receivers, gradient of the misfit."""

    shape: tuple[int, ...] = (31, 28)
    nt: int = 42
    order: int = 4
    dtype: type = np.float32
    reads_dt2: bool = False

    def __post_init__(self) -> None:
        shape = self.shape
        extent = tuple(10.0 * (n - 1) for n in shape)
        self.grid = grid = Grid(shape, extent=extent, dtype=self.dtype)
        self.dt = 2.0
        rng = np.random.default_rng(3)
        self.m = Function(name="m", grid=grid, space_order=self.order)
        self.m.data[:] = 1 / rng.uniform(1.4, 2.2, shape) ** 2
        self.damp = Function(name="damp", grid=grid, space_order=self.order)
        self.damp.data[:] = rng.uniform(0, 0.01, shape)
        self.src = self.sparse("src", 1)
        time = (np.arange(self.nt) * self.dt - 30) / 12
        self.src.data[:, 0] = (1 - 2 * time**2) * np.exp(-(time**2))
        self.src.coordinates.data[:] = 0.37 * np.array([extent])
        self.rec, self.res = self.sparse("rec", 4), self.sparse("res", 4)
        places = rng.uniform(0.1, 0.9, (4, len(shape))) * extent
        self.rec.coordinates.data[:] = self.res.coordinates.data[:] = places
        self.obs = self.sparse("obs", 4)
        self.obs.coordinates.data[:] = places
        self.obs.data[:] = 0.1 * rng.standard_normal((self.nt, 4))
        self.gradient = Function(name="gradient", grid=grid, space_order=self.order)

    def sparse(self, name: str, points: int) -> Any:
        return SparseTimeFunction(name=name, grid=self.grid, npoint=points, nt=self.nt)

    def u(self, save: Any) -> Any:
        return TimeFunction(
            name="u", grid=self.grid, time_order=2, space_order=self.order, save=save
        )

    def forward(self, u: Any, extra: tuple[Any, ...] = (), **options: Any) -> Operator:
        s = self.grid.stepping_dim.spacing
        step = solve(self.m * u.dt2 - u.laplace + self.damp * u.dt, u.forward)
        source = self.src.inject(u.forward, expr=self.src * s**2 / self.m)
        eqns = [Eq(u.forward, step), source, self.rec.interpolate(u), *extra]
        return Operator(eqns, name="Forward", **options)

    def adjoint(self, u: Any, residual: Any = None, **options: Any) -> Operator:
        residual = self.res if residual is None else residual
        s = self.grid.stepping_dim.spacing
        v = TimeFunction(name="v", grid=self.grid, time_order=2, space_order=self.order)
        step = solve(self.m * v.dt2 - v.laplace + self.damp * v.dt.T, v.backward)
        inject = residual.inject(v.backward, expr=residual * s**2 / self.m)
        correlate = Inc(self.gradient, -u.dt2 * v if self.reads_dt2 else -u * v.dt2)
        return Operator([Eq(v.backward, step), inject, correlate], name="Gradient", **options)

    def residual(self) -> float:
        np.asarray(self.res.data)[...] = np.asarray(self.rec.data) - np.asarray(self.obs.data)
        return float((np.asarray(self.res.data) ** 2).sum() / 2)

    def stored(self) -> np.ndarray:
        """Return the gradient as Devito users compute it, of the wave as it was made."""
        key = (self.shape, self.nt, self.order, self.dtype, self.reads_dt2)
        if key not in _STORED:
            _STORED[key] = type(self)(*key).computed()
        return _STORED[key]

    def computed(self) -> np.ndarray:
        """Compute the gradient with all levels stored: two calls of apply."""
        u = self.u(self.nt)
        self.gradient.data[:] = 0
        self.forward(u).apply(dt=self.dt)
        self.residual()
        self.adjoint(u).apply(dt=self.dt)
        return np.array(np.asarray(self.gradient.data))


_STORED: dict[tuple[Any, ...], np.ndarray] = {}
