"""States that lie in recordings: marked where they are, and never copied to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BadValue, LawBroken
from ..problem import Array, Clock
from ._arena import Arena
from ._contract import ArraySpec, copy_arrays

__all__ = ["Held"]


@dataclass(frozen=True, slots=True)
class _Mark:
    arrays: Sequence[Array]
    clock: Clock


class Held:
    """A tier of the states in which recordings end; it takes no memory of its own.

    A save marks the last arrays of the recording made just before, in the arena where it lies;
    a load copies them. The first save compares them with the state, bit for bit.

    Parameters
    ----------
    tapes : Arena
        Where the recordings lie, open.
    """

    def __init__(self, tapes: Arena) -> None:
        self._tapes = tapes
        self._marks: dict[int, _Mark] = {}
        self._compared = False

    @property
    def name(self) -> str:
        """The name for reports."""
        return "recordings"

    @property
    def nbytes(self) -> int:
        """No bytes."""
        return 0

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:  # noqa: ARG002
        """Forget all marks."""
        self.close()

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Mark the state at ``step``, in which the last recording ends."""
        if step in self._marks:
            raise BadValue(f"snapshot {step} was to be saved, and it is held. Drop it first.")
        inside = self._tapes.last_tape()[-len(arrays) :]
        fits = [(a.shape, a.dtype) for a in inside] == [(a.shape, a.dtype) for a in arrays]
        if fits and not self._compared:
            fits = all(np.array_equal(a, b) for a, b in zip(inside, arrays, strict=True))
            self._compared = True
        if not fits:
            raise LawBroken(
                "tape_holds_state",
                f"the recording of step {step - 1} does not end with the state at {step}, and the "
                "problem says that its recordings do. Let tape() end with the arrays of "
                "state(stop), or set tape_holds_state = False.",
            )
        self._marks[step] = _Mark(inside, clock)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the state at ``step`` out of its recording."""
        mark = self._find(step)
        copy_arrays(arrays, mark.arrays)
        return mark.clock

    def drop(self, step: int) -> None:
        """Forget the mark; the recording stays."""
        self._find(step)
        del self._marks[step]

    def held(self) -> Sequence[int]:
        """Return the steps of the states marked."""
        return list(self._marks)

    def close(self) -> None:
        """Forget all marks."""
        self._marks = {}

    def _find(self, step: int) -> _Mark:
        if step not in self._marks:
            raise BadValue(f"snapshot {step} was asked for, and it is not held. Save it first.")
        return self._marks[step]
