"""What a placement is: the mode of every call, the schedule of every loop, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from .._sizes import format_bytes, format_seconds
from ..errors import BadValue
from ._held import Program
from ._made import Body, Holding, Made, evaluate, name_calls, peak_parts, visit
from ._sites import Key, keys_of
from ._tree import Call, CallTree, Loop, Mode

__all__ = ["LoopPlan", "Placement", "Recorded", "describe"]

_SCHEMA = "adjourn.placement/1"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Iterations that are recorded in the same way.

    Attributes
    ----------
    start, stop : int
        The iterations, from 0, half open.
    modes : dict of site to mode
        The modes of the calls in them.
    """

    start: int
    stop: int
    modes: dict[Key, Mode]


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """How a loop is reversed.

    Attributes
    ----------
    name, path : str
        The loop, and the path of the routine it is in.
    steps : int
        Its iterations.
    advances, records : int
        Iterations run without and with recording, by one run of the loop's adjoint.
    writes, reads : int
        Snapshots written and read.
    snapshots : int
        Most snapshots held at once.
    recorded : tuple of Recorded
        The decisions of each iteration, in runs.
    """

    name: str
    path: str
    steps: int
    advances: int
    records: int
    writes: int
    reads: int
    snapshots: int
    recorded: tuple[Recorded, ...]

    @property
    def ways(self) -> list[tuple[int, list[Recorded]]]:
        """The distinct ways to record an iteration: how many, and which; commonest first."""
        found: dict[tuple[tuple[Key, Mode], ...], list[Recorded]] = {}
        for run in self.recorded:
            found.setdefault(tuple(run.modes.items()), []).append(run)
        return sorted(
            ((sum(run.stop - run.start for run in runs), runs) for runs in found.values()),
            key=lambda entry: -entry[0],
        )

    def text(self) -> str:
        """Return the plan in a few lines."""
        where = f" of {self.path}" if self.path else ""
        said = f"{self.advances} plain advances, {self.snapshots} snapshots"
        lines = [f"loop {self.name!r}{where}: {self.steps} iterations, {said}"]
        lines += [
            f"  {count} iterations ({_spans(runs)}): {_said(runs[0].modes)}"
            for count, runs in self.ways[:6]
        ]
        if len(self.ways) > 6:
            rest = sum(count for count, _ in self.ways[6:])
            lines.append(f"  {rest} iterations: in {len(self.ways) - 6} other ways")
        return "\n".join(lines)


def _spans(runs: list[Recorded]) -> str:
    shown = ", ".join(
        str(run.start) if run.stop == run.start + 1 else f"{run.start}-{run.stop - 1}"
        for run in runs[:3]
    )
    return shown + (", ..." if len(runs) > 3 else "")


def _said(modes: dict[Key, Mode]) -> str:
    counts = Counter(modes.values())
    rarer: Mode = "joint" if counts["joint"] <= counts["split"] else "split"
    named = [str(key) for key, mode in modes.items() if mode == rarer]
    if not modes:
        return "recorded"
    if not named:
        return f"all {'split' if rarer == 'joint' else 'joint'}"
    return f"{rarer}: {', '.join(named[:4])}" + (f" and {len(named) - 4} more" if named[4:] else "")


