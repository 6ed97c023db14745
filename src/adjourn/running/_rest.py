"""The rest of a run: a schedule that goes on from snapshots that are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast

from ..errors import BudgetTooSmall
from ..planning import Costs, Plan, plan, plan_schedule
from ..planning._anywhere import optimal_fit
from ..problem import Window
from ..schedules import (
    Action,
    Advance,
    Drop,
    Load,
    Record,
    Reverse,
    Save,
    Schedule,
    Turn,
    revolve,
    schedule_from_json,
    segments,
    spread,
    window,
)
from ..schedules._schedule import Counts, Reversal

__all__ = ["Part", "Rest", "plan_rest"]

Slots: TypeAlias = Callable[[Collection[tuple[int, int]]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Part:
    """A range that is reversed by a schedule of its own, shifted to where it starts.

    Attributes
    ----------
    start, stop : int
        The range.
    tier : int or None
        The tier whose snapshot of ``start`` it begins with; None if that state is live
        or, below the first part, had by beginning the problem anew.
    schedule : Schedule
        Reverses ``stop - start`` steps.
    turns : bool
        The first sweep ends here: the turn is part of it.
    """

    start: int
    stop: int
    tier: int | None
    schedule: Schedule
    turns: bool

    def actions(self) -> Iterator[Action]:
        """Generate the actions on the steps of the whole problem."""
        start, tier = self.start, self.tier
        if tier is not None:
            yield Load(start, tier)
        if self.schedule.reversal == "nothing" and not self.turns:
            yield Reverse(start, self.stop)  # reads nothing: no forward step is needed
        else:
            yield from self._shifted()
        if tier is not None:
            yield Drop(start, tier)

    def _shifted(self) -> Iterator[Action]:
        start, tier = self.start, self.tier
        for action in self.schedule:
            match action:
                case Advance(first, last):
                    yield Advance(first + start, last + start)
                case Record(first, last, option):
                    yield Record(first + start, last + start, option)
                case Reverse(first, last):
                    yield Reverse(first + start, last + start)
                case Turn():
                    if self.turns:
                        yield action
                case Save(step, where):
                    if step or where != tier:  # the start is in that tier already
                        yield Save(step + start, where)
                case Load(step, where):
                    yield Load(step + start, where)
                case Drop(step, where):
                    if step or where != tier:
                        yield Drop(step + start, where)


@dataclass(frozen=True, slots=True)
class Rest(Schedule):
    """What is left of a run: parts from the top, each reversed by its own schedule.

    Unlike other schedules it starts with snapshots held: those of its parts.
    """

    family: ClassVar[str] = "rest"
    steps: int
    parts: tuple[Part, ...]

    @property
    def reversal(self) -> Reversal:
        """How a step is reversed."""
        return self.parts[0].schedule.reversal

    @property
    def counts(self) -> Counts:
        """What playing the parts takes; the snapshots held at the start are counted as held."""
        each = [part.schedule.counts for part in self.parts]
        tiers = max(len(counts.writes) for counts in each)
        tiers = max([tiers, *(part.tier + 1 for part in self.parts if part.tier is not None)])

        def total(name: str) -> tuple[int, ...]:
            rows = [getattr(counts, name) for counts in each]
            return tuple(sum(row[t] for row in rows if t < len(row)) for t in range(tiers))

        held = [
            [sum(part.tier == tier for part in self.parts[number:]) for tier in range(tiers)]
            for number in range(len(self.parts))
        ]
        most = tuple(
            max(
                before[tier] + (counts.snapshots[tier] if tier < len(counts.snapshots) else 0)
                for before, counts in zip(held, each, strict=True)
            )
            for tier in range(tiers)
        )
        return Counts(
            advances=sum(counts.advances for counts in each),
            records=sum(counts.records for counts in each),
            reverses=sum(counts.reverses for counts in each),
            writes=total("writes"),
            reads=total("reads"),
            snapshots=most,
            recorded=max(counts.recorded for counts in each),
        )

    @property
    def limits(self) -> tuple[int, ...]:
        """The number of snapshots each tier may hold."""
        return self.counts.snapshots

    def __iter__(self) -> Iterator[Action]:
        for part in self.parts:
            yield from part.actions()

    def to_json(self) -> dict[str, Any]:
        """Return the schedule as a JSON value."""
        parts = [
            [part.start, part.stop, part.tier, part.schedule.to_json(), part.turns]
            for part in self.parts
        ]
        return {"family": self.family, "steps": self.steps, "parts": parts}

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Schedule:
        parts = cast("list[list[Any]]", values["parts"])
        return cls(
            values["steps"],
            tuple(Part(a, b, tier, schedule_from_json(s), turn) for a, b, tier, s, turn in parts),
        )


def plan_rest(
    made: Plan,
    stop: int,
    held: Iterable[tuple[int, int]],
    *,
    live: int | None = 0,
    turned: bool,
    slots: Slots | None = None,
) -> Plan:
    """Return a plan for what is left of a run.

    The range below ``stop`` is cut at the snapshots held; each piece is planned anew within the
    budget, with the window of the plan it continues. Optimal for each piece, not for the whole:
    a snapshot that is there is never given up for a better place.

    Parameters
    ----------
    made : Plan
        What the run was begun with.
    stop : int
        Everything from here on is reversed already; ``made.steps`` before the turn.
    held : iterable of (step, tier)
        Valid snapshots.
    live : int or None
        The step of the live state, if there is one: 0 after ``begin``, more where a sweep goes
        on.
    turned : bool
        The first sweep and the turn are done.
    slots : callable, optional
        Returns the snapshots that each tier can hold beside and with those of (step, tier) that
        are kept, where that is no longer what was planned. Snapshots may then be given up, and
        planning takes milliseconds.

    Raises
    ------
    BudgetTooSmall
        Nothing fits, even without the snapshots held.
    """
    live = (live or 0) if not turned else live
    top = live if live is not None and (live or not turned) else stop
    below: dict[int, int] = {}
    for step, tier in held:
        if step < top and made.costs.reads != "nothing":
            below[step] = min(tier, below.get(step, tier))
    cuts = sorted(below)
    if slots is None:  # all slots may be taken: give the last snapshots up
        choices = [cuts[:count] for count in range(len(cuts), -1, -1)]
    else:
        choices = [cuts[::every] for every in (1, 2, 3, 4, 8)] + [[]]
    best: list[tuple[Part, Plan]] | None = None
    refusal: BudgetTooSmall | None = None
    for kept in choices:
        here = None if slots is None else slots([(cut, below[cut]) for cut in kept])
        room = _Room(made, _frozen(made), here)
        try:
            planned = _parts(room, kept, below, stop=stop, top=top, turned=turned)
        except BudgetTooSmall as error:
            refusal = error
            continue
        if best is None or _seconds(planned) < _seconds(best):
            best = planned
        if slots is None:
            break
    if best is None:
        raise refusal or BudgetTooSmall("nothing fits")
    return replace(
        made,
        schedule=Rest(made.steps, tuple(part for part, _ in best)),
        seconds=_seconds(best),
        peak_bytes=max(one.peak_bytes for _, one in best),
    )


def _seconds(planned: list[tuple[Part, Plan]]) -> float:
    return sum(one.seconds for _, one in planned)


class _Room:
    """What a part may use: the plan it belongs to, its costs, and the slots of each tier."""

    def __init__(self, made: Plan, costs: Costs, slots: Sequence[int] | None) -> None:
        planned = made.schedule.counts.snapshots
        self.made = made
        self.costs = costs
        self.fixed = slots is not None
        self.slots = planned if slots is None else tuple(slots)
        self.budget = made.peak_bytes if made.budget is None else made.budget


def _parts(
    room: _Room, cuts: list[int], below: dict[int, int], *, stop: int, top: int, turned: bool
) -> list[tuple[Part, Plan]]:
    """Return the parts between the cuts, from the top, each with its own plan."""
    planned: list[tuple[Part, Plan]] = []
    tiers = [below[cut] for cut in cuts]
    if top < stop or not turned:
        planned.append(_part(room, (top, stop), None, tiers, turns=not turned))
    for number, cut in reversed(list(enumerate(cuts, start=1))):
        planned.append(_part(room, (cut, top), below[cut], tiers[:number], turns=False))
        top = cut
    if top:
        planned.append(_part(room, (0, top), None, [], turns=False))
    return planned


def _part(
    room: _Room, span: tuple[int, int], tier: int | None, held: list[int], *, turns: bool
) -> tuple[Part, Plan]:
    """Return a part and its own plan; ``held`` has the tiers of what is held, its start last."""
    start, stop = span
    steps = stop - start
    made, costs, slots = room.made, room.costs, room.slots
    memory = max(slots[0] - held.count(0), 0)
    free = max(sum(slots[1:]) - sum(where > 0 for where in held), 0)
    # Optimal over both levels for what is a large part of the run; short parts, of which there
    # may be many, are not worth the time that takes.
    large = 4 * steps > made.steps and not room.fixed
    disk = free * max(costs.disk_snapshot, 1) if large and free else None
    # The start's own slot serves as the lowest snapshot of its part.
    own = (memory + (tier == 0), free + (tier is not None and tier > 0))
    found = list(_alike(made, costs, steps, own, tier))
    refusal: BudgetTooSmall | None = None
    budget = room.budget - held.count(0) * costs.snapshot
    try:
        if made.schedule.reversal == "tape":
            found += _anywhere(made, steps, budget)
        else:
            found.append(plan(steps, costs, budget, disk))
    except BudgetTooSmall as error:
        refusal = error
    # All parts reverse in the same way, so that one window serves them all.
    found = [one for one in found if one.schedule.reversal == made.schedule.reversal]
    if room.fixed:
        found = [one for one in found if one.schedule.counts.snapshots[0] <= own[0]]
    if not found:
        raise refusal or BudgetTooSmall("no slot is free")
    best = min(found, key=lambda one: one.seconds)
    return Part(start, stop, tier, best.schedule, turns), best


def _anywhere(made: Plan, steps: int, budget: int) -> Iterator[Plan]:
    """Yield the optimum where recordings lie anywhere."""
    fit = optimal_fit(steps, made.costs, budget)
    if fit is not None:
        yield replace(made, schedule=fit.schedule, seconds=fit.seconds, peak_bytes=fit.peak_bytes)


def _alike(
    made: Plan, costs: Costs, steps: int, free: tuple[int, int], tier: int | None
) -> Iterator[Plan]:
    """Yield a plan of the kind of the one that is continued, on the slots that are free."""
    ram, disk = free
    slots = min(ram + disk, max(steps - 1, 1))
    inner: Schedule | None = None
    if made.schedule.reversal == "retape":
        length = max(made.window_steps, 1)
        blocks = -(-steps // length)
        if blocks == 1:
            inner = segments(steps, length)
        elif slots:
            plain = slots >= blocks - 1
            inner = segments(steps, length) if plain else window(steps, length, slots)
    elif made.schedule.reversal == "state" and (slots or steps == 1):
        inner = revolve(steps, max(slots, 1), reversal="state")
    if inner is not None:
        most = inner.counts.snapshots[0]
        more = max(most - ram, int(bool(tier) and most > 0))
        first: Literal[0, 1] | None = None if tier is None else 1 if tier else 0
        if first == 0:
            more = min(more, max(most - 1, 0))
        yield plan_schedule(spread(inner, more, first) if more else inner, costs)


def _frozen(made: Plan) -> Costs:
    """Return the costs with the window that the run has: every shorter one takes its bytes."""
    costs = made.costs
    frame = costs.window
    if frame is None or made.schedule.reversal == "tape":
        return costs
    length = max(made.window_steps, 1)
    fixed = Window(
        step_bytes=0,
        before=frame.before,
        after=frame.after,
        fixed_bytes=frame.nbytes(length),
        max_steps=length,
    )
    return replace(costs, window=fixed)
