"""The curve of time against budget at 80 columns."""

from __future__ import annotations

from ..planning import Curve, CurvePoint
from ._words import WIDTH, listed, plural, ratio, size, span, titled

__all__ = ["curve_text"]

_BARS = 25
_LINES = 20


def curve_text(curve: Curve) -> str:
    """Return the curve as text of 80 columns: one line a budget, with a bar of its time.

    Bars show the time over that with the whole history stored, cut at the fourfold.
    """
    lines = [*titled(f"Time against budget: {plural(curve.steps, 'step')}"), ""]
    lines.append(f"{'budget':>10}  {'time':>11}  {'ratio':>6}  {'':{_BARS}}  fastest family")
    lines.append("-" * WIDTH)
    for point in _some(curve):
        over = point.seconds / (curve.store_all_seconds or 1.0)
        filled = max(1, round(min(over, 4.0) / 4.0 * _BARS))
        bar = "#" * (filled - 1) + (">" if over > 4.0 else "#")
        line = (
            f"{size(point.budget):>10}  {span(point.seconds):>11}  "
            f"{ratio(point.seconds, curve.store_all_seconds):>6}  {bar:{_BARS}}  {point.name}"
        )
        lines.append(line[:WIDTH].rstrip())
    lines += ["", *_sentences(curve)]
    return "\n".join(lines) + "\n"


def _sentences(curve: Curve) -> list[str]:
    said = [
        _sentence("the least budget that works", curve.points[0], curve),
        _sentence("the knee: less costs much, more saves little", curve.knee, curve),
    ]
    if curve.chosen is not None:
        said.append(_sentence("your budget", curve.chosen, curve))
    end = next(p for p in curve.points if p.budget == curve.whole_budget)
    said.append(_sentence("nothing gets faster beyond", end, curve))
    return listed(said)


def _sentence(name: str, point: CurvePoint, curve: Curve) -> str:
    over = ratio(point.seconds, curve.store_all_seconds)
    time = span(point.seconds)
    return f"{name}: {size(point.budget)}, {time}, {over} times the stored history"


def _some(curve: Curve) -> list[CurvePoint]:
    """Return at most about twenty points, those of interest among them."""
    stride = max(1, -(-len(curve.points) // _LINES))
    keep = {curve.points[0], curve.points[-1], curve.knee}
    if curve.chosen is not None:
        keep.add(curve.chosen)
    return [p for i, p in enumerate(curve.points) if p in keep or i % stride == 0]
