"""The problem protocol: what a simulation offers so that adjourn can reverse it.

A problem is any object with these methods; nothing is inherited. Steps are half-open ranges,
never single steps, so that compiled code can take as many at once as it likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from numpy.typing import NDArray

__all__ = ["Array", "Clock", "Problem", "Reads", "Window"]

Array = NDArray[Any]
Clock = Mapping[str, float | int]
Reads = Literal["nothing", "state", "tape"]


@dataclass(frozen=True, slots=True)
class Window:
    """The bytes of a problem's own buffer of recorded steps.

    A window of k steps takes ``(k + before + after) * step_bytes + fixed_bytes`` bytes from
    ``reserve`` until the run ends, and ``transient_bytes`` more while a step is recorded or
    reversed.

    Parameters
    ----------
    step_bytes : int
        Bytes that one recorded step takes.
    before, after : int
        Further steps that must be present below and above the recorded range for its reverse
        (a reverse that reads ``u[n]`` and ``u[n + 1]`` has ``after=1``).
    transient_bytes : int
        Bytes used only while recording or reversing.
    fixed_bytes : int
        Bytes of the window that do not depend on its length.
    max_steps : int or None
        The longest window that can be reserved.
    survives_advance : bool
        True if recorded steps stay reversible when the model is advanced or loaded elsewhere.
        With ``tape()``, recordings may then lie anywhere in time and share bytes with snapshots.
    """

    step_bytes: int
    before: int = 0
    after: int = 0
    transient_bytes: int = 0
    fixed_bytes: int = 0
    max_steps: int | None = None
    survives_advance: bool = False

    def nbytes(self, steps: int) -> int:
        """Return the bytes of a window of ``steps`` recorded steps, transients included."""
        levels = steps + self.before + self.after
        return levels * self.step_bytes + self.fixed_bytes + self.transient_bytes


@runtime_checkable
class Problem(Protocol):
    """A simulation of ``steps`` steps that can be advanced, recorded and reversed.

    Laws, checked by `adjourn.testing.ProblemSuite`, bit for bit: splitting a range in two
    changes nothing, for each of the three verbs; ``record`` and ``advance`` reach the same
    state; a replay touches only state and window; ``begin`` twice is ``begin`` once.

    Optional methods, each unlocking something:

    ``window() -> Window``
        The bytes of the recording buffer. Absent: recording is free of bytes.
    ``reserve(steps)``
        Allocate or rebuild the window for so many steps, and touch its memory; called before
        ``begin``, perhaps again.
    ``tape(start, stop) -> Sequence[Array]``
        The arrays that make [start, stop) reversible, just after it was recorded. Recordings
        may then be moved out and, written back through the same call, be reversed later: for a
        step not held, the call claims room.
    ``tape_holds_state = True``
        The arrays of ``tape(i, i + 1)`` end with those of ``state(i + 1)``, bit for bit: the stages
        of a stiffly accurate Runge-Kutta step. The model is then restarted from recordings too,
        where that is faster; such runs are not resumed from a directory.
    ``menu`` and ``choose(option)``
        The number of ways to record a step (more bytes and less time, or the other way), and
        the call that makes one of them, from 0, the way of the ``record``, ``tape`` and
        ``reverse`` calls that follow. ``begin`` goes back to 0. Needs ``tape()``.
    ``clock(step) -> Mapping[str, float]``
        Scalars kept with a snapshot (time, step size, counters).
    ``loaded(step, clock)``
        Called after a snapshot was written into ``state(step)``; ``clock`` is what was kept,
        or ``{}``.
    ``carried() -> Mapping[str, Array]``
        Adjoint state, gradient and outputs: what a resumed run needs besides snapshots. The
        live arrays: a resumed run calls ``begin()`` and writes into them.

    Attributes
    ----------
    steps : int
        Number of steps of the simulation.
    reads : {"nothing", "state", "tape"}
        What the reverse of a step reads: nothing (linear problems), the stored states, or
        values that only ``record`` leaves.
    """

    @property
    def steps(self) -> int:
        """Number of steps of the simulation."""
        ...

    @property
    def reads(self) -> Reads:
        """What the reverse of a step reads."""
        ...

    def begin(self) -> None:
        """Go to step 0; zero outputs, adjoint and gradient. Repeatable."""
        ...

    def state(self, step: int) -> Sequence[Array]:
        """Return views of what restarts the model at ``step``, valid while it is there.

        The arrays have the same shapes and dtypes at every step. A load writes into them, and
        only ever a state that was saved: zeros around a field may be relied on.
        """
        ...

    def advance(self, start: int, stop: int, *, replay: bool) -> int:
        """Run [start, stop) leaving nothing behind; return the step reached.

        ``replay`` is true when the range was run before: no side effects then.
        """
        ...

    def record(self, start: int, stop: int, *, replay: bool) -> int:
        """Run as `advance` does, leaving [start, stop) reversible; return the step reached.

        Ranges that adjoin add up, as far as was reserved; where more steps are recorded, the
        oldest give way.
        """
        ...

    def turn(self) -> None:
        """Make loss and residual into the adjoint's seed; called once, after the last step."""
        ...

    def reverse(self, start: int, stop: int) -> None:
        """Run the adjoint over [start, stop) from the top, accumulating the gradient.

        With ``reads="state"`` and a window without overlap, ``reverse(i, i + 1)`` may follow a
        load of step i without a recording: the live state is the record. `measure` reverses
        before any turn, with the adjoint at zero.
        """
        ...
