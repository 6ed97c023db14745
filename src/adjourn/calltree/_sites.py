"""Names of decisions: a site by itself where it occurs once, else the path of its context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TypeAlias

from ..errors import BadValue
from ._tree import Call, CallTree, Item, Leaf, Mode, Site

__all__ = ["Key", "Modes", "contexts", "keys_of", "resolve_modes", "step_names"]

Key: TypeAlias = int | str
Modes: TypeAlias = Mapping[Key, Mode]
_JOINT_OR_SPLIT = ("joint", "split")


def step_names(body: tuple[Item, ...], prefix: str) -> Iterator[tuple[Call, str]]:
    """Generate the calls of one routine with their paths; loops and repeats are of the routine.

    A site that a routine calls in several places of its body is numbered from the second on:
    ``solve``, ``solve#2``.
    """
    count: Counter[Site] = Counter()
    stack = list(body)[::-1]
    while stack:
        item = stack.pop()
        if isinstance(item, Call):
            count[item.site] += 1
            number = count[item.site]
            name = str(item.site) if number == 1 else f"{item.site}#{number}"
            yield item, f"{prefix}/{name}" if prefix else name
        elif not isinstance(item, Leaf):
            stack.extend(reversed(item.body))


def contexts(tree: CallTree) -> Iterator[tuple[str, Call]]:
    """Generate every context with its path, callers first; shared parts once a context."""
    stack = [iter(step_names(tree.body, ""))]
    while stack:
        for call, path in stack[-1]:
            yield path, call
            stack.append(iter(step_names(call.body, path)))
            break
        else:
            stack.pop()


def keys_of(tree: CallTree) -> dict[str, Key]:
    """Return the name of each path: the site where it has one context, else the path."""
    found = [(path, call.site) for path, call in contexts(tree)]
    count = Counter(site for _, site in found)
    return {path: site if count[site] == 1 else path for path, site in found}


def resolve_modes(tree: CallTree, modes: Modes) -> dict[str, Mode]:
    """Return the mode of each path that ``modes`` names by its path or by its site.

    A path wins over a site. Numbers may be given as text.

    Raises
    ------
    BadValue
        A name is not in the tree, or a mode is neither joint nor split.
    """
    unused = dict.fromkeys(modes)
    found: dict[str, Mode] = {}
    names: set[str] = set()
    for path, call in contexts(tree):
        names.update((path, str(call.site)))
        for key in (path, call.site, str(call.site)):
            if key in modes:
                mode = modes[key]
                if mode not in _JOINT_OR_SPLIT:
                    raise BadValue(f"mode {mode!r} of site {key!r} is neither 'joint' nor 'split'.")
                if path not in found:
                    found[path] = mode
                unused.pop(key, None)
    if unused:
        key = next(iter(unused))
        near = get_close_matches(str(key), names, 3)
        raise BadValue(
            f"site {key!r} is not in the tree, which has {len(names)} names. "
            + (f"Did you mean {' or '.join(near)}?" if near else "Print tree.sites.")
        )
    return found
