"""The picture of a schedule: steps up, time across, and the memory it holds below."""

from __future__ import annotations

from ..schedules import Schedule
from ._svg import Canvas, Frame, nice_ticks, number, short_size, time_unit
from ._trace import Trace, trace

__all__ = ["draw_memory", "draw_schedule", "schedule_svg"]

_LEFT = 66


def schedule_svg(schedule: Schedule, *, width: int = 960) -> str:
    """Return a picture of any schedule as an SVG file of its own; "" if it is too long.

    Its size is bounded, however long the schedule: from some thousand actions on it is drawn
    by columns and rows.
    """
    made = trace(schedule)
    if made is None:
        return ""
    return draw_schedule(made, width, relative=True).render(alone=True)


def draw_schedule(made: Trace, width: int, *, relative: bool = False) -> Canvas:
    """Draw which step is run, recorded, reversed and kept at what time."""
    narrow = width < 600
    height = 300 if narrow else 380
    canvas = Canvas(width, height, "Which time steps are run, recorded, reversed and kept, when")
    entries = [
        ("aj-advance", "run forward"),
        ("aj-record", "run and recorded"),
        ("aj-reverse", "reversed"),
        ("aj-hold0", "snapshot held"),
    ]
    if any(tier > 0 for tier in made.held):
        entries.append(("aj-hold1", "snapshot on disk"))
    top = canvas.legend(8, 16, entries, width - 8) + 32
    frame = Frame((_LEFT, top, width - 14, height - 42), (0, made.seconds), (0, made.steps))
    _axis_of_time(canvas, frame, made, relative=relative)
    steps = nice_ticks(0, made.steps, 4 if narrow else 6)
    canvas.up(frame, [(s, f"{s:.0f}") for s in steps if s == int(s)], "time step of the model")
    if made.stretches:
        _draw_each(canvas, frame, made)
    else:
        _draw_cells(canvas, frame, made)
    _draw_turn(canvas, frame, made, named=True)
    return canvas


def draw_memory(
    made: Trace, width: int, budget: int | None, peak: int, measured: int | None = None
) -> Canvas:
    """Draw the bytes held against the budget, below the schedule's picture."""
    narrow = width < 600
    height = 230 if narrow else 250
    canvas = Canvas(width, height, "Bytes held over the time of the run, against the budget")
    entries: list[tuple[str, str]] = []
    if any(snapshots for snapshots, _ in made.memory):
        entries.append(("aj-fill-snap", "snapshots"))
    if any(recorded for _, recorded in made.memory):
        entries.append(("aj-fill-rec", "recorded steps"))
    if made.standing:
        entries.append(("aj-fill-stand", "window and buffers, held throughout"))
    if budget is not None:
        entries.append(("aj-budget", f"budget {short_size(budget)}"))
    top = canvas.legend(8, 16, entries, width - 8) + 32
    most = max(budget or 0, peak, measured or 0, 1) * 1.08
    frame = Frame((_LEFT, top, width - 14, height - 42), (0, made.seconds), (0, most))
    _axis_of_time(canvas, frame, made, relative=False)
    canvas.up(frame, _byte_scale(most), "memory held")
    _areas(canvas, frame, made)
    if budget is not None:
        y = frame.y(budget)
        canvas.line(frame.left, y, frame.right, y, "aj-budget")
    _draw_turn(canvas, frame, made, named=False)
    return canvas


def _areas(canvas: Canvas, frame: Frame, made: Trace) -> None:
    """Stack what stands, the snapshots and the recordings."""
    standing = [made.standing] * made.columns
    snapshots = [made.standing + s for s, _ in made.memory]
    everything = [made.standing + s + r for s, r in made.memory]
    floor = [0] * made.columns
    if made.standing:
        canvas.path(_band(frame, made, floor, standing), "aj-fill-stand")
    canvas.path(_band(frame, made, standing, snapshots), "aj-fill-snap")
    canvas.path(_band(frame, made, snapshots, everything), "aj-fill-rec")


