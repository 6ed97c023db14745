"""Background transfer: a thread that writes behind the run and reads ahead of it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._sizes import as_count
from ..errors import BadValue
from ..problem import Array, Clock
from ._contract import ArraySpec, Tier, check_arrays, state_bytes
from ._files import aligned, round_up

__all__ = ["Background", "Waiting"]

_AHEAD = 64
"""Actions looked at ahead for loads."""

Use = tuple[Literal["save", "load", "drop"], int]


@dataclass(slots=True)
class Waiting:
    """How long transfers took, and how much of that the run had to wait for.

    Attributes
    ----------
    transfer : float
        Wall seconds that the thread spent writing and reading.
    waited : float
        Wall seconds that the run stood still for it.
    copied : float
        Wall seconds that the run spent copying to and from staging buffers.
    prefetched, loads : int
        Loads that were begun ahead of their time, and all loads.
    """

    transfer: float = 0.0
    waited: float = 0.0
    copied: float = 0.0
    prefetched: int = 0
    loads: int = 0

    @property
    def hidden(self) -> float:
        """Share of the transfer time that the run did not wait for."""
        return max(0.0, 1.0 - self.waited / self.transfer) if self.transfer else 1.0


@dataclass(slots=True)
class _Buffer:
    """One staging buffer and what it is for."""

    arrays: list[Array]
    memory: Array
    step: int = -1
    use: Literal["free", "writing", "clean", "reading", "ready"] = "free"
    clock: Clock | None = None
    error: BaseException | None = None


class Background:
    """A tier whose transfers run in one background thread.

    A save copies the state to a staging buffer and returns; a load that was foreseen finds its
    snapshot in one. Memory: ``buffers`` states, beside what the inner tier takes. The inner
    tier is used by the thread alone, one transfer at a time, in the order of the calls.

    What is hidden depends on the machine and is measured, never promised: see `waiting`.

    Parameters
    ----------
    inner : Tier
        The tier behind; its transfers should release the GIL, as those of `DiskPool` do.
    buffers : int
        Staging buffers; 2 or more overlap a write with a read ahead.

    Raises
    ------
    Exception
        What the inner tier raised in the thread is raised by the next call of any kind, with
        the same type and cause.
    """

    def __init__(self, inner: Tier, buffers: int = 2) -> None:
        self._inner = inner
        self._count = as_count(buffers, "buffers")
        self._buffers: list[_Buffer] = []
        self._lock = threading.Condition()
        self._jobs: deque[tuple[str, int, _Buffer | None]] = deque()
        self._thread: threading.Thread | None = None
        self._stop = False
        self._busy = False
        self._error: BaseException | None = None
        self._held: set[int] = set()
        self._specs: tuple[ArraySpec, ...] = ()
        self._slots = 0
        self._coming: deque[Use] = deque()
        self._rest: Iterator[Use] = iter(())
        self.waiting = Waiting()

    def __repr__(self) -> str:
        return f"<Background of {self._count} buffers on {self._inner!r}>"

    @property
    def name(self) -> str:
        """The inner tier's name."""
        return f"{self._inner.name}, background"

    @property
    def nbytes(self) -> int:
        """Bytes of main memory: the staging buffers and what the inner tier takes."""
        return self._inner.nbytes + sum(buffer.memory.nbytes for buffer in self._buffers)

    @property
    def inner(self) -> Tier:
        """The tier behind."""
        return self._inner

    @property
    def buffers(self) -> int:
        """The number of staging buffers."""
        return self._count

    def open(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Open the inner tier, allocate the staging buffers, start the thread."""
        self.close()
        self._inner.open(specs, slots)
        self._start(specs, slots, ())

    def attach(self, specs: Sequence[ArraySpec], slots: int) -> None:
        """Start on an inner tier that is open already and may hold snapshots."""
        self._start(specs, slots, self._inner.held())

    def follow(self, uses: Iterable[Use]) -> None:
        """Say which calls will come, in order, so that loads can be begun ahead of time.

        Calls that differ from what was said are served all the same; nothing is read ahead
        after the first of them.
        """
        with self._lock:
            self._coming.clear()
            self._rest = iter(uses)
            self._look_ahead()

    def save(self, step: int, arrays: Sequence[Array], clock: Clock) -> None:
        """Copy the state to a staging buffer, which the thread writes."""
        with self._lock:
            self._check()
            if step in self._held:
                raise BadValue(f"step {step} is held already. Drop it before saving it again.")
            if len(self._held) >= self._slots:
                raise BadValue(f"all {self._slots} slots are taken. Drop one first.")
            check_arrays(arrays, self._specs)
            buffer = self._take_buffer()
        began = time.perf_counter()
        for into, array in zip(buffer.arrays, arrays, strict=True):
            np.copyto(into, array)
        with self._lock:
            self.waiting.copied += time.perf_counter() - began
            buffer.step, buffer.use, buffer.clock = step, "writing", dict(clock)
            self._held.add(step)
            self._put("save", step, buffer)
            self._follow("save", step)

    def load(self, step: int, arrays: Sequence[Array]) -> Clock:
        """Copy the snapshot of ``step`` out of a staging buffer, or wait until it is in one."""
        with self._lock:
            self._check()
            if step not in self._held:
                raise KeyError(f"step {step} is not held; held are {sorted(self._held)}")
            check_arrays(arrays, self._specs)
            self.waiting.loads += 1
            buffer = self._find(step)
            if buffer is None:
                buffer = self._take_buffer()
                self._read(step, buffer)
            elif buffer.use in ("reading", "ready"):
                self.waiting.prefetched += 1
            self._wait(lambda: buffer.use != "reading" or self._error is not None)
            self._check()
            before = buffer.use
        began = time.perf_counter()
        for array, source in zip(arrays, buffer.arrays, strict=True):
            np.copyto(array, source)
        with self._lock:
            self.waiting.copied += time.perf_counter() - began
            clock = dict(buffer.clock or {})
            if before == "ready":
                buffer.use = "clean"  # still good for a second load
            self._follow("load", step)
        return clock

    def drop(self, step: int) -> None:
        """Free the slot of ``step`` once what was asked before is done."""
        with self._lock:
            self._check()
            if step not in self._held:
                raise KeyError(f"step {step} is not held; held are {sorted(self._held)}")
            self._held.discard(step)
            buffer = self._find(step)
            if buffer is not None:
                buffer.step = -1
                if buffer.use in ("ready", "clean"):
                    buffer.use = "free"
            self._put("drop", step, None)
            self._follow("drop", step)

    def held(self) -> Sequence[int]:
        """Return the steps held, in no particular order."""
        return tuple(self._held)

    def flush(self) -> None:
        """Wait until everything asked for is done; raise what failed."""
        with self._lock:
            self._wait(lambda: not (self._jobs or self._busy) or self._error is not None)
            self._check()

    def detach(self) -> None:
        """Finish what was asked for, end the thread, free the buffers; leave the inner tier."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with self._lock:
                self._stop = True
                self._lock.notify_all()
            thread.join()
        error, self._error = self._error, None
        self._buffers = []
        self._held = set()
        self._jobs.clear()
        self._coming.clear()
        self._rest = iter(())
        if error is not None:
            raise error

    def close(self) -> None:
        """End the thread without finishing what was asked for, then close the inner tier."""
        with self._lock:
            self._jobs.clear()
        try:
            self.detach()
        except Exception:
            pass
        finally:
            self._inner.close()

    def _start(self, specs: Sequence[ArraySpec], slots: int, held: Sequence[int]) -> None:
        self._specs = tuple(specs)
        self._slots = slots
        self._held = set(held)
        self._buffers = [_buffer(specs) for _ in range(self._count)]
        self._stop = False
        self._error = None
        self._thread = threading.Thread(target=self._work, name="adjourn transfer", daemon=True)
        self._thread.start()

    # The methods below are called with the lock held, except `_work`.

    def _check(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            # What was asked for after the failure never happened: hold what is truly there.
            there = set(self._inner.held())
            for step in there - self._held:
                self._inner.drop(step)
            self._held &= there
            raise error
        if self._thread is None:
            raise BadValue("the tier is closed. Open it first.")

    def _find(self, step: int) -> _Buffer | None:
        for buffer in self._buffers:
            if buffer.step == step and buffer.use != "free":
                return buffer
        return None

    def _spare(self, beside: int = 0) -> _Buffer | None:
        """Return a buffer that nobody waits for, if there are ``beside`` more of them."""
        soon = {step for kind, step in self._coming if kind == "load"}
        spare = [buffer for buffer in self._buffers if buffer.use in ("free", "clean")]
        spare.sort(key=lambda buffer: (buffer.use == "clean") + (buffer.step in soon))
        return spare[0] if len(spare) > beside else None

    def _take_buffer(self) -> _Buffer:
        """Return a buffer, waiting for one; one read ahead is given up rather than waited for."""
        found = self._spare()
        if found is None:
            self._wait(lambda: self._spare() is not None or self._settled())
            self._check()
            found = self._spare()
        if found is None:
            found = next(buffer for buffer in self._buffers if buffer.use == "ready")
        found.use, found.step = "free", -1
        return found

    def _settled(self) -> bool:
        """Return whether no buffer is in transfer."""
        busy = any(buffer.use in ("writing", "reading") for buffer in self._buffers)
        return not busy or self._error is not None

    def _wait(self, done: Callable[[], bool]) -> None:
        began = time.perf_counter()
        self._lock.wait_for(done)
        self.waiting.waited += time.perf_counter() - began

    def _put(self, kind: str, step: int, buffer: _Buffer | None) -> None:
        self._jobs.append((kind, step, buffer))
        self._lock.notify_all()

    def _read(self, step: int, buffer: _Buffer) -> None:
        buffer.step, buffer.use = step, "reading"
        self._put("load", step, buffer)

    def _follow(self, kind: str, step: int) -> None:
        """Take note that a call came; look further ahead."""
        if self._coming:
            if self._coming[0] == (kind, step):
                self._coming.popleft()
            else:
                self._coming.clear()
                self._rest = iter(())
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Begin the next load that comes, if a buffer is free and its snapshot is held."""
        while len(self._coming) < _AHEAD:
            use = next(self._rest, None)
            if use is None:
                break
            self._coming.append(use)
        gone: set[int] = set()
        beside = 0
        for kind, step in self._coming:
            if kind == "drop":
                gone.add(step)
            elif kind == "save":
                beside = 1  # leave a buffer for it
                gone.add(step)
            elif step not in gone and step in self._held and self._find(step) is None:
                spare = self._spare(beside)
                if spare is None or spare.step == step:
                    return
                self._read(step, spare)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._jobs or self._stop)
                if not self._jobs or (self._stop and self._error is not None):
                    return
                kind, step, buffer = self._jobs.popleft()
                self._busy = True
            began = time.perf_counter()
            clock: Clock | None = None
            error: BaseException | None = None
            try:
                if kind == "drop":
                    self._inner.drop(step)
                elif buffer is not None and kind == "save":
                    self._inner.save(step, buffer.arrays, buffer.clock or {})
                elif buffer is not None:
                    clock = self._inner.load(step, buffer.arrays)
            except BaseException as caught:  # handed to the caller's thread
                error = caught
            with self._lock:
                self._busy = False
                self.waiting.transfer += time.perf_counter() - began
                if error is not None:
                    if self._error is None:
                        self._error = error
                    self._jobs.clear()
                    for other in self._buffers:
                        if other.use in ("writing", "reading"):
                            other.use, other.step = "free", -1
                elif buffer is not None:
                    if kind == "load":
                        buffer.clock = clock
                    if buffer.step < 0:  # dropped meanwhile
                        buffer.use = "free"
                    else:
                        buffer.use = "clean" if kind == "save" else "ready"
                self._lock.notify_all()


def _buffer(specs: Sequence[ArraySpec]) -> _Buffer:
    """Return a staging buffer whose arrays lie in page-aligned memory, each on its own page."""
    memory = aligned(sum(round_up(spec.nbytes) for spec in specs))
    arrays: list[Array] = []
    at = 0
    for spec in specs:
        part = memory[at : at + spec.nbytes]
        arrays.append(part.view(spec.dtype).reshape(spec.shape))
        at += round_up(spec.nbytes)
    return _Buffer(arrays, memory)


def staging_bytes(specs: Sequence[ArraySpec], buffers: int) -> int:
    """Return the bytes of that many staging buffers."""
    return buffers * max(sum(round_up(spec.nbytes) for spec in specs), state_bytes(specs))
