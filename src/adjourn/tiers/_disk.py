"""The disk tier: one preallocated file of reused slots, each with a checksummed header."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from .._sizes import as_count
from ..errors import BadValue, CorruptSnapshot, WrongType
from ..problem import Array, Clock
from ._contract import ArraySpec, check_arrays, state_bytes
from ._files import (
    PAGE,
    Files,
    aligned,
    allocate,
    default_directory,
    failed,
    file_system,
    read_all,
    round_up,
    sync,
    sync_directory,
    view_of,
)
from ._format import (
    HeaderError,
    PoolHeader,
    SlotHeader,
    StoredArray,
    header_room,
    pack_pool,
    pack_slot,
    parse_own,
    parse_pool,
    storable,
)
from ._slotfile import SlotFile
from ._stream import (
    BOUNCE,
    CHUNK,
    SMALL,
    Place,
    Sink,
    Source,
    TornError,
    order_of,
    read_arrays,
    write_arrays,
)

__all__ = ["DiskPool"]

_NEW_RUN = 16


class DiskPool:
    """Snapshots in one file of equal slots, allocated at `open` and reused ever after.

    A save is one pass over the state: it is checksummed on its way out, the slot's header
    written last. A load checks header and payload; nothing wrong is ever returned as a
    snapshot. Main memory: one staging buffer of at most 4 MiB and a bounce buffer of at most
    64 KiB, whatever the state's size. Disk: `slots` times the state and its header, each
    rounded up to 4 KiB, and one page.

    Parameters
    ----------
    directory : str or Path, optional
        Where an anonymous file goes, which has no name and is gone when the process is, even
        by ``kill -9``. Default: the system's directory for temporary files. Mind that a
        ``tmpfs`` is main memory: `file_system` tells.
    path : str or Path, optional
        A named file instead, which outlives the process until `close`; see `adopt`.
    direct : bool, optional
        True: past the page cache (``O_DIRECT``), or not at all; False: through the page cache;
        None: direct where the file system takes it. `transfer` tells which it is.
    durable : bool
        Wait at each save until the bytes are on the medium.
    run : bytes, optional
        The 16 bytes that mark the slots of this run; random by default.
    files : Files, optional
        The layer of system calls.

    Raises
    ------
    DiskFull
        At `open`, if the file system cannot hold all slots; nothing is left behind. At a later
        `save`, if quota or a shared file system goes back on its word; earlier snapshots stay.
    CorruptSnapshot
        At `load`, if what is read differs from what was written.

    Examples
    --------
    >>> import numpy as np
    >>> from adjourn.tiers import DiskPool, specs_of
    >>> state = [np.arange(4.0), np.ones((2, 3), "f4")]
    >>> pool = DiskPool()
    >>> pool.open(specs_of(state), slots=2)
    >>> pool.save(7, state, {"time": 0.5})
    >>> state[0][:] = 0
    >>> pool.load(7, state), state[0].tolist()
    ({'time': 0.5}, [0.0, 1.0, 2.0, 3.0])
    >>> pool.close()
    """

    def __init__(
        self,
        directory: str | Path | None = None,
        *,
        path: str | Path | None = None,
        direct: bool | None = None,
        durable: bool = False,
        run: bytes | None = None,
        files: Files | None = None,
    ) -> None:
        if directory is not None and path is not None:
            raise BadValue(
                f"directory={str(directory)!r} asks for an anonymous file and path={str(path)!r} "
                "for a named one. Pass one of them."
            )
        self._files = files or Files()
        self._path = None if path is None else os.fspath(path)
        where = directory if path is None else Path(path).parent
        self._directory = default_directory() if where is None else os.fspath(where)
        self._durable = durable
        self._run = os.urandom(_NEW_RUN) if run is None else run
        if len(self._run) != _NEW_RUN:
            raise BadValue(f"run={run!r} is not 16 bytes. Pass 16 bytes.")
        self._file = SlotFile(self._files, self._directory, self._path, wants_direct=direct)
        self._specs: tuple[ArraySpec, ...] = ()
        self._layout = PoolHeader(self._run, 0, 0)
        self._slots: dict[int, tuple[int, int]] = {}  # step -> slot, sequence
        self._free: list[int] = []
        self._sequence = 0
        self._count = 0
        self._staging: Array = np.empty(0, np.uint8)
        self._bounce: Array = np.empty(0, np.uint8)

    def __repr__(self) -> str:
        where = self._path or f"an anonymous file in {self._directory}"
        return f"<DiskPool of {self._count} slots, {len(self._slots)} held, {where}>"

    @property
    def name(self) -> str:
        """``"disk"``."""
        return "disk"

    @property
    def nbytes(self) -> int:
        """Bytes of main memory: staging and bounce buffers."""
        return self._staging.nbytes + self._bounce.nbytes

    @property
    def disk_bytes(self) -> int:
        """Bytes of the file."""
        return PAGE + self._count * self._layout.slot_bytes if self._count else 0

    @property
    def slots(self) -> int:
        """The number of slots."""
        return self._count

    @property
    def location(self) -> str:
        """The path of a named file, or the directory of an anonymous one."""
        return self._path or self._directory

    @property
    def transfer(self) -> Literal["direct", "page cache"]:
        """Whether bytes go past the page cache or through it."""
        return "direct" if self._file.direct else "page cache"

    @property
    def file_system(self) -> str:
        """The type of the file system, such as ``"ext4"``; ``"tmpfs"`` is main memory."""
        return file_system(self._directory)

    @property
    def run(self) -> bytes:
        """The 16 bytes that mark the slots of this run."""
        return self._run

    @staticmethod
    def disk_bytes_for(specs: Sequence[ArraySpec], slots: int) -> int:
        """Return the bytes of the file for so many snapshots of such arrays."""
        return PAGE + slots * (header_room(specs) + round_up(state_bytes(specs)))

    @staticmethod
    def memory_for(specs: Sequence[ArraySpec], *, direct: bool = True) -> int:
        """Return the bytes of main memory for snapshots of such arrays, at most."""
        payload = round_up(state_bytes(specs))
        return _staging_bytes(header_room(specs), payload, direct=direct) + min(payload, BOUNCE)

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Allocate room for ``slots`` snapshots of arrays such as ``specs``.

        Raises
        ------
        DiskFull
            There is no room for all of them; the message has the bytes needed and free.
        WrongType
            An array of Python objects.
        BadValue
            The named file is there already; `adopt` continues with it.
        """
        as_count(slots, "slots")
        self.close()
        self._lay_out(specs)
        needed = PAGE + slots * self._layout.slot_bytes
        try:
            if self._files.free(self._directory) < needed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._file.create()
            allocate(self._files, self._file.fd, 0, needed)
            self._buffers()
            page = view_of(self._staging)[:PAGE]
            page[:] = pack_pool(self._layout)
            self._file.write_page(page)
            if self._durable:
                sync(self._files, self._file.fd)
                sync_directory(self._files, self._directory)
        except OSError as error:
            self.close()
            what = f"a disk tier of {slots} snapshots"
            raise failed(self._files, self._directory, needed, what, error) from error
        except BaseException:
            self.close()
            raise
        self._count = slots
        self._free = list(range(slots))[::-1]

    def adopt(self, specs: Sequence[ArraySpec], slots: int) -> list[str]:
        """Continue with a named file that another process left; return what was found damaged.

        Reads every slot once. Valid snapshots of the same run are held afterwards; all other
        slots are free. The file grows to ``slots`` slots if it has fewer.

        Raises
        ------
        CorruptSnapshot
            The file's own first page is damaged, or belongs to another run or other arrays.
        FileNotFoundError
            There is no such file.
        """
        as_count(slots, "slots")
        self.close()
        self._lay_out(specs)
        if self._path is None:
            raise BadValue("an anonymous pool cannot be continued. Pass path= to name the file.")
        try:
            self._file.open()
            self._buffers()
            self._check_page()
            have = (self._files.size(self._file.fd) - PAGE) // self._layout.slot_bytes
            self._count = have
            damaged = self._scan(have)
            self.grow(slots)
            return damaged
        except BaseException:
            self.close(keep=True)
            raise

    def grow(self, slots: int) -> None:
        """Make room for ``slots`` snapshots in all; fewer than there are changes nothing.

        Raises
        ------
        DiskFull
            There is no room for them; everything stays as it was.
        """
        self._check_open()
        have = self._count
        if slots <= have:
            return
        needed = (slots - have) * self._layout.slot_bytes
        start = PAGE + have * self._layout.slot_bytes
        try:
            allocate(self._files, self._file.fd, start, needed)
        except OSError as error:
            what = f"a disk tier of {slots - have} further snapshots"
            raise failed(self._files, self._directory, needed, what, error) from error
        self._count = slots
        self._free[:0] = range(have, slots)[::-1]

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state at ``step`` into a free slot.

        Raises
        ------
        BadValue
            The step is held, no slot is free, or the arrays differ from those of `open`.
        DiskFull
            The file system goes back on its word; snapshots held stay valid.
        StorageFailed
            The system failed to write; the slot stays free.
        """
        self._check_open()
        if step in self._slots:
            raise BadValue(f"step {step} is held already. Drop it before saving it again.")
        if not self._free:
            raise BadValue(
                f"all {self._count} slots are taken; step {step} has no room. Drop one first."
            )
        check_arrays(arrays, self._specs)
        slot = self._free[-1]
        orders = "".join(map(order_of, arrays))
        layout = self._layout
        self._sequence += 1
        try:
            with self._sink(slot) as sink:
                write_arrays(sink, arrays, orders, self._bounce)
                stored = tuple(
                    StoredArray(spec.dtype.str, spec.shape, order)
                    for spec, order in zip(self._specs, orders, strict=True)
                )
                header = SlotHeader(
                    self._run,
                    slot,
                    step,
                    self._sequence,
                    stored,
                    dict(clock),
                    layout.payload_bytes,
                    sink.digest(),
                )
                sink.finish(pack_slot(header, layout.header_bytes))
            if self._durable:
                sync(self._files, self._file.fd)
        except OSError as error:
            what = f"the snapshot of step {step}"
            raise failed(self._files, self._directory, layout.slot_bytes, what, error) from error
        self._free.pop()
        self._slots[step] = (slot, self._sequence)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` into the arrays, bit for bit; it stays held.

        Raises
        ------
        CorruptSnapshot
            What is read differs from what was written; the arrays hold anything.
        StorageFailed
            The system failed to read; the arrays hold anything.
        KeyError
            The step is not held.
        """
        self._check_open()
        if step not in self._slots:
            raise KeyError(f"step {step} is not held; held are {sorted(self._slots)}")
        check_arrays(arrays, self._specs)
        slot, sequence = self._slots[step]
        try:
            with self._source(slot) as source:
                header = parse_own(source.header, self._run, slot, self._specs)
                if (header.step, header.sequence) != (step, sequence):
                    raise HeaderError(f"it holds write {header.sequence}, of step {header.step}")
                orders = "".join(array.order for array in header.arrays)
                read_arrays(source, arrays, orders, self._bounce)
                if source.digest() != header.payload_digest:
                    raise HeaderError("the checksum of its payload differs from its bytes")
        except (TornError, HeaderError) as error:
            raise self._corrupt(slot, step, str(error)) from None
        except OSError as error:
            what = f"reading the snapshot of step {step}"
            raise failed(self._files, self._directory, 0, what, error) from error
        return header.clock

    def peek(self, step: int) -> Clock:
        """Return the clock of ``step`` without its arrays; reads the header alone.

        Raises
        ------
        CorruptSnapshot
            The header is damaged.
        KeyError
            The step is not held.
        """
        self._check_open()
        slot, _ = self._slots[step]
        try:
            with self._source(slot) as source:
                return parse_own(source.header, self._run, slot, self._specs).clock
        except (TornError, HeaderError) as error:
            raise self._corrupt(slot, step, str(error)) from None

    def drop(self, step: int) -> None:
        """Free the slot of ``step``.

        Raises
        ------
        KeyError
            The step is not held.
        """
        if step not in self._slots:
            raise KeyError(f"step {step} is not held; held are {sorted(self._slots)}")
        self._free.append(self._slots.pop(step)[0])

    def held(self) -> Sequence[int]:
        """Return the steps held, in no particular order."""
        return tuple(self._slots)

    def close(self, keep: bool = False) -> None:
        """Release everything; a named file is removed unless ``keep``."""
        self._slots = {}
        self._free = []
        self._count = 0
        self._staging = self._bounce = np.empty(0, np.uint8)
        self._file.close(keep=keep)

    def _lay_out(self, specs: Sequence[ArraySpec]) -> None:
        self._specs = tuple(specs)
        for spec in specs:
            if not storable(spec.dtype):
                raise WrongType(
                    f"a state array of dtype {spec.dtype} cannot be stored. "
                    "Return arrays of numbers from state(step)."
                )
        self._layout = PoolHeader(self._run, header_room(specs), state_bytes(specs))

    def _buffers(self) -> None:
        payload = round_up(self._layout.payload_bytes)
        head, direct = self._layout.header_bytes, self._file.direct
        self._staging = aligned(_staging_bytes(head, payload, direct=direct))
        self._bounce = np.empty(min(payload, BOUNCE), np.uint8)

    def _check_page(self) -> None:
        view = view_of(self._staging)[:PAGE]
        got = read_all(self._files, self._file.fd, view, 0)
        try:
            found = parse_pool(view[:got])
        except HeaderError as error:
            raise CorruptSnapshot(f"{self._path}: {error}. Start the run again.") from None
        if found != self._layout:
            what = "another run" if found.run != self._run else "arrays of other sizes"
            raise CorruptSnapshot(
                f"{self._path} holds snapshots of {what}. Start the run again in another directory."
            )

    def _scan(self, have: int) -> list[str]:
        """Read every slot; hold the valid ones, free the others, tell of the damaged."""
        damaged: list[str] = []
        taken: dict[int, tuple[int, int]] = {}
        for slot in range(have):
            try:
                with self._source(slot) as source:
                    if not any(source.header):
                        continue  # never written
                    header = parse_own(source.header, self._run, slot, self._specs)
                    source.skim()
                    if source.digest() != header.payload_digest:
                        raise HeaderError("the checksum of its payload differs from its bytes")
            except (TornError, HeaderError) as error:
                damaged.append(f"slot {slot}: {error}")
                continue
            self._sequence = max(self._sequence, header.sequence)
            if taken.get(header.step, (0, -1))[1] < header.sequence:
                taken[header.step] = (slot, header.sequence)
        self._slots = taken
        used = {slot for slot, _ in taken.values()}
        self._free = [slot for slot in range(self._count)[::-1] if slot not in used]
        return damaged

    def _sink(self, slot: int) -> Sink:
        return Sink(self._files, self._file.fd, self._place(slot), self._staging)

    def _source(self, slot: int) -> Source:
        return Source(self._files, self._file.fd, self._place(slot), self._staging)

    def _place(self, slot: int) -> Place:
        layout = self._layout
        return Place(
            PAGE + slot * layout.slot_bytes,
            layout.header_bytes,
            layout.payload_bytes,
            self._file.direct,
        )

    def _check_open(self) -> None:
        if self._file.fd < 0:
            raise BadValue("the disk tier is closed. Open it first.")

    def _corrupt(self, slot: int, step: int, what: str) -> CorruptSnapshot:
        where = self._path or f"an anonymous file in {self._directory}"
        return CorruptSnapshot(
            f"{where}: slot {slot}, which should hold step {step}: {what}. Check the disk; "
            'on_corrupt="recompute" rebuilds the state from a valid snapshot before it.',
            step,
        )


def _staging_bytes(head: int, payload: int, *, direct: bool) -> int:
    chunk = CHUNK if direct else SMALL
    return min(max(chunk, 2 * head), head + payload)
