"""What-if, single-site changes, and the baselines."""

from __future__ import annotations

import random

import pytest

from adjourn.calltree import BASELINES, Call, CallTree, Leaf, Loop, Repeat, deltas, place, what_if
from adjourn.errors import BadValue
from calltree.tree_makers import from_case, random_body, to_tree, tree_cases


def test_uniform_placements_equal_the_reference_figures(shared):
    """All joint and all split have the seconds and peak of the reference cases."""
    for case in tree_cases(shared):
        tree = CallTree(from_case(case["body"]))
        for name in ("all_joint", "all_split"):
            seen = BASELINES[name](tree, 10**6)
            assert (seen.seconds, seen.peak_bytes) == (case[name]["time"], case[name]["peak"])


def test_single_site_changes_equal_two_what_ifs():
    """From random placements, with shared sites and repeats: exact in seconds and in bytes."""
    rng = random.Random(4)
    for _ in range(60):
        body = random_body(rng, calls=5, loops=0)
        tree = to_tree((("repeat", 2, body), *body[:1], *body))
        modes = {site: rng.choice(("joint", "split")) for site in tree.sites}
        base = what_if(tree, modes)
        for site, change in deltas(tree, modes).items():
            other = "split" if modes[site] == "joint" else "joint"
            flipped = what_if(tree, {**modes, site: other})
            assert change.mode == modes[site]
            assert change.seconds == flipped.seconds - base.seconds
            assert change.peak_bytes == flipped.peak_bytes - base.peak_bytes
        for key, change in deltas(tree, modes, by="context").items():
            flipped = what_if(tree, {**modes, key: "split" if change.mode == "joint" else "joint"})
            assert change.peak_bytes == flipped.peak_bytes - base.peak_bytes


def merged_profile(tree):
    """Fold as published, with the full union, for snapshots popped before the rerun."""

    def routine(items):
        peak = turn = 0
        known = {}
        for item in items:
            if isinstance(item, Leaf):
                turn += item.left
        tape = turn + sum(item.snapshot for item in items if isinstance(item, Call))
        peak = tape
        seen = [item for item in items if isinstance(item, Call)]
        held = tape
        position = len(items)
        for call in reversed(seen):
            while items[position - 1] is not call:
                position -= 1
                held -= items[position].left
            position -= 1
            held -= call.snapshot
            inner_peak, inner_tape, inner = routine(call.body)
            if call.external:
                continue
            for site in {*known, *inner, call.site}:
                gain, more, high = inner.get(site, (0, 0, 0))
                own = site == call.site
                shift = inner_tape + more - call.snapshot if own else 0
                if own:
                    gain += call.primal + call.copy
                old_gain, old_more, old_high = known.get(site, (0, 0, 0))
                top = max(peak + old_high + shift, held + inner_peak + high)
                known[site] = (
                    old_gain + gain,
                    old_more + shift,
                    top - max(peak, held + inner_peak),
                )
            peak = max(peak, held + inner_peak)
        return peak, tape, known

    return routine(tree.body)


def test_single_site_changes_equal_the_full_union_merge():
    """The fold that the profilers use, with every site of either part, gives the same figures."""
    rng = random.Random(6)

    def popped(items):
        return [
            Call(i.site, i.snapshot, i.copy, popped(i.body), keep=False)
            if isinstance(i, Call)
            else Leaf(i.advance, i.seconds, i.left, i.left)
            for i in items
        ]

    for _ in range(80):
        tree = CallTree(popped(to_tree(random_body(rng, calls=6, loops=0)).body))
        peak, _, known = merged_profile(tree)
        assert peak == what_if(tree, {}).peak_bytes
        found = deltas(tree)
        assert {site: (-gain, high) for site, (gain, _, high) in known.items()} == {
            site: change[:2] for site, change in found.items()
        }


def test_an_external_call_is_no_gain():
    """A call that never turns has no entry, and does not disturb those of the others."""
    leaf = Leaf(5, 11, 6, 6)
    ours = Call("ours", 9, 1, [leaf], keep=False)
    outside = Call("ext", 500, 1, [Leaf(5, 6, 0, 0)], external=True, keep=False)
    tree = CallTree([ours, outside])
    changes = deltas(tree)
    assert set(changes) == {"ours"}
    assert changes["ours"].peak_bytes == -3


def test_recursion_is_one_site_in_several_contexts():
    """A routine that calls itself: the site is switched in all its contexts together."""
    inner = Call("f", 2, 0, [Leaf(1, 3, 4, 4)])
    tree = CallTree([Call("f", 2, 0, [Leaf(1, 3, 4, 4), inner])])
    assert set(deltas(tree)) == {"f"}
    assert set(deltas(tree, by="context")) == {"f", "f/f"}
    base, flipped = what_if(tree, {}), what_if(tree, {"f": "split"})
    assert deltas(tree)["f"].seconds == flipped.seconds - base.seconds
    assert place(tree, 10).modes == {"f": "split", "f/f": "split"}


def test_the_peak_is_told_with_its_parts():
    """Tape before it, snapshots kept, repeats, and the transient add up to the peak."""
    tree = CallTree(
        [
            Leaf(1, 2, 10, 10),
            Repeat(4, [Call("a", 3, 0, [Leaf(1, 2, 5, 5)])]),
            Call("b", 7, 0, [Leaf(1, 2, 20, 30)]),
        ]
    )
    seen = what_if(tree, {"a": "split"})
    assert seen.peak_bytes == 10 + 20 + 7 + 30
    assert [tuple(part) for part in seen.peak_parts] == [
        ("", "tape", 10),
        ("", "4 repeats", 20),
        ("b", "snapshot", 7),
        ("b", "tape", 20),
        ("b", "transient", 10),
    ]


def test_loops_in_what_if_are_recorded_or_planned():
    """Without a budget every iteration is recorded; with one the loop gets its best schedule."""
    tree = CallTree([Loop(6, 2, 0, 0, [Call("a", 1, 0, [Leaf(2, 5, 4, 5)])])])
    assert what_if(tree, {"a": "split"}).peak_bytes == 5 * 4 + 5
    planned = what_if(tree, {"a": "split"}, 12)
    assert planned.peak_bytes <= 12
    assert planned.loops[0].advances > 0


def test_no_baseline_beats_the_optimum_within_the_budget():
    """Random trees, with and without a loop: what fits is never faster than the placement."""
    rng = random.Random(9)
    fitted = 0
    for _ in range(40):
        tree = to_tree(random_body(rng, calls=5, loops=rng.choice([0, 1]), size=4))
        best = place(tree, 24)
        for name, method in BASELINES.items():
            one = method(tree, 24)
            assert one.method == name
            if one.fits:
                fitted += 1
                assert one.seconds >= best.seconds
    assert fitted > 100


def test_bad_questions_are_refused():
    """A way to group that does not exist is named."""
    with pytest.raises(BadValue, match="neither 'site' nor 'context'"):
        deltas(CallTree([]), by="routine")
