"""A placement on a call tree as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log2

from .._sizes import signed
from ..calltree import CallTree, Curve, Placement, SiteRow, shares, site_rows
from ._flame import draw_flame
from ._html import bullets, cards_of, definitions, figure, page, section, table
from ._svg import Canvas, Frame, byte_ticks, nice_ticks, number, short_size, time_unit
from ._words import count, plural, size, span

__all__ = ["tree_page"]

_MOST_SITES = 60

_WORDS = (
    ("call site", "one place in the code where a routine is called"),
    ("joint", "checkpointed: a snapshot now; the call is run again, and reversed, later"),
    ("split", "recorded in place: its tape is held until the reverse sweep comes to it"),
    ("tape", "the values that the adjoint of a part reads"),
    ("snapshot", "what is needed to run a part again"),
    ("placement", "the choice of joint or split for every call site"),
)


def tree_page(
    tree: CallTree,
    placement: Placement,
    others: Sequence[Placement] = (),
    curve: Curve | None = None,
    *,
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return a placement as one self-contained HTML file: no network, no script.

    Parameters
    ----------
    tree, placement
        The measured tree and the choice to show.
    others : sequence of Placement
        Other placements to show beside it, as the named baselines.
    curve : Curve, optional
        Least seconds for every budget.
    title : str
        The page's title.
    notes : sequence of str
        More to be said about the measurement.
    """
    title = title or "Which calls to record, which to run again"
    rows = sorted(site_rows(tree, placement), key=lambda row: -abs(row.seconds))
    remarks = dict.fromkeys([*placement.notes, *notes, *(curve.notes if curve else ())])
    sections = [
        _head(placement, title),
        _cards(placement, tree),
        section("Where the time goes", _flame(tree, placement)),
        section("What another budget would buy", _curve(curve, placement, others)),
        section("Beside other placements", _others(placement, others)),
        section("Site by site", _sites(rows)),
        section("What the peak is made of", _peak(placement)),
        section("Loops", _loops(placement)),
        section("Remarks", bullets(remarks)),
        section("The words", definitions(_WORDS)),
    ]
    return page(title, sections)


def _head(placement: Placement, title: str) -> str:
    if not placement.fits:
        mark, bad = "over the budget", " bad"
    elif placement.exact:
        mark, bad = "optimal: no placement within the budget is faster", ""
    elif placement.bound:
        mark, bad = f"at most {placement.gap:.1%} above the optimum", ""
    else:
        mark, bad = f"found by {placement.method}", ""
    intro = (
        "The adjoint of a program needs the values its calls computed, in reverse order. For each "
        "call there is a choice: keep what its adjoint reads, or keep only what is needed to run "
        "it again."
    )
    return (
        f'<h1>{escape(title)}</h1><div class="verdict{bad}">{escape(mark)}</div>'
        f'<p class="sub">{escape(intro)}</p>'
    )


def _cards(placement: Placement, tree: CallTree) -> str:
    cards: list[tuple[str, str, str]] = []
    if placement.budget is not None:
        cards.append(("memory allowed", size(placement.budget), "the budget"))
    cards.append(("memory held at the peak", size(placement.peak_bytes), "predicted, to the byte"))
    over = f"{placement.seconds / placement.primal:.2f} x the model" if placement.primal else ""
    cards.append(("time of the adjoint", span(placement.seconds), over))
    split = len(placement.split)
    joint = len(placement.modes) - split
    cards.append(("split, joint", f"{count(split)}, {count(joint)}", plural(tree.calls, "call")))
    return cards_of(cards)


def _flame(tree: CallTree, placement: Placement) -> str:
    parts = shares(tree, placement.modes)
    if not parts:
        return ""
    caption = (
        "Each bar is a call, as long as its share of the adjoint's time, with the calls it makes "
        "below it. Calls of one name in one place are one bar. Point at a bar for its figures."
    )
    if placement.loops:
        caption += " Loops are drawn with every iteration recorded once."
    return figure(lambda width: draw_flame(parts, width), caption)


