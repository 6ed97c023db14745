"""Arrays as one stream of bytes to and from a slot, checksummed on the way.

Large contiguous arrays go straight between their own memory and the page cache; everything else,
and everything under direct transfer, passes through one staging buffer. The checksum is taken
chunk by chunk while the bytes are still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xxhash import xxh3_128

from ..problem import Array
from ._files import PAGE, Files, read_all, round_up, view_of, write_all

__all__ = [
    "BOUNCE",
    "CHUNK",
    "SMALL",
    "Sink",
    "Source",
    "TornError",
    "order_of",
    "read_arrays",
    "write_arrays",
]

CHUNK = 4 << 20
"""Bytes of the staging buffer, and of one direct transfer."""

_SLICE = 2 << 20
"""Bytes of one buffered transfer, little enough to be hashed from the cache."""

SMALL = 256 << 10
"""Pieces below are gathered in the staging buffer, so that small arrays share a call."""

BOUNCE = 256 << 10
"""Bytes through which arrays with gaps are gathered and scattered."""


class TornError(Exception):
    """The file ends before the slot does."""

    def __init__(self) -> None:
        super().__init__("the file ends inside it")


def order_of(array: Array) -> str:
    """Return ``"F"`` for arrays whose first index runs fastest, ``"C"`` for all others."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def write_arrays(sink: Sink, arrays: Sequence[Array], orders: str, bounce: Array) -> None:
    """Send the arrays, packed without gaps."""
    for array, order in zip(arrays, orders, strict=True):
        plain = np.asarray(array)  # subclasses may index in ways of their own
        for block in _blocks(plain.T if order == "F" else plain, len(bounce)):
            if block.flags.c_contiguous:
                sink.put(_bytes(block))
            else:
                packed = bounce[: block.nbytes]
                np.copyto(packed.view(block.dtype).reshape(block.shape), block)
                sink.put(view_of(packed))


def read_arrays(source: Source, arrays: Sequence[Array], orders: str, bounce: Array) -> None:
    """Fill the arrays from what `write_arrays` sent."""
    for array, order in zip(arrays, orders, strict=True):
        plain = np.asarray(array)  # subclasses may index in ways of their own
        for block in _blocks(plain.T if order == "F" else plain, len(bounce)):
            if block.flags.c_contiguous:
                source.take(_bytes(block))
            else:
                packed = bounce[: block.nbytes]
                source.take(view_of(packed))
                np.copyto(block, packed.view(block.dtype).reshape(block.shape))


class Sink:
    """Bytes on their way into one slot, whose header is written last.

    Parameters
    ----------
    files, fd, offset
        Where the slot begins.
    staging : ndarray of uint8
        Page-aligned; longer than ``head``.
    head : int
        Bytes of the slot's header, which `finish` fills.
    direct : bool
        Memory, offsets and lengths must be multiples of a page.
    """

    def __init__(
        self, files: Files, fd: int, offset: int, staging: Array, *, head: int, direct: bool
    ) -> None:
        self._files = files
        self._fd = fd
        self._base = offset
        self._at = offset + head  # where the staged bytes go
        self._head = head
        self._low = head  # staged are staging[low:high]
        self._high = head
        self._room = len(staging)
        self._staging = view_of(staging)
        self._direct = direct
        self._hash = xxh3_128()
        self._flushed = False

    def put(self, view: memoryview) -> None:
        """Take bytes; the caller may overwrite them at once."""
        length = len(view)
        done = 0
        if length >= SMALL and (not self._direct or self._can_skip(view)):
            self._flush()
            done = length // PAGE * PAGE if self._direct else length
            step = CHUNK if self._direct else _SLICE
            for start in range(0, done, step):
                part = view[start : min(start + step, done)]
                write_all(self._files, self._fd, part, self._at)
                self._hash.update(part)
                self._at += len(part)
        while done < length:
            count = min(self._room - self._high, length - done)
            self._staging[self._high : self._high + count] = view[done : done + count]
            self._high += count
            done += count
            if self._high == self._room:
                self._flush()

    def digest(self) -> bytes:
        """Return the checksum of all bytes taken; nothing may follow but `finish`."""
        self._hash.update(self._staging[self._low : self._high])
        return self._hash.digest()

    def finish(self, header: bytes) -> None:
        """Write what is staged, then the header; in one call where they are neighbours."""
        end = round_up(self._high) if self._direct else self._high
        if end > self._high:
            self._staging[self._high : end] = bytes(end - self._high)
        if self._flushed:
            if end > self._low:
                write_all(self._files, self._fd, self._staging[self._low : end], self._at)
            self._staging[: self._head] = header
            write_all(self._files, self._fd, self._staging[: self._head], self._base)
        else:
            self._staging[: self._head] = header
            write_all(self._files, self._fd, self._staging[:end], self._base)

    def _can_skip(self, view: memoryview) -> bool:
        """Return whether direct transfer can read the caller's own memory."""
        staged = self._high - self._low
        return staged % PAGE == 0 and _address(view) % PAGE == 0

    def _flush(self) -> None:
        if self._high > self._low:
            part = self._staging[self._low : self._high]
            self._hash.update(part)
            write_all(self._files, self._fd, part, self._at)
            self._at += len(part)
        # The header's place in the staging buffer is free once it cannot go in the same call.
        self._flushed = True
        self._low = self._high = 0


