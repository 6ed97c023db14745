"""Time against memory as a picture, with any further points marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..planning import Curve, CurvePoint
from ._svg import Canvas, Frame, byte_ticks, nice_ticks, number, short_size

__all__ = ["Mark", "curve_svg", "draw_curve"]

_LEFT = 56


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of its own beside the curve.

    Attributes
    ----------
    name : str
        What it is.
    nbytes : int
        Bytes of memory.
    ratio : float
        Time over that with the whole history stored.
    style : {"you", "peer", "peer2", "ring"}
        How it is drawn: ours, another program's, measured.
    """

    name: str
    nbytes: int
    ratio: float
    style: str = "ring"


def curve_svg(curve: Curve, marks: Sequence[Mark] = (), *, width: int = 960) -> str:
    """Return the curve as an SVG file of its own, for light and dark."""
    return draw_curve(curve, width, marks).render(alone=True)


def draw_curve(curve: Curve, width: int, marks: Sequence[Mark] = ()) -> Canvas:
    """Draw time against budget for every family, the best of all, and the points that matter."""
    narrow = width < 600
    height = 330 if narrow else 400
    canvas = Canvas(width, height, "Time of the gradient against the memory it may hold")
    whole = curve.store_all_seconds or 1.0
    styles = [(f"aj-f{min(i, 5)}", f.name) for i, f in enumerate(curve.families)]
    entries = [("aj-best", "fastest of all"), *styles]
    top = canvas.legend(8, 16, entries, width - 8) + 34
    ceiling = _ceiling(curve, marks)
    low = min([curve.least_budget, *(m.nbytes for m in marks)])
    high = max([curve.points[-1].budget, *(m.nbytes for m in marks)])
    frame = Frame(
        (_LEFT, top, width - 22, height - 42),
        (low / 1.15, high * 1.3),
        (0.9, ceiling),
        log_across=True,
    )
    canvas.across(frame, byte_ticks(low, high, 5 if narrow else 9), "budget: bytes held at most")
    ticks = nice_ticks(1.0, ceiling, 6)
    canvas.up(frame, [(t, f"{t:g}x") for t in ticks], "time, over that with all stored")
    clip = canvas.clip(frame)
    for (style, _), family in zip(styles, curve.families, strict=True):
        canvas.path(_polyline(frame, family.points, whole), style, clip)
    canvas.path(_polyline(frame, curve.points, whole), "aj-best", clip)
    for point in curve.points:
        if point.seconds / whole <= ceiling:
            canvas.dot(frame.x(point.budget), frame.y(point.seconds / whole), 2.2, "aj-dot")
    _keep_free(canvas, frame, curve)
    _name_points(canvas, frame, curve, marks, ceiling)
    return canvas


def _keep_free(canvas: Canvas, frame: Frame, curve: Curve) -> None:
    """Keep labels off the thick line."""
    whole = curve.store_all_seconds or 1.0
    corners = [(frame.x(p.budget), frame.y(p.seconds / whole)) for p in curve.points]
    for (x1, y1), (x2, y2) in pairwise(corners):
        for k in range(9):
            x, y = x1 + (x2 - x1) * k / 8, y1 + (y2 - y1) * k / 8
            canvas.taken.append((x - 1, y - 1, x + 1, y + 1))


def _name_points(
    canvas: Canvas, frame: Frame, curve: Curve, marks: Sequence[Mark], ceiling: float
) -> None:
    whole = curve.store_all_seconds or 1.0

    def name(words: str, nbytes: int, ratio: float, style: str) -> None:
        x, y = frame.x(nbytes), frame.y(min(ratio, ceiling))
        short = canvas.width < 600
        said = f"{words} {ratio:.2f}x" if short else f"{words}: {short_size(nbytes)}, {ratio:.2f}x"
        canvas.label(x, y, said, frame, style)

    for mark in marks:
        x, y = frame.x(mark.nbytes), frame.y(min(mark.ratio, ceiling))
        canvas.dot(x, y, 5.5, f"aj-{mark.style}")
        name(mark.name, mark.nbytes, mark.ratio, "aj-b")
    end = next(p for p in curve.points if p.budget == curve.whole_budget)
    for words, point, style in (
        ("your budget", curve.chosen, "aj-you"),
        ("knee", curve.knee, "aj-dot"),
        ("no faster beyond", end, "aj-dot"),
    ):
        if point is None or point.seconds / whole > ceiling:
            continue
        canvas.dot(frame.x(point.budget), frame.y(point.seconds / whole), 4.5, style)
        if canvas.width >= 600 or point is not end:
            strong = "aj-b" if style == "aj-you" else "aj-t"
            name(words, point.budget, point.seconds / whole, strong)
    first = curve.points[0]
    if first.seconds / whole > ceiling:
        words = f"least: {short_size(first.budget)}, {first.seconds / whole:.0f}x"
        canvas.label(frame.x(first.budget), frame.top + 24, words, frame, "aj-m")


def _ceiling(curve: Curve, marks: Sequence[Mark]) -> float:
    """Return the top of the picture: what matters, not the steep left end."""
    whole = curve.store_all_seconds or 1.0
    matter = [2.0, *(m.ratio for m in marks), min(curve.knee.seconds / whole, 8.0)]
    if curve.chosen is not None:
        matter.append(curve.chosen.seconds / whole)
    return min(1.15 * max(matter), max(1.1 * curve.points[0].seconds / whole, 1.5))


def _polyline(frame: Frame, points: Sequence[CurvePoint], whole: float) -> str:
    corners = [(frame.x(p.budget), frame.y(p.seconds / whole)) for p in points]
    if len(corners) == 1:
        corners.append((frame.right, corners[0][1]))
    text = "L".join(f"{number(x)} {number(max(y, -999.0))}" for x, y in corners)
    return "M" + text
