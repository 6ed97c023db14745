"""What the events of an adjoint say, frame by frame, folded into a tree with statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ._stat import Slot, Stat
from ._tree import Call, CallTree, Item, Leaf, Repeat, Site

__all__ = [
    "BEGIN_ADVANCE",
    "BEGIN_REVERSE",
    "END_ADVANCE",
    "END_REVERSE",
    "READ",
    "SNAPSHOT",
    "TURN",
    "Machine",
    "fold_runs",
]

SNAPSHOT, BEGIN_ADVANCE, END_ADVANCE, READ, BEGIN_REVERSE, TURN, END_REVERSE = range(7)

_PERIOD = 64  # the longest stretch of calls that is looked for as a repeat
_VARIANTS = 32  # calls of one context with different bytes before bytes are rounded up

Token: TypeAlias = tuple[Any, ...]
"""One of ``("leaf", left)``, a piece that leaves bytes, or the last one; ``("call", node)``, a
call with the piece before it if that leaves none; and ``("repeat", times, tokens)``."""


@dataclass(slots=True, eq=False)
class _Node:
    """A call of one site in one context, with the same bytes each time."""

    site: Site
    snapshot: int
    external: bool
    keep: bool
    peak: int
    tokens: tuple[Token, ...]
    slots: list[Slot]
    advance: Stat = field(default_factory=Stat)
    copy: Stat = field(default_factory=Stat)


@dataclass(slots=True, eq=False)
class _Entry:
    """A joint call of a frame, from its snapshot until it was reversed."""

    site: Site
    before: int
    began: int
    snapshot: int = 0
    write: int = 0
    advance: int = 0
    read: int = 0
    node: _Node | None = None


@dataclass(slots=True, eq=False)
class _Piece:
    """What runs between two calls: nanoseconds, and bytes pushed."""

    record: int
    left: int
    reverse: int = 0


_Episode: TypeAlias = tuple[tuple[Token, ...], "list[_Piece | None]"]
"""A body, and the piece of each of its tokens when repeats are written out."""


@dataclass(slots=True, eq=False)
class _Frame:
    """A routine whose adjoint is running.

    ``entries[i]`` comes after ``pieces[i]``; after the turn, ``behind`` entries are still to be
    reversed, and ``pieces[behind]`` is running. A routine that begins to record again after it
    has reversed has a further episode.
    """

    site: Site | None
    context: int
    entry: _Entry | None
    base: int
    mark: int
    size: int
    top: int
    began: int
    forward: bool = True
    behind: int = 0
    entries: list[_Entry] = field(default_factory=list[_Entry])
    pieces: list[_Piece] = field(default_factory=list[_Piece])
    episodes: list[_Episode] = field(default_factory=list[_Episode])


class Machine:
    """Plays events and keeps the tree so far.

    Attributes
    ----------
    dropped : int
        Events that did not fit, and calls that were never reversed.
    rounded : bool
        Whether bytes were rounded up, in a context where they are different each time.
    """

    def __init__(self) -> None:
        self._nodes: dict[Token, _Node] = {}
        self._contexts: dict[tuple[int, Site], int] = {}
        self._variants: Counter[int] = Counter()
        self._frames = [_Frame(None, 0, None, 0, -1, 0, 0, 0)]
        self.dropped = 0
        self.rounded = False

    def play(self, kind: int, site: Site, held: int, now: int) -> None:
        """Take one event: the bytes held, and the time in nanoseconds."""
        frame = self._frames[-1]
        if frame.mark < 0:
            frame.mark = now
        frame.top = max(frame.top, held)
        if kind == SNAPSHOT:
            if not frame.forward:
                self._end_episode(frame, now, held)
            frame.pieces.append(_Piece(now - frame.mark, held - frame.size))
            frame.entries.append(_Entry(site, held, now))
        elif kind == BEGIN_ADVANCE:
            entry = self._last(frame, site)
            if entry is not None:
                entry.snapshot = max(0, held - entry.before)
                entry.write = now - entry.began
                entry.began = now
        elif kind == END_ADVANCE:
            entry = self._last(frame, site)
            if entry is not None:
                entry.advance = now - entry.began
                frame.mark, frame.size = now, held
        elif kind == TURN:
            if frame.forward:
                self._turn(frame, now, held)
            else:
                self.dropped += 1
        elif kind == READ:
            self._read(frame, site, held, now)
        elif kind == BEGIN_REVERSE:
            self._begin_reverse(frame, site, held, now)
        else:
            self._end_reverse(site, held, now)

    def _last(self, frame: _Frame, site: Site) -> _Entry | None:
        if frame.forward and frame.entries and frame.entries[-1].site == site:
            return frame.entries[-1]
        self.dropped += 1
        return None

    def _turn(self, frame: _Frame, now: int, held: int) -> None:
        frame.pieces.append(_Piece(now - frame.mark, held - frame.size))
        frame.forward = False
        frame.mark = now
        frame.behind = len(frame.entries)

    def _read(self, frame: _Frame, site: Site, held: int, now: int) -> None:
        at = len(frame.entries) if frame.forward else frame.behind
        at -= 1
        while at >= 0 and frame.entries[at].site != site:
            at -= 1
        if at < 0:
            self.dropped += 1
            return
        if frame.forward:  # it never turned: recording cannot be told from reversing
            self._turn(frame, now, held)
        frame.pieces[frame.behind].reverse = now - frame.mark
        frame.behind = at
        frame.entries[at].began = now

    def _begin_reverse(self, frame: _Frame, site: Site, held: int, now: int) -> None:
        if (
            frame.forward
            or frame.behind >= len(frame.entries)
            or frame.entries[frame.behind].site != site
        ):
            self.dropped += 1
            return
        entry = frame.entries[frame.behind]
        entry.read = now - entry.began
        context = self._contexts.setdefault((frame.context, site), len(self._contexts) + 1)
        self._frames.append(_Frame(site, context, entry, held, now, held, held, now))

    def _end_reverse(self, site: Site, held: int, now: int) -> None:
        frames = self._frames
        depth = len(frames) - 1
        while depth > 0 and frames[depth].site != site:
            depth -= 1
        if depth == 0:
            self.dropped += 1
            return
        self.dropped += len(frames) - 1 - depth
        frame = frames[depth]
        del frames[depth:]
        caller = frames[-1]
        caller.top = max(caller.top, frame.top)
        if frame.entry is not None:
            frame.entry.node = self._close(frame, frame.entry, now)
        caller.mark, caller.size = now, held

    def _close(self, frame: _Frame, entry: _Entry, now: int) -> _Node:
        external = frame.forward and not frame.entries and not frame.episodes
        peak = 0
        if external:
            tokens: tuple[Token, ...] = (("leaf", 0),)
            pieces: list[_Piece | None] = [_Piece(now - frame.began, 0)]
            peak = frame.top - frame.base
        else:
            self._end_episode(frame, now, frame.size)
            tokens, pieces = _joined(frame.episodes)
        keep = entry.snapshot > 0 and frame.base >= entry.before + entry.snapshot
        snapshot = entry.snapshot
        if self._rounds(frame):
            snapshot, peak = _round_up(snapshot), _round_up(peak)
        key = (frame.context, snapshot, external, keep, peak, tokens)
        node = self._nodes.get(key)
        if node is None:
            slots = [Slot() for _ in range(_places(tokens))]
            node = _Node(entry.site, snapshot, external, keep, peak, tokens, slots)
            self._nodes[key] = node
            self._variants[frame.context] += 1
        _sample(node.slots, tokens, pieces)
        node.advance.add(entry.advance)
        node.copy.add(entry.write + entry.read)
        return node

    def _rounds(self, frame: _Frame) -> bool:
        """Return whether bytes of a context that never repeats are rounded up from now on."""
        rounding = frame.entry is not None and self._variants[frame.context] >= _VARIANTS
        self.rounded = self.rounded or rounding
        return rounding

    def _end_episode(self, frame: _Frame, now: int, held: int) -> None:
        if frame.forward:
            self._turn(frame, now, held)
        frame.pieces[frame.behind].reverse = now - frame.mark
        self.dropped += sum(entry.node is None for entry in frame.entries)
        frame.episodes.append(_episode(frame, rounding=self._rounds(frame)))
        frame.entries, frame.pieces = [], []
        frame.forward, frame.behind = True, 0
        frame.mark, frame.size = now, held

    def tree(self, overhead: int, note: str) -> CallTree:
        """Return the tree so far; ``overhead`` nanoseconds are taken off every interval."""
        root = self._frames[0]
        episodes = list(root.episodes)
        if not root.forward:
            episodes.append(_episode(root))
        shapes = Counter(tokens for tokens, _ in episodes)
        if not shapes:
            return CallTree([], note)
        tokens, count = shapes.most_common(1)[0]
        slots = [Slot() for _ in range(_places(tokens))]
        for one, pieces in episodes:
            if one == tokens:
                _sample(slots, tokens, pieces)
        if len(shapes) > 1:
            note += f"; {count} of {len(episodes)} adjoints, the others differ"
        if self.rounded:
            note += "; bytes that never repeat were rounded up"
        if self.dropped:
            note += f"; {self.dropped} events or calls were never completed"
        return CallTree(_Assembler(overhead).body(tokens, slots, None), note)


def _episode(frame: _Frame, *, rounding: bool = False) -> _Episode:
    """Return the calls of a frame that were reversed, with the pieces between them."""
    tokens: list[Token] = []
    pieces: list[_Piece | None] = []
    carried = _Piece(0, 0)
    for piece, entry in zip(frame.pieces, frame.entries, strict=False):
        whole = _both(carried, piece)
        if entry.node is None:  # never reversed: part of the piece around it
            carried = _Piece(whole.record, whole.left + entry.snapshot, whole.reverse)
            continue
        carried = _Piece(0, 0)
        if whole.left > 0:
            tokens.append(("leaf", _round_up(whole.left) if rounding else whole.left))
            pieces.append(whole)
        tokens.append(("call", entry.node))
        pieces.append(None if whole.left > 0 else whole)
    last = _both(carried, frame.pieces[-1])
    left = max(0, last.left)
    tokens.append(("leaf", _round_up(left) if rounding else left))
    pieces.append(last)
    return fold_runs(tuple(tokens)), pieces


def _round_up(nbytes: int) -> int:
    """Return a size with five significant bits, and no less than a multiple of 64."""
    unit = 64
    while nbytes // unit >= 32:
        unit *= 2
    return -(-nbytes // unit) * unit


def _both(first: _Piece, then: _Piece) -> _Piece:
    return _Piece(first.record + then.record, first.left + then.left, first.reverse + then.reverse)


def _joined(episodes: list[_Episode]) -> _Episode:
    """Return several episodes as one body, equal ones next to each other as a repeat."""
    if len(episodes) == 1:
        return episodes[0]
    tokens: list[Token] = []
    at = 0
    while at < len(episodes):
        stop = at
        while stop < len(episodes) and episodes[stop][0] == episodes[at][0]:
            stop += 1
        if stop - at > 1:
            tokens.append(("repeat", stop - at, episodes[at][0]))
        else:
            tokens += episodes[at][0]
        at = stop
    return tuple(tokens), [piece for _, pieces in episodes for piece in pieces]


def fold_runs(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return tokens with equal stretches, one after the other, folded into repeats.

    Costs one pass for each length of a stretch up to 64, again until nothing is folded; stretches
    within stretches are found.
    """
    while True:
        before = len(tokens)
        for period in range(1, min(_PERIOD, len(tokens) // 2) + 1):
            tokens = _fold_period(tokens, period)
        if len(tokens) == before:
            return tokens


def _fold_period(tokens: tuple[Token, ...], period: int) -> tuple[Token, ...]:
    folded: list[Token] = []
    at, copied, count = 0, 0, len(tokens)
    while at + 2 * period <= count:
        if tokens[at] is not tokens[at + period] and tokens[at] != tokens[at + period]:
            at += 1
            continue
        stop = at + period
        while stop < count and tokens[stop] == tokens[stop - period]:
            stop += 1
        times = (stop - at) // period
        if times < 2:
            at += 1
            continue
        folded += tokens[copied:at]
        folded.append(("repeat", times, tokens[at : at + period]))
        at = copied = at + times * period
    return tokens if not folded else (*folded, *tokens[copied:])


def _places(tokens: tuple[Token, ...]) -> int:
    return sum(_places(token[2]) if token[0] == "repeat" else 1 for token in tokens)


def _sample(slots: list[Slot], tokens: tuple[Token, ...], pieces: list[_Piece | None]) -> None:
    """Add the times of a frame's pieces to the places of its folded body."""
    source = iter(pieces)

    def walk(part: tuple[Token, ...], at: int) -> int:
        for token in part:
            if token[0] == "repeat":
                after = at
                for _ in range(token[1]):
                    after = walk(token[2], at)
                at = after
            else:
                piece = next(source)
                if piece is not None:
                    slots[at].record.add(piece.record)
                    slots[at].reverse.add(piece.reverse)
                at += 1
        return at

    walk(tokens, 0)


class _Assembler:
    """Makes items of nodes, each node once."""

    def __init__(self, overhead: int) -> None:
        self._overhead = overhead
        self._done: dict[_Node, Call] = {}

    def _call(self, node: _Node) -> Call:
        if node not in self._done:
            if node.external:
                slot, advance = node.slots[0], node.advance.typical(self._overhead)
                seconds = max(slot.record.typical(self._overhead), advance)
                body: tuple[Item, ...] = (
                    Leaf(
                        advance, seconds, 0, node.peak, None, slot.record.spread, slot.record.count
                    ),
                )
            else:
                body = self.body(node.tokens, node.slots, node.advance)
            self._done[node] = Call(
                node.site,
                node.snapshot,
                node.copy.typical(2 * self._overhead),
                body,
                external=node.external,
                keep=node.keep,
                spread=node.copy.spread,
                samples=node.copy.count,
            )
        return self._done[node]

    def body(
        self, tokens: tuple[Token, ...], slots: list[Slot], advance: Stat | None
    ) -> tuple[Item, ...]:
        """Return the items of a body.

        The time of a plain run that the calls do not take is spread over the pieces as their
        recording is. The root has no plain run of its own: its recording stands for it.
        """
        share = 1.0
        if advance is not None:
            recording, called = self._totals(tokens, slots, 0)[:2]
            own = max(0.0, advance.typical(self._overhead) - called)
            share = own / recording if recording else 0.0
        return self._items(tokens, slots, 0, share)[0]

    def _totals(
        self, tokens: tuple[Token, ...], slots: list[Slot], at: int
    ) -> tuple[float, float, int]:
        recording = called = 0.0
        for token in tokens:
            if token[0] == "repeat":
                inner, deeper, at = self._totals(token[2], slots, at)
                recording += token[1] * inner
                called += token[1] * deeper
                continue
            recording += slots[at].record.typical(self._overhead)
            at += 1
            if token[0] == "call":
                called += self._call(token[1]).primal
        return recording, called, at

    def _items(
        self, tokens: tuple[Token, ...], slots: list[Slot], at: int, share: float
    ) -> tuple[tuple[Item, ...], int]:
        items: list[Item] = []
        for token in tokens:
            if token[0] == "repeat":
                inner, at = self._items(token[2], slots, at, share)
                items.append(Repeat(token[1], inner))
                continue
            slot = slots[at]
            at += 1
            record = slot.record.typical(self._overhead)
            seconds = record + slot.reverse.typical(self._overhead)
            left = token[1] if token[0] == "leaf" else 0
            if seconds or left:
                advance = record * share
                items.append(
                    Leaf(
                        advance,
                        max(seconds, advance),
                        left,
                        left,
                        record,
                        slot.record.spread + slot.reverse.spread,
                        slot.record.count,
                    )
                )
            if token[0] == "call":
                items.append(self._call(token[1]))
        return tuple(items), at
