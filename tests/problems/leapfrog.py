"""A leapfrog in a ring: its reverse reads the states, which any advance overwrites."""

from __future__ import annotations

import numpy as np

from adjourn import Window


class Leapfrog:
    """The non-linear wave u+ = 2u - u- + k(Lu - u^3) in a ring of levels; gradient by k.

    As a stencil compiler lays it out: the time levels live in the ring itself, step n writing
    u[n + 1] into level (n + 1) mod ring. Recording is advancing with a ring long enough; the
    reverse of step n takes the force from the time difference, u[n - 1] to u[n + 1], so a
    window of k steps has k + 2 levels, and advancing overwrites it.
    """

    reads = "state"

    def __init__(self, steps=20, cells=16, seed=0, stiffness=None):
        rng = np.random.default_rng(seed)
        self.steps = steps
        self.data = rng.standard_normal((steps + 1, 3))
        self.places = np.array([0, cells // 2, cells - 1])
        self.start = 0.3 * rng.standard_normal(cells)
        self.stiffness = rng.uniform(0.1, 0.3, cells) if stiffness is None else stiffness
        self.traces = np.zeros((steps + 1, 3))
        self.residual = np.zeros((steps + 1, 3))
        self.later = np.zeros(cells)  # adjoint of u[n + 1]
        self.latest = np.zeros(cells)  # adjoint of u[n + 2], as far as step n sends it on
        self.by_stiffness = np.zeros(cells)
        self.reserve(0)

    # --- storage: three levels are what a run that stores nothing needs

    def window(self):
        return Window(step_bytes=self.start.nbytes, before=1, after=1)

    def reserve(self, steps):
        self.ring = np.zeros((max(3, steps + 2), self.start.size))

    def level(self, step):
        return self.ring[step % len(self.ring)]

    # --- the protocol

    def begin(self):
        self.ring[:] = 0.0
        self.level(0)[:] = self.start
        self.level(-1)[:] = self.start
        for array in (self.traces, self.residual, self.later, self.latest, self.by_stiffness):
            array[:] = 0.0
        self.traces[0] = self.start[self.places]

    def state(self, step):
        return [self.level(step - 1), self.level(step)]

    def force(self, u):
        return np.roll(u, 1) - 2 * u + np.roll(u, -1) - u**3

    def advance(self, start, stop, *, replay):
        for n in range(start, stop):
            u = self.level(n)
            self.level(n + 1)[:] = 2 * u - self.level(n - 1) + self.stiffness * self.force(u)
            if not replay:
                self.traces[n + 1] = self.level(n + 1)[self.places]
        return stop

    def record(self, start, stop, *, replay):
        return self.advance(start, stop, replay=replay)

    def turn(self):
        self.residual[:] = self.traces - self.data
        self.later[self.places] += self.residual[self.steps]

    def reverse(self, start, stop):
        for n in reversed(range(start, stop)):
            u = self.level(n)
            force = (self.level(n + 1) - 2 * u + self.level(n - 1)) / self.stiffness
            self.by_stiffness += force * self.later
            weighted = self.stiffness * self.later
            earlier = 2 * self.later + self.latest + np.roll(weighted, -1) - 2 * weighted
            earlier += np.roll(weighted, 1) - 3 * u**2 * weighted
            self.latest[:] = -self.later
            self.later[:] = earlier
            self.later[self.places] += self.residual[n]

    def carried(self):
        return {
            "later": self.later,
            "latest": self.latest,
            "by_stiffness": self.by_stiffness,
            "traces": self.traces,
            "residual": self.residual,
        }

    @property
    def misfit(self):
        return 0.5 * float(np.sum(self.residual**2))

    @property
    def gradient(self):
        return self.by_stiffness.copy()
