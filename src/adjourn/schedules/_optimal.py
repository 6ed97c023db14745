"""The optimum in bytes as a schedule: snapshots and recordings of unequal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from .._sizes import as_bytes, as_count, format_bytes
from ..errors import BadValue, BudgetTooSmall, WrongType
from ..optimum import Effort, Found, Option, Search, least_bytes, repetitions, revolve_advances
from ..optimum._loops import Run
from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save
from ._binomial import revolve_writes, split
from ._checks import as_cost
from ._decisions import Decisions
from ._encoded import Encoded, decode, encode
from ._grammar import Body, Part, Planned, grow
from ._revolve import revolve
from ._schedule import Reversal, Schedule

__all__ = ["Optimal", "OptimalSearch", "Optimum", "optimal"]

_ROUNDING = 1e-10  # relative, of sums of as many terms as there are steps
_DEEP = 2000  # repetitions beyond which Revolve is generated rather than written down


@dataclass(frozen=True, slots=True)
class Optimal(Planned):
    """A schedule of snapshots, restores, recordings and deletions; made by `optimal`.

    Its rules are part of it, so that it plays under any later version.

    Attributes
    ----------
    steps : int
        Number of steps.
    encoded : tuple
        The rules as short tuples: a letter and its numbers for each item.
    """

    family: ClassVar[str] = "optimal"
    steps: int
    encoded: Encoded = field(repr=False)

    def __post_init__(self) -> None:
        """Decode the rules and count them."""
        steps = as_count(self.steps, "steps")
        try:
            encoded = tuple(tuple(tuple(item) for item in rule) for rule in self.encoded)
            rules = decode(encoded)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise BadValue(
                f"encoded is no list of rules ({type(error).__name__}: {error}). Pass what "
                "to_json() gave."
            ) from error
        if not rules:
            raise BadValue("encoded=() has no rules. Pass what to_json() gave.")
        self._settle(rules, 1, steps=steps, encoded=encoded)

    @property
    def reversal(self) -> Reversal:
        """Recordings lie anywhere and stay until they are reversed."""
        return "tape"

    @property
    def limits(self) -> tuple[int, ...]:
        """The most snapshots that are held at once; the limit proper is in bytes."""
        return self.counts.snapshots


@dataclass(frozen=True, slots=True)
class Optimum:
    """A schedule within a budget of bytes, and how good it is.

    Attributes
    ----------
    schedule : Schedule
        What to do.
    seconds : float
        What it takes by the costs given.
    peak_bytes : int
        Most bytes that its snapshots and recordings hold; never more than the budget.
    gap : float or None
        No schedule within the budget is faster by more than this part of its time; 0 if none
        is faster; None if that is not known, some recording costing nothing.
    unit : int
        Bytes to which sizes were rounded up: 1, or a size of which every size is a multiple, if
        nothing was lost.
    block : int
        Steps that were planned together; 1 if each was planned for itself.
    words : str
        Why this schedule, in a sentence.
    """

    schedule: Schedule
    seconds: float
    peak_bytes: int
    gap: float | None
    unit: int
    block: int
    words: str


class OptimalSearch:
    """Plans for one number of steps and one set of costs, at any number of budgets.

    What is computed for one budget is kept for the others, so that a curve of time against
    budget costs little more than its largest point.

    Parameters
    ----------
    steps, advance, recordings, snapshot, write, read
        As in `optimal`.
    most : int or str
        The largest budget that will be asked for.
    effort : Effort, optional
        How much planning may cost.

    Examples
    --------
    >>> search = OptimalSearch(
    ...     100, advance=1.0, recordings=[(2.5, 1, 1)], snapshot=2, most=100
    ... )
    >>> [search.seconds(budget) for budget in (2, 10, 50, 100)]
    [None, 478.0, 304.0, 250.0]
    """

    def __init__(
        self,
        steps: int,
        *,
        advance: float,
        recordings: Sequence[Option],
        snapshot: int,
        write: float = 0.0,
        read: float = 0.0,
        most: int | str,
        effort: Effort | None = None,
    ) -> None:
        self._steps = as_count(steps, "steps")
        self._advance = as_cost(advance, "advance")
        self._write = as_cost(write, "write")
        self._read = as_cost(read, "read")
        self._snapshot = as_bytes(snapshot, "snapshot")
        self._menu = _menu(recordings, self._advance)
        self._search = Search(
            self._steps,
            self._menu,
            self._snapshot,
            self._write,
            self._read,
            self._advance,
            as_bytes(most, "most"),
            effort,
        )

    @property
    def least(self) -> int:
        """The least budget in bytes that will do."""
        return least_bytes(self._steps, self._menu, self._snapshot)

    def seconds(self, budget: int | str) -> float | None:
        """Return the time of the plan within a budget; None if nothing fits."""
        allowed = as_bytes(budget)
        found = self._search.find(allowed)
        slots = None if found is not None and found.exact else self._binomial(allowed)
        times = [plan.seconds for plan in (found, slots) if plan is not None]
        return min(times, default=None)

    def plan(self, budget: int | str) -> Optimum:
        """Return the plan within a budget.

        Raises
        ------
        BudgetTooSmall
            Nothing fits.
        """
        allowed = as_bytes(budget)
        found = self._search.find(allowed)
        slots = None if found is not None and found.exact else self._binomial(allowed)
        if found is not None and (slots is None or found.seconds <= slots.seconds):
            return self._in_bytes(found, allowed)
        if slots is not None:
            return self._in_slots(slots, self._search.bound(allowed))
        raise BudgetTooSmall(
            f"budget={budget!r} ({format_bytes(allowed)}) is below what any schedule of "
            f"{self._steps} steps holds. Pass {format_bytes(self.least)} ({self.least} bytes) "
            "or more.",
            self.least,
        )

    def _in_bytes(self, found: Found, budget: int) -> Optimum:
        steps = self._steps
        gap = 0.0 if found.exact else _gap(found.seconds, self._search.bound(budget))
        if not found.layers:
            ahead = [Record(*run) for run in found.runs]
            back = [Reverse(start, stop) for start, stop, _ in reversed(found.runs)]
            schedule = Optimal(steps, encode([(*ahead, *back)]))
            held = _held(found.runs, self._menu)
            words = "the budget holds every step's recording: no step is run twice"
            words += "" if found.exact else f"; {_above(gap)}"
            return Optimum(schedule, found.seconds, held, gap, 1, 1, words)
        decisions = Decisions(found.layers, found.units)
        rules = grow(decisions.whole(), decisions.expand)
        held = decisions.peak_bytes(self._menu, self._snapshot)
        top, unit = found.layers[-1], found.layers[-1].unit
        if found.exact:
            words = "optimal among all schedules of snapshots and recordings, exact in bytes"
        else:
            words = f"{_above(gap)}: sizes were rounded up to units of {format_bytes(unit)}"
            if top.span > 1:
                words += f", and steps planned in blocks of {top.span}"
        schedule = Optimal(steps, encode(rules))
        return Optimum(schedule, found.seconds, held, gap, unit, top.span, words)

    def _binomial(self, budget: int) -> _Slots | None:
        """Return the fastest of Revolve's schedules that fit; they need no tables."""
        best: _Slots | None = None
        steps = self._steps
        for option, (t, _, peak) in enumerate(self._menu):
            room = budget - peak
            if room < self._snapshot or steps == 1:
                continue
            most = steps - 1 if not self._snapshot else min(steps - 1, room // self._snapshot)
            for slots in range(most, 0, -1):
                alone = steps * t + revolve_advances(steps, slots) * self._advance
                copies = revolve_writes(steps, slots) * self._write + (steps - 1) * self._read
                if best is None or alone + copies < best.seconds:
                    best = _Slots(alone + copies, slots, option, slots * self._snapshot + peak)
                if alone >= best.seconds or not self._write:
                    break
        return best

    def _in_slots(self, found: _Slots, bound: float) -> Optimum:
        steps, slots = self._steps, found.slots
        if repetitions(steps, slots) > _DEEP and found.option == 0:
            schedule: Schedule = revolve(steps, slots)
        else:
            key = (steps, slots)
            body: list[Action | Part] = [Save(0), Part(key, 0)]
            rules = grow(body, lambda part: _slots_body(part, found.option))
            schedule = Optimal(steps, encode(rules))
        gap = _gap(found.seconds, bound)
        words = f"{_above(gap)}: Revolve on {slots} snapshots, one step recorded at a time"
        return Optimum(schedule, found.seconds, found.peak, gap, 1, 1, words)


def optimal(
    steps: int,
    *,
    advance: float,
    recordings: Sequence[Option],
    snapshot: int,
    budget: int | str,
    write: float = 0.0,
    read: float = 0.0,
) -> Optimum:
    """Return the fastest schedule of snapshots and recordings within a budget of bytes.

    For problems whose recordings survive later advances and may lie anywhere. Optimal among all
    schedules of snapshots, restores, recordings and deletions while steps^2 times the units of
    the budget is below 4 10^8 (1615 steps in 150 units; a unit divides every size); beyond,
    sizes are rounded up to a coarser unit, steps are planned in blocks, and ``gap`` states how
    much faster any schedule could be. A larger budget never gives a slower schedule. Costs up
    to a second or two and 100 MB, from a few to 10^7 steps.

    Parameters
    ----------
    steps : int
        Number of steps, 1 or more.
    advance : float
        Seconds of a forward step without recording.
    recordings : sequence of (seconds, left, peak)
        Ways to record a step: record and reverse seconds, at least those of an advance; bytes
        left until the reverse; most bytes while recording and again while reversing.
    snapshot : int
        Bytes of a snapshot.
    budget : int or str
        Bytes for snapshots and recordings, such as ``"2 GiB"``.
    write, read : float
        Seconds to save and to load a snapshot.

    Raises
    ------
    BudgetTooSmall
        Nothing fits; ``least`` is a budget that would do.
    WrongType, BadValue
        An argument cannot be used.

    References
    ----------
    .. [1] J. R. Maddison, "Step-based checkpointing with high-level algorithmic
       differentiation", J. Comput. Sci. 82 (2024) 102405, doi 10.1016/j.jocs.2024.102405, for
       snapshots and recordings of one size.

    Examples
    --------
    A wave needs two levels to restart and one to reverse a step:

    >>> found = optimal(298, advance=1, recordings=[(2.5, 1, 1)], snapshot=2, budget=54)
    >>> found.seconds, found.peak_bytes, found.gap
    (1001.0, 54, 0.0)
    >>> found.schedule.forward_steps, found.schedule.writes
    (554, 6)
    """
    search = OptimalSearch(
        steps,
        advance=advance,
        recordings=recordings,
        snapshot=snapshot,
        write=write,
        read=read,
        most=as_bytes(budget),
    )
    return search.plan(budget)


@dataclass(frozen=True, slots=True)
class _Slots:
    seconds: float
    slots: int
    option: int
    peak: int


_Key: TypeAlias = tuple[int, int]


def _slots_body(key: _Key, option: int) -> Body:
    """Return Revolve on (steps, slots), the start live and stored."""
    steps, slots = key
    alone = [Record(0, 1, option), Reverse(0, 1)]
    if steps == 1:
        return [Drop(0), *alone]
    span = split(steps, slots)
    body: list[Action | Part] = [Advance(0, span)]
    if steps - span == 1:
        body += [Record(span, steps, option), Reverse(span, steps)]
    else:
        body += [Save(span), Part((steps - span, slots - 1), span)]
    return [*body, Load(0), Part((span, slots), 0)]


def _menu(recordings: Sequence[Option], advance: float) -> list[Option]:
    menu: list[Option] = []
    if not isinstance(recordings, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"recordings={recordings!r} is no list of recordings. Pass [(seconds, left, peak)]."
        )
    for number, recording in enumerate(recordings):
        name = f"recordings[{number}]"
        try:
            seconds, left, peak = recording
        except (TypeError, ValueError):
            raise WrongType(
                f"{name}={recording!r} is no recording. Pass (seconds, left, peak)."
            ) from None
        entry = (
            as_cost(seconds, f"{name} seconds"),
            as_bytes(left, f"{name} left"),
            as_bytes(peak, f"{name} peak"),
        )
        if entry[2] < entry[1]:
            raise BadValue(
                f"{name} has a peak of {entry[2]} bytes and leaves {entry[1]}. "
                "A peak includes what is left."
            )
        if entry[0] < advance:
            raise BadValue(
                f"{name} takes {entry[0]} s, less than the {advance} s of an advance. Recording "
                "and reversing a step runs it: measure both on the same machine."
            )
        menu.append(entry)
    if not menu:
        raise BadValue("recordings is empty. Pass at least one (seconds, left, peak).")
    return menu


def _held(runs: Sequence[Run], menu: Sequence[Option]) -> int:
    """Return the most bytes held while runs are recorded one after the other."""
    held = most = 0
    for start, stop, option in runs:
        _, left, peak = menu[option]
        most = max(most, held + (stop - start - 1) * left + peak)
        held += (stop - start) * left
    return most


def _gap(seconds: float, bound: float) -> float | None:
    if not bound:
        return None if seconds else 0.0
    gap = seconds / bound - 1
    return gap if gap > _ROUNDING else 0.0


def _above(gap: float | None) -> str:
    if gap is None:
        return "how much faster a schedule could be is not known, as some recording costs nothing"
    if not gap:
        return "as fast as the lower bound on all schedules of snapshots and recordings"
    return f"at most {100 * gap:.2g}% above any schedule of snapshots and recordings"