@dataclass(frozen=True, slots=True)
class Placement:
    """Joint or split for every call site, with a schedule for every loop.

    Attributes
    ----------
    method : str
        How it was found.
    budget : int or None
        The bytes it was asked to stay within.
    seconds : float
        Predicted seconds of the adjoint: all runs forward and the reverse.
    peak_bytes : int
        Most bytes held at once, exactly.
    primal : float
        Seconds of one plain run.
    modes : dict of site to mode
        "joint" or "split" for each site; by path where a site has several contexts. In a loop
        whose iterations differ, the mode of most iterations; ``loops`` tells them all.
    loops : tuple of LoopPlan
        The schedule of each loop.
    mixed : tuple of site
        The sites whose mode differs between iterations.
    peak_parts : tuple of Holding
        What is held at the peak.
    bound : float
        No placement within the budget takes less than these seconds.
    notes : tuple of str
        What was rounded, and why the bound is below the seconds if it is.
    """

    method: str
    budget: int | None
    seconds: float
    peak_bytes: int
    primal: float
    modes: dict[Key, Mode]
    loops: tuple[LoopPlan, ...] = ()
    mixed: tuple[Key, ...] = ()
    peak_parts: tuple[Holding, ...] = ()
    bound: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the peak is within the budget."""
        return self.budget is None or self.peak_bytes <= self.budget

    @property
    def gap(self) -> float:
        """How far the seconds may be above the optimum, as a fraction of the bound."""
        return self.seconds / self.bound - 1 if self.bound else 0.0

    @property
    def exact(self) -> bool:
        """Whether this is proven to be the optimum."""
        return self.seconds <= self.bound

    @property
    def split(self) -> tuple[Key, ...]:
        """The sites that are split."""
        return tuple(key for key, mode in self.modes.items() if mode == "split")

    def to_json(self) -> dict[str, Any]:
        """Return the placement as a JSON value."""
        value = asdict(self)
        value["schema"] = _SCHEMA
        value["modes"] = list(self.modes.items())
        value["peak_parts"] = [list(part) for part in self.peak_parts]
        for loop in value["loops"]:
            for run in loop["recorded"]:
                run["modes"] = list(run["modes"].items())
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Placement:
        """Return the placement that `to_json` wrote.

        Raises
        ------
        BadValue
            Not a placement of this version.
        """
        given = dict(value)
        schema = given.pop("schema", None)
        if schema != _SCHEMA:
            raise BadValue(
                f"schema={schema!r}, this version reads {_SCHEMA!r}. "
                "Write placements with Placement.to_json."
            )
        try:
            loops: list[LoopPlan] = []
            for loop in given.pop("loops"):
                runs = (
                    Recorded(run["start"], run["stop"], _modes(run["modes"]))
                    for run in loop["recorded"]
                )
                whole: dict[str, Any] = {**loop, "recorded": tuple(runs)}
                loops.append(LoopPlan(**whole))
            given["loops"] = tuple(loops)
            given["modes"] = _modes(given["modes"])
            given["mixed"] = tuple(given["mixed"])
            given["notes"] = tuple(given["notes"])
            given["peak_parts"] = tuple(Holding(*part) for part in given["peak_parts"])
            return cls(**given)
        except (KeyError, TypeError) as error:
            raise BadValue(f"not a placement: {error}. Write it with Placement.to_json.") from None

    def text(self) -> str:
        """Return the placement as text of 80 columns."""
        budget = "none" if self.budget is None else format_bytes(self.budget)
        ratio = f", {self.seconds / self.primal:.2f} x the primal" if self.primal else ""
        lines = [
            f"placement ({self.method}), budget {budget}",
            f"  time  {format_seconds(self.seconds)}{ratio}",
            f"  peak  {format_bytes(self.peak_bytes)} ({self.peak_bytes} bytes)"
            + ("" if self.fits else "  OVER THE BUDGET"),
        ]
        if self.exact:
            lines.append("  optimal")
        elif self.bound:
            lines.append(f"  at most {self.gap:.1%} above the optimum")
        lines += [f"  note: {note}" for note in self.notes]
        counts = Counter(self.modes.values())
        lines.append(f"  {counts['split']} split, {counts['joint']} joint")
        lines += _listed("split", self.split)
        lines += [line for loop in self.loops for line in loop.text().splitlines()]
        lines.append("peak made of")
        lines += [
            f"  {format_bytes(nbytes):>10}  {what}{f' of {path}' if path else ''}"
            for path, what, nbytes in self.peak_parts[:12]
        ]
        if len(self.peak_parts) > 12:
            rest = sum(part.nbytes for part in self.peak_parts[12:])
            lines.append(f"  {format_bytes(rest):>10}  in {len(self.peak_parts) - 12} more parts")
        return "\n".join(lines)


def _listed(title: str, keys: tuple[Key, ...]) -> list[str]:
    lines: list[str] = []
    line = f"  {title}:"
    for key in keys:
        if len(line) + len(str(key)) + 1 > 80:
            lines.append(line)
            line = "   "
        line += f" {key}"
    return [*lines, line] if keys else []


def _modes(pairs: Any) -> dict[Key, Mode]:
    return {key: cast("Mode", mode) for key, mode in pairs}


def describe(
    tree: CallTree,
    body: Body,
    method: str,
    *,
    budget: int | None = None,
    seconds: float | None = None,
    bound: float = 0.0,
    notes: tuple[str, ...] = (),
) -> Placement:
    """Return decisions as a placement; bytes are exact, seconds as given or as evaluated."""
    value = evaluate(body)
    if seconds is None or (isinstance(value.seconds, int) and value.seconds == seconds):
        seconds = value.seconds
    keys = keys_of(tree)
    votes: dict[Key, Counter[Mode]] = {key: Counter() for key in keys.values()}
    loops: list[LoopPlan] = []
    _vote(body, "", 1, keys, votes, loops)
    return Placement(
        method,
        budget,
        seconds,
        value.peak,
        tree.primal,
        {
            key: "split" if count["split"] > count["joint"] else "joint"
            for key, count in votes.items()
        },
        tuple(loops),
        tuple(key for key, count in votes.items() if len(count) > 1),
        peak_parts(body),
        bound,
        notes,
    )


def _vote(
    body: Body,
    prefix: str,
    weight: int,
    keys: Mapping[str, Key],
    votes: dict[Key, Counter[Mode]],
    loops: list[LoopPlan],
) -> None:
    names = name_calls(body, prefix)

    def walk(part: Body, weight: int) -> None:
        for made in part:
            if isinstance(made.item, Call):
                path = names[id(made)]
                if made.mode is not None:
                    votes[keys[path]][made.mode] += weight
                _vote(made.bodies[0], path, weight, keys, votes, loops)
            elif isinstance(made.item, Loop) and made.program:
                runs = _runs(made.program)
                first = len(loops)
                shares = Counter[int]()
                for start, stop, option in runs:
                    shares[option] += stop - start
                for option, inner in enumerate(made.bodies):
                    walk(inner, weight * shares[option])
                    if option:
                        del loops[first:]  # inner loops are described once
                loops.insert(first, _loop_plan(made, prefix, runs, keys, names))
            elif made.bodies:
                walk(made.bodies[0], weight)

    walk(body, weight)


def _loop_plan(
    made: Made,
    prefix: str,
    runs: list[tuple[int, int, int]],
    keys: Mapping[str, Key],
    names: Mapping[int, str],
) -> LoopPlan:
    loop = made.item
    counts: list[tuple[int, int, int, int, int]] = []
    zero = (0, 0, 0, 0, 0)
    for rule in made.program:
        rest = counts[rule.rest] if rule.rest >= 0 else zero
        again = counts[rule.again] if rule.again >= 0 else zero
        plain = rest[0] + again[0] + rule.span
        records = rest[1] + again[1] + (0 if rule.span else 1)
        writes = rest[2] + again[2] + (1 if rule.span and not rule.stored else 0)
        reads = rest[3] + again[3] + (1 if rule.span else 0)
        held = max(rest[4] + (1 if rule.span else 0), again[4], 1 if rule.stored else 0)
        counts.append((plain, records, writes, reads, held))
    inside = [_modes_in(body, keys, names) for body in made.bodies]
    plain, records, writes, reads, held = counts[-1]
    return LoopPlan(
        loop.name if isinstance(loop, Loop) else "",
        prefix,
        loop.steps if isinstance(loop, Loop) else 0,
        plain,
        records,
        writes,
        reads,
        held,
        tuple(Recorded(start, stop, inside[option]) for start, stop, option in runs),
    )


def _modes_in(body: Body, keys: Mapping[str, Key], names: Mapping[int, str]) -> dict[Key, Mode]:
    found: dict[Key, Mode] = {}
    for made in body:
        if isinstance(made.item, Call) and made.mode is not None:
            path = names[id(made)]
            found[keys[path]] = made.mode
            for inner, deeper in visit(made.bodies[0], path):
                if deeper.mode is not None:
                    found[keys[inner]] = deeper.mode
        elif made.bodies:
            found.update(_modes_in(made.bodies[0], keys, names))
    return found


def _runs(program: Program) -> list[tuple[int, int, int]]:
    """Return (start, stop, option) for stretches of iterations recorded with one option."""
    found: list[tuple[int, int, int]] = []
    stack = [(len(program) - 1, 0)]
    while stack:
        at, start = stack.pop()
        if at < 0:
            continue
        rule = program[at]
        if rule.span:
            stack += [(rule.rest, start + rule.span), (rule.again, start)]
            continue
        if found and found[-1][2] == rule.option and found[-1][1] == start:
            found[-1] = (found[-1][0], start + 1, rule.option)
        else:
            found.append((start, start + 1, rule.option))
        stack.append((rule.rest, start + 1))
    return found
