"""Random trees in both forms: values of the package, and the tuples of the exhaustive search."""

from __future__ import annotations

import json
from itertools import count

from adjourn.calltree import Call, CallTree, Leaf, Loop, Repeat


def from_case(body):
    """Return the items of a body of ``tree_cases.json``."""
    return [
        Call(site=x["site"], snapshot=x["snapshot"], copy=x["copy"], body=from_case(x["body"]))
        if "site" in x
        else Leaf(advance=x["advance"], seconds=x["time"], left=x["left"], peak=x["peak"])
        for x in body
    ]


def tree_cases(shared):
    return json.loads((shared / "cases" / "tree_cases.json").read_text())


def to_items(body):
    """Return the items of a body of tuples."""
    items = []
    for item in body:
        if item[0] == "leaf":
            items.append(Leaf(*item[1:]))
        elif item[0] == "call":
            _, name, s, c, keep, inner = item
            items.append(Call(name, s, c, to_items(inner), keep=keep))
        elif item[0] == "loop":
            _, n, s, w, r, inner = item
            items.append(Loop(n, s, w, r, to_items(inner)))
        else:
            items.append(Repeat(item[1], to_items(item[2])))
    return items


def to_tree(body):
    return CallTree(to_items(body))


def random_leaf(rng, size):
    p = rng.randint(0, 4)
    left = rng.randint(0, size)
    return ("leaf", p, p + rng.randint(0, 5), left, left + rng.randint(0, 2))


def random_body(rng, *, calls, loops, size=4, depth=3, names=None, most=3):
    """Return a random body with at most so many calls and loops."""
    names = count() if names is None else names
    body = [random_leaf(rng, size)] if rng.random() < 0.6 else []
    while (calls or loops) and len(body) < most:
        kind = rng.choice(["call"] * calls + ["loop"] * loops)
        more_calls = rng.randint(0, max(0, calls - 1)) if depth > 1 else 0
        more_loops = rng.randint(0, max(0, loops - 1)) if depth > 1 else 0
        if kind == "call":
            calls, loops = calls - 1 - more_calls, loops - more_loops
        else:
            more_calls = min(more_calls or calls, calls)
            calls, loops = calls - more_calls, loops - 1 - more_loops
        name = next(names)
        inner = random_body(
            rng,
            calls=more_calls,
            loops=more_loops,
            size=size,
            depth=depth - 1,
            names=names,
            most=most,
        ) or (random_leaf(rng, size),)
        s = rng.randint(0, size)
        if kind == "call":
            body.append(("call", name, s, rng.randint(0, 2), rng.random() < 0.7, inner))
        else:
            w, r = rng.choice([(0, 0), (1, 0), (0, 1), (2, 1)])
            body.append(("loop", rng.randint(2, 3), s, w, r, inner))
        if rng.random() < 0.5:
            body.append(random_leaf(rng, size))
    return tuple(body)
