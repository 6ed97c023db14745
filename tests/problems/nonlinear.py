"""A non-linear problem: its reverse reads a tape that only recording leaves."""

from __future__ import annotations

import numpy as np

from adjourn import Window


class Reaction:
    """Reaction and diffusion, u+ = w + dt c sin(w) with w = D u; gradient by c.

    The tape of a step is sin(w) and cos(w): neither is the state, and the state is not kept.
    Recordings lie in a dictionary and stay until they are reversed.
    """

    reads = "tape"

    def __init__(self, steps=20, cells=16, seed=0, coefficient=None):
        rng = np.random.default_rng(seed)
        self.steps = steps
        self.initial = rng.standard_normal(cells)
        self.data = rng.standard_normal(cells)
        self.coefficient = rng.uniform(0.5, 1.5, cells) if coefficient is None else coefficient
        self.dt = 0.1
        self.u = np.zeros(cells)
        self.adjoint = np.zeros(cells)
        self.by_coefficient = np.zeros(cells)
        self.residual = np.zeros(cells)
        self.history = np.zeros(steps)
        self.tapes = np.zeros((0, 2, cells))
        self.where = {}

    # --- storage

    def window(self):
        return Window(step_bytes=2 * self.u.nbytes, survives_advance=True)

    def reserve(self, steps):
        self.tapes = np.zeros((steps, 2, self.u.size))
        self.where = {}

    def slot(self, step):
        if step not in self.where:
            taken = set(self.where.values())
            free = [i for i in range(len(self.tapes)) if i not in taken]
            self.where[step] = free[0] if free else self.where.pop(next(iter(self.where)))
        return self.tapes[self.where[step]]

    def tape(self, start, stop):
        return [self.slot(step) for step in range(start, stop)]

    # --- the protocol

    def begin(self):
        self.u[:] = self.initial
        for array in (self.adjoint, self.by_coefficient, self.residual, self.history):
            array[:] = 0.0
        self.where = {}

    def state(self, step):
        return [self.u]

    def diffuse(self, u):
        return u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

    def step(self, step, replay):
        w = self.diffuse(self.u)
        sine = np.sin(w)
        self.u[:] = w + self.dt * self.coefficient * sine
        if not replay:
            self.history[step] = self.u.sum()
        return w, sine

    def advance(self, start, stop, *, replay):
        for step in range(start, stop):
            self.step(step, replay)
        return stop

    def record(self, start, stop, *, replay):
        for step in range(start, stop):
            slot = self.slot(step)
            w, sine = self.step(step, replay)
            slot[0] = sine
            slot[1] = np.cos(w)
        return stop

    def turn(self):
        self.residual[:] = self.u - self.data
        self.adjoint[:] = self.residual

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            sine, cosine = self.tapes[self.where.pop(step)]
            self.by_coefficient += self.dt * sine * self.adjoint
            self.adjoint[:] = self.diffuse(
                self.adjoint * (1.0 + self.dt * self.coefficient * cosine)
            )

    def carried(self):
        return {
            "adjoint": self.adjoint,
            "by_coefficient": self.by_coefficient,
            "residual": self.residual,
            "history": self.history,
        }

    @property
    def misfit(self):
        return 0.5 * float(self.residual @ self.residual)

    @property
    def gradient(self):
        return self.by_coefficient.copy()
