"""The placement against exhaustive search, and what holds for every budget."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.calltree import Call, CallTree, Leaf, Loop, Placement, curve, place, what_if
from adjourn.calltree._loopset import bound_set
from adjourn.calltree._sets import columns
from adjourn.errors import BadValue, BudgetTooSmall, WrongType
from calltree.search_trees import optimum
from calltree.tree_makers import from_case, random_body, to_tree, tree_cases


def seconds_or_none(tree, budget, **options):
    try:
        return place(tree, budget, **options).seconds
    except BudgetTooSmall:
        return None


def test_the_placement_equals_the_optimum_of_every_reference_case(shared):
    """60 trees at 7 budgets each: equal to the optimum of all placements, in whole numbers."""
    for case in tree_cases(shared):
        tree = CallTree(from_case(case["body"]))
        for entry in case["budgets"]:
            seconds = seconds_or_none(tree, entry["budget"])
            assert seconds == entry["optimum"]
            assert seconds is None or isinstance(seconds, int)


def test_trees_with_loops_equal_exhaustive_search():
    """320 random trees with one or two loops, nested or not: the least time over everything."""
    rng = random.Random(3)
    feasible = 0
    for _ in range(320):
        body = random_body(rng, calls=rng.randint(0, 3), loops=rng.randint(1, 2), size=2)
        budget = rng.randint(4, 9)
        best = optimum(body, budget)
        assert seconds_or_none(to_tree(body), budget) == best, (body, budget)
        feasible += best is not None
    assert feasible > 200


@given(st.integers(0, 10**6), st.integers(0, 1), st.integers(1, 40), st.integers(0, 30))
@settings(max_examples=60)
def test_a_larger_budget_is_never_slower(seed, loops, budget, more):
    """Whatever the tree, more bytes give at most the same seconds, and the peak stays within."""
    rng = random.Random(seed)
    tree = to_tree(random_body(rng, calls=rng.randint(1, 5), loops=loops, size=4))
    less = seconds_or_none(tree, budget)
    if less is not None:
        placement = place(tree, budget + more)
        assert placement.seconds <= less
        assert placement.peak_bytes <= budget + more


def rough_tree(seed, steps=40):
    """Return a tree whose bytes share no unit, so that the loop needs a coarse grid."""
    rng = random.Random(seed)

    def leaf():
        p, left = rng.uniform(1, 5), rng.randint(10**5, 10**7)
        return Leaf(p, p * rng.uniform(1.5, 4), left, left + rng.randint(0, 10**5))

    calls = [
        Call(f"s{n}", rng.randint(10**4, 10**7), rng.uniform(0, 0.2), [leaf(), leaf()])
        for n in range(7)
    ]
    return CallTree(
        [leaf(), Loop(steps, rng.randint(10**6, 10**7), 0.1, 0.1, [leaf(), *calls]), leaf()]
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_rounding_is_stated_and_keeps_a_larger_budget_no_slower(seed):
    """Where bytes are rounded the plan stays within the budget, states its gap, and is monotone."""
    tree = rough_tree(seed, steps=150)
    with pytest.raises(BudgetTooSmall) as caught:
        place(tree, 1)
    least = caught.value.least
    before = float("inf")
    for factor in (1.1, 2.6, 7.0):
        placement = place(tree, int(least * factor))
        assert placement.peak_bytes <= int(least * factor)
        assert placement.seconds <= before
        assert placement.bound <= placement.seconds
        assert placement.gap < 0.1
        before = placement.seconds


def test_the_least_budget_of_the_error_works(shared):
    """The error names a budget, and that budget is enough."""
    for case in tree_cases(shared)[:12]:
        tree = CallTree(from_case(case["body"]))
        with pytest.raises(BudgetTooSmall, match="Pass budget=") as caught:
            place(tree, 1)
        assert place(tree, caught.value.least).peak_bytes == caught.value.least


def test_a_placement_is_what_its_modes_say(shared):
    """Without loops, what-if of a placement's own modes gives its seconds and its peak."""
    for case in tree_cases(shared)[:15]:
        tree = CallTree(from_case(case["body"]))
        for entry in case["budgets"][1::3]:
            placement = place(tree, entry["budget"])
            seen = what_if(tree, placement.modes)
            assert (seen.seconds, seen.peak_bytes) == (placement.seconds, placement.peak_bytes)
            assert placement.exact
            assert sum(part.nbytes for part in placement.peak_parts) == placement.peak_bytes


def test_one_decision_a_site_equals_trying_all():
    """Tied sites in random trees, some with a loop: equal to the best of all 2^n placements."""
    rng = random.Random(3)
    proven = 0
    for _ in range(60):
        tree = to_tree(
            _shared_names(random_body(rng, calls=4, loops=rng.choice([0, 0, 1]), size=3))
        )
        budget = rng.randint(5, 14)
        best = None
        for modes in product(("joint", "split"), repeat=len(tree.sites)):
            try:
                seconds = what_if(tree, dict(zip(tree.sites, modes, strict=True)), budget).seconds
            except BudgetTooSmall:
                continue
            best = seconds if best is None else min(best, seconds)
        assert seconds_or_none(tree, budget, tied=True) == best
        if best is not None:
            placement = place(tree, budget, tied=True)
            proven += placement.exact
            assert not placement.mixed
    assert proven > 30


