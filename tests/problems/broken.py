"""Problems that break the laws, as users have broken them.

Each is a good problem with one fault. `BROKEN` maps a class to the law that is named first.
"""

from __future__ import annotations

import numpy as np

from adjourn import Window

from .leapfrog import Leapfrog
from .linear import Advection
from .nonlinear import Reaction


class ForgetsToZero(Reaction):
    """The gradient of the run before is still there: begin() does not clear it."""

    def begin(self):
        kept = self.by_coefficient.copy()
        super().begin()
        self.by_coefficient[:] = kept


class ReturnsNothing(Reaction):
    """advance() has no return statement."""

    def advance(self, start, stop, *, replay):
        super().advance(start, stop, replay=replay)


class StateOfOneLevel(Leapfrog):
    """A two-level method that gives one level as its state."""

    def state(self, step):
        return [self.level(step)]


class StateIsACopy(Reaction):
    """state() returns copies: a load writes into thin air."""

    def state(self, step):
        return [self.u.copy()]


class SourceOncePerCall(Advection):
    """Something is done once a call instead of once a step."""

    def advance(self, start, stop, *, replay):
        self.u += 0.01
        return super().advance(start, stop, replay=replay)


class RecordsInOtherOrder(Reaction):
    """The recording step sums in another order: equal on paper, not in bits."""

    def record(self, start, stop, *, replay):
        for step in range(start, stop):
            super().record(step, step + 1, replay=replay)
            self.u *= 1.0 + 2.0**-52
        return stop


class RecordRestartsWindow(Reaction):
    """Each record() call throws away what the one before left in the window."""

    def record(self, start, stop, *, replay):
        self.where = {}
        return super().record(start, stop, replay=replay)

    def reverse(self, start, stop):
        for step in range(start, stop):
            self.where.setdefault(step, 0)
        super().reverse(start, stop)


class GradientPerCall(Advection):
    """reverse() assigns the gradient of its range instead of accumulating it."""

    def reverse(self, start, stop):
        self.by_source[:] = 0.0
        super().reverse(start, stop)


class ReadsACounter(Leapfrog):
    """The step reads a counter of its own instead of the step number: a replay goes on counting."""

    def begin(self):
        super().begin()
        self.count = 0

    def force(self, u):
        return super().force(u) + 0.001 * np.cos(0.1 * self.count)

    def advance(self, start, stop, *, replay):
        for step in range(start, stop):
            super().advance(step, step + 1, replay=replay)
            self.count += 1
        return stop


class ReadsTheResidual(Advection):
    """The step is driven by an array that the turn overwrites."""

    def begin(self):
        super().begin()
        self.drive = self.data.copy()

    def advance(self, start, stop, *, replay):
        for step in range(start, stop):
            super().advance(step, step + 1, replay=replay)
            self.u += 0.01 * self.drive
        return stop

    def turn(self):
        super().turn()
        self.drive -= self.u  # "in place, to save memory"


class SharesResidual(Leapfrog):
    """The residual is made in the array of the traces, which every replay overwrites.

    The trap of the field: the gradient is wrong by orders of magnitude, with no warning.
    """

    def advance(self, start, stop, *, replay):
        return super().advance(start, stop, replay=False)

    def turn(self):
        self.traces -= self.data
        self.residual = self.traces
        self.later[self.places] += self.residual[self.steps]

    def begin(self):
        self.residual = np.zeros_like(self.traces)
        super().begin()


class SharesHiddenResidual(SharesResidual):
    """The same trap, the array not being among the outputs."""

    def carried(self):
        return {"by_stiffness": self.by_stiffness, "later": self.later, "latest": self.latest}


class UnderstatesWindow(Reaction):
    """The tape holds two arrays a step, and one is declared."""

    def __init__(self):
        super().__init__(cells=256)

    def window(self):
        return Window(step_bytes=self.u.nbytes, survives_advance=True)


class PretendsToSurvive(Leapfrog):
    """A ring that any advance overwrites is said to survive."""

    def window(self):
        return Window(step_bytes=self.start.nbytes, before=1, after=1, survives_advance=True)


class HidesOverlap(Leapfrog):
    """A reverse that reads neighbours' states says that it reads its own alone."""

    def window(self):
        return Window(step_bytes=self.start.nbytes)

    def reserve(self, steps):
        self.ring = np.zeros((max(3, steps), self.start.size))


class NeedsItsNeighbours(Leapfrog):
    """The window has room for the neighbours' states; the declaration does not mention them."""

    def window(self):
        return Window(step_bytes=self.start.nbytes)


class CarriesTooLittle(Reaction):
    """The adjoint is not among the carried arrays."""

    def carried(self):
        return {name: a for name, a in super().carried().items() if name != "adjoint"}


class CarriesOldRoles(Leapfrog):
    """The adjoints change places with each step, and carried() was written down once."""

    def __init__(self):
        super().__init__()
        self.written = super().carried()

    def carried(self):
        return self.written

    def reverse(self, start, stop):
        for step in reversed(range(start, stop)):
            super().reverse(step, step + 1)
            self.later, self.latest = self.latest, self.later
            self.later[:], self.latest[:] = self.latest.copy(), self.later.copy()


class NotLinearAtAll(Advection):
    """Says that its reverse reads nothing, and reads the state."""

    def reverse(self, start, stop):
        for _ in range(start, stop):
            super().reverse(0, 1)
            self.adjoint += 0.01 * self.u


class TapeIsACopy(Reaction):
    """tape() returns copies, so that nothing can be written back."""

    def tape(self, start, stop):
        return [array.copy() for array in super().tape(start, stop)]


class RaisesOnReplay(Reaction):
    """A replay fails outright."""

    def advance(self, start, stop, *, replay):
        if replay:
            raise RuntimeError("the file of the wind was closed")
        return super().advance(start, stop, replay=replay)


BROKEN = {
    ForgetsToZero: "begin twice",
    ReturnsNothing: "return values",
    StateOfOneLevel: "state round trip",
    StateIsACopy: "state round trip",
    SourceOncePerCall: "advance split",
    RecordsInOtherOrder: "record is advance",
    RecordRestartsWindow: "record split",
    GradientPerCall: "reverse split",
    ReadsACounter: "state round trip",
    ReadsTheResidual: "replay repeats",
    SharesResidual: "replay is silent",
    SharesHiddenResidual: "replay is silent",
    UnderstatesWindow: "window bytes",
    PretendsToSurvive: "window survives",
    HidesOverlap: "recompute",
    NeedsItsNeighbours: "live reverse",
    CarriesTooLittle: "carried resumes",
    CarriesOldRoles: "carried is current",
    NotLinearAtAll: "reads nothing",
    TapeIsACopy: "tape round trip",
    RaisesOnReplay: "state round trip",
}
