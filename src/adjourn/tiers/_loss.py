"""What encoding does to a state: the bytes it takes, and the error it gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..problem import Array
from ._encoders import Encoder
from ._stream import order_of

__all__ = [
    "BLOCK",
    "HEAD_BYTES",
    "Loss",
    "blocks_of",
    "error_of",
    "measure_encoder",
    "plain",
    "scale_of",
]

BLOCK = 1 << 20
"""Bytes of an array that are encoded at once."""

HEAD_BYTES = 8
"""Bytes in front of each block: its length and kind."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What encoding did to the states measured so far.

    Attributes
    ----------
    raw, encoded : int
        Bytes of the states, and of their encodings.
    largest : float
        Largest absolute error of any value.
    rms : float
        Root mean square of the error, over all values measured.
    scale : float
        Largest magnitude of any value measured, for comparison.
    kept : int
        Blocks that were kept as they are.
    values : int
        Values whose error was measured.
    """

    raw: int = 0
    encoded: int = 0
    largest: float = 0.0
    rms: float = 0.0
    scale: float = 0.0
    kept: int = 0
    values: int = 0

    @property
    def ratio(self) -> float:
        """How many times smaller the encodings are."""
        return self.raw / self.encoded if self.encoded else 1.0

    def __add__(self, other: Loss) -> Loss:
        values = self.values + other.values
        square = self.rms**2 * self.values + other.rms**2 * other.values
        return Loss(
            self.raw + other.raw,
            self.encoded + other.encoded,
            max(self.largest, other.largest),
            sqrt(square / values) if values else 0.0,
            max(self.scale, other.scale),
            self.kept + other.kept,
            values,
        )


def measure_encoder(encoder: Encoder, arrays: Sequence[Array]) -> Loss:
    """Encode and decode a state; return the bytes it takes and the error it gets.

    Costs one encoding and one decoding, and some blocks of 1 MiB of memory.
    """
    loss = Loss()
    for array in arrays:
        scale = scale_of(encoder, array)
        for block in blocks_of(plain(array)):
            loss += _measure_block(encoder, np.ascontiguousarray(block), scale)
    return loss


def plain(array: Array) -> Array:
    """Return the array with its fastest index last; subclasses index in ways of their own."""
    base = np.asarray(array)
    return base.T if order_of(base) == "F" else base


def blocks_of(array: Array) -> Iterator[Array]:
    """Yield parts of at most `BLOCK` bytes, cut along the first axis where it can be."""
    if array.nbytes <= BLOCK or array.ndim == 0:
        yield array
        return
    row = array[0].nbytes
    if row > BLOCK:
        for part in array:
            yield from blocks_of(part)
    else:
        count = -(-array.nbytes // BLOCK)
        rows = -(-len(array) // count)
        for start in range(0, len(array), rows):
            yield array[start : start + rows]


def scale_of(encoder: Encoder, array: Array) -> float:
    """Return the largest magnitude, for encoders with a relative tolerance."""
    if not getattr(encoder, "relative", False) or array.size == 0 or array.dtype.kind != "f":
        return 0.0
    return _largest(array)


def _measure_block(encoder: Encoder, block: Array, scale: float) -> Loss:
    data = encoder.encode(block, scale)
    if data is None:
        kept = Loss(raw=block.nbytes, encoded=block.nbytes + HEAD_BYTES, kept=1)
        return kept + Loss(scale=_largest(block), values=block.size)
    size = Loss(raw=block.nbytes, encoded=len(data) + HEAD_BYTES)
    return size + error_of(encoder, block, memoryview(data))


def error_of(encoder: Encoder, block: Array, data: memoryview) -> Loss:
    """Return the error of one encoded block."""
    scale = _largest(block)
    back = np.empty_like(block)
    encoder.decode(data, back)
    if encoder.lossless or block.dtype.kind not in "fc":
        return Loss(scale=scale, values=block.size)
    np.subtract(back, block, out=back)
    error = np.abs(back) if back.dtype.kind == "c" else np.abs(back, out=back)
    largest = float(error.max())
    if largest:
        error /= largest  # squares of tiny numbers would be lost
        np.square(error, out=error)
    rms = largest * sqrt(float(error.sum(dtype=np.float64)) / block.size)
    return Loss(largest=largest, rms=rms, scale=scale, values=block.size)


def _largest(block: Array) -> float:
    """Return the largest magnitude of what is measured in numbers; 0 for other blocks."""
    if not block.size or block.dtype.kind not in "fciu":
        return 0.0
    if block.dtype.kind == "c":
        return float(np.abs(block).max())
    return max(abs(float(block.max())), abs(float(block.min())))
