"""The window: recorded wavefields in slots, each free again once its step is reversed."""

from __future__ import annotations

import numpy as np

from ...errors import BadValue
from ...problem import Array

__all__ = ["History"]


class History:
    """Wavefields by step in a buffer of a fixed number of slots.

    A step recorded again overwrites itself. Where every slot is taken, the field recorded
    longest ago gives way, as in a ring.

    Parameters
    ----------
    slots : int
        Number of fields kept at most.
    size : int
        Cells of a field.
    dtype : dtype
        The type of a field.
    """

    def __init__(self, slots: int, size: int, dtype: np.dtype[np.generic]):
        self.slots = slots
        self._fields = np.empty((slots, size), dtype)
        self._fields.fill(0)  # touches every page now, not in the step loop
        self._slot: dict[int, int] = {}
        self._free = list(range(slots))[::-1]

    def clear(self) -> None:
        """Forget every field."""
        self._free.extend(self._slot.values())
        self._slot.clear()

    def claim(self, step: int) -> Array:
        """Return the field of ``step`` to be written, in a slot of its own."""
        slot = self._slot.get(step)
        if slot is None:
            if self._free:
                slot = self._free.pop()
            elif self._slot:
                slot = self._slot.pop(next(iter(self._slot)))
            else:
                raise BadValue(
                    f"step {step} cannot be recorded: the window holds no step. "
                    "Call reserve(steps) with 1 step or more before begin()."
                )
            self._slot[step] = slot
        return self._fields[slot]

    def find(self, step: int) -> Array | None:
        """Return the field of ``step``, or None if it is not held."""
        slot = self._slot.get(step)
        return None if slot is None else self._fields[slot]

    def release(self, step: int) -> None:
        """Give the slot of ``step`` back; nothing happens if it is not held."""
        slot = self._slot.pop(step, None)
        if slot is not None:
            self._free.append(slot)
