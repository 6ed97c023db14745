"""Snapshots in main memory: preallocated slots, one copy per save and load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import BadValue, TierFull
from ..problem import Array, Clock
from ._contract import ArraySpec, copy_arrays, state_bytes

__all__ = ["RamPool"]


class RamPool:
    """A tier of equal slots in main memory, freed in any order.

    Memory: ``slots`` states, allocated by `open` and released by `close`. A save or load is one
    copy of each array, whatever its strides.

    Parameters
    ----------
    grow : bool
        Allocate each slot when it is first used instead: for runs of unknown length.
    """

    def __init__(self, *, grow: bool = False) -> None:
        self._grow = grow
        self._specs: Sequence[ArraySpec] = ()
        self._most = 0
        self._slots: list[list[Array]] = []
        self._free: list[int] = []
        self._kept: dict[int, tuple[int, Clock]] = {}
        self._nbytes = 0

    @property
    def name(self) -> str:
        """The name for reports."""
        return "ram"

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._nbytes

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Allocate ``slots`` slots for arrays such as ``specs``."""
        self.close()
        self._specs = specs
        self._most = slots
        for _ in range(0 if self._grow else slots):
            self._add()
        self._free.reverse()

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state at ``step`` into a free slot."""
        if step in self._kept:
            raise BadValue(f"snapshot {step} was to be saved, and it is held. Drop it first.")
        if not self._free and self._grow and len(self._slots) < self._most:
            self._add()
        if not self._free:
            raise TierFull(
                f"snapshot {step} was to be saved, and all {len(self._slots)} slots are taken. "
                "Drop a snapshot first, or open the pool with more slots."
            )
        slot = self._free[-1]
        copy_arrays(self._slots[slot], arrays)
        self._free.pop()
        self._kept[step] = (slot, clock)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` into ``arrays``; return the clock kept with it."""
        slot, clock = self._find(step)
        copy_arrays(arrays, self._slots[slot])
        return clock

    def drop(self, step: int) -> None:
        """Free the slot of ``step``."""
        slot, _ = self._find(step)
        del self._kept[step]
        self._free.append(slot)

    def held(self) -> Sequence[int]:
        """Return the steps held."""
        return list(self._kept)

    def close(self) -> None:
        """Release all slots."""
        self._slots = []
        self._free = []
        self._kept = {}
        self._nbytes = 0

    def _add(self) -> None:
        self._free.append(len(self._slots))
        self._slots.append([np.empty(s.shape, s.dtype) for s in self._specs])
        self._nbytes += state_bytes(self._specs)

    def _find(self, step: int) -> tuple[int, Clock]:
        try:
            return self._kept[step]
        except KeyError:
            raise BadValue(
                f"snapshot {step} was asked for, and {sorted(self._kept)} are held."
            ) from None
