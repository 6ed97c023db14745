"""Arrays as one stream of bytes to and from a slot, checksummed on the way.

Large contiguous arrays go straight between their own memory and the page cache, or the device if
they lie on pages; everything else passes through a staging buffer. The checksum is taken part by
part while the bytes are still in the processor's cache. Large direct transfers are made by a
thread, in halves of the staging buffer, while the processor copies and sums the other half.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from xxhash import xxh3_128

from ..problem import Array
from ._ahead import Ahead
from ._files import PAGE, Files, read_all, round_up, view_of, write_all

__all__ = [
    "BOUNCE",
    "CHUNK",
    "SMALL",
    "Place",
    "Sink",
    "Source",
    "TornError",
    "order_of",
    "read_arrays",
    "write_arrays",
]

CHUNK = 4 << 20
"""Bytes of the staging buffer, and of one direct transfer of memory that lies on pages."""

PART = 512 << 10
"""Bytes that are copied, or transferred by the page cache, and then summed from the cache."""

_LONG = 2 * CHUNK
"""Bytes of a state from which on direct transfers are made by a thread."""

SMALL = 64 << 10
"""Pieces below are gathered in the staging buffer, so that small arrays share a call."""

BOUNCE = 64 << 10
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slot begins, the bytes of its header and payload, and how it is transferred.

    With ``direct`` memory, offsets and lengths must be multiples of a page.
    """

    offset: int
    head: int
    payload: int
    direct: bool

    def ahead(self) -> Ahead:
        """Return who makes the transfers."""
        return Ahead(threaded=self.direct and self.payload >= _LONG)


class Sink:
    """Bytes on their way into one slot, whose header is written last.

    A context: at its end no transfer is under way.

    Parameters
    ----------
    files, fd, place
        Where the slot is.
    staging : ndarray of uint8
        Page-aligned; longer than the header.
    """

    def __init__(self, files: Files, fd: int, place: Place, staging: Array) -> None:
        self._files = files
        self._fd = fd
        self._place = place
        self._direct = place.direct
        self._at = place.offset + place.head  # where the staged bytes go
        self._low = self._high = place.head  # staged are half[low:high]
        self._ahead = place.ahead()
        self._halves = _halves(staging, self._ahead)
        self._half = self._halves[0]
        self._hash = xxh3_128()
        self._flushed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ahead.close()

    def put(self, view: memoryview) -> None:
        """Take bytes; the caller may overwrite them at once."""
        length = len(view)
        done = 0
        if length >= SMALL and not self._direct:
            self._flush()
            for done in range(0, length, PART):
                part = view[done : done + PART]
                write_all(self._files, self._fd, part, self._at)
                self._hash.update(part)
                self._at += len(part)
            done = length
        elif length >= SMALL and self._can_skip(view):
            self._flush()
            end = length // PAGE * PAGE
            for done in range(0, end, CHUNK):
                part = view[done : min(done + CHUNK, end)]
                self._write(part)
                self._hash.update(part)
                self._ahead.wait(1)
            self._ahead.wait()
            done = end
        while done < length:
            count = min(len(self._half) - self._high, length - done, PART)
            part = view[done : done + count]
            self._half[self._high : self._high + count] = part
            self._hash.update(part)
            self._high += count
            done += count
            if self._high == len(self._half):
                self._flush()

    def digest(self) -> bytes:
        """Return the checksum of all bytes taken."""
        return self._hash.digest()

    def finish(self, header: bytes) -> None:
        """Write what is staged, then the header; in one call where they are neighbours."""
        end = round_up(self._high) if self._direct else self._high
        if end > self._high:
            self._half[self._high : end] = bytes(end - self._high)
        head, start = self._place.head, self._place.offset
        if self._flushed:
            if end > self._low:
                self._write(self._half[self._low : end])
            self._ahead.wait()  # the header vouches for all of it
            end = head
        self._half[:head] = header
        write_all(self._files, self._fd, self._half[:end], start)

    def _can_skip(self, view: memoryview) -> bool:
        """Return whether direct transfer can read the caller's own memory."""
        staged = self._high - self._low
        return staged % PAGE == 0 and _address(view) % PAGE == 0

    def _flush(self) -> None:
        if self._high > self._low:
            self._write(self._half[self._low : self._high])
        # The header's place in the staging buffer is free once it cannot go in the same call.
        self._flushed = True
        self._low = self._high = 0
        self._halves.reverse()
        self._half = self._halves[0]
        self._ahead.wait(len(self._halves) - 1)  # what this half held before is written

    def _write(self, part: memoryview) -> None:
        self._ahead.ask(partial(write_all, self._files, self._fd, part, self._at))
        self._at += len(part)


