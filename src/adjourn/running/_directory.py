"""The directory of a run that can be resumed: its lock, its files, and how it is cleaned."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import BadValue, DirectoryBusy, WrongType
from ..tiers import Files
from ..tiers._files import read_all, write_all
from ._ledger import LedgerContent, read_ledger

__all__ = ["RunDirectory", "StaleRun", "clean", "find_runs"]

_LOCK = "adjourn.lock"
_LEDGER = "adjourn.ledger"
_POOL = ".pool"
_TRIES = 20


class RunDirectory:
    """One directory, locked for one run.

    Parameters
    ----------
    path : str or Path
        The directory; made if it is not there, and removed at the end if it was made here.
    files : Files, optional
        The layer of system calls.

    Raises
    ------
    WrongType
        The path is none.
    """

    def __init__(self, path: str | Path, files: Files | None = None) -> None:
        self.path = require_path(path)
        self.files = files or Files()
        self._fd = -1
        self._made = False
        self._found = False

    @property
    def ledger_path(self) -> str:
        """Where the ledger is."""
        return str(Path(self.path) / _LEDGER)

    def pool_path(self, name: str) -> str:
        """Return where a pool of that name is."""
        return str(Path(self.path) / f"adjourn-{name}{_POOL}")

    def lock(self, *, make: bool) -> None:
        """Take the directory for this process, until `unlock` or its end.

        Raises
        ------
        DirectoryBusy
            Another process has it; the message names its pid and host.
        FileNotFoundError
            There is no such directory and ``make`` is false.
        BadValue
            It is a file.
        """
        if Path(self.path).is_file():
            raise BadValue(f"directory={self.path!r} is a file. Pass the path of a directory.")
        if make and not self.files.exists(self.path):
            self.files.make_directory(self.path)
            self._made = True
        path = str(Path(self.path) / _LOCK)
        self._found = self.files.exists(path)
        for _ in range(_TRIES):
            fd = self.files.open(path, os.O_RDWR | os.O_CREAT)
            try:
                taken = self.files.lock(fd)
                if taken and self.files.is_at(fd, path):
                    # What ended before it had a ledger said here whose the directory is.
                    self._made = self._made or read_owner(self.files, fd).get("made") is True
                    self._write_owner(fd)
                    self._fd = fd
                    return
                if not taken:
                    raise self._busy(fd)
            except BaseException:
                self.files.close(fd)
                raise
            self.files.close(fd)  # the one before us removed it between our open and our lock
        raise DirectoryBusy(f"directory={self.path!r} changes hands all the time. Try again.")

    def read(self) -> LedgerContent | None:
        """Return what the ledger says; None where there is none."""
        try:
            return read_ledger(self.files, self.ledger_path)
        except FileNotFoundError:
            return None

    def sweep(self) -> None:
        """Remove every file of a run but the lock: the ledger last, as it names the others."""
        for name in self.files.listdir(self.path):
            if name.startswith("adjourn-") and name.endswith(_POOL):
                self.files.unlink(str(Path(self.path) / name))
        self.files.unlink(self.ledger_path)

    def remove(self) -> None:
        """Remove every file of the run, then the lock; the directory if it was made here.

        The directory is given free whatever fails.
        """
        try:
            self.sweep()
            self.files.unlink(str(Path(self.path) / _LOCK))
        finally:
            self.unlock()
        if self._made and not self.files.listdir(self.path):
            self.files.remove_directory(self.path)

    def owns_directory(self) -> bool:
        """Return whether the directory itself was made for the run."""
        return self._made

    def take_over(self, made: bool) -> None:
        """Say whether the run that is resumed had made the directory."""
        self._made = made

    @property
    def was_begun(self) -> bool:
        """Whether a run had been begun here when the lock was taken."""
        return self._found

    def let_be(self) -> None:
        """Give the directory free as it was found, without a lock of a run that never was."""
        if self._fd >= 0 and not self._found:
            self.files.unlink(str(Path(self.path) / _LOCK))
        self.unlock()

    def unlock(self) -> None:
        """Give the directory free; its files stay. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self.files.close(fd)

    def _write_owner(self, fd: int) -> None:
        import json  # noqa: PLC0415
        import socket  # noqa: PLC0415

        owner: dict[str, Any] = {"pid": os.getpid(), "host": socket.gethostname()}
        owner |= {"since": time.time(), "made": self._made}
        data = memoryview(json.dumps(owner).encode())
        self.files.truncate(fd, 0)
        write_all(self.files, fd, data, 0)

    def _busy(self, fd: int) -> DirectoryBusy:
        owner = read_owner(self.files, fd)
        who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
        return DirectoryBusy(
            f"directory={self.path!r} is asked for, and {who} runs in it. "
            "Wait for it, end it, or pass another directory."
        )


