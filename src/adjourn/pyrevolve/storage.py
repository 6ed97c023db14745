"""Places for checkpoints, with pyrevolve's names: memory, disk, compressed memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._sizes import as_count, format_bytes
from ..errors import BadValue, ScheduleError, TierFull, WrongType
from ..problem import Array
from ..tiers import DiskPool, specs_of
from .compression import Codec, CompressedObject
from .profiling import Profiler

__all__ = ["BytesStorage", "DiskStorage", "NumpyStorage", "Storage"]


class Storage:
    """A place that keeps ``n_ckp`` checkpoints by number, or as a stack.

    Parameters
    ----------
    size_ckp : int
        Entries of one checkpoint.
    n_ckp : int
        Checkpoints.
    dtype : dtype
        Type of an entry.
    profiler : Profiler, optional
        Gets the time of copies, under ``"storage"``.
    wd, rd : float
        Cost of writing and reading one checkpoint, for `MultiLevelRevolver`.
    name : str
        A name for reports.
    """

    def __init__(
        self,
        size_ckp: int,
        n_ckp: int,
        dtype: Any,
        profiler: Profiler | None = None,
        wd: float = 0,
        rd: float = 0,
        name: str = "storage",
    ) -> None:
        self.size_ckp = as_count(size_ckp, "size_ckp")
        self.n_ckp = as_count(n_ckp, "n_ckp")
        self.dtype = dtype
        self.profiler = profiler if profiler is not None else Profiler()
        self.wd, self.rd, self.name = wd, rd, name
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._depth = 0

    def save(self, key: int, data_pointers: Sequence[Array]) -> None:
        """Copy arrays in as checkpoint number ``key``."""
        raise NotImplementedError

    def load(self, key: int, locations: Sequence[Array]) -> None:
        """Copy checkpoint number ``key`` into arrays."""
        raise NotImplementedError

    def push(self, data_pointers: Sequence[Array]) -> None:
        """Save on top of the stack.

        Raises
        ------
        TierFull
            The stack is full.
        """
        if self.isFull():
            raise TierFull(
                f"storage {self.name!r} holds {self.n_ckp} checkpoints and is full; one more was "
                "pushed. Make it with a larger n_ckp, or pop first."
            )
        self.save(self._depth, data_pointers)
        self._depth += 1

    def peek(self, locations: Sequence[Array]) -> None:
        """Load the top of the stack, which stays."""
        self._refuse_empty("peeked at")
        self.load(self._depth - 1, locations)

    def pop(self, locations: Sequence[Array]) -> None:
        """Load the top of the stack and give it up."""
        self._refuse_empty("popped")
        self.load(self._depth - 1, locations)
        self._depth -= 1

    def isFull(self) -> bool:
        """Return whether the stack is full."""
        return self._depth >= self.n_ckp

    def isEmpty(self) -> bool:
        """Return whether the stack is empty."""
        return self._depth == 0

    @property
    def maxsize(self) -> int:
        """Entries of all checkpoints."""
        return self.size_ckp * self.n_ckp

    @property
    def maxsize_in_bytes(self) -> int:
        """Bytes of all checkpoints."""
        return self.maxsize * self._dtype.itemsize

    @property
    def nckp(self) -> int:
        """Checkpoints that fit."""
        return self.n_ckp

    def _refuse_empty(self, verb: str) -> None:
        if self.isEmpty():
            raise ScheduleError(
                f"storage {self.name!r} was {verb} while it holds nothing on its stack. Push first."
            )

    def _check_key(self, key: int) -> None:
        if not 0 <= key < self.n_ckp:
            raise BadValue(
                f"checkpoint number {key} was asked of storage {self.name!r}, which has numbers 0 "
                f"to {self.n_ckp - 1}."
            )

    def _check_data(self, arrays: Sequence[Array]) -> None:
        size = 0
        for array in arrays:
            size += array.size
            if array.dtype != self._dtype:
                raise WrongType(
                    f"an array of {array.dtype} was saved in storage {self.name!r} of "
                    f"{self._dtype}, which would round it. Let Checkpoint.dtype be {array.dtype}."
                )
        if size > self.size_ckp:
            raise BadValue(
                f"arrays of {size} entries were saved in storage {self.name!r}, whose checkpoints "
                f"have {self.size_ckp}. Let Checkpoint.size count them all."
            )

    def _missing(self, key: int) -> ScheduleError:
        return ScheduleError(
            f"checkpoint number {key} was loaded from storage {self.name!r}, which does not hold "
            "it. Save it first."
        )


class NumpyStorage(Storage):
    """Checkpoints in one array, allocated at once; one copy a save or load."""

    def __init__(
        self,
        size_ckp: int,
        n_ckp: int,
        dtype: Any,
        profiler: Profiler | None = None,
        wd: float = 0,
        rd: float = 0,
        name: str = "MemoryStorage",
    ) -> None:
        super().__init__(size_ckp, n_ckp, dtype, profiler, wd, rd, name)
        self.storage = np.zeros((self.n_ckp, self.size_ckp), dtype=self._dtype)
        self.shapes: dict[int, list[tuple[int, ...]]] = {}

    def __getitem__(self, key: int) -> Array:
        self._check_key(key)
        return self.storage[key]

    def save(self, key: int, data_pointers: Sequence[Array]) -> None:
        """Copy arrays in; they may have any strides."""
        arrays = [np.asarray(a) for a in data_pointers]
        self._check_data(arrays)
        with self.profiler.get_timer("storage", "copy_save"):
            for array, place in zip(arrays, self._places(key, arrays), strict=True):
                np.copyto(place, array)
        self.shapes[key] = [a.shape for a in arrays]

    def load(self, key: int, locations: Sequence[Array]) -> None:
        """Copy a checkpoint into arrays of the shapes that were saved."""
        if key not in self.shapes:
            raise self._missing(key)
        arrays = [np.asarray(a) for a in locations]
        _check_shapes(self.name, self.shapes[key], arrays)
        with self.profiler.get_timer("storage", "copy_load"):
            for array, place in zip(arrays, self._places(key, arrays), strict=True):
                np.copyto(array, place)

    def _places(self, key: int, arrays: Sequence[Array]) -> list[Array]:
        slot, begin, places = self[key], 0, list[Array]()
        for array in arrays:
            places.append(slot[begin : begin + array.size].reshape(array.shape))
            begin += array.size
        return places


class DiskStorage(Storage):
    """Checkpoints in one preallocated file of checksummed slots.

    A full disk is met at the first save, a changed bit at the load. The file has no name unless
    ``keepfiles`` is set: nothing is left behind, not even by ``kill -9``.

    Parameters
    ----------
    filedir : str or None
        The directory; the present one if None.
    singlefile : bool
        Kept for the signature: there is one file in any case.
    keepfiles : bool
        Give the file a name, `datFileName`, and keep it.
    """

    def __init__(
        self,
        size_ckp: int,
        n_ckp: int,
        dtype: Any,
        profiler: Profiler | None = None,
        filedir: str | None = "./",
        singlefile: bool = True,
        wd: float = 0,
        rd: float = 0,
        name: str = "DiskStorage",
        keepfiles: bool = False,
    ) -> None:
        super().__init__(size_ckp, n_ckp, dtype, profiler, wd, rd, name)
        self.singlefile, self.keepfiles = singlefile, keepfiles
        self.filedir = os.path.join("./" if filedir is None else filedir, "")  # noqa: PTH118
        Path(self.filedir).mkdir(parents=True, exist_ok=True)
        self.datFileName = f"{self.filedir}CKP_PID{os.getpid()}_{id(self):x}.dat"
        self._pool: DiskPool | None = None

    def save(self, key: int, data_pointers: Sequence[Array]) -> None:
        """Write arrays; the first save allocates the file for all checkpoints."""
        self._check_key(key)
        arrays = [np.asarray(a) for a in data_pointers]
        self._check_data(arrays)
        with self.profiler.get_timer("storage", "copy_save"):
            pool = self._opened(arrays)
            if key in pool.held():
                pool.drop(key)
            pool.save(key, arrays, {})

    def load(self, key: int, locations: Sequence[Array]) -> None:
        """Read a checkpoint.

        Raises
        ------
        CorruptSnapshot
            What is read differs from what was written.
        """
        if self._pool is None or key not in self._pool.held():
            raise self._missing(key)
        with self.profiler.get_timer("storage", "copy_load"):
            self._pool.load(key, [np.asarray(a) for a in locations])

    def removeDatdir(self) -> None:
        """Give the file up."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _opened(self, arrays: Sequence[Array]) -> DiskPool:
        if self._pool is None:
            if self.keepfiles:
                pool = DiskPool(path=self.datFileName)
            else:
                pool = DiskPool(self.filedir)
            pool.open(specs_of(arrays), self.n_ckp)
            self._pool = pool
        return self._pool

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.close(keep=self.keepfiles)


