"""Transfers by a thread of their own, so that the device works while the processor does."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

__all__ = ["Ahead"]


class Ahead:
    """Makes calls in the order they are asked for, in one thread that lives for one snapshot.

    Pays where the processor waits for a device. Where it copies the bytes itself, as it does to
    and from the page cache, a second thread only takes turns with the first for the same caches.

    Parameters
    ----------
    threaded : bool
        False: each call is made at once, where it is asked for.
    """

    def __init__(self, *, threaded: bool) -> None:
        self.threaded = threaded
        self._asked: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._left = 0
        self._skip = False

    def ask(self, call: Callable[[], object]) -> None:
        """Have a call made after those before it."""
        if not self.threaded:
            call()
            return
        if self._thread is None:
            self._thread = Thread(target=self._work, name="adjourn pieces", daemon=True)
            self._thread.start()
        self._left += 1
        self._asked.put(call)

    def wait(self, left: int = 0) -> None:
        """Wait until at most ``left`` calls are not made yet; raise what one of the others did."""
        while self._left > left:
            error = self._ended.get()
            self._left -= 1
            if error is not None:
                raise error

    def close(self) -> None:
        """Let the call that is being made end, leave out those after it. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._skip = True
            self._asked.put(None)
            thread.join()

    def _work(self) -> None:
        while (call := self._asked.get()) is not None:
            error: BaseException | None = None
            if not self._skip:
                try:
                    call()
                except BaseException as caught:  # raised where it is waited for
                    error = caught
                    self._skip = True
            self._ended.put(error)
