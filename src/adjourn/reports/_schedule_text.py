"""A schedule as a picture of 80 columns: one line a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from .._sizes import as_count
from ..schedules import Advance, Drop, Load, Record, Reverse, Save, Schedule
from ._trace import actions_in
from ._words import WIDTH, count, listed, plural, titled

__all__ = ["schedule_text", "schedule_title"]

_LONGEST = 4_000_000  # actions, which take a few seconds to play


def schedule_text(schedule: Schedule, *, lines: int = 32) -> str:
    """Return a schedule as text of 80 columns.

    One line shows one sweep: what happens from one load of a snapshot to the next, steps from
    left to right. Of a long schedule some sweeps are shown, at even distances; of one of
    millions of actions the figures alone.

    Parameters
    ----------
    schedule : Schedule
        Any schedule.
    lines : int
        Sweeps shown at most.
    """
    lines = as_count(lines, "lines", least=2, most=100_000)
    said = [*titled(schedule_title(schedule)), ""]
    said += listed(_counts(schedule))
    said.append("")
    if actions_in(schedule) > _LONGEST:
        said += listed([f"The picture is left out: it takes more than {count(_LONGEST)} actions."])
        return "\n".join(line.rstrip() for line in said) + "\n"
    said += [*listed([_legend(schedule)], ""), ""]
    width = min(WIDTH - 8, schedule.steps)
    head = f"{'sweep':>6}  step 0"
    last = f"{count(schedule.steps)}"
    said.append(f"{head}{last:>{max(width - 6, 1)}}" if width > 16 else head)
    said += _picture(schedule, width, lines)
    return "\n".join(line.rstrip() for line in said) + "\n"


def schedule_title(schedule: Schedule) -> str:
    """Return the schedule's family and what it holds in one line."""
    name = f"{schedule.family}: {plural(schedule.steps, 'step')}"
    if schedule.slots:
        name += f", {plural(schedule.slots, 'slot')} for snapshots"
    if schedule.counts.recorded:
        name += f", at most {plural(schedule.counts.recorded, 'step')} recorded at once"
    return name


def _counts(schedule: Schedule) -> list[str]:
    ways = {
        "nothing": "the reverse of a step reads nothing",
        "state": "a step is reversed from its state",
        "retape": "recorded steps lie in one window, which any other forward step overwrites",
        "tape": "recordings stay until their step is reversed",
    }
    again = max(schedule.recomputed_steps, 0)
    steps = (
        f"{plural(schedule.forward_steps, 'forward step')}: {count(schedule.advances)} plain, "
        f"{count(schedule.records)} recorded; {count(again)} beyond one plain run"
    )
    snapshots = (
        f"{plural(schedule.writes, 'snapshot')} saved, {count(schedule.reads)} loaded, "
        f"{count(schedule.peak)} held at most"
    )
    return [steps, snapshots, ways[schedule.reversal]]


def _legend(schedule: Schedule) -> str:
    words = (
        "Signs: - run forward, = recorded, < reversed, # recorded and reversed, o snapshot held, "
    )
    if len(schedule.limits) > 1:
        words += "O snapshot on disk, "
    return words + ". still to be reversed."


def _picture(schedule: Schedule, width: int, lines: int) -> list[str]:
    """Return the lines shown: all sweeps, or some at even distances."""
    about = schedule.reads + 1
    wanted = {round(k * (about - 1) / (lines - 1)) for k in range(lines)}
    said: list[str] = []
    row, total = "", 0
    for total, row in enumerate(_sweeps(schedule, width), 1):
        if total - 1 in wanted:
            said.append(f"{total:>6}  {row}")
    last = f"{total:>6}  {row}"
    return said if said[-1:] == [last] else [*said, last]


class _Line:
    """The signs of one sweep."""

    def __init__(self, steps: int, width: int) -> None:
        self.steps = steps
        self.width = width
        self.signs: dict[int, str] = {}

    def column(self, step: int) -> int:
        return min(step * self.width // self.steps, self.width - 1)

    def mark(self, start: int, stop: int, sign: str) -> None:
        for place in range(self.column(start), self.column(stop - 1) + 1):
            before = self.signs.get(place)
            if sign == "<" and before in ("=", "#"):
                self.signs[place] = "#"
            elif sign != "-" or before is None:
                self.signs[place] = sign

    def text(self, upper: int, shown: Iterable[tuple[int, int]]) -> str:
        """Return the line, ``upper`` steps being still to be reversed when it began."""
        left = self.column(upper - 1) + 1 if upper else 0
        row = ["."] * left + [" "] * (self.width - left)
        for place, sign in self.signs.items():
            row[place] = sign
        for tier, step in shown:
            if row[self.column(step)] in (".", "-"):
                row[self.column(step)] = "o" if tier == 0 else "O"
        return "".join(row)


def _sweeps(schedule: Schedule, width: int) -> Iterator[str]:
    """Yield one line for the actions from each load to the next."""
    line = _Line(schedule.steps, width)
    held: dict[tuple[int, int], None] = {}
    shown: dict[tuple[int, int], None] = {}
    upper = remaining = schedule.steps
    for action in chain(schedule, [None]):
        match action:
            case Advance(start, stop):
                line.mark(start, stop, "-")
            case Record(start, stop):
                line.mark(start, stop, "=")
            case Reverse(start, stop):
                line.mark(start, stop, "<")
                remaining = start
            case Save(step, tier):
                held[tier, step] = shown[tier, step] = None
            case Drop(step, tier):
                held.pop((tier, step), None)
            case Load() | None:
                if line.signs:
                    yield line.text(upper, shown)
                    line.signs.clear()
                shown = dict(held)
                upper = remaining
            case _:
                pass