def _band(frame: Frame, made: Trace, lower: list[int], upper: list[int]) -> str:
    """Return the outline between two rows of values, in steps."""
    if lower == upper:
        return ""
    width = (frame.right - frame.left) / made.columns
    there = _steps(frame, upper, width)
    back = _steps(frame, lower, width)[::-1]
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in [*there, *back]) + "Z"


def _steps(frame: Frame, values: list[int], width: float) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    first = 0
    for column in range(1, len(values) + 1):
        if column == len(values) or values[column] != values[first]:
            y = frame.y(values[first])
            points += [(frame.left + first * width, y), (frame.left + column * width, y)]
            first = column
    return points


def _draw_each(canvas: Canvas, frame: Frame, made: Trace) -> None:
    for tier in sorted(made.held):
        data = "".join(
            f"M{number(frame.x(h.began))} {number(frame.y(h.step))}H{number(frame.x(h.ended))}"
            for h in made.holds
            if h.tier == tier
        )
        canvas.path(data, f"aj-hold{min(tier, 1)}")
    for kind in ("advance", "record", "reverse"):
        data = "".join(
            f"M{number(frame.x(s.began))} {number(frame.y(s.start))}"
            f"L{number(frame.x(s.ended))} {number(frame.y(s.stop))}"
            for s in made.stretches
            if s.kind == kind
        )
        canvas.path(data, f"aj-{kind}")


def _draw_cells(canvas: Canvas, frame: Frame, made: Trace) -> None:
    """Draw each run of touched cells as one stroke."""
    wide = (frame.right - frame.left) / made.columns
    tall = (frame.bottom - frame.top) / made.rows
    for tier in sorted(made.held):
        strokes: list[str] = []
        for row, bits in enumerate(made.held[tier]):
            y = frame.bottom - (row + 0.5) * tall
            for first, last in _runs(bits):
                x = frame.left + first * wide
                strokes.append(f"M{number(x)} {number(y)}h{number((last - first) * wide)}")
        canvas.path("".join(strokes), f"aj-cells aj-hold{min(tier, 1)}")
    for kind in ("advance", "record", "reverse"):
        strokes = []
        for column, bits in enumerate(made.cells[kind]):
            x = frame.left + (column + 0.5) * wide
            for first, last in _runs(bits):
                y = frame.bottom - first * tall
                strokes.append(f"M{number(x)} {number(y)}v{number((first - last) * tall)}")
        canvas.path("".join(strokes), f"aj-cells aj-{kind}")


def _runs(bits: int) -> list[tuple[int, int]]:
    """Return the runs of ones of an integer, half open."""
    runs: list[tuple[int, int]] = []
    at = 0
    while bits:
        skip = (bits & -bits).bit_length() - 1
        bits >>= skip
        at += skip
        length = (~bits & (bits + 1)).bit_length() - 1
        runs.append((at, at + length))
        bits >>= length
        at += length
    return runs


def _axis_of_time(canvas: Canvas, frame: Frame, made: Trace, *, relative: bool) -> None:
    most = 5 if canvas.width < 600 else 9
    unit, name = (1.0, "") if relative else time_unit(made.seconds)
    ticks = nice_ticks(0, made.seconds / unit, most)
    words = "work done, in steps run" if relative else f"predicted time, in {name}"
    canvas.across(frame, [(t * unit, f"{t:g}") for t in ticks], words)


def _draw_turn(canvas: Canvas, frame: Frame, made: Trace, *, named: bool) -> None:
    x = frame.x(made.turn)
    canvas.line(x, frame.top, x, frame.bottom, "aj-turn")
    if not named:
        return
    near_end = x > frame.right - 90
    canvas.text(
        x - 5 if near_end else x + 5,
        frame.top + 11,
        "reverse begins" if near_end else "reverse sweep begins",
        "aj-m",
        "end" if near_end else "start",
    )


def _byte_scale(most: float) -> list[tuple[float, str]]:
    unit = 1.0
    for name in ("B", "KiB", "MiB", "GiB", "TiB"):
        if most < 1024 * unit or name == "TiB":
            return [(t * unit, f"{t:g} {name}") for t in nice_ticks(0, most / unit, 4)]
        unit *= 1024
    return []