def _shared_names(body):
    named = []
    for item in body:
        if item[0] == "call":
            named.append(("call", f"s{item[1] % 3}", *item[2:5], _shared_names(item[5])))
        elif item[0] == "loop":
            named.append((*item[:5], _shared_names(item[5])))
        else:
            named.append(item)
    return tuple(named)


def test_the_curve_is_the_least_time_of_every_budget(shared):
    """At, below and between its steps the curve equals a placement for that budget."""
    for case in tree_cases(shared)[:10]:
        tree = CallTree(from_case(case["body"]))
        whole = curve(tree)
        for entry in case["budgets"]:
            expected = float("inf") if entry["optimum"] is None else entry["optimum"]
            assert whole.seconds(entry["budget"]) == expected


def test_given_modes_are_kept_and_the_rest_is_optimal():
    """Settled sites keep their mode; the others are chosen around them."""
    rng = random.Random(8)
    for _ in range(20):
        tree = to_tree(random_body(rng, calls=4, loops=0, size=4))
        free = [site for site in tree.sites if site != tree.sites[0]]
        for mode in ("joint", "split"):
            tried = [
                seen.seconds
                for modes in product(("joint", "split"), repeat=len(free))
                if (
                    seen := what_if(
                        tree, {tree.sites[0]: mode, **dict(zip(free, modes, strict=True))}
                    )
                ).peak_bytes
                <= 9
            ]
            found = seconds_or_none(tree, 9, modes={tree.sites[0]: mode})
            assert found == min(tried, default=None)


def test_external_calls_stay_joint_and_impure_ones_split():
    """An external call is never split; an impure one, and its callers, are never run again."""
    leaf = Leaf(advance=5, seconds=11, left=6, peak=8)
    tree = CallTree(
        [
            Call("ext", 2, 0, [leaf], external=True),
            Call("outer", 2, 0, [Call("print", 1, 0, [leaf], pure=False)]),
        ]
    )
    placement = place(tree, 10**6)
    assert placement.modes == {"ext": "joint", "outer": "split", "print": "split"}
    loop = CallTree([Loop(4, 1, 0, 0, [Call("print", 1, 0, [leaf], pure=False)])])
    assert place(loop, 10**6).loops[0].advances == 0
    with pytest.raises(BudgetTooSmall):
        place(loop, 20)


def test_a_long_loop_is_planned_in_blocks_with_a_gap_and_a_clean_name():
    """Beyond 3000 iterations the loop is cut into blocks; sites keep one name; the bound holds."""
    body = [Leaf(1, 3, 4, 4), Call("a", 3, 0, [Leaf(2, 6, 8, 8)])]
    tree = CallTree([Loop(3200, 5, 0, 0, body)])
    placement = place(tree, 600)
    assert placement.peak_bytes <= 600
    assert set(placement.modes) == {"a"}
    assert any("blocks" in note for note in placement.notes)
    assert placement.bound <= placement.seconds


def test_a_placement_survives_json(shared):
    """To JSON and back is the same value, loops and modes by number included."""
    tree = CallTree(from_case(tree_cases(shared)[0]["body"]))
    looped = CallTree([Loop(5, 2, 0, 1, tree.body)])
    for placement in (place(tree, 60), place(looped, 200)):
        assert Placement.from_json(placement.to_json()) == placement


def test_bad_arguments_are_named():
    """A budget, a mode, a site or a tree that cannot be used is told with its value."""
    tree = CallTree([Call("solve", 1, 0, [Leaf(1, 2, 3, 3)])])
    with pytest.raises(WrongType, match="Pass a CallTree"):
        place([Leaf(1, 2, 3, 3)], 10)
    with pytest.raises(BadValue, match="neither 'joint' nor 'split'"):
        what_if(tree, {"solve": "both"})
    with pytest.raises(BadValue, match="Did you mean solve"):
        what_if(tree, {"slove": "split"})
    with pytest.raises(BadValue, match="is not a size"):
        place(tree, "many")


def test_the_bound_of_long_loops_holds_on_every_reference_case(shared):
    """No optimum of the 150 loop cases is below the closed bound of long loops."""
    cases = json.loads((shared / "cases" / "loop_cases.json").read_text())
    for case in cases:
        if case["optimum"] is None:
            continue
        menu = [(o["time"], o["left"], o["peak"]) for o in case["record_options"]]
        loop = Loop(
            case["steps"], case["snapshot"], case["write"], case["read"],
            [Leaf(case["advance"], case["advance"], 0, 0)],
        )  # fmt: skip
        bound = bound_set(loop, columns(*menu), case["budget"])
        fitting = bound.options.seconds[bound.options.peak <= case["budget"]]
        assert fitting.min() <= case["optimum"]
