"""Encoders: other bytes for the same state, fewer of them, with or without an error.

An encoder sees contiguous blocks of one array, at most a few MiB each, so that the memory it
takes is bounded whatever the state. A lossy one is asked for by name with its tolerance; blocks
it cannot keep within the tolerance (not finite, not floating point, too wide a range) are kept
as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from struct import Struct
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..errors import BadValue, MissingExtra
from ..problem import Array

__all__ = ["Encoder", "Int16", "Raw", "Zfp", "Zstd"]

_SCALE = Struct("<dd")
_LEVELS = 65534
_ZSTD_LEVELS = (-7, 22)


@runtime_checkable
class Encoder(Protocol):
    """Turns a contiguous block into bytes and back.

    A third party's encoder is any object with these members. It must keep no state between
    calls, and may be called from a background thread.
    """

    @property
    def name(self) -> str:
        """A short name for reports, with its settings."""
        ...

    @property
    def lossless(self) -> bool:
        """Whether every bit comes back."""
        ...

    def encode(self, block: Array, scale: float) -> bytes | memoryview | None:
        """Return the bytes for ``block``; None if it is better kept as it is.

        ``scale`` is the largest magnitude in the whole array, for relative tolerances; 0 where
        the encoder did not ask for it by an attribute ``relative``.
        """
        ...

    def decode(self, data: memoryview, out: Array) -> None:
        """Fill the contiguous ``out`` from what `encode` returned for a block of its shape."""
        ...


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes as they are: nothing gained, nothing lost, one copy."""

    @property
    def name(self) -> str:
        """``"raw"``."""
        return "raw"

    @property
    def lossless(self) -> bool:
        """True."""
        return True

    def encode(self, block: Array, scale: float) -> None:  # noqa: ARG002
        """Return None: keep the block."""
        return

    def decode(self, data: memoryview, out: Array) -> None:
        """Copy the bytes; not reached for blocks kept as they are."""
        out.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)


@dataclass(frozen=True, slots=True)
class Int16:
    """Each block scaled to 65535 levels between its least and largest value: half of float32.

    NumPy alone. Error: at most range / 131068 of the block, plus rounding. Blocks whose error
    would exceed the tolerance, and those that are not finite, are kept as they are.

    Parameters
    ----------
    tolerance : float
        The largest error allowed for any value.
    relative : bool
        Measure the tolerance in units of the largest magnitude of the array.
    """

    tolerance: float
    relative: bool = False

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)

    @property
    def name(self) -> str:
        """``"int16"`` and the tolerance."""
        return f"int16 {_shown(self.tolerance, self.relative)}"

    @property
    def lossless(self) -> bool:
        """False."""
        return False

    def encode(self, block: Array, scale: float) -> memoryview | None:
        """Return low, step, then one int16 a value; None if the tolerance cannot be kept."""
        if block.dtype.kind != "f" or block.size == 0:
            return None
        low, high = float(block.min()), float(block.max())
        step = (high - low) / _LEVELS
        tolerance = self.tolerance * (scale if self.relative else 1.0)
        rounding = float(np.finfo(block.dtype).eps) * max(abs(low), abs(high))
        if not np.isfinite(step) or step / 2 + 2 * rounding > tolerance:
            return None
        if max(abs(low), abs(high)) > float(np.finfo(block.dtype).max) / 4:
            return None  # a level times the step could round to infinity
        kind = np.result_type(block.dtype, np.float32)
        if 0 < step < float(np.finfo(kind).tiny):  # its inverse may be infinite: one level does
            if high - low + rounding > tolerance:
                return None
            step = 0.0
        out = bytearray(_SCALE.size + 2 * block.size)
        _SCALE.pack_into(out, 0, low, step)
        levels = np.frombuffer(out, np.uint16, offset=_SCALE.size)
        if step:
            flat = block.reshape(-1)
            work = np.subtract(flat, low, dtype=kind)
            np.multiply(work, 1 / step, out=work)
            np.rint(work, out=work)
            np.copyto(levels, work, casting="unsafe")
        return memoryview(out)

    def decode(self, data: memoryview, out: Array) -> None:
        """Fill ``out`` with low + step * level."""
        low, step = _SCALE.unpack_from(data)
        levels = np.frombuffer(data, np.uint16, offset=_SCALE.size).reshape(out.shape)
        kind = np.result_type(out.dtype, np.float32)
        work = np.multiply(levels, step, dtype=kind)
        np.add(work, low, out=work)
        np.copyto(out, work, casting="same_kind")


