"""The HTML page: self-contained, well formed, small, the same from its JSON twin."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from adjourn import BadValue, revolve
from adjourn.reports import Mark, Report, curve_svg, field_of, html_page
from reports.made import CURVE, PLAN, RECORD

VOID = {"meta", "br", "img", "link", "hr", "input"}
FIELD = field_of(np.arange(12.0).reshape(3, 4), (10.0, 20.0), name="Velocity", unit="km/s")
REPORT = Report(
    RECORD,
    title="A <gradient> & more",
    stored=replace(RECORD, cpu_seconds=2.5, peak_bytes=100 * 2**20),
    same_bits=True,
    curve=CURVE,
    fields=(FIELD,),
    about=(("command", "adjourn demo"),),
)


class Balance(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed():
    """Every element is closed; text from outside is escaped."""
    page = html_page(REPORT)
    parser = Balance()
    parser.feed(page)
    assert not parser.open
    assert {"svg", "table", "figure", "h1"} <= parser.seen
    assert "A &lt;gradient&gt; &amp; more" in page
    assert "<gradient>" not in page


def test_the_page_needs_no_network_and_no_script():
    """Nothing is loaded from anywhere: images lie in the page."""
    page = re.sub(r'<a href="[^"]+">', "", html_page(REPORT))  # links to follow, not to load
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')>\s]+)', page)
    assert links
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in links)
    assert "<script" not in page
    assert set(re.findall(r"https?://[^\"]+", page)) == {"http://www.w3.org/2000/svg"}


def test_predicted_and_measured_stand_side_by_side():
    """The page says what was predicted, what was measured, and why this plan."""
    page = html_page(REPORT)
    for words in (
        "bit for bit",
        "3.21 s predicted",
        "3.30 s",
        "Why this plan",
        "segments, 30 steps a window, 3 snapshots",
        "1.32x time",
        "What another budget would buy",
        "Velocity, in km/s",
        "prefers-color-scheme:dark",
        "@media(max-width:640px)",
    ):
        assert words in page


def test_a_gradient_that_differs_is_shown_as_such():
    """The verdict of a failed comparison is not green."""
    page = html_page(replace(REPORT, same_bits=False))
    assert 'class="verdict bad"' in page
    assert "DIFFERS" in page


def test_a_bare_record_makes_a_page():
    """Without curve, fields and comparison the page leaves these sections out."""
    page = html_page(Report(RECORD))
    assert "What another budget would buy" not in page
    assert "The model and its gradient" not in page


def test_the_json_twin_makes_the_same_page():
    """A report goes through JSON unchanged; a run record becomes a report of its own."""
    value = json.loads(json.dumps(REPORT.to_json()))
    assert Report.from_json(value) == REPORT
    assert html_page(Report.from_json(value)) == html_page(REPORT)
    assert Report.from_json(RECORD.to_json()) == Report(RECORD)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"schema": 99, "kind": "report"}, "the report has schema 99, and this version reads 1."),
        ({"some": "thing"}, "the value is neither a report nor a run record."),
    ],
)
def test_other_json_is_refused(value, words):
    """A value of another kind or schema is named as such."""
    with pytest.raises(BadValue) as caught:
        Report.from_json(value)
    assert str(caught.value).startswith(words)


def test_a_long_schedule_makes_a_page_of_bounded_size():
    """Twenty thousand steps, two hundred thousand actions: below a megabyte."""
    plan = replace(PLAN, schedule=revolve(20_000, 18))
    assert len(html_page(replace(REPORT, record=replace(RECORD, plan=plan)))) < 1_000_000


def test_a_schedule_too_long_to_draw_is_said_to_be():
    """Instead of a picture, a sentence."""
    plan = replace(PLAN, schedule=revolve(10**7, 10))
    page = html_page(replace(REPORT, record=replace(RECORD, plan=plan)))
    assert "too many to draw" in page


def test_the_curve_is_a_file_of_its_own():
    """An SVG with its own colours, every mark named with bytes and ratio."""
    picture = curve_svg(CURVE, [Mark("pyrevolve", 2**23, 2.5, "peer")])
    parser = Balance()
    parser.feed(picture)
    assert not parser.open
    assert "pyrevolve: 8 MiB, 2.50x" in picture
    assert "your budget: 40 MiB, 1.28x" in picture
    assert "<style>" in picture