class Source:
    """Bytes on their way out of one slot.

    A context, as `Sink` is. The constructor reads the header and, where it costs no further
    call, what follows it.

    Parameters
    ----------
    files, fd, place, staging
        As for `Sink`.
    """

    def __init__(self, files: Files, fd: int, place: Place, staging: Array) -> None:
        self._files = files
        self._fd = fd
        self._direct = place.direct
        self._ahead = place.ahead()
        self._halves = _halves(staging, self._ahead)
        self._hash = xxh3_128()
        self._half = self._halves[0]
        head, payload = place.head, place.payload
        more = min(payload, len(self._half) - head)
        if not self._direct and payload >= SMALL:
            more = 0
        self._fill(self._half, place.offset, head + more)
        self.header = bytes(self._half[:head])
        self._low, self._high = head, head + more  # staged are half[low:high]
        self._at = place.offset + head + more
        self._left = payload - more  # bytes not yet asked for

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ahead.close()

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
        if rest >= SMALL and not self._direct:
            for start in range(done, length, PART):
                part = view[start : start + PART]
                self._fill(part, self._at, len(part))
                self._hash.update(part)
                self._at += len(part)
            self._left -= rest
            done = length
        elif rest >= SMALL and _address(view[done:]) % PAGE == 0:
            end = done + rest // PAGE * PAGE
            parts = (view[start : min(start + CHUNK, end)] for start in range(done, end, CHUNK))
            for part, _ in self._read((part, len(part)) for part in parts):
                self._hash.update(part)
            done = end
        for half, count in self._read(self._pieces(length - done)):
            self._half, self._low, self._high = half, 0, count
            done = self._from_staging(view, done)

    def skim(self) -> None:
        """Read all that is left, for the checksum alone."""
        self._hash.update(self._half[self._low : self._high])
        self._low = self._high
        for half, count in self._read(self._pieces(self._left)):
            self._hash.update(half[:count])

    def digest(self) -> bytes:
        """Return the checksum of all bytes that came."""
        return self._hash.digest()

    def _from_staging(self, view: memoryview, done: int) -> int:
        while (count := min(self._high - self._low, len(view) - done, PART)) > 0:
            part = self._half[self._low : self._low + count]
            view[done : done + count] = part
            self._hash.update(part)
            self._low += count
            done += count
        return done

    def _pieces(self, wanted: int) -> Iterator[tuple[memoryview, int]]:
        """Yield where so many bytes are to be staged, and how many at a time."""
        while wanted > 0:
            self._halves.reverse()
            half = self._halves[0]
            count = min(self._left, len(half))
            if count == 0:
                raise TornError
            yield half, count
            wanted -= count

    def _read(self, places: Iterable[tuple[memoryview, int]]) -> Iterator[tuple[memoryview, int]]:
        """Yield each place once its bytes are there; the next is asked for before that."""
        ahead = int(self._ahead.threaded)
        asked: deque[tuple[memoryview, int]] = deque()
        for place, count in places:
            self._ahead.ask(partial(self._fill, place, self._at, count))
            self._at += count
            self._left -= count
            asked.append((place, count))
            if len(asked) > ahead:
                self._ahead.wait(ahead)
                yield asked.popleft()
        while asked:
            self._ahead.wait(len(asked) - 1)
            yield asked.popleft()

    def _fill(self, place: memoryview, offset: int, count: int) -> None:
        wanted = round_up(count) if self._direct else count
        if read_all(self._files, self._fd, place[:wanted], offset) < count:
            raise TornError


def _halves(staging: Array, ahead: Ahead) -> list[memoryview]:
    """Return the buffers to use in turn."""
    view = view_of(staging)
    if not ahead.threaded:
        return [view]
    half = len(view) // (2 * PAGE) * PAGE
    return [view[:half], view[half : 2 * half]]


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
