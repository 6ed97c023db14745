"""The decisions of a byte plan as bodies for `grow`: one for each sub-problem met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

from ..optimum._layers import Layer
from ..optimum._loops import LoopTable
from ..optimum._menu import Option
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._grammar import Body, Part

__all__ = ["Decisions", "Problem"]


class Problem(NamedTuple):
    """A sub-problem: blocks of a layer with units to use.

    ``kind``: the start state is live and

    - ``free``: not stored; the blocks are reversed at once (C0); ``ending`` where what is left
      at the end of all steps follows the blocks;
    - ``stored``: stored as well (C1);
    - ``held``: not stored; forward only, at most ``left`` units being held at the end (F);
      ``back`` is its way back;
    - ``kept``: as ``held``, for one block of the layer above whose start state is stored;
      ``kept back`` is its way back.
    """

    kind: str
    layer: int
    blocks: int
    units: int
    left: int = 0


class Footprint(NamedTuple):
    """Bytes beyond those held when a sub-problem starts.

    After its way forward, in the end, and at most.
    """

    left: int
    end: int
    peak: int


_Items: TypeAlias = list[Action | Part]
_Ways: TypeAlias = tuple[_Items, _Items]
_FORWARD = {"back": "held", "kept back": "kept"}


def _problem(part: Part) -> Problem:
    """Return the sub-problem of a part; that of a way back is the one whose way back it is."""
    problem = cast("Problem", part.key)
    kind = _FORWARD.get(problem.kind)
    return problem if kind is None else problem._replace(kind=kind)


def measure(
    ahead: _Items,
    back: _Items,
    known: dict[Problem, Footprint],
    menu: Sequence[Option],
    snapshot: int,
) -> Footprint:
    """Return the footprint of a way forward and back; costs one visit of every item."""
    held = most = 0
    tapes: list[int] = []
    for item in ahead:
        match item:
            case Save():
                held += snapshot
            case Drop():
                held -= snapshot
            case Record(start, stop, option):
                _, left, peak = menu[option]
                most = max(most, held + (stop - start - 1) * left + peak)
                tapes.append((stop - start) * left)
                held += tapes[-1]
            case Reverse():
                held -= tapes.pop()
            case Part():
                held, most = _measure_part(item, held, most, known)
            case _:
                pass
        most = max(most, held)
    left = held
    for item in back:
        if isinstance(item, Reverse):
            held -= tapes.pop()
        elif isinstance(item, Part):
            held, most = _measure_part(item, held, most, known)
    return Footprint(left, held, most)


def _measure_part(
    part: Part, held: int, most: int, known: dict[Problem, Footprint]
) -> tuple[int, int]:
    footprint = known[_problem(part)]
    if cast("Problem", part.key).kind in _FORWARD:
        held -= footprint.left
        return held + footprint.end, max(most, held + footprint.peak)
    return held + footprint.left, max(most, held + footprint.peak)


class Decisions:
    """What to do in each sub-problem of a stack of layers.

    Runs of steps recorded with one option are one record and one reverse; a range costs what
    its steps cost, and its peak is that of its last step.
    """

    def __init__(self, layers: Sequence[Layer], units: int) -> None:
        self._layers = layers
        self._units = units
        self._bodies: dict[Problem, _Ways] = {}

    def whole(self) -> list[Part]:
        """Return the root: all steps in all units."""
        top = len(self._layers) - 1
        problem = self._rest(top, self._layers[top].rest, self._units, ends=True)
        return [] if problem is None else [Part(problem, 0)]

    def expand(self, problem: Problem) -> Body:
        """Return what to do in a sub-problem, its start at 0."""
        ahead, back = self._both(_problem(Part(problem, 0)))
        return back if problem.kind in _FORWARD else ahead

    def peak_bytes(self, menu: Sequence[Option], snapshot: int) -> int:
        """Return the most bytes that the snapshots and recordings of the whole plan hold."""
        known: dict[Problem, Footprint] = {}
        waiting = [_problem(part) for part in self.whole()]
        roots = waiting[:]
        while waiting:
            problem = waiting[-1]
            ahead, back = self._both(problem)
            parts = {_problem(item) for item in (*ahead, *back) if isinstance(item, Part)}
            missing = parts.difference(known)
            waiting.extend(missing)
            if not missing:
                known[waiting.pop()] = measure(ahead, back, known, menu, snapshot)
        return max((known[root].peak for root in roots), default=0)

    def _both(self, problem: Problem) -> _Ways:
        """Return the way forward, and the way back where it is not at once."""
        ways = self._bodies.get(problem)
        if ways is None:
            kind, index, blocks, units, left = problem
            if kind == "held":
                ahead, back = self._held(index, blocks, left, units)
                ways = ahead, back[::-1]
            elif kind == "kept":
                ahead, back = self._kept(index, left, units)
                ways = ahead, back[::-1]
            else:
                nothing: _Items = []
                ways = self._at_once(problem), nothing
            self._bodies[problem] = ways
        return ways

    def _at_once(self, problem: Problem) -> _Items:
        kind, index, blocks, units, _ = problem
        ahead: _Items = []
        back: _Items = []
        at = 0
        stored = kind == "stored"
        following: Problem | None = problem
        while following is not None:
            _, index, blocks, units, _ = following
            layer = self._layers[index]
            ends = following.kind == "ending"
            choice = layer.table.choose(
                blocks, units, stored=stored, ending=layer.ending if ends else None
            )
            if choice.span:
                if not stored:
                    ahead.append(Save(at))
                stop = at + choice.span * layer.span
                ahead.append(Advance(at, stop))
                free = units - layer.table.rates.snapshot
                rest = self._rest(index, blocks - choice.span, free, ends=ends)
                ahead += [] if rest is None else [Part(rest, stop)]
                ahead += [Load(at), Part(Problem("stored", index, choice.span, units), at)]
                break
            if index == 0 and stored:
                ahead.append(Drop(at))
            self._record(ahead, back, index, at, choice.option, units, choice.left, stored)
            at += layer.span
            stored = False
            following = self._rest(index, blocks - 1, units - choice.left, ends=ends)
        return ahead + back[::-1]

    def _rest(self, index: int, blocks: int, units: int, *, ends: bool) -> Problem | None:
        """Return the sub-problem of the blocks that are left, on the layer where there are any."""
        layer = self._layers[index]
        if not ends or layer.ending is None:
            return Problem("free", index, blocks, units) if blocks else None
        if blocks:
            return Problem("ending", index, blocks, units)
        lower = self._layers[index - 1]
        return self._rest(index - 1, lower.rest, layer.below(units, lower), ends=True)

    def _record(
        self,
        ahead: _Items,
        back: _Items,
        index: int,
        at: int,
        option: int,
        units: int,
        left: int,
        stored: bool,
    ) -> None:
        """Add one block's recording, or a longer run of steps, and its way back."""
        if index == 0:
            last = ahead[-1] if ahead else None
            if isinstance(last, Record) and last.stop == at and last.option == option:
                ahead[-1] = Record(last.start, at + 1, option)
                back[-1] = Reverse(last.start, at + 1)
            else:
                ahead.append(Record(at, at + 1, option))
                back.append(Reverse(at, at + 1))
            return
        layer, lower = self._layers[index], self._layers[index - 1]
        least = min(left * layer.unit // lower.unit, lower.table.units)
        free = layer.below(units, lower)
        kind = "kept" if stored else "held"
        blocks = lower.table.steps
        ahead.append(Part(Problem(kind, index - 1, blocks, free, least), at))
        kind = "kept back" if stored else "back"
        back.append(Part(Problem(kind, index - 1, blocks, free, least), at))

    def _held(self, index: int, blocks: int, left: int, units: int) -> tuple[_Items, _Items]:
        """Return the way forward and, in reverse order, the way back."""
        layer, loop = self._layers[index], self._loop(index)
        ahead: _Items = []
        back: _Items = []
        at = 0
        while blocks:
            choice = loop.choose(blocks, left, units)
            if choice.span:
                self._advance(ahead, back, index, at, blocks, choice.span, left, units)
                break
            self._record(ahead, back, index, at, choice.option, units, choice.left, stored=False)
            at += layer.span
            blocks -= 1
            left -= choice.left
            units -= choice.left
        return ahead, back

    def _kept(self, index: int, left: int, units: int) -> tuple[_Items, _Items]:
        loop = self._loop(index)
        choice = loop.choose_kept(left, units)
        if choice is None:
            given_up = self._held(index, loop.steps, left, units)
            return [Drop(0), *given_up[0]], given_up[1]
        ahead: _Items = []
        back: _Items = []
        self._advance(ahead, back, index, 0, loop.steps, choice.span, left, units)
        return ahead[1:], back

    def _advance(
        self,
        ahead: _Items,
        back: _Items,
        index: int,
        at: int,
        blocks: int,
        span: int,
        left: int,
        units: int,
    ) -> None:
        """Add keeping the start, going on, and the way back."""
        layer = self._layers[index]
        snapshot = layer.table.rates.snapshot
        stop = at + span * layer.span
        ahead += [Save(at), Advance(at, stop)]
        back += [Part(Problem("stored", index, span, units), at), Load(at)]
        if span < blocks:
            rest = (index, blocks - span, units - snapshot, left - snapshot)
            ahead.append(Part(Problem("held", *rest), stop))
            back.append(Part(Problem("back", *rest), stop))

    def _loop(self, index: int) -> LoopTable:
        loop = self._layers[index].loop
        if loop is None:
            raise ValueError(f"Layer {index} plans nothing that is held.")
        return loop
