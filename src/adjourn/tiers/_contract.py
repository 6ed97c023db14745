"""The tier contract: a bounded place for snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import BadValue
from ..problem import Array, Clock

__all__ = ["ArraySpec", "Tier", "copy_arrays", "specs_of", "state_bytes"]


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and dtype of one array of a state."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Bytes of the array, without strides."""
        size = self.dtype.itemsize
        for extent in self.shape:
            size *= extent
        return size


def specs_of(arrays: Sequence[Array]) -> tuple[ArraySpec, ...]:
    """Return shape and dtype of each array."""
    return tuple(ArraySpec(a.shape, a.dtype) for a in arrays)


def state_bytes(specs: Sequence[ArraySpec]) -> int:
    """Return the bytes of one state, arrays packed without gaps."""
    return sum(spec.nbytes for spec in specs)


def copy_arrays(into: Sequence[Array], source: Sequence[Array]) -> None:
    """Copy arrays one for one, bit for bit, whatever their strides.

    Raises
    ------
    BadValue
        The number, a shape or a dtype differs; nothing of the differing array is written.
    """
    if len(into) != len(source):
        raise BadValue(
            f"{len(source)} arrays were to be copied into {len(into)}. Pass a state of the same "
            "arrays as the tier was opened for."
        )
    for there, here in zip(into, source, strict=True):
        if there.shape != here.shape or there.dtype != here.dtype:
            raise BadValue(
                f"an array {here.dtype}{here.shape} was to be copied into one of "
                f"{there.dtype}{there.shape}. Every state must have the same shapes and dtypes."
            )
        np.copyto(there, here, casting="no")


def check_arrays(arrays: Sequence[Array], specs: Sequence[ArraySpec]) -> None:
    """Refuse a state of other shapes or dtypes than the tier was opened for.

    Raises
    ------
    BadValue
        The message has both.
    """
    if [(a.dtype, a.shape) for a in arrays] != [(s.dtype, s.shape) for s in specs]:
        have = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        want = ", ".join(f"{s.dtype}{list(s.shape)}" for s in specs)
        raise BadValue(
            f"the state is {have}; the tier was opened for {want}. "
            "Return the same shapes and dtypes from state(step) at every step."
        )


@runtime_checkable
class Tier(Protocol):
    """A bounded place that keeps snapshots by step.

    ``open`` allocates everything; between ``open`` and ``close`` nothing more is allocated.
    ``save`` copies the arrays, so that the caller may overwrite them at once. `close` is
    idempotent and leaves nothing behind.
    """

    @property
    def name(self) -> str:
        """A short name for reports, such as ``"ram"``."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of main memory the tier has allocated (staging buffers for a disk tier)."""
        ...

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Allocate room for ``slots`` snapshots of arrays such as ``specs``."""
        ...

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state at ``step`` in; the step is not held yet and a slot is free."""
        ...

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` into the arrays, bit for bit; it stays held."""
        ...

    def drop(self, step: int) -> None:
        """Free the slot of ``step``."""
        ...

    def held(self) -> Sequence[int]:
        """Return the steps held, in no particular order."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...
