"""Any tier with encoded snapshots, each taking the bytes it takes."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from struct import Struct
from typing import Any, cast

import numpy as np

from .._sizes import as_count, format_bytes
from ..errors import BadValue, CorruptSnapshot, TierFull
from ..problem import Array, Clock
from ._contract import ArraySpec, Tier, check_arrays, state_bytes
from ._encoders import Encoder
from ._files import PAGE, round_up, view_of
from ._loss import BLOCK, HEAD_BYTES, Loss, blocks_of, error_of, plain, scale_of
from ._stream import order_of

__all__ = ["Encoded"]

_WORK = 4
"""Times the bytes of a block that encoding and decoding it take."""

_PIECES = 8
_PIECE = (16 << 10, 1 << 20)
_PARTS = 20
"""A snapshot of step n lies under the keys n * 2**20, n * 2**20 + 1, ... of the tier below."""

_SAVE, _COUNT = "adjourn.save", "adjourn.pieces"
_HEAD = Struct("<IB3x")
_ORDERS = (b"C", b"F")
_KEPT, _ENCODED = 0, 1


class Encoded:
    """A tier whose snapshots are encoded and cut into pieces that an inner tier keeps.

    Snapshots take the bytes they take, in pieces of an eighth of what is expected (16 KiB to
    1 MiB): no fragmentation, and where states compress better there is room for more of them.
    Memory: what the inner tier takes, one piece, and four blocks of at most 1 MiB for encoding.

    Parameters
    ----------
    inner : Tier
        Where the pieces go.
    encoder : Encoder
        A lossy one is what its name says; nothing else here loses bits.
    ratio : float
        How many times smaller a snapshot is expected to be; `open` allocates
        ``slots`` / ``ratio`` states.
    measure_every : int
        Measure the error of every so many-th save, and before that of the second, fourth and so
        on; 0 for never. Costs one decoding each.

    Raises
    ------
    TierFull
        At `save`, if the encodings are larger than ``ratio`` promised; what is held stays.
    """

    def __init__(
        self, inner: Tier, encoder: Encoder, *, ratio: float = 1.0, measure_every: int = 8
    ) -> None:
        if not 0 < ratio < float("inf"):
            raise BadValue(f"ratio={ratio!r} is no ratio. Pass what `measure_encoder` found.")
        self._inner = inner
        self._encoder = encoder
        self._ratio = ratio
        self._every = 0 if encoder.lossless else measure_every
        self._held: dict[int, int] = {}  # step -> pieces
        self._free = 0
        self._saves = 0
        self._mark = int.from_bytes(os.urandom(6), "little")  # tells saves of two runs apart
        self._specs: tuple[ArraySpec, ...] = ()
        self._piece: Array = np.empty(0, np.uint8)
        self._last = Loss()
        self.loss = Loss()

    def __repr__(self) -> str:
        return f"<Encoded {self._encoder.name} on {self._inner!r}>"

    @property
    def name(self) -> str:
        """The inner tier's name and the encoder's."""
        return f"{self._inner.name} ({self._encoder.name})"

    @property
    def nbytes(self) -> int:
        """Bytes of main memory allocated."""
        scratch = _scratch_bytes(self._specs) if len(self._piece) else 0
        return self._inner.nbytes + self._piece.nbytes + scratch

    @staticmethod
    def pieces_for(specs: Sequence[ArraySpec], ratio: float) -> tuple[ArraySpec, int]:
        """Return what a piece is to the inner tier, and how many one snapshot takes."""
        size, count = _pieces_for(specs, 1, ratio)
        return ArraySpec((size,), np.dtype(np.uint8)), count

    @staticmethod
    def bytes_for(specs: Sequence[ArraySpec], ratio: float) -> int:
        """Return the bytes of one snapshot in the inner tier, in whole pieces."""
        size, count = _pieces_for(specs, 1, ratio)
        return size * count

    @staticmethod
    def memory_for(specs: Sequence[ArraySpec], ratio: float) -> int:
        """Return the bytes of main memory beside the inner tier's."""
        return _pieces_for(specs, 1, ratio)[0] + _scratch_bytes(specs)

    @property
    def inner(self) -> Tier:
        """The tier that keeps the pieces."""
        return self._inner

    def room_beside(self, kept: Collection[int]) -> int:
        """Return how many snapshots such as the last fit beside those of the steps ``kept``."""
        whole = state_bytes(self._specs)
        ratio = self._last.ratio if self._last.encoded else self._ratio
        each = -(-int(whole / ratio + 1) // max(len(self._piece), 1))
        free = self._free + sum(n for step, n in self._held.items() if step not in kept)
        return free // max(each, 1)

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Allocate room for ``slots`` snapshots at the expected ratio."""
        as_count(slots, "slots")
        self.close()
        inner, count = self.inner_specs(specs, slots)
        self._inner.open(inner, count)
        self._lay_out(specs, slots)

    def inner_specs(
        self, specs: Sequence[ArraySpec], slots: int
    ) -> tuple[tuple[ArraySpec, ...], int]:
        """Return what the inner tier is opened with: one piece, and the number of pieces."""
        piece, count = self.pieces_for(specs, self._ratio)
        return (piece,), slots * count

    def attach(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Go on with an inner tier that is open and may hold pieces; drop incomplete ones.

        The inner tier has ``peek(key)``, as `DiskPool` does.
        """
        self._lay_out(specs, slots)
        keys = sorted(self._inner.held())
        peek = cast("Any", self._inner).peek
        for step in sorted({key >> _PARTS for key in keys}):
            parts = [key for key in keys if key >> _PARTS == step]
            marks = [dict(peek(key)) for key in parts]
            whole = parts == list(range(step << _PARTS, (step << _PARTS) + len(parts)))
            same = len({mark.get(_SAVE) for mark in marks}) == 1
            if whole and same and marks[-1].get(_COUNT) == len(parts):
                self._held[step] = len(parts)
                self._free -= len(parts)
            else:
                for key in parts:
                    self._inner.drop(key)

    def _lay_out(self, specs: Sequence[ArraySpec], slots: int) -> None:
        self._specs = tuple(specs)
        size, count = _pieces_for(specs, slots, self._ratio)
        self._piece = np.zeros(size, np.uint8)
        self._free = count

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Encode the state at ``step``.

        Raises
        ------
        TierFull
            It does not fit; nothing changed.
        BadValue
            The step is held, or the arrays differ from those of `open`.
        """
        check_arrays(arrays, self._specs)
        if step in self._held:
            raise BadValue(f"step {step} is held already. Drop it before saving it again.")
        self._saves += 1
        early = self._saves < self._every and self._saves & (self._saves - 1) == 0
        measured = self._every and (early or self._saves % self._every == 1 % self._every)
        mark = self._mark + self._saves
        writer = _PieceWriter(
            self._inner, self._piece, step << _PARTS, free=self._free, clock=clock, mark=mark
        )
        try:
            loss = Loss()
            for array in arrays:
                loss += self._encode(writer, array, measured=bool(measured))
            writer.finish()
        except BaseException:
            writer.undo()
            raise
        self._held[step] = writer.count
        self._free -= writer.count
        self._last = loss
        self.loss += loss

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Decode the snapshot of ``step`` into the arrays; it stays held.

        Raises
        ------
        CorruptSnapshot
            The pieces do not decode.
        KeyError
            The step is not held.
        """
        if step not in self._held:
            raise KeyError(f"step {step} is not held; held are {sorted(self._held)}")
        check_arrays(arrays, self._specs)
        reader = _PieceReader(self._inner, self._piece, step << _PARTS, self._held[step])
        for array in arrays:
            order = bytes(reader.take(1))
            if order not in _ORDERS:
                raise CorruptSnapshot(f"{self.name}: step {step} does not decode.", step)
            base = np.asarray(array)
            for block in blocks_of(base.T if order == b"F" else base):
                length, kind = _HEAD.unpack(reader.take(HEAD_BYTES))
                into = block if block.flags.c_contiguous else np.empty(block.shape, block.dtype)
                data = reader.take(length)
                try:
                    self._decode(kind, data, into)
                except Exception as error:
                    raise CorruptSnapshot(
                        f"{self.name}: step {step} does not decode: {error}.", step
                    ) from error
                if into is not block:
                    np.copyto(block, into)
        return reader.clock

    def drop(self, step: int) -> None:
        """Free the pieces of ``step``."""
        if step not in self._held:
            raise KeyError(f"step {step} is not held; held are {sorted(self._held)}")
        count = self._held.pop(step)
        for part in range(count):
            self._inner.drop((step << _PARTS) + part)
        self._free += count

    def held(self) -> Sequence[int]:
        """Return the steps held, in no particular order."""
        return tuple(self._held)

    def close(self) -> None:
        """Release everything."""
        self._inner.close()
        self._held = {}
        self._free = 0
        self._piece = np.empty(0, np.uint8)

    def _encode(self, writer: _PieceWriter, array: Array, *, measured: bool) -> Loss:
        loss = Loss()
        scale = scale_of(self._encoder, array)
        writer.put(memoryview(order_of(array).encode()))
        for part in blocks_of(plain(array)):
            block = np.ascontiguousarray(part)
            data = self._encoder.encode(block, scale)
            kept = data is None
            body = view_of(block.reshape(-1).view(np.uint8)) if data is None else memoryview(data)
            writer.put(memoryview(_HEAD.pack(len(body), _KEPT if kept else _ENCODED)))
            writer.put(body)
            if measured and data is not None:
                loss += error_of(self._encoder, block, memoryview(data))
            loss += Loss(raw=block.nbytes, encoded=len(body) + HEAD_BYTES, kept=int(kept))
        return loss

    def _decode(self, kind: int, data: memoryview, out: Array) -> None:
        if kind == _ENCODED:
            self._encoder.decode(data, out)
        elif kind == _KEPT and len(data) == out.nbytes:
            if out.nbytes:
                out.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
        else:
            raise ValueError(f"a block of kind {kind} with {len(data)} bytes")


class _PieceWriter:
    """Cuts bytes into pieces of one size."""

    def __init__(
        self, inner: Tier, piece: Array, key: int, *, free: int, clock: Clock, mark: int
    ) -> None:
        self._inner = inner
        self._piece = piece
        self._view = view_of(piece)
        self._key = key
        self._free = free
        self._clock = clock
        self._mark = mark
        self._fill = 0
        self.count = 0

    def put(self, data: memoryview) -> None:
        """Take bytes."""
        if data.nbytes == 0:
            return
        flat = data.cast("B")
        done = 0
        while done < len(flat):
            if self._fill == len(self._view):
                self._flush()
            count = min(len(flat) - done, len(self._view) - self._fill)
            self._view[self._fill : self._fill + count] = flat[done : done + count]
            self._fill += count
            done += count

    def finish(self) -> None:
        """Write the last piece; there is at least one."""
        self._view[self._fill :] = bytes(len(self._view) - self._fill)
        self._flush(last=True)

    def undo(self) -> None:
        """Drop what was written."""
        for part in range(self.count):
            self._inner.drop(self._key + part)

    def _flush(self, *, last: bool = False) -> None:
        if self.count >= self._free:
            raise TierFull(
                f"the snapshot of step {self._key >> _PARTS} takes more than the "
                f"{format_bytes(self._free * len(self._view))} that are free: it compresses less "
                "well than planned. Plan with a smaller ratio=, or a larger budget."
            )
        clock = {**({} if self.count else self._clock), _SAVE: self._mark}
        if last:
            clock[_COUNT] = self.count + 1
        self._inner.save(self._key + self.count, [self._piece], clock)
        self.count += 1
        self._fill = 0


class _PieceReader:
    """Joins pieces again."""

    def __init__(self, inner: Tier, piece: Array, key: int, count: int) -> None:
        self._inner = inner
        self._piece = piece
        self._view = view_of(piece)
        self._key = key
        self._count = count
        self._next = 0
        self._low = len(self._view)
        self.clock: Clock = {}
        self._refill()

    def take(self, length: int) -> memoryview:
        """Return the next bytes; a view of the piece where they lie in one."""
        if self._low == len(self._view) and length:
            self._refill()
        if length <= len(self._view) - self._low:
            self._low += length
            return self._view[self._low - length : self._low]
        out = memoryview(bytearray(length))
        done = 0
        while done < length:
            if self._low == len(self._view):
                self._refill()
            count = min(length - done, len(self._view) - self._low)
            out[done : done + count] = self._view[self._low : self._low + count]
            self._low += count
            done += count
        return out

    def _refill(self) -> None:
        if self._next == self._count:
            step = self._key >> _PARTS
            raise CorruptSnapshot(f"{self._inner.name}: step {step} ends too early.", step)
        clock = self._inner.load(self._key + self._next, [self._piece])
        if self._next == 0:
            self.clock = {k: v for k, v in clock.items() if k not in (_SAVE, _COUNT)}
        self._next += 1
        self._low = 0


def _pieces_for(specs: Sequence[ArraySpec], slots: int, ratio: float) -> tuple[int, int]:
    """Return the bytes of a piece and how many hold ``slots`` snapshots."""
    whole = state_bytes(specs)
    size = min(max(round_up(int(whole / ratio / _PIECES)), _PIECE[0]), _PIECE[1])
    size = min(size, max(round_up(int(whole / ratio) + 64), PAGE))
    heads = HEAD_BYTES * sum(2 + -(-spec.nbytes // (BLOCK // 2)) for spec in specs)
    return size, slots * max(-(-int(whole / ratio + heads + 1) // size), 1)


def _scratch_bytes(specs: Sequence[ArraySpec]) -> int:
    """Return the bytes for one block, its encoding, and what encoders take for them."""
    return _WORK * max((min(spec.nbytes, BLOCK) for spec in specs), default=0)
