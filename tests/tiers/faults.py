"""A layer of system calls that fails, shortens or ends the process at any chosen call."""

from __future__ import annotations

import contextlib
import os
import signal

from adjourn.tiers import Files


def _half(length):
    """Return about half of a length, in whole pages as file systems do."""
    return max(length // 2, 1) if length < 4096 else max(length // 8192, 1) * 4096


class FaultyFiles(Files):
    """Count calls; at the chosen one, and for ever if so asked, do what ``fault`` says.

    ``fault``: an errno, ``"short"`` (half the bytes), ``"kill"`` (before the call),
    ``"kill-mid"`` (after half of a write) or ``"kill-after"``.
    """

    def __init__(self, at=None, fault=None, *, for_ever=False, only=None):
        self.at = at
        self.fault = fault
        self.for_ever = for_ever
        self.only = only
        self.calls = 0
        self.log = []

    def _hit(self, name):
        if self.only is not None and name not in self.only:
            return False
        self.calls += 1
        self.log.append(name)
        return self.at is not None and (
            self.calls - 1 == self.at or (self.for_ever and self.calls > self.at)
        )

    def _act(self, name, call, halve=None):
        if not self._hit(name):
            return call()
        if isinstance(self.fault, int):
            raise OSError(self.fault, os.strerror(self.fault))
        if self.fault == "short":
            return halve() if halve else call()
        if self.fault == "kill-mid":
            if halve:
                halve()
        elif self.fault == "kill-after":
            with contextlib.suppress(OSError):
                call()
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit

    def open(self, path, flags, mode=0o600):
        return self._act("open", lambda: super(FaultyFiles, self).open(path, flags, mode))

    def pwrite(self, fd, data, offset):
        half = _half(len(data))
        call = super().pwrite
        return self._act(
            "pwrite", lambda: call(fd, data, offset), lambda: call(fd, data[:half], offset)
        )

    def preadv(self, fd, buffers, offset):
        call = super().preadv
        (buffer,) = buffers
        half = _half(len(buffer))
        return self._act(
            "preadv", lambda: call(fd, buffers, offset), lambda: call(fd, [buffer[:half]], offset)
        )

    def allocate(self, fd, offset, nbytes):
        return self._act("allocate", lambda: super(FaultyFiles, self).allocate(fd, offset, nbytes))

    def sync(self, fd):
        return self._act("sync", lambda: None)  # waiting for a medium proves nothing here

    def sync_directory(self, path):
        return self._act("sync", lambda: None)

    def unlink(self, path):
        return self._act("unlink", lambda: super(FaultyFiles, self).unlink(path))

    def truncate(self, fd, nbytes):
        return self._act("truncate", lambda: super(FaultyFiles, self).truncate(fd, nbytes))
