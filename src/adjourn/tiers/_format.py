"""The on-disk format of a slot pool, version 1: what is packed, and how it is parsed again.

A pool is one page that says how the file is laid out, then slots of equal size. A slot is a
header of whole pages, then the arrays of one state packed without gaps. Everything is
little-endian. Each header ends with the xxh3-128 of all its bytes before; the slot header holds
the xxh3-128 of the payload. A parser here meets arbitrary bytes: it returns a value or raises
`HeaderError`, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from struct import Struct, error
from typing import Any

import numpy as np
from xxhash import xxh3_128_digest

from ..errors import BadValue, WrongType
from ._contract import ArraySpec
from ._files import PAGE, round_up

__all__ = [
    "VERSION",
    "HeaderError",
    "PoolHeader",
    "SlotHeader",
    "StoredArray",
    "header_room",
    "pack_pool",
    "pack_slot",
    "parse_own",
    "parse_pool",
    "parse_slot",
    "storable",
]

VERSION = 1
DIGEST = 16
_CLOCK_ROOM = 1024
_POOL = Struct("<8sII16sQQ")
_SLOT = Struct("<8sII16sQQQQ16sII")
_POOL_MAGIC = b"adjrnpl\x00"
_SLOT_MAGIC = b"adjrnsl\x00"
_FLOAT = Struct("<d")
_DTYPE = re.compile(r"[<>|][biufcV][0-9]{1,3}|[<>][mM]8\[[0-9]*[a-zA-Z]+\]")


class HeaderError(ValueError):
    """The bytes are no header of this format, or are damaged; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class PoolHeader:
    """The first page of a pool: run, pages of a slot header, bytes of a slot's payload."""

    run: bytes
    header_bytes: int
    payload_bytes: int

    @property
    def slot_bytes(self) -> int:
        """Bytes from one slot to the next."""
        return self.header_bytes + round_up(self.payload_bytes)


@dataclass(frozen=True, slots=True)
class StoredArray:
    """One array of a payload: NumPy's text for its dtype, its shape, its order ``C`` or ``F``."""

    dtype: str
    shape: tuple[int, ...]
    order: str

    @property
    def nbytes(self) -> int:
        """Bytes in the payload."""
        return np.dtype(self.dtype).itemsize * prod(self.shape)


@dataclass(frozen=True, slots=True)
class SlotHeader:
    """What one slot says of itself; ``sequence`` counts the writes of a pool."""

    run: bytes
    slot: int
    step: int
    sequence: int
    arrays: tuple[StoredArray, ...]
    clock: dict[str, float | int]
    payload_bytes: int
    payload_digest: bytes


