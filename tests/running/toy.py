"""A small non-linear problem that can be resumed: two time levels, outputs, a parameter."""

from __future__ import annotations

import numpy as np

from adjourn import Window


class Toy:
    """u'' = -m sin(u) by leapfrog; the loss is half the sum of squared traces.

    Small enough that a whole gradient takes about a millisecond, and non-linear, so that a wrong
    state anywhere changes the gradient's bits.
    """

    reads = "tape"

    def __init__(self, steps=20, size=16, seed=0, *, survives=False):
        rng = np.random.default_rng(seed)
        self.steps = steps
        self.survives = survives
        self.m = 0.1 + 0.05 * rng.standard_normal(size)
        self.start = rng.standard_normal((2, size))
        self.old = np.zeros(size)
        self.new = np.zeros(size)
        self.trace = np.zeros(steps)
        self.loss = np.zeros(1)
        self.gradient = np.zeros(size)
        self.older = np.zeros(size)  # adjoints of u[step] and u[step + 1]; they change roles
        self.newer = np.zeros(size)
        self.weights = np.zeros(steps)
        self.taped = {}
        self.room = 1
        self.log = []
        self.forward = 0

    def window(self):
        return Window(step_bytes=self.m.nbytes, survives_advance=self.survives)

    def reserve(self, steps):
        self.room = steps

    def begin(self):
        self.old[:], self.new[:] = self.start
        self.trace[:] = 0
        self.loss[:] = 0
        self.gradient[:] = 0
        self.older[:] = 0
        self.newer[:] = 0
        self.weights[:] = 0
        self.taped.clear()

    def state(self, step):
        return (self.old, self.new) if step % 2 == 0 else (self.new, self.old)

    def clock(self, step):
        return {"time": 0.1 * step, "step": step}

    def loaded(self, step, clock):
        if clock != self.clock(step):
            raise ValueError(f"the clock of step {step} came back as {clock}")

    def carried(self):
        return {
            "trace": self.trace,
            "loss": self.loss,
            "gradient": self.gradient,
            "older": self.older,
            "newer": self.newer,
            "weights": self.weights,
        }

    def identity(self):
        return f"m={self.m.tobytes().hex()[:32]}"

    def _step(self, step, replay):
        self.forward += 1
        old, new = self.state(step)
        # old <- 2 new - old + f(new); then the roles change with the parity of the step
        old[:] = 2 * new - old - self.m * np.sin(new)
        if not replay:
            self.trace[step] += old.sum()

    def advance(self, start, stop, *, replay):
        if not self.survives:
            self.taped.clear()
        for step in range(start, stop):
            self._step(step, replay)
        return stop

    def record(self, start, stop, *, replay):
        for step in range(start, stop):
            self.taped[step] = self.state(step)[1].copy()
            self._step(step, replay)
        return stop

    def turn(self):
        self.loss[0] = 0.5 * (self.trace**2).sum()
        self.weights[:] = self.trace
        self.older[:] = 0
        self.newer[:] = 0

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            new = self.taped.pop(step)
            self.newer += self.weights[step]
            self.gradient -= self.newer * np.sin(new)
            self.older += self.newer * (2 - self.m * np.cos(new))
            self.newer *= -1
            self.older, self.newer = self.newer, self.older
        self.log.append((start, stop))
