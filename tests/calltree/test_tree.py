"""The tree as a value: JSON, sharing, text, merging, and what is refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from adjourn.calltree import Call, CallTree, Leaf, Loop, Repeat, merge, place, speedscope
from adjourn.errors import BadValue, WrongType
from calltree.tree_makers import random_body, to_tree


def test_json_both_ways_is_the_same_tree():
    """Random trees with loops and repeats come back equal from the value and from its text."""
    rng = random.Random(1)
    for _ in range(40):
        tree = to_tree(random_body(rng, calls=4, loops=2))
        tree = CallTree([Repeat(3, tree.body), *tree.body], note="random")
        assert CallTree.from_json(tree.to_json()) == tree
        assert CallTree.from_json(json.dumps(tree.to_json())) == tree


def test_a_million_calls_of_200_sites_stay_small():
    """10^6 calls in an order that never repeats take less than 10 MB, in memory and as JSON."""
    rng = random.Random(2)
    sites = [Call(f"s{n}", n, 0.1, [Leaf(0.5, 1.25, n, n)]) for n in range(200)]
    tree = CallTree([rng.choice(sites) for _ in range(10**6)])
    assert tree.calls == 10**6
    assert len(json.dumps(tree.to_json(), separators=(",", ":"))) < 10**7
    assert tree.body.__sizeof__() < 10**7
    assert len({id(item) for item in tree.body}) == 200


def test_numpy_scalars_are_taken_as_numbers():
    """Figures from arrays become plain numbers, so that JSON can hold them."""
    leaf = Leaf(np.float64(1.5), np.float32(3.0), np.int64(4), np.int32(5))
    assert [type(x) for x in (leaf.advance, leaf.seconds, leaf.left, leaf.peak)] == [
        float,
        float,
        int,
        int,
    ]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Leaf(2, 1, 0, 0), "at least an advance"),
        (lambda: Leaf(1, 2, 5, 4), "part of the peak"),
        (lambda: Leaf(-1, 2, 0, 0), "not a time"),
        (lambda: Leaf(1, float("nan"), 0, 0), "not a time"),
        (lambda: Leaf(1, 2, -1, 0), "too small"),
        (lambda: Leaf(1, 2, 0, 2**62), "more than any machine"),
        (lambda: Loop(0, 1, 0, 0, []), "too small"),
        (lambda: Call("a/b", 1, 0, []), "separates the names"),
        (lambda: Call("a", 1, 0, [], external=True, pure=False), "side effects"),
        (lambda: Call("a", 1, 1, [Leaf(2, 4, 0, 0)], extra=5.0), "Pass 3 or less"),
    ],
)
def test_values_outside_the_theory_are_refused(make, words):
    """Each refusal says what was asked and what to pass instead."""
    with pytest.raises(BadValue, match=words):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Leaf("1", 2, 0, 0),
        lambda: Leaf(1, 2, 1.5, 2),
        lambda: Leaf(True, 2, 0, 0),
        lambda: Call(1.5, 1, 0, []),
        lambda: Call("a", 1, 0, 3),
        lambda: CallTree([1]),
    ],
)
def test_values_of_another_type_are_refused(make):
    """Texts, floats for bytes, bools and foreign items are type errors."""
    with pytest.raises(WrongType):
        make()


def test_ranks_are_merged_with_their_spread():
    """The slowest rank counts, bytes are the largest, and half the range is kept."""
    trees = [
        CallTree([Repeat(3, [Call("a", size, 0.1 * n, [Leaf(n, 3 * n, 4, 4 + n)])])])
        for n, size in ((1, 5), (2, 7), (4, 6))
    ]
    call = merge(trees).body[0].body[0]
    leaf = call.body[0]
    assert (call.snapshot, call.copy, call.samples) == (7, 0.4, 3)
    assert (leaf.advance, leaf.seconds, leaf.peak, leaf.spread) == (4, 12, 8, 4.5)
    assert merge(trees, "runs").body[0].body[0].body[0].seconds == 6
    assert merge(trees[:1]) is trees[0]


def test_trees_of_different_runs_are_not_merged():
    """A difference is named with the routine it is in."""
    one = CallTree([Call("a", 1, 0, [Leaf(1, 2, 3, 3)])])
    with pytest.raises(BadValue, match="a call of 'a' where another has a call of 'b'"):
        merge([one, CallTree([Call("b", 1, 0, [Leaf(1, 2, 3, 3)])])])
    with pytest.raises(BadValue, match=r"site 'a' has \[1, 2\] items"):
        merge([one, CallTree([Call("a", 1, 0, [Leaf(1, 2, 3, 3)] * 2)])])
    with pytest.raises(BadValue, match="no trees"):
        merge([])


def test_the_text_of_a_tree():
    """One line a call, loop or repeat, at 80 columns."""
    tree = CallTree(
        [
            Leaf(1.0, 3.0, 4, 4),
            Loop(5, 64, 0.5, 0.5, [Call("solve", 16, 0.25, [Leaf(2.0, 6.0, 100, 120)])]),
        ]
    )
    assert tree.text() == (
        "call tree: 1 sites, 5 calls, 11.00 s\n"
        "                                        primal    snapshot       copy   own tape\n"
        "5 x loop loop                          10.00 s        64 B     1.00 s        0 B\n"
        "  solve                                 2.00 s        16 B  250.00 ms      100 B\n"
    )


def test_a_speedscope_profile_adds_up_to_the_predicted_time():
    """The weights of the samples are the seconds of the placement; frames are all used."""
    rng = random.Random(5)
    for _ in range(10):
        tree = to_tree(random_body(rng, calls=5, loops=0))
        placement = place(tree, 10**6)
        profile = speedscope(tree, placement.modes)
        assert sum(profile["profiles"][0]["weights"]) == placement.seconds
        used = {frame for sample in profile["profiles"][0]["samples"] for frame in sample}
        assert used <= set(range(len(profile["shared"]["frames"])))
        json.dumps(profile)


def test_a_repeat_becomes_a_loop_by_name():
    """The user says which repeat has a state that can be kept between iterations."""
    tree = CallTree([Repeat(9, [Call("step", 4, 0, [Leaf(1, 3, 8, 8)])])])
    looped = tree.with_loop("step", snapshot=4)
    assert isinstance(looped.body[0], Loop)
    assert place(looped, 44).seconds < place(tree, 44).seconds
    with pytest.raises(BadValue, match="no repeat"):
        tree.with_loop("other", snapshot=4)


GOOD = {
    "schema": "adjourn.calltree/1",
    "nodes": [{"site": "a", "snapshot": 1, "copy": 0, "body": []}],
    "body": [0, {"advance": 1, "seconds": 2, "left": 3, "peak": 3}],
}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"body": [', '"body": [,', 8, "not JSON"),
        ('"peak": 3', '"peak": 2', 17, "part of the peak"),
        ('"left": 3', '"left": -3', 16, "too small"),
        ('"seconds": 2', '"seconds": "2"', 15, "not a number"),
        ('"advance": 1', '"advance": 3', 15, "at least an advance"),
        ('"peak": 3', '"peek": 3', 17, "no 'peek'"),
        ('"site": "a"', '"site": "a/b"', 5, "separates"),
        ('"snapshot": 1', '"snapshot": 1.5', 6, "not an integer"),
        ("    0,", "    1,", 12, "not written yet"),
        ("    0,", "    null,", 12, "an item is an object"),
        ("    0,", '    {"name": 1},', 12, "an item has 'advance'"),
        ("calltree/1", "calltree/9", 2, "this version reads"),
        ('"nodes"', '"node"', 3, "has schema, note, nodes and body"),
        ('"copy": 0', '"kopy": 0', 7, "no 'kopy'"),
    ],
)
def test_a_malformed_tree_is_told_with_its_line(old, new, line, words):
    """The message begins with the line of the fault, and says what belongs there."""
    text = json.dumps(GOOD, indent=2)
    assert CallTree.from_json(text).calls == 1
    assert old in text
    with pytest.raises(BadValue, match=words) as caught:
        CallTree.from_json(text.replace(old, new, 1))
    assert str(caught.value).startswith(f"line {line}:"), str(caught.value)