def _curve(curve: Curve | None, placement: Placement, others: Sequence[Placement]) -> str:
    if curve is None or not curve.points:
        return ""
    marks = [placement, *others]
    caption = (
        "Least time of the adjoint for each budget; the placements of this page are marked. "
        f"Less than {size(curve.points[0][0])} cannot work."
    )
    return figure(lambda width: _draw_curve(curve, marks, width), caption)


def _draw_curve(curve: Curve, marks: Sequence[Placement], width: int) -> Canvas:
    narrow = width < 600
    canvas = Canvas(width, 300 if narrow else 360, "Least time of the adjoint for each budget")
    peaks = [max(peak, 1) for peak, _ in curve.points] + [max(m.peak_bytes, 1) for m in marks]
    times = [seconds for _, seconds in curve.points] + [m.seconds for m in marks]
    low, high, least = min(peaks), max(peaks), min(times)
    most = min(max(times), 1.2 * max(m.seconds for m in marks))  # what matters, not the steep end
    room = 0.08 * ((most - least) or most or 1.0)
    frame = Frame(
        (62, 36, width - 22, canvas.height - 42),
        (low / 1.2, max(high, 2) * 1.3),
        (max(0.0, least - room), most + room),
        log_across=True,
    )
    spread = log2(max(high, 2) / low)
    ticks = byte_ticks(low, high, 5 if narrow else 9) if spread > 2 else []
    ticks = ticks or [(float(low), short_size(low)), (float(high), short_size(high))]
    canvas.across(frame, ticks, "budget: bytes held at most")
    unit, name = time_unit(most)
    upward = nice_ticks(frame.up[0] / unit, frame.up[1] / unit)
    canvas.up(frame, [(t * unit, f"{t:g}") for t in upward], f"time of the adjoint, {name}")
    corners: list[str] = []
    for number_, (peak, seconds) in enumerate(curve.points):
        x, y = number(frame.x(max(peak, 1))), number(frame.y(seconds))
        corners.append(f"M{x} {y}" if not number_ else f"H{x}V{y}")
    clip = canvas.clip(frame)
    canvas.path("".join(corners) + f"H{number(frame.right)}", "aj-best", clip)
    for index, mark in enumerate(marks):
        x, y = frame.x(max(mark.peak_bytes, 1)), frame.y(mark.seconds)
        canvas.dot(x, y, 5, "aj-ring" if index else "aj-you")
        canvas.label(x, y, mark.method, frame, "aj-t" if index else "aj-b")
    return canvas


def _others(placement: Placement, others: Sequence[Placement]) -> str:
    if not others:
        return ""
    rows = [
        (
            one.method,
            span(one.seconds),
            f"{one.seconds / placement.seconds:.3f}" if placement.seconds else "-",
            size(one.peak_bytes),
            "yes" if one.fits else "no",
        )
        for one in (placement, *others)
    ]
    return table(("method", "time", "ratio", "peak", "within the budget"), rows)


def _sites(rows: Sequence[SiteRow]) -> str:
    head = ("site", "mode", "if switched: time", "peak", "snapshot", "own tape", "in the peak")
    cells = [
        (
            str(row.path),
            row.mode,
            signed(row.seconds, span),
            signed(row.peak_bytes, size),
            size(row.snapshot),
            size(row.tape),
            "yes" if row.holds else "",
        )
        for row in rows[:_MOST_SITES]
    ]
    more = len(rows) - _MOST_SITES
    said = f'<p class="note">and {plural(more, "more site")}</p>' if more > 0 else ""
    return table(head, cells) + said if cells else ""


def _peak(placement: Placement) -> str:
    parts = sorted(placement.peak_parts, key=lambda part: -part.nbytes)
    rows = [
        (f"{part.what} of {part.path}" if part.path else part.what, size(part.nbytes))
        for part in parts[:20]
    ]
    rest = sum(part.nbytes for part in parts[20:])
    if rest:
        rows.append((f"in {plural(len(parts) - 20, 'more part')}", size(rest)))
    return table(("held", "bytes"), rows) if rows else ""


def _loops(placement: Placement) -> str:
    lines = [line for loop in placement.loops for line in loop.text().splitlines()]
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