def read_owner(files: Files, fd: int) -> dict[str, Any]:
    """Return what a lock file says of the process that wrote it; ``{}`` if it says nothing."""
    import json  # noqa: PLC0415

    data = bytearray(4096)
    got = read_all(files, fd, memoryview(data), 0)
    try:
        value: object = json.loads(bytes(data[:got]))
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class StaleRun:
    """A directory in which a run was begun and not finished.

    Attributes
    ----------
    path : str
        The directory.
    running : str or None
        Who runs in it now, as ``"process 17 on node3"``; None if nobody does.
    nbytes : int
        Bytes of its files.
    modified : float
        When its ledger last grew, in seconds since 1970.
    steps : int or None
        Steps of the problem.
    phase : str
        ``"not begun"``, ``"forward"`` or ``"reverse"``.
    step : int or None
        The last committed step.
    problem : str
        The type of the problem.
    """

    path: str
    running: str | None
    nbytes: int
    modified: float
    steps: int | None
    phase: str
    step: int | None
    problem: str


def require_path(value: object, name: str = "directory") -> str:
    """Return a path as text.

    Raises
    ------
    WrongType
        It is none.
    """
    path = os.fspath(cast("str", value)) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise WrongType(f"{name}={value!r} is no path. Pass a directory's path.")
    return path


def find_runs(path: str | Path) -> list[StaleRun]:
    """Return the unfinished runs in ``path`` and in the directories directly under it.

    Raises
    ------
    FileNotFoundError
        There is no such directory.
    WrongType
        The path is none.
    """
    root = Path(require_path(path, "path"))
    if not root.is_dir():
        raise FileNotFoundError(f"{path} is no directory. Pass the directory of a run.")
    below = sorted(entry for entry in root.iterdir() if entry.is_dir())
    return [run for place in (root, *below) if (run := _look(place)) is not None]


def clean(path: str | Path) -> list[StaleRun]:
    """Remove the files of unfinished runs under ``path`` that nobody runs; return them.

    Costs nothing but the removal: no snapshot is read. Runs in progress are left alone.
    """
    removed: list[StaleRun] = []
    for run in find_runs(path):
        if run.running is not None:
            continue
        directory = RunDirectory(run.path)
        try:
            directory.lock(make=False)
        except DirectoryBusy:
            continue
        content = directory.read()
        first = content.records[0] if content and content.records else {}
        directory.take_over(bool(first.get("made", directory.owns_directory())))
        directory.remove()
        removed.append(run)
    return removed


def _look(place: Path) -> StaleRun | None:
    names = {entry.name: entry for entry in place.iterdir() if entry.name.startswith("adjourn")}
    ours = [
        entry
        for name, entry in names.items()
        if name in (_LOCK, _LEDGER) or (name.startswith("adjourn-") and name.endswith(_POOL))
    ]
    if not ours:
        return None
    files = Files()
    running = None
    if _LOCK in names:
        fd = files.open(str(names[_LOCK]), os.O_RDONLY)
        try:
            if not files.lock(fd):
                owner = read_owner(files, fd)
                running = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
        finally:
            files.close(fd)
    records: tuple[dict[str, Any], ...] = ()
    if _LEDGER in names:
        records = read_ledger(files, str(names[_LEDGER])).records
    stats = [entry.stat() for entry in ours]
    phase, step = "not begun", None
    for record in records:
        if record.get("kind") == "begin":
            phase, step = "forward", 0
        elif record.get("kind") == "commit":
            phase, step = str(record.get("phase")), record.get("step")
    problem: dict[str, Any] = records[0].get("problem", {}) if records else {}
    return StaleRun(
        path=str(place),
        running=running,
        nbytes=sum(stat.st_size for stat in stats),
        modified=max(stat.st_mtime for stat in stats),
        steps=problem.get("steps"),
        phase=phase,
        step=step,
        problem=str(problem.get("type", "unknown")),
    )
