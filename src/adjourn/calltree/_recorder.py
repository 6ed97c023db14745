"""Records a call tree from the events of an adjoint while it runs."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from time import perf_counter_ns
from typing import TypeAlias

from ._machine import (
    BEGIN_ADVANCE,
    BEGIN_REVERSE,
    END_ADVANCE,
    END_REVERSE,
    READ,
    SNAPSHOT,
    TURN,
    Machine,
)
from ._tree import CallTree, Site

__all__ = ["Recorder"]

_Event: TypeAlias = Callable[[Site, int], None]

_FOLD = 3 << 16  # numbers in the log before it is folded away: 1.5 MiB


class Recorder:
    """The events that the runtime of an AD tool reports, and the tree made of them.

    For each joint call the adjoint reports, in its forward sweep, ``snapshot`` (before the
    snapshot is taken), ``begin_advance`` (after it) and ``end_advance``; in its reverse sweep
    ``read`` (before the snapshot is read), ``begin_reverse`` (after it) and ``end_reverse``; and
    ``turn`` from within, between recording and reversing the callee. Each takes the name of the
    call site and the bytes the tape holds at that moment.

    An event costs a few tenths of a microsecond and 24 bytes of a log, which is folded from time
    to time into the tree so far; the clock does not see the folding, and the cost of the events
    themselves is measured and subtracted. Recursion is fine. A call that never turns is external.
    Calls that are never reversed (an early exit) and frames left by an exception are dropped and
    counted in the tree's note.

    Attributes
    ----------
    snapshot, begin_advance, end_advance, read, begin_reverse, turn, end_reverse : callable
        The events, ``event(site, held)``.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.snapshot("f", 0)
    >>> recorder.begin_advance("f", 16)
    >>> recorder.end_advance("f", 16)
    >>> recorder.turn("main", 16)
    >>> recorder.read("f", 16)
    >>> recorder.begin_reverse("f", 0)
    >>> recorder.turn("f", 40)
    >>> recorder.end_reverse("f", 0)
    >>> tree = recorder.tree()
    >>> call = tree.body[0]
    >>> call.site, call.snapshot, call.keep, call.body[0].left
    ('f', 16, False, 40)
    """

    def __init__(self) -> None:
        self._log = array("q")
        self._sites: dict[Site, int] = {}
        self._machine = Machine()
        self._paused = 0
        self.snapshot = self._event(SNAPSHOT)
        self.begin_advance = self._event(BEGIN_ADVANCE)
        self.end_advance = self._event(END_ADVANCE)
        self.read = self._event(READ)
        self.begin_reverse = self._event(BEGIN_REVERSE)
        self.turn = self._event(TURN)
        self.end_reverse = self._event(END_REVERSE)

    def _event(self, kind: int) -> _Event:
        log, sites, clock = self._log, self._sites, perf_counter_ns
        append, fold = log.append, self._fold

        def event(site: Site, held: int) -> None:
            try:
                append(sites[site] + kind)
            except KeyError:
                sites[site] = len(sites) << 3
                append(sites[site] + kind)
            append(held)
            append(clock())
            if len(log) >= _FOLD:
                fold()

        return event

    def _fold(self) -> None:
        """Play the log into the tree so far, and hide from the clock how long that takes."""
        began = perf_counter_ns()
        names = list(self._sites)
        log = self._log
        play, paused = self._machine.play, self._paused
        for at in range(0, len(log), 3):
            key = log[at]
            play(key & 7, names[key >> 3], log[at + 1], log[at + 2] - paused)
        del log[:]
        self._paused += perf_counter_ns() - began

    def tree(self, note: str = "recorded") -> CallTree:
        """Return the tree of what has been reported so far; the recorder may go on.

        What runs before the first event and after the last one is not in the tree.
        """
        self._fold()
        return self._machine.tree(Recorder.overhead(), note)

    @staticmethod
    def overhead() -> int:
        """Measure the nanoseconds of one event; takes a few milliseconds."""
        scratch = Recorder()
        event = scratch.turn
        rounds = 2000
        best = 1 << 62
        for _ in range(5):
            began = perf_counter_ns()
            for _ in range(rounds):
                event("x", 0)
            best = min(best, perf_counter_ns() - began)
            del scratch._log[:]
        return best // rounds
