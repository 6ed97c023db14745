"""The few system calls that storage makes, in one object, so that tests can make each one fail."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ..errors import DiskFull, StorageFailed
from ..problem import Array

__all__ = ["PAGE", "Files", "file_system", "read_all", "round_up", "write_all"]

PAGE = 4096
"""Alignment of offsets, lengths and memory that direct transfer takes everywhere."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def round_up(nbytes: int, unit: int = PAGE) -> int:
    """Return the least multiple of ``unit`` that holds ``nbytes``."""
    return -(-nbytes // unit) * unit


class Files:
    """System calls on files; subclass it to count, delay or fail them.

    Every other class of storage goes through such an object and calls nothing else of the
    operating system. Any call may raise `OSError`; writes and reads may be short.
    """

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """Open ``path`` and return its descriptor."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        os.close(fd)

    def pwrite(self, fd: int, data: memoryview | bytes, offset: int) -> int:
        """Write bytes at ``offset``; return how many were taken."""
        return os.pwrite(fd, data, offset)

    def preadv(self, fd: int, buffers: Sequence[memoryview], offset: int) -> int:
        """Read from ``offset`` into the buffers; return how many bytes came."""
        return os.preadv(fd, buffers, offset)

    def allocate(self, fd: int, offset: int, nbytes: int) -> None:
        """Reserve the bytes on the disk, so that later writes find their room."""
        os.posix_fallocate(fd, offset, nbytes)

    def sync(self, fd: int) -> None:
        """Wait until what was written is on the medium."""
        os.fdatasync(fd)

    def size(self, fd: int) -> int:
        """Return the length of the file."""
        return os.fstat(fd).st_size

    def truncate(self, fd: int, nbytes: int) -> None:
        """Cut the file to ``nbytes``."""
        os.ftruncate(fd, nbytes)

    def free(self, directory: str) -> int:
        """Return the bytes that an ordinary user may still allocate there."""
        seen = os.statvfs(directory)
        return seen.f_bavail * seen.f_frsize

    def exists(self, path: str) -> bool:
        """Return whether there is such a path."""
        return Path(path).exists()

    def listdir(self, path: str) -> list[str]:
        """Return the names in a directory; none if it is not there."""
        try:
            return sorted(entry.name for entry in Path(path).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; one that is there is fine."""
        Path(path).mkdir(parents=True, exist_ok=True)

    def unlink(self, path: str) -> None:
        """Remove a file; one that is not there is fine."""
        Path(path).unlink(missing_ok=True)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        Path(path).rmdir()

    def sync_directory(self, path: str) -> None:
        """Wait until the names in a directory are on the medium."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, fd: int) -> bool:
        """Take the exclusive lock of a file, without waiting; return whether it was free."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True

    def is_at(self, fd: int, path: str) -> bool:
        """Return whether the open file is the one that has this path now."""
        here = os.fstat(fd)
        try:
            there = Path(path).stat()
        except FileNotFoundError:
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def write_all(files: Files, fd: int, view: memoryview, offset: int) -> None:
    """Write every byte, however often the system takes fewer or is interrupted."""
    done = 0
    total = len(view)
    while done < total:
        try:
            taken = files.pwrite(fd, view[done:] if done else view, offset + done)
        except InterruptedError:
            continue
        if taken <= 0:
            raise OSError(errno.EIO, f"the system took {taken} of {total - done} bytes")
        done += taken


def read_all(files: Files, fd: int, view: memoryview, offset: int) -> int:
    """Read until ``view`` is full or the file ends; return how many bytes came."""
    done = 0
    total = len(view)
    while done < total:
        try:
            came = files.preadv(fd, [view[done:] if done else view], offset + done)
        except InterruptedError:
            continue
        if came <= 0:
            break
        done += came
    return done


def allocate(files: Files, fd: int, offset: int, nbytes: int) -> None:
    """Reserve bytes, however often the system is interrupted."""
    while True:
        try:
            files.allocate(fd, offset, nbytes)
        except InterruptedError:
            continue
        return


def sync(files: Files, fd: int) -> None:
    """Wait for the medium, however often the system is interrupted."""
    while True:
        try:
            files.sync(fd)
        except InterruptedError:
            continue
        return


def sync_directory(files: Files, path: str) -> None:
    """Wait for the names in a directory, however often the system is interrupted."""
    while True:
        try:
            files.sync_directory(path)
        except InterruptedError:
            continue
        return


def is_full(error: OSError) -> bool:
    """Return whether an error says that there is no room."""
    return error.errno in _FULL


def disk_full(files: Files, directory: str, needed: int, what: str, cause: OSError) -> DiskFull:
    """Return the error for a disk without room, with the bytes needed and free."""
    from .._sizes import format_bytes  # noqa: PLC0415 - only where something failed

    try:
        free = files.free(directory)
    except OSError:
        free = None
    have = "an unknown number of bytes" if free is None else f"{format_bytes(free)} ({free} B)"
    why = cause.strerror or str(cause)
    return DiskFull(
        f"{what} needs {format_bytes(needed)} ({needed} B) in {directory}; the disk has {have} "
        f"free ({why}). Free some space, pass another directory=, or a smaller disk=.",
        needed=needed,
        free=free,
    )


def failed(
    files: Files, directory: str, needed: int, what: str, cause: OSError
) -> DiskFull | StorageFailed:
    """Return the error for a call that failed: for want of room, or otherwise."""
    if is_full(cause):
        return disk_full(files, directory, needed, what, cause)
    why = cause.strerror or str(cause)
    return StorageFailed(
        f"{what} in {directory} failed: {why}. What was written before is valid; check the disk, "
        "or pass another directory=.",
        cause.errno,
    )


def file_system(directory: str) -> str:
    """Return the type of the file system of a directory, such as ``"ext4"`` or ``"tmpfs"``.

    ``"unknown"`` where the system does not say. A ``tmpfs`` is main memory.
    """
    try:
        device = Path(directory).stat().st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            mount, _, kind = line.partition(" - ")
            if mount.split()[2] == name:
                return kind.split()[0]
    except (OSError, IndexError):
        pass
    return "unknown"


def default_directory() -> str:
    """Return where anonymous files go: ``TMPDIR`` or the system's choice."""
    import tempfile  # noqa: PLC0415 - slow to import, and not needed by a run in main memory

    return tempfile.gettempdir()


def view_of(array: Array) -> memoryview:
    """Return the bytes of a contiguous array of uint8."""
    return memoryview(cast("Any", array))


def aligned(nbytes: int) -> Array:
    """Return that many zero bytes of page-aligned memory, as direct transfer wants it."""
    import mmap  # noqa: PLC0415 - not needed by a run in main memory

    import numpy as np  # noqa: PLC0415

    return np.frombuffer(mmap.mmap(-1, max(nbytes, 1)), dtype=np.uint8)[:nbytes]
