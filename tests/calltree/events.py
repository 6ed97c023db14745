"""The events of adjoints that are played, not run."""

from __future__ import annotations

from adjourn.calltree import Leaf, Repeat


class Adjoint:
    """Plays the events of a joint adjoint of a nested list: ints are pushes, tuples calls."""

    def __init__(self, recorder, keep=False):
        self.recorder = recorder
        self.keep = keep
        self.held = self.peak = 0

    def run(self, body, name):
        for item in body:
            if isinstance(item, int):
                self.held += item
            else:
                self.recorder.snapshot(item[0], self.held)
                self.held += item[1]
                self.recorder.begin_advance(item[0], self.held)
                self.recorder.end_advance(item[0], self.held)
            self.peak = max(self.peak, self.held)
        self.recorder.turn(name, self.held)
        for item in reversed(body):
            if isinstance(item, int):
                self.held -= item
                continue
            self.recorder.read(item[0], self.held)
            if not self.keep:
                self.held -= item[1]
            self.recorder.begin_reverse(item[0], self.held)
            if item[2] is not None:
                self.run(item[2], item[0])
            self.recorder.end_reverse(item[0], self.held)
            if self.keep:
                self.held -= item[1]


def structure(items):
    """Return the bytes of a tree, without its times and without empty leaves."""
    made = []
    for item in items:
        if isinstance(item, Leaf):
            if item.left:
                made.append(item.left)
        elif isinstance(item, Repeat):
            made.append((item.times, structure(item.body)))
        else:
            made.append((item.site, item.snapshot, structure(item.body)))
    return made
