"""A linear problem: its reverse reads nothing."""

from __future__ import annotations

import numpy as np


class Advection:
    """Upwind advection with a constant source; gradient by initial state and source.

    J = 1/2 |u_N - data|^2; the adjoint of u+ = A u + s needs no forward value.
    """

    reads = "nothing"

    def __init__(self, steps=20, cells=16, seed=0):
        rng = np.random.default_rng(seed)
        self.steps = steps
        self.initial = rng.standard_normal(cells)
        self.source = 0.1 * rng.standard_normal(cells)
        self.data = rng.standard_normal(cells)
        self.speed = 0.4
        self.u = np.zeros(cells)
        self.adjoint = np.zeros(cells)
        self.by_source = np.zeros(cells)
        self.residual = np.zeros(cells)

    def begin(self):
        self.u[:] = self.initial
        for array in (self.adjoint, self.by_source, self.residual):
            array[:] = 0.0

    def state(self, step):
        return [self.u]

    def advance(self, start, stop, *, replay):
        for _ in range(start, stop):
            self.u[:] = self.u - self.speed * (self.u - np.roll(self.u, 1)) + self.source
        return stop

    def record(self, start, stop, *, replay):
        return self.advance(start, stop, replay=replay)

    def turn(self):
        self.residual[:] = self.u - self.data
        self.adjoint[:] = self.residual

    def reverse(self, start, stop):
        for _ in range(start, stop):
            self.by_source += self.adjoint
            self.adjoint[:] = self.adjoint - self.speed * (self.adjoint - np.roll(self.adjoint, -1))

    def carried(self):
        return {
            "adjoint": self.adjoint,
            "by_source": self.by_source,
            "residual": self.residual,
        }

    @property
    def misfit(self):
        return 0.5 * float(self.residual @ self.residual)

    @property
    def gradient(self):
        return np.stack([self.adjoint, self.by_source])
