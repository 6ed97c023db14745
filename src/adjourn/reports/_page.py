"""The report as one HTML file: no network, no scripts, light and dark, wide and narrow."""

from __future__ import annotations

from html import escape
from importlib.metadata import PackageNotFoundError, metadata

from ._curve_svg import Mark, draw_curve
from ._field import draw_field
from ._html import (
    WIDE,
    bullets,
    cards_of,
    definitions,
    figure,
    page,
    section,
    sentence,
    table,
)
from ._plan_text import facts, optimality
from ._record_text import compared, record_title, remarks
from ._report import Report
from ._schedule_svg import draw_memory, draw_schedule
from ._trace import trace
from ._words import count, ratio, size, span

__all__ = ["html_page"]

_WORDS = (
    ("forward step", "the model run one step further, leaving nothing behind"),
    ("recording", "a forward step that also leaves what the reverse of that step reads"),
    ("snapshot", "a copy of the model's state, from which it can be run again"),
    ("reverse", "the adjoint of a step: it takes the gradient one step back in time"),
    ("history", "everything the reverse sweep reads, for all steps: what does not fit in memory"),
    ("budget", "bytes for snapshots, recorded steps and buffers, beyond the model itself"),
    ("schedule", "the order in which steps are run, kept, run again and reversed"),
)
_PAGES = (
    ("report", "How to read this report"),
    ("budget", "How to choose a budget"),
    ("optimal", "Why these plans are optimal"),
    ("promises", "What is promised, each promise with its test"),
    ("protocol", "Your own model in place of this one"),
)


def html_page(report: Report) -> str:
    """Return a report as one self-contained HTML file.

    Everything is inline: no network, no script. The pictures are bounded, however long the
    schedule.
    """
    record = report.record
    title = report.title or record_title(record)
    sections = [
        _head(report, title),
        _cards(report),
        section("Predicted and measured", _comparison(report)),
        section("Why this plan", _why(report)),
        section("What the plan does, step by step", _pictures(report)),
        section("What another budget would buy", _curve(report)),
        section("The model and its gradient", _fields(report)),
        section("The words", definitions(_WORDS)),
        section("About this run", definitions(report.about)),
        section("Read on", _read_on()),
    ]
    return page(title, sections)


def _head(report: Report, title: str) -> str:
    mark = ""
    if report.same_bits is not None:
        bad = "" if report.same_bits else " bad"
        mark = f'<div class="verdict{bad}">{escape(report.verdict)}</div>'
    said = escape(report.against_stored())
    intro = (
        "The gradient of a simulation by the adjoint method needs the states of the forward run "
        "in reverse order. Here they were not all kept: within the memory allowed, some were "
        "kept and the others computed again, in the order that takes the least time."
    )
    return f'<h1>{escape(title)}</h1>{mark}<p>{said}</p><p class="sub">{escape(intro)}</p>'


def _cards(report: Report) -> str:
    record, plan = report.record, report.record.plan
    cards: list[tuple[str, str, str]] = []
    if plan.budget is not None:
        cards.append(("memory allowed", size(plan.budget), "the budget"))
    cards.append(
        ("memory held at the peak", size(record.peak_bytes), f"{size(plan.peak_bytes)} predicted")
    )
    cards.append(("processor time", span(record.cpu_seconds), f"{span(plan.seconds)} predicted"))
    again = max(record.recomputed_steps, 0)
    cards.append(("steps run again", count(again), f"beyond {count(plan.steps)} of one plain run"))
    stored = report.stored
    if stored is not None:
        times = ratio(record.cpu_seconds, stored.cpu_seconds)
        less = stored.peak_bytes / max(record.peak_bytes, 1)
        cards.append(
            ("against the whole history stored", f"{times}x time", f"{less:.1f} times less memory")
        )
    return cards_of(cards)


def _comparison(report: Report) -> str:
    rows = [tuple(cell.strip() for cell in row) for row in compared(report.record)]
    head = ("", "predicted", "measured", "measured / predicted")
    return table(head, rows) + bullets(remarks(report.record))


def _why(report: Report) -> str:
    plan = report.record.plan
    body = bullets(plan.reasons)
    body += f"<p>Is it optimal? {escape(sentence(optimality(plan)))}</p>"
    body += definitions([f for f in facts(plan) if f[0] in ("schedule", "steps", "snapshots",
                                                             "checked")])  # fmt: skip
    if len(plan.candidates) > 1:
        fastest = plan.candidates[0].seconds
        rows = [
            (c.name, span(c.seconds), ratio(c.seconds, fastest), size(c.peak_bytes))
            for c in plan.candidates
        ]
        body += "<p>What was compared, by predicted time:</p>"
        body += table(("schedule", "time", "ratio", "peak"), rows)
    return body


def _pictures(report: Report) -> str:
    record, plan = report.record, report.record.plan
    made = trace(plan.schedule, plan.costs, plan.peak_bytes, columns=WIDE - 80, rows=290)
    if made is None:
        return "<p>The schedule has more than two million actions: too many to draw.</p>"
    first = figure(
        lambda width: draw_schedule(made, width),
        "Each line is the model moving through its steps while time goes to the right. Blue rises "
        "as the model runs forward, orange where it also records, green falls as steps are "
        "reversed. A grey line is a snapshot, kept from where it begins to where it ends. Where "
        "blue starts in the middle, the model was restarted from a snapshot.",
    )
    second = figure(
        lambda width: draw_memory(made, width, plan.budget, plan.peak_bytes,
                                  record.peak_bytes),
        "The memory that the plan holds at each moment, on the same time axis. It must stay under "
        f"the dashed line. The run set aside {size(record.peak_bytes)} from its beginning to its "
        "end, so that nothing is allocated on the way.",
    )  # fmt: skip
    return first + second


def _curve(report: Report) -> str:
    curve, record = report.curve, report.record
    if curve is None:
        return ""
    marks: list[Mark] = []
    if report.stored is not None:
        over = record.cpu_seconds / max(report.stored.cpu_seconds, 1e-12)
        marks.append(Mark("measured", record.peak_bytes, over, "ring"))
    knee = curve.knee
    whole = curve.store_all_seconds
    caption = (
        "Predicted time of the gradient for each budget, over the time with the whole history "
        "stored; each coloured line is one family of schedules, the thick line the fastest. "
        f"Less than {size(curve.least_budget)} cannot work. The curve bends at "
        f"{size(knee.budget)} ({ratio(knee.seconds, whole)} times): less memory than that costs "
        "much time, more saves little."
    )
    return figure(lambda width: draw_curve(curve, width, marks), caption)


def _fields(report: Report) -> str:
    figures = [
        f"<figure>{draw_field(field).render()}<figcaption>{escape(field.note)}</figcaption>"
        "</figure>"
        for field in report.fields
    ]
    return f'<div class="pair">{"".join(figures)}</div>' if figures else ""


def _read_on() -> str:
    """Return where the documentation says more: links, where the package knows its address."""
    base = _documentation()
    items: list[str] = []
    for file, words in _PAGES:
        name = escape(words)
        if base:
            name = f'<a href="{escape(base.rstrip("/"))}/{file}.html">{name}</a>'
        items.append(f"<li>{name} <code>docs/{file}.md</code></li>")
    return f"<ul>{''.join(items)}</ul>"


def _documentation() -> str:
    try:
        urls = metadata("adjourn").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = [url.partition(",")[2].strip() for url in urls if url.startswith("Documentation,")]
    return found[0] if found else ""
