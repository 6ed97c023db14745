"""The page of a placement: self-contained, well formed, with every call in the picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.calltree import (
    BASELINES,
    Call,
    CallTree,
    Leaf,
    Loop,
    Repeat,
    curve,
    place,
    shares,
    what_if,
)
from adjourn.reports import tree_page
from reports.test_page import Balance


def call(site, *, snapshot=20, left=12, inner=()):
    return Call(site, snapshot, 0.25, [Leaf(0.5, 1.5, left, left), *inner])


TREE = CallTree(
    [Repeat(10, [call("step", inner=[call("a <b>"), call("c", left=40), call("a <b>")])])]
)
LOOPED = CallTree([Loop(6, 30, 0.1, 0.1, [call("step", inner=[call("a"), call("c", left=40)])])])


def page_of(tree, budget):
    others = [method(tree, budget) for method in BASELINES.values()]
    return tree_page(tree, place(tree, budget), others, curve(tree), notes=["measured once"])


@pytest.mark.parametrize("tree", [TREE, LOOPED], ids=["repeat", "loop"])
def test_the_page_is_well_formed_and_of_one_file(tree):
    """Every element is closed, names from outside are escaped, nothing is fetched."""
    page = page_of(tree, 700)
    parser = Balance()
    parser.feed(page)
    assert not parser.open
    assert {"svg", "table", "figure", "h1"} <= parser.seen
    assert "<b>" not in page.replace("<b>", "", page.count('class="card"'))
    assert not re.search(r'(src|href)="', page)
    for words in ("Measured once.", "rank_once", "Site by site", "budget"):
        assert words in page


def test_a_wide_call_is_a_bar_with_its_figures():
    """Each call that takes a visible share is drawn and says its seconds and its mode."""
    bars = re.findall(r"<title>([^<]*)</title><rect", page_of(TREE, 700))
    for name in ("step", "a &lt;b&gt;", "c"):
        assert any(name in bar and ("joint" in bar or "split" in bar) for bar in bars)


@given(st.integers(0, 6), st.integers(1, 5), st.sampled_from(["joint", "split"]))
def test_shares_add_up_to_the_predicted_time(depth, times, mode):
    """The parts of each share are its seconds; all together are the adjoint's."""
    inner = call("leaf")
    for level in range(depth):
        inner = call(f"level{level}", inner=[inner, call("leaf")])
    tree = CallTree([Repeat(times, [inner])])
    modes = dict.fromkeys(tree.sites, mode)

    def whole(part):
        if part.parts:
            assert part.seconds == pytest.approx(sum(map(whole, part.parts)))
        return part.seconds

    total = sum(map(whole, shares(tree, modes)))
    assert total == pytest.approx(what_if(tree, modes).seconds)
