"""One stack of bytes for snapshots and tapes of unequal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BadValue
from ..problem import Array, Clock
from ._contract import ArraySpec, state_bytes

__all__ = ["Arena"]


@dataclass(slots=True)
class _Entry:
    """Where something lies, and what is kept with it."""

    offset: int
    views: list[Array]
    clock: Clock
    live: bool = True


class Arena:
    """A tier that keeps snapshots, and recordings beside them, in one block of memory.

    What is put last is taken first: with the lifetimes of an optimal schedule (THEORY 3) no gap
    ever opens, so that pieces of unequal size share the bytes without loss. A piece dropped out
    of order is reclaimed when all above it is gone.

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
        self._snapshots: dict[int, _Entry] = {}
        self._tapes: list[_Entry] = []
        self._top = 0
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
        self._block = np.empty(self._capacity, np.uint8)

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state at ``step`` onto the top."""
        self._snapshots[step] = self._push(arrays, clock)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` into ``arrays``; return the clock kept with it."""
        entry = self._find(step)
        for live, kept in zip(arrays, entry.views, strict=True):
            np.copyto(live, kept, casting="no")
        return entry.clock

    def drop(self, step: int) -> None:
        """Free the bytes of ``step``."""
        entry = self._find(step)
        del self._snapshots[step]
        self._release(entry)

    def push_tape(self, arrays: Sequence[Array]) -> None:
        """Copy a recording onto the top."""
        self._tapes.append(self._push(arrays, {}))

    def pop_tape(self, arrays: Sequence[Array]) -> None:
        """Copy the last recording into ``arrays`` and free its bytes."""
        entry = self._tapes.pop()
        for live, kept in zip(arrays, entry.views, strict=True):
            np.copyto(live, kept, casting="no")
        self._release(entry)

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
        self._top = 0
        self._peak = 0

    def _push(self, arrays: Sequence[Array], clock: Clock) -> _Entry:
        offset = self._top
        specs = tuple(ArraySpec(a.shape, a.dtype) for a in arrays)
        views = self._views.get((offset, specs))
        if views is None:
            views = self._views[offset, specs] = self._carve(offset, specs)
        for kept, live in zip(views, arrays, strict=True):
            np.copyto(kept, live, casting="no")
        entry = _Entry(offset, views, clock)
        self._stack.append(entry)
        self._top = offset + state_bytes(specs)
        self._peak = max(self._peak, self._top)
        return entry

    def _carve(self, offset: int, specs: Sequence[ArraySpec]) -> list[Array]:
        nbytes = state_bytes(specs)
        if offset + nbytes > self._block.nbytes:
            raise BadValue(
                f"{nbytes} bytes were to be kept above {offset} bytes, and the arena has "
                f"{self._block.nbytes}. The plan's bytes and the problem's differ: measure again."
            )
        views: list[Array] = []
        for spec in specs:
            views.append(np.ndarray(spec.shape, spec.dtype, self._block.data, offset))
            offset += spec.nbytes
        return views

    def _release(self, entry: _Entry) -> None:
        entry.live = False
        stack = self._stack
        while stack and not stack[-1].live:
            self._top = stack.pop().offset

    def _find(self, step: int) -> _Entry:
        try:
            return self._snapshots[step]
        except KeyError:
            raise BadValue(
                f"snapshot {step} was asked for, and {sorted(self._snapshots)} are held."
            ) from None