class Source:
    """Bytes on their way out of one slot.

    The constructor reads the header and, where it costs no further call, what follows it.
    """

    def __init__(
        self,
        files: Files,
        fd: int,
        offset: int,
        staging: Array,
        *,
        head: int,
        payload: int,
        direct: bool,
    ) -> None:
        self._files = files
        self._fd = fd
        self._staging = view_of(staging)
        self._direct = direct
        self._hash = xxh3_128()
        self._at = offset + head
        self._left = payload  # bytes not yet read from the file
        self._low = self._high = 0
        first = head + min(payload, len(staging) - head)
        if not direct and payload >= SMALL:
            first = head
        self._fill(offset, first)
        self.header = bytes(self._staging[:head])
        self._low, self._high = head, first
        self._hash.update(self._staging[head:first])
        self._at += first - head
        self._left -= first - head

    def take(self, view: memoryview) -> None:
        """Fill ``view`` with the next bytes.

        Raises
        ------
        TornError
            The file ends first.
        """
        length = len(view)
        done = self._from_staging(view, 0)
        rest = length - done
        if rest >= SMALL and (not self._direct or _address(view[done:]) % PAGE == 0):
            end = done + (rest // PAGE * PAGE if self._direct else rest)
            step = CHUNK if self._direct else _SLICE
            while done < end:
                part = view[done : min(done + step, end)]
                if read_all(self._files, self._fd, part, self._at) < len(part):
                    raise TornError
                self._hash.update(part)
                self._at += len(part)
                self._left -= len(part)
                done += len(part)
        while done < length:
            self._refill()
            done = self._from_staging(view, done)

    def skim(self) -> None:
        """Read all that is left, for the checksum alone."""
        self._low = self._high
        while self._left:
            self._refill()
            self._low = self._high

    def digest(self) -> bytes:
        """Return the checksum of all bytes that came."""
        return self._hash.digest()

    def _from_staging(self, view: memoryview, done: int) -> int:
        count = min(self._high - self._low, len(view) - done)
        if count > 0:
            view[done : done + count] = self._staging[self._low : self._low + count]
            self._low += count
        return done + count

    def _refill(self) -> None:
        count = min(self._left, len(self._staging))
        if count == 0:
            raise TornError
        self._fill(self._at, count)
        self._hash.update(self._staging[:count])
        self._low, self._high = 0, count
        self._at += count
        self._left -= count

    def _fill(self, offset: int, count: int) -> None:
        wanted = round_up(count) if self._direct else count
        if read_all(self._files, self._fd, self._staging[:wanted], offset) < count:
            raise TornError


def _bytes(array: Array) -> memoryview:
    return view_of(array.reshape(-1).view(np.uint8))


def _address(view: memoryview) -> int:
    return np.frombuffer(view, dtype=np.uint8).ctypes.data


def _blocks(array: Array, limit: int) -> Iterator[Array]:
    """Yield contiguous parts of any size and others of at most ``limit`` bytes, in C order."""
    if array.flags.c_contiguous or array.nbytes <= limit:
        if array.size:
            yield array
        return
    row = array[0].nbytes
    if row > limit:
        for part in array:
            yield from _blocks(part, limit)
    else:
        rows = max(1, limit // row)
        for start in range(0, len(array), rows):
            yield array[start : start + rows]