class BytesStorage(Storage):
    """Compressed checkpoints in memory, at most ``size_ckp * n_ckp`` bytes together.

    Parameters
    ----------
    size_ckp : int
        Bytes of one checkpoint before compression.
    compression : pair of callables
        Compressor and decompressor, from `compression.init_compression`.
    auto_pickle : bool
        Kept for the signature: nothing is pickled.
    """

    def __init__(
        self,
        size_ckp: int,
        n_ckp: int,
        dtype: Any,
        compression: tuple[Codec, Codec],
        auto_pickle: bool = False,
        profiler: Profiler | None = None,
        wd: float = 0,
        rd: float = 0,
        name: str = "ByteStorage",
    ) -> None:
        super().__init__(size_ckp, n_ckp, dtype, profiler, wd, rd, name)
        self.auto_pickle = auto_pickle
        self.compressor, self.decompressor = compression
        self.stored: dict[int, list[CompressedObject]] = {}

    @property
    def maxsize_in_bytes(self) -> int:
        """Bytes of all checkpoints together."""
        return self.maxsize

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return sum(len(c.data) for parts in self.stored.values() for c in parts)

    def save(self, key: int, data_pointers: Sequence[Array]) -> None:
        """Compress arrays and keep them.

        Raises
        ------
        TierFull
            The compressed checkpoints together exceed the storage.
        """
        self._check_key(key)
        with self.profiler.get_timer("storage", "copy_save"):
            self.stored.pop(key, None)
            parts = [self.compressor(np.ascontiguousarray(a)) for a in data_pointers]
            need = self.nbytes + sum(len(p.data) for p in parts)
            if need > self.maxsize:
                raise TierFull(
                    f"storage {self.name!r} has {format_bytes(self.maxsize)}; with checkpoint "
                    f"{key} it would hold {format_bytes(need)}. Compression gained too little: "
                    "use fewer checkpoints, or none of it."
                )
            self.stored[key] = parts

    def load(self, key: int, locations: Sequence[Array]) -> None:
        """Decompress a checkpoint into arrays."""
        if key not in self.stored:
            raise self._missing(key)
        arrays = [np.asarray(a) for a in locations]
        _check_shapes(self.name, [p.shape for p in self.stored[key]], arrays)
        with self.profiler.get_timer("storage", "copy_load"):
            for part, array in zip(self.stored[key], arrays, strict=True):
                array[...] = self.decompressor(part)


def _check_shapes(name: str, shapes: Sequence[tuple[int, ...]], arrays: Sequence[Array]) -> None:
    asked = [a.shape for a in arrays]
    if list(shapes) != asked:
        raise BadValue(
            f"storage {name!r} was asked to load arrays of shapes {asked}; {list(shapes)} were "
            "saved. Return the same arrays from get_data and get_data_location."
        )