def storable(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this dtype can be written and read back."""
    return dtype.names is None and _DTYPE.fullmatch(dtype.str) is not None


def header_room(specs: Sequence[ArraySpec]) -> int:
    """Return the bytes of a slot header for such arrays, in whole pages."""
    arrays = sum(3 + len(spec.dtype.str) + 8 * len(spec.shape) for spec in specs)
    return round_up(_SLOT.size + arrays + _CLOCK_ROOM + DIGEST)


def pack_pool(header: PoolHeader) -> bytes:
    """Return the first page of a pool."""
    body = _POOL.pack(
        _POOL_MAGIC, VERSION, PAGE, header.run, header.header_bytes, header.payload_bytes
    )
    return seal(body, PAGE)


def parse_pool(data: bytes | memoryview) -> PoolHeader:
    """Return what `pack_pool` packed.

    Raises
    ------
    HeaderError
        Anything else.
    """
    if len(data) < PAGE:
        raise HeaderError(f"the file ends after {len(data)} bytes, inside its first page")
    view = _opened(data[:PAGE], _POOL_MAGIC, "an adjourn pool")
    _, _, page, run, header_bytes, payload_bytes = _POOL.unpack_from(view)
    if page != PAGE or header_bytes % PAGE or not 0 < header_bytes <= 2**32:
        raise HeaderError(f"a page of {page} bytes and slot headers of {header_bytes} are unknown")
    if payload_bytes >= 2**62:
        raise HeaderError(f"a payload of {payload_bytes} bytes is impossible")
    return PoolHeader(run, header_bytes, payload_bytes)


def pack_slot(header: SlotHeader, room: int) -> bytes:
    """Return a slot header of ``room`` bytes.

    Raises
    ------
    BadValue
        The clock holds more than fits.
    WrongType
        The clock holds something else than numbers under names.
    """
    parts = [
        _SLOT.pack(
            _SLOT_MAGIC,
            VERSION,
            room,
            header.run,
            header.slot,
            header.step,
            header.sequence,
            header.payload_bytes,
            header.payload_digest,
            len(header.arrays),
            len(header.clock),
        )
    ]
    for array in header.arrays:
        name = array.dtype.encode()
        parts.append(bytes((len(name),)) + name + array.order.encode())
        parts.append(bytes((len(array.shape),)))
        parts.append(b"".join(extent.to_bytes(8, "little") for extent in array.shape))
    parts.extend(_pack_scalar(name, value) for name, value in header.clock.items())
    body = b"".join(parts)
    if len(body) + DIGEST > room:
        raise BadValue(
            f"the clock of step {header.step} takes more than {_CLOCK_ROOM} bytes. "
            "Return fewer scalars from clock(step); arrays belong in state(step)."
        )
    return seal(body, room)


def parse_slot(data: bytes | memoryview) -> SlotHeader:
    """Return what `pack_slot` packed; ``data`` holds the whole header.

    Raises
    ------
    HeaderError
        Anything else.
    """
    view = _opened(data, _SLOT_MAGIC, "a slot of an adjourn pool")
    try:
        fields = _SLOT.unpack_from(view)
        _, _, room, run, slot, step, sequence, payload_bytes, digest, count, scalars = fields
        if room != len(view):
            raise HeaderError(f"its length says {room} bytes, not {len(view)}")
        reader = _Cursor(view[: len(view) - DIGEST], _SLOT.size)
        arrays = tuple(_array(reader) for _ in range(count))
        clock = dict(_scalar(reader) for _ in range(scalars))
    except (error, UnicodeDecodeError, TypeError, ValueError, OverflowError) as cause:
        raise HeaderError(f"its fields do not parse: {cause}") from None
    if sum(array.nbytes for array in arrays) != payload_bytes or len(clock) != scalars:
        raise HeaderError("its shapes and lengths contradict each other")
    return SlotHeader(run, slot, step, sequence, arrays, clock, payload_bytes, digest)


def parse_own(
    data: bytes | memoryview, run: bytes, slot: int, specs: Sequence[ArraySpec]
) -> SlotHeader:
    """Return the header of a slot that must be of this run, place and state.

    Raises
    ------
    HeaderError
        It is damaged, or of another.
    """
    header = parse_slot(data)
    if header.run != run:
        raise HeaderError(f"it belongs to another run, {header.run.hex()}")
    if header.slot != slot:
        raise HeaderError(f"it was written to slot {header.slot}")
    if [(a.dtype, a.shape) for a in header.arrays] != [(s.dtype.str, s.shape) for s in specs]:
        raise HeaderError("it holds arrays of other shapes or dtypes")
    return header


def seal(body: bytes, room: int) -> bytes:
    """Return ``body`` padded to ``room`` bytes, the last 16 being the digest of the others."""
    padded = body.ljust(room - DIGEST, b"\x00")
    return padded + xxh3_128_digest(padded)


def _opened(data: bytes | memoryview, magic: bytes, what: str) -> memoryview:
    view = memoryview(data)
    if len(view) < PAGE or bytes(view[:8]) != magic:
        raise HeaderError(f"this is not {what}")
    if xxh3_128_digest(view[: len(view) - DIGEST]) != bytes(view[len(view) - DIGEST :]):
        raise HeaderError("its checksum differs from its bytes")
    version = int.from_bytes(view[8:12], "little")
    if version != VERSION:
        raise HeaderError(f"its format is version {version}; this adjourn reads version {VERSION}")
    return view


class _Cursor:
    """Bytes taken one field after the other; past the end is an error."""

    def __init__(self, view: memoryview, at: int) -> None:
        self._view = view
        self._at = at

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        end = self._at + length
        if end > len(self._view):
            raise ValueError("a field runs past the end")
        self._at, start = end, self._at
        return bytes(self._view[start:end])

    def number(self, length: int) -> int:
        """Return the next unsigned integer."""
        return int.from_bytes(self.take(length), "little")


def _array(reader: _Cursor) -> StoredArray:
    dtype = reader.take(reader.number(1)).decode("ascii")
    order = reader.take(1).decode("ascii")
    if not _DTYPE.fullmatch(dtype) or order not in ("C", "F"):
        raise ValueError(f"an array of {dtype!r} in order {order!r}")
    return StoredArray(dtype, tuple(reader.number(8) for _ in range(reader.number(1))), order)


def _pack_scalar(name: object, value: Any) -> bytes:
    """Return a clock entry: an integer of any size in decimal, a float in its 8 bytes."""
    if not isinstance(name, str):
        raise WrongType(f"the clock has the name {name!r}. Name its scalars with texts.")
    key = name.encode()
    if hasattr(value, "item"):  # NumPy's scalars
        value = value.item()
    if isinstance(value, int):
        kind, body = b"i", str(int(value)).encode()
    elif isinstance(value, float):
        kind, body = b"f", _FLOAT.pack(float(value))
    else:
        raise WrongType(
            f"the clock entry {name!r} is of type {type(value).__name__}. "
            "Return ints and floats from clock(step); arrays belong in state(step)."
        )
    return b"".join(
        (len(key).to_bytes(2, "little"), key, kind, len(body).to_bytes(2, "little"), body)
    )


def _scalar(reader: _Cursor) -> tuple[str, float | int]:
    name = reader.take(reader.number(2)).decode()
    kind = reader.take(1)
    body = reader.take(reader.number(2))
    if kind == b"i":
        return name, int(body.decode("ascii"))
    if kind == b"f":
        return name, _FLOAT.unpack(body)[0]
    raise ValueError(f"a scalar of kind {kind!r}")
