"""One stack of bytes for snapshots and tapes of unequal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BadValue, TierFull
from ..problem import Array, Clock
from ._contract import ArraySpec, copy_arrays, state_bytes

__all__ = ["Arena"]


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """Where something lies, and what is kept with it."""

    offset: int
    end: int
    views: list[Array]
    clock: Clock


class Arena:
    """A tier that keeps snapshots, and recordings beside them, in one block of memory.

    What is put last is taken first: with the lifetimes of an optimal schedule no gap
    ever opens, so that pieces of unequal size share the bytes without loss. Gaps left by pieces
    dropped out of order are used when there is no more room on top.

    Memory: ``nbytes``, allocated by `open`.

    Parameters
    ----------
    capacity : int
        Bytes for snapshots and tapes together.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._block = np.empty(0, np.uint8)
        self._stack: list[_Entry] = []
        self._specs: tuple[ArraySpec, ...] = ()
        self._snapshots: dict[int, _Entry] = {}
        self._tapes: list[_Entry] = []
        self._peak = 0
        self._views: dict[tuple[int, tuple[ArraySpec, ...]], list[Array]] = {}

    @property
    def name(self) -> str:
        """The name for reports."""
        return "ram"

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._block.nbytes

    @property
    def peak_bytes(self) -> int:
        """Most bytes in use since `open`."""
        return self._peak

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:  # noqa: ARG002
        """Allocate the block; ``slots`` is of no account here."""
        self.close()
        self._specs = tuple(specs)
        self._block = np.empty(self._capacity, np.uint8)

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state at ``step`` onto the top."""
        if step in self._snapshots:
            raise BadValue(f"snapshot {step} was to be saved, and it is held. Drop it first.")
        if self._specs and len(arrays) != len(self._specs):
            raise BadValue(
                f"a state of {len(arrays)} arrays was to be saved, and the arena was opened for "
                f"{len(self._specs)}. Every state must have the same arrays."
            )
        self._snapshots[step] = self._push(arrays, clock)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` into ``arrays``; return the clock kept with it."""
        entry = self._find(step)
        copy_arrays(arrays, entry.views)
        return entry.clock

    def drop(self, step: int) -> None:
        """Free the bytes of ``step``."""
        entry = self._find(step)
        del self._snapshots[step]
        self._stack.remove(entry) if self._stack[-1] is not entry else self._stack.pop()

    def push_tape(self, arrays: Sequence[Array]) -> None:
        """Copy a recording onto the top."""
        self._tapes.append(self._push(arrays, {}))

    def pop_tape(self, arrays: Sequence[Array]) -> None:
        """Copy the last recording into ``arrays`` and free its bytes."""
        entry = self._tapes.pop()
        copy_arrays(arrays, entry.views)
        self._stack.remove(entry) if self._stack[-1] is not entry else self._stack.pop()

    def last_tape(self) -> Sequence[Array]:
        """Return the arrays of the last recording, where they lie."""
        return self._tapes[-1].views

    def held(self) -> Sequence[int]:
        """Return the steps of the snapshots held."""
        return list(self._snapshots)

    def close(self) -> None:
        """Release the block."""
        self._block = np.empty(0, np.uint8)
        self._stack = []
        self._snapshots = {}
        self._tapes = []
        self._views = {}
        self._peak = 0

    def _push(self, arrays: Sequence[Array], clock: Clock) -> _Entry:
        specs = tuple(ArraySpec(a.shape, a.dtype) for a in arrays)
        nbytes = state_bytes(specs)
        place, offset = self._room(nbytes)
        views = self._views.get((offset, specs))
        if views is None:
            views = self._views[offset, specs] = self._carve(offset, specs)
        copy_arrays(views, arrays)
        entry = _Entry(offset, offset + nbytes, views, clock)
        self._stack.insert(place, entry)
        self._peak = max(self._peak, entry.end)
        return entry

    def _room(self, nbytes: int) -> tuple[int, int]:
        """Return where in the stack, and at which byte, a piece fits: on top, or in a gap."""
        top = self._stack[-1].end if self._stack else 0
        if top + nbytes <= self._block.nbytes:
            return len(self._stack), top
        below = 0
        for place, entry in enumerate(self._stack):
            if entry.offset - below >= nbytes:
                return place, below
            below = entry.end
        raise TierFull(
            f"{nbytes} bytes were to be kept above {top} bytes, and the arena has "
            f"{self._block.nbytes}. The plan's bytes and the problem's differ: measure again."
        )

    def _carve(self, offset: int, specs: Sequence[ArraySpec]) -> list[Array]:
        views: list[Array] = []
        for spec in specs:
            views.append(np.ndarray(spec.shape, spec.dtype, self._block.data, offset))
            offset += spec.nbytes
        return views

    def _find(self, step: int) -> _Entry:
        try:
            return self._snapshots[step]
        except KeyError:
            raise BadValue(
                f"snapshot {step} was asked for, and {sorted(self._snapshots)} are held."
            ) from None
