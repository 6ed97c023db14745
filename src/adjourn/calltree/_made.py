"""Decisions on a call tree: their exact seconds and bytes, and what makes up their peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ._fold import Fold
from ._held import Program
from ._sites import step_names
from ._tree import Call, Item, Leaf, Loop, Mode, Repeat

__all__ = [
    "Body",
    "Holding",
    "Made",
    "Value",
    "decide",
    "evaluate",
    "name_calls",
    "peak_parts",
    "visit",
]


class Value(NamedTuple):
    """Seconds, bytes left at the end of the forward pass, and peak bytes."""

    seconds: float
    left: int
    peak: int


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """An item with its decision.

    Attributes
    ----------
    item : Leaf, Call, Loop or Repeat
        The item.
    mode : {"joint", "split"} or None
        The mode of a call.
    bodies : tuple of tuple of Made
        The decisions inside: one body, or for a loop one for each way to record an iteration.
    program : tuple of Rule
        A loop's schedule, whose options number ``bodies``; empty if every iteration is recorded
        in place.
    shadow : bool
        The item is the beginning of the loop that follows it, planned apart.
    """

    item: Item
    mode: Mode | None = None
    bodies: tuple[tuple[Made, ...], ...] = ()
    program: Program = ()
    shadow: bool = False


Body = tuple[Made, ...]


class Holding(NamedTuple):
    """Bytes held at the peak.

    Attributes
    ----------
    path : str
        The path of the routine, empty for the root.
    what : str
        What it is.
    nbytes : int
        Its size.
    """

    path: str
    what: str
    nbytes: int


def decide(fold: Fold, row: int, until: Fold | None = None) -> tuple[Body, int]:
    """Return the decisions of one option, and its row in ``until``, where the stretch ends."""
    return _decide(fold, row, until, {})


def _decide(
    fold: Fold, row: int, until: Fold | None, done: dict[tuple[int, int], Body]
) -> tuple[Body, int]:
    def inside(other: Fold | None, number: int) -> Body:
        if other is None:
            return ()
        key = (id(other), number)
        if key not in done:
            done[key] = _decide(other, number, None, done)[0]
        return done[key]

    made: list[Made] = []
    while fold is not until and fold.item is not None and fold.rest is not None:
        if fold.behind is None or (fold.inside is None and not isinstance(fold.item, Leaf)):
            raise ValueError("a fold made for a bound has no decisions.")
        behind = int(fold.behind[row])
        within = -1 if fold.inside is None else int(fold.inside[row])
        match fold.item:
            case Leaf() as item:
                made.append(Made(item))
            case Call() as item:
                if fold.is_joint is not None and fold.is_joint[row]:
                    made.append(Made(item, "joint", (inside(fold.joint, within),)))
                elif fold.split is not None:
                    body, behind = _decide(fold.split, within, fold.rest, done)
                    made.append(Made(item, "split", (body,)))
            case Repeat() as item:
                made.append(Made(item, bodies=(inside(fold.body, within),)))
            case Loop() as item:
                if fold.loop is not None and fold.loop.recorded:
                    made.append(Made(item, bodies=(inside(fold.body, fold.loop.menu[within]),)))
                elif fold.loop is not None:
                    program, rest_row = fold.loop.program(within)
                    behind = rest_row if fold.loop.with_rest else behind
                    used = sorted({rule.option for rule in program if rule.option >= 0})
                    number = {option: at for at, option in enumerate(used)}
                    made.append(
                        Made(
                            item,
                            bodies=tuple(inside(fold.body, option) for option in used),
                            program=tuple(
                                rule
                                if rule.option < 0
                                else rule._replace(option=number[rule.option])
                                for rule in program
                            ),
                            shadow=fold.shadow,
                        )
                    )
        fold, row = fold.rest, behind
    return tuple(made), row


def evaluate(body: Body) -> Value:
    """Return the exact seconds and bytes of decisions; whole numbers stay whole."""
    return _of_body(body, {})


def _of_body(body: Body, done: dict[int, Value]) -> Value:
    if id(body) in done:
        return done[id(body)]
    seconds: float = 0
    left = peak = 0
    for made in reversed(body):
        value = _of_made(made, done)
        seconds += value.seconds
        peak = max(value.peak, value.left + peak)
        left += value.left
    done[id(body)] = Value(seconds, left, peak)
    return done[id(body)]


def _of_made(made: Made, done: dict[int, Value]) -> Value:
    match made.item:
        case Leaf() as leaf:
            return Value(leaf.seconds, leaf.left, leaf.peak)
        case Call() as call:
            body = _of_body(made.bodies[0], done)
            if made.mode == "split":
                return Value(body.seconds + call.extra, *body[1:]) if call.extra else body
            return _joint(call, body)
        case Repeat(times=times):
            body = _of_body(made.bodies[0], done)
            return _times(times, body)
        case Loop() as loop:
            if not made.program:
                return _times(loop.steps, _of_body(made.bodies[0], done))
            return _of_rules(loop, made, [_of_body(body, done) for body in made.bodies])[-1]


def _joint(call: Call, body: Value) -> Value:
    again = call.snapshot + body.peak if call.keep else max(call.snapshot, body.peak)
    return Value(body.seconds + call.primal + call.copy, call.snapshot, again)


def _times(times: int, body: Value) -> Value:
    return Value(times * body.seconds, times * body.left, (times - 1) * body.left + body.peak)


def _of_rules(loop: Loop, made: Made, options: list[Value]) -> list[Value]:
    advance = sum(item.primal for item in loop.body)
    nothing = Value(0, 0, 0)
    values: list[Value] = []
    for rule in made.program:
        rest = values[rule.rest] if rule.rest >= 0 else nothing
        if rule.span:
            again = values[rule.again]
            seconds = rest.seconds + rule.span * advance + loop.read + again.seconds
            if not rule.stored:
                seconds += loop.write
            left = loop.snapshot + rest.left
            peak = max(loop.snapshot + rest.peak, again.peak)
        else:
            option = options[rule.option]
            seconds = option.seconds + rest.seconds
            left = option.left + rest.left
            peak = max(option.peak, option.left + rest.peak)
            if rule.stored:
                peak = max(peak, loop.snapshot)
        values.append(Value(seconds, left, peak))
    return values


def visit(body: Body, prefix: str = "") -> Iterator[tuple[str, Made]]:
    """Generate every call and loop with its path, callers first; a loop once for each body."""
    names = _paths(body, prefix)
    stack = list(body)[::-1]
    while stack:
        made = stack.pop()
        if made.shadow:
            continue
        if isinstance(made.item, Call):
            path = next(names)
            yield path, made
            yield from visit(made.bodies[0], path)
        elif isinstance(made.item, Loop):
            yield prefix, made
            stack.extend(reversed(made.bodies[0]))
        elif isinstance(made.item, Repeat):
            stack.extend(reversed(made.bodies[0]))


def _paths(body: Body, prefix: str) -> Iterator[str]:
    return (
        path for _, path in step_names(tuple(made.item for made in body if not made.shadow), prefix)
    )


def peak_parts(body: Body) -> tuple[Holding, ...]:
    """Return what is held when the peak is reached; the sizes add up to it."""
    return tuple(_Finder({}).body(body, ""))


class _Finder:
    def __init__(self, done: dict[int, Value]) -> None:
        self._done = done

    def body(self, body: Body, prefix: str) -> list[Holding]:
        names = name_calls(body, prefix)
        values = [_of_made(made, self._done) for made in body]
        target = _of_body(body, self._done).peak
        held = 0
        found: list[Holding] = []
        for made, value in zip(body, values, strict=True):
            if held + value.peak == target:
                return found + self.made(made, prefix, names)
            if value.left:
                found.append(self._held(made, value.left, prefix, names))
            held += value.left
        return found

    def _held(self, made: Made, nbytes: int, prefix: str, names: dict[int, str]) -> Holding:
        match made.item:
            case Leaf():
                return Holding(prefix, "tape", nbytes)
            case Call():
                what = "snapshot" if made.mode == "joint" else "tape"
                return Holding(names[id(made)], what, nbytes)
            case Repeat(times=times):
                return Holding(prefix, f"{times} repeats", nbytes)
            case Loop() as loop:
                return Holding(prefix, f"loop {loop.name!r}", nbytes)

    def made(self, made: Made, prefix: str, names: dict[int, str]) -> list[Holding]:
        match made.item:
            case Leaf() as leaf:
                found = [Holding(prefix, "tape", leaf.left)] if leaf.left else []
                if leaf.peak > leaf.left:
                    found.append(Holding(prefix, "transient", leaf.peak - leaf.left))
                return found
            case Call() as call:
                path = names[id(made)]
                inner = self.body(made.bodies[0], path)
                if made.mode == "split":
                    return inner
                value = _of_body(made.bodies[0], self._done)
                if not call.keep:
                    if call.snapshot > value.peak:
                        return [Holding(path, "snapshot", call.snapshot)]
                    return inner
                own = [Holding(path, "snapshot", call.snapshot)] if call.snapshot else []
                return own + inner
            case Repeat(times=times):
                return self._repeated(times, made, prefix, names)
            case Loop() as loop:
                if not made.program:
                    return self._repeated(loop.steps, made, prefix, names)
                return self._loop(loop, made, prefix, names)

    def _repeated(
        self, times: int, made: Made, prefix: str, names: dict[int, str]
    ) -> list[Holding]:
        left = _of_body(made.bodies[0], self._done).left * (times - 1)
        found = [Holding(prefix, f"{times - 1} repeats", left)] if left else []
        return found + self._inner(made.bodies[0], prefix, names)

    def _inner(self, body: Body, prefix: str, names: dict[int, str]) -> list[Holding]:
        """Return the parts of a body that belongs to the same routine."""
        target = _of_body(body, self._done).peak
        held = 0
        found: list[Holding] = []
        for made in body:
            value = _of_made(made, self._done)
            if held + value.peak == target:
                return found + self.made(made, prefix, names)
            if value.left:
                found.append(self._held(made, value.left, prefix, names))
            held += value.left
        return found

    def _loop(self, loop: Loop, made: Made, prefix: str, names: dict[int, str]) -> list[Holding]:
        options = [_of_body(body, self._done) for body in made.bodies]
        values = _of_rules(loop, made, options)
        snapshots = recorded = tapes = 0
        at = len(values) - 1
        inner: list[Holding] = []
        while at >= 0:
            rule, target = made.program[at], values[at].peak
            if rule.span:
                if values[rule.again].peak == target:
                    at = rule.again
                    continue
                snapshots += 1
                at = rule.rest
                continue
            option = options[rule.option]
            if rule.stored and target == loop.snapshot and target > option.peak:
                snapshots += 1
                break
            if option.peak == target:
                inner = self._inner(made.bodies[rule.option], prefix, names)
                break
            recorded += 1
            tapes += option.left
            at = rule.rest
        found: list[Holding] = []
        if snapshots:
            found.append(
                Holding(
                    prefix, f"{snapshots} snapshots of {loop.name!r}", snapshots * loop.snapshot
                )
            )
        if recorded:
            found.append(Holding(prefix, f"{recorded} recorded of {loop.name!r}", tapes))
        return found + inner


def name_calls(body: Body, prefix: str) -> dict[int, str]:
    """Return the paths of a routine's calls by the identity of their decisions."""
    names = list(_paths(body, prefix))
    found: dict[int, str] = {}

    def walk(part: Body, at: int) -> int:
        for made in part:
            if isinstance(made.item, Call):
                found[id(made)] = names[at]
                at += 1
            elif made.bodies:
                ends = [walk(inner, at) for inner in made.bodies]
                at = at if made.shadow else ends[0]
        return at

    walk(body, 0)
    return found
