"""Where the time of an adjoint goes, call by call: a flame graph, the root at the top."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from ..calltree import Share
from ._svg import Canvas, number
from ._words import span

__all__ = ["draw_flame"]

_TALL = 22
_LEAST = 1.0  # narrower parts, in pixels, are left out; what they cost shows as a gap
_MOST_DEEP = 24
_STYLES = {
    "joint": "aj-fill-joint",
    "split": "aj-fill-rec",
    "run forward": "aj-fill-stand",
    "copy snapshot": "aj-fill-snap",
    "record and reverse": "aj-fill-own",
}
_LEGEND = (
    ("aj-fill-joint", "joint call"),
    ("aj-fill-rec", "split call"),
    ("aj-fill-stand", "run forward again"),
    ("aj-fill-snap", "copy snapshot"),
    ("aj-fill-own", "record and reverse"),
)


def draw_flame(parts: Sequence[Share], width: int) -> Canvas:
    """Draw shares of time as nested bars; a bar's name and seconds show where they fit."""
    total = sum(part.seconds for part in parts) or 1.0
    rows = min(_MOST_DEEP, _depth(parts, (width - 4) / total))
    canvas = Canvas(width, 0, "Where the time of the adjoint goes, call by call")
    top = canvas.legend(4, 16, _LEGEND, width - 4) + 14
    canvas.height = int(top + rows * _TALL + 6)
    _row(canvas, _merged(parts), 2.0, top, (width - 4) / total, rows)
    return canvas


def _row(
    canvas: Canvas, parts: Sequence[Share], left: float, top: float, scale: float, rows: int
) -> None:
    for part in parts:
        wide = part.seconds * scale
        if wide >= _LEAST and rows:
            style = _STYLES.get(part.mode or part.name, "aj-fill-loop")
            words = f"{part.path or part.name}: {span(part.seconds)}"
            if part.mode:
                words += f", {part.mode}"
            canvas.parts.append(
                f'<g><title>{escape(words)}</title><rect class="{style} aj-bar" '
                f'x="{number(left)}" y="{number(top)}" width="{number(max(wide - 1, 0.5))}" '
                f'height="{_TALL - 2}" rx="2"/></g>'
            )
            _name(canvas, part, left, top, wide)
            _row(canvas, _merged(part.parts), left, top + _TALL, scale, rows - 1)
        left += wide


def _name(canvas: Canvas, part: Share, left: float, top: float, wide: float) -> None:
    room = int((wide - 8) / 6.6)
    full = f"{part.name}  {span(part.seconds)}"
    if len(full) <= room:
        canvas.text(left + 4, top + 14, full, "aj-t")
    elif len(part.name) <= room or room >= 6:
        short = part.name if len(part.name) <= room else part.name[: room - 1] + "…"
        canvas.text(left + 4, top + 14, short, "aj-t")


def _merged(parts: Sequence[Share]) -> list[Share]:
    """Return parts with those of one name and mode put together, the longest first."""

    def kind(part: Share) -> tuple[str, str]:
        return part.name, part.mode or ""

    whole: list[Share] = []
    for (name, _), alike in groupby(sorted(parts, key=kind), key=kind):
        group = list(alike)
        inner = tuple(inside for one in group for inside in one.parts)
        path = group[0].path if len(group) == 1 else f"{name}, {len(group)} times"
        seconds = sum(one.seconds for one in group)
        whole.append(Share(name, seconds, group[0].mode, path if group[0].path else "", inner))
    return sorted(whole, key=lambda part: -part.seconds)


def _depth(parts: Sequence[Share], scale: float) -> int:
    shown = [part for part in _merged(parts) if part.seconds * scale >= _LEAST]
    return 1 + max((_depth(part.parts, scale) for part in shown), default=0) if shown else 0