@dataclass(frozen=True, slots=True)
class Zfp:
    """zfp in fixed-accuracy mode (needs ``adjourn[zfp]``): 2 to 300 times smaller fields.

    Parameters
    ----------
    tolerance : float
        The largest error allowed for any value.
    relative : bool
        Measure the tolerance in units of the largest magnitude of the array.

    References
    ----------
    .. [1] P. Lindstrom, "Fixed-Rate Compressed Floating-Point Arrays", IEEE TVCG 20 (2014)
       2674-2683, doi 10.1109/TVCG.2014.2346458.
    """

    tolerance: float
    relative: bool = False

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)
        _module("zfpy", "zfp", "zfpy==1.0.1")

    @property
    def name(self) -> str:
        """``"zfp"`` and the tolerance."""
        return f"zfp {_shown(self.tolerance, self.relative)}"

    @property
    def lossless(self) -> bool:
        """False."""
        return False

    def encode(self, block: Array, scale: float) -> bytes | None:
        """Return the stream; None for what zfp does not take or does not make smaller."""
        if block.dtype.str not in ("<f4", "<f8") or block.size == 0:
            return None
        largest = max(abs(float(block.max())), abs(float(block.min())))
        # All zeros have no scale, and need none.
        tolerance = self.tolerance * (scale if self.relative and largest else 1.0)
        # zfp aligns a block of 4 values a side to one exponent: it rounds relative to the largest.
        if not np.isfinite(largest) or 4 * float(np.finfo(block.dtype).eps) * largest > tolerance:
            return None
        if tolerance <= 0:
            return None
        zfpy = _module("zfpy", "zfp", "zfpy==1.0.1")
        # One stream a block: its tolerance travels in front, so that decoding needs no setting.
        stream: bytes = zfpy.compress_numpy(_fold(block), tolerance=tolerance, write_header=True)
        return stream if len(stream) < block.nbytes else None

    def decode(self, data: memoryview, out: Array) -> None:
        """Fill ``out`` from the stream."""
        zfpy = _module("zfpy", "zfp", "zfpy==1.0.1")
        out[...] = zfpy.decompress_numpy(bytes(data)).reshape(out.shape)


@dataclass(frozen=True, slots=True)
class Zstd:
    """Lossless: bytes shuffled by significance, then zstd (needs ``adjourn[zstd]``).

    Parameters
    ----------
    level : int
        -7 (fastest) to 22.
    """

    level: int = 1

    def __post_init__(self) -> None:
        if not _ZSTD_LEVELS[0] <= self.level <= _ZSTD_LEVELS[1]:
            raise BadValue(f"level={self.level} is unknown to zstd. Pass -7 to 22.")
        _module("zstandard", "zstd", "zstandard")

    @property
    def name(self) -> str:
        """``"zstd"`` and the level."""
        return f"zstd {self.level}"

    @property
    def lossless(self) -> bool:
        """True."""
        return True

    def encode(self, block: Array, scale: float) -> bytes | None:  # noqa: ARG002
        """Return the frame; None if it is no smaller."""
        if block.size == 0:
            return None
        zstandard = _module("zstandard", "zstd", "zstandard")
        planes = block.reshape(-1).view(np.uint8).reshape(block.size, block.itemsize).T
        frame: bytes = zstandard.ZstdCompressor(level=self.level).compress(
            np.ascontiguousarray(planes)
        )
        return frame if len(frame) < block.nbytes else None

    def decode(self, data: memoryview, out: Array) -> None:
        """Fill ``out`` from the frame."""
        zstandard = _module("zstandard", "zstd", "zstandard")
        flat: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=out.nbytes)
        planes = np.frombuffer(flat, np.uint8).reshape(out.itemsize, out.size)
        out.reshape(-1).view(np.uint8).reshape(out.size, out.itemsize)[...] = planes.T


def _fold(block: Array) -> Array:
    """Return the block in 1 to 4 dimensions, as zfp takes them."""
    shape = tuple(extent for extent in block.shape if extent > 1) or (1,)
    while len(shape) > 4:
        shape = (shape[0] * shape[1], *shape[2:])
    return block.reshape(shape)


def _check_tolerance(tolerance: float) -> None:
    if not 0 < tolerance < float("inf"):
        raise BadValue(
            f"tolerance={tolerance!r} is no error bound. Pass a positive number, such as 1e-6."
        )


def _shown(tolerance: float, relative: bool) -> str:
    return f"{tolerance:g}{' of the largest' if relative else ''}"


def _module(name: str, extra: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(
            f"the {extra} encoder was asked for; the package {name} is not installed. "
            f'Install it with pip install "adjourn[{extra}]" (or "{package}").'
        ) from None
