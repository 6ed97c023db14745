"""One file for storage: nameless or named, direct or through the page cache."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ..errors import BadValue
from ._files import Files, write_all

__all__ = ["SlotFile"]

_TRIES = 100


class SlotFile:
    """An open file and how it was had.

    Parameters
    ----------
    files : Files
        The layer of system calls.
    directory : str
        Where the file is.
    path : str or None
        Its name; None for a file that nothing else can see and that ends with the process.
    wants_direct : bool or None
        Past the page cache: True, or not at all; False, never; None, where it is taken.
    """

    def __init__(
        self, files: Files, directory: str, path: str | None, *, wants_direct: bool | None
    ) -> None:
        self._files = files
        self._directory = directory
        self._path = path
        self._wants_direct = wants_direct
        self.direct = False
        self.fd = -1

    def create(self) -> None:
        """Make the file.

        Raises
        ------
        BadValue
            The named file is there already.
        """
        if self._path is not None:
            try:
                self.fd = self._open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                raise BadValue(
                    f"path={self._path!r} is there already. "
                    "Resume the run it belongs to, or remove it."
                ) from None
            return
        try:
            self.fd = self._open(self._directory, os.O_RDWR | os.O_TMPFILE)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                raise
            self.fd = self._unlinked()

    def open(self) -> None:
        """Open the named file that is there."""
        self.fd = self._open(str(self._path), os.O_RDWR)

    def write_page(self, view: memoryview) -> None:
        """Write the first page; learn here if direct transfer is refused after all."""
        try:
            write_all(self._files, self.fd, view, 0)
        except OSError as error:
            if error.errno != errno.EINVAL or not self.direct or self._wants_direct:
                raise
            import fcntl  # noqa: PLC0415 - a rare fallback

            flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
            fcntl.fcntl(self.fd, fcntl.F_SETFL, flags & ~os.O_DIRECT)
            self.direct = False
            write_all(self._files, self.fd, view, 0)

    def close(self, *, keep: bool) -> None:
        """Close the file, and remove its name unless ``keep``. Idempotent."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            try:
                self._files.close(fd)
            finally:
                if self._path is not None and not keep:
                    self._files.unlink(self._path)

    def _unlinked(self) -> int:
        """Return a file that had a name for a moment, where nameless files are not known."""
        for _ in range(_TRIES):
            path = str(Path(self._directory) / f".adjourn-{os.urandom(8).hex()}")
            try:
                fd = self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                continue
            self._files.unlink(path)
            return fd
        raise FileExistsError(errno.EEXIST, "no unused name found", self._directory)

    def _open(self, path: str, flags: int) -> int:
        if self._wants_direct is not False:
            try:
                fd = self._files.open(path, flags | os.O_DIRECT)
            except OSError as error:
                if self._wants_direct or error.errno != errno.EINVAL:
                    raise
            else:
                self.direct = True
                return fd
        self.direct = False
        return self._files.open(path, flags)
