"""The call tree as indented text."""

from __future__ import annotations

from collections.abc import Iterator

from .._sizes import format_bytes, format_seconds
from ._tree import Call, CallTree, Item, Leaf, Loop, Repeat

__all__ = ["tree_text"]

_MOST = 400


def tree_text(tree: CallTree) -> str:
    """Return a tree as text of 80 columns: one line a call, loop or repeat."""
    lines = [
        f"call tree: {len(tree.sites)} sites, {tree.calls} calls, {format_seconds(tree.primal)}",
        f"{'':34}{'primal':>12}{'snapshot':>12}{'copy':>11}{'own tape':>11}",
    ]
    count = 0
    for depth, item, tape in _walk(tree.body, 0):
        count += 1
        if count > _MOST:
            lines.append("  ... more than 400 lines")
            break
        match item:
            case Call():
                mark = " (external)" if item.external else "" if item.pure else " (impure)"
                name, snapshot, copy = f"{item.site}{mark}", item.snapshot, item.copy
            case Loop():
                name, snapshot = f"{item.steps} x loop {item.name}", item.snapshot
                copy = item.write + item.read
            case Repeat():
                name, snapshot, copy = f"{item.times} x", None, 0.0
            case Leaf():
                continue
        label = ("  " * depth + name)[:34]
        sizes = ("", "") if snapshot is None else (format_bytes(snapshot), format_seconds(copy))
        line = f"{label:34}{format_seconds(item.primal):>12}{sizes[0]:>12}{sizes[1]:>11}"
        lines.append(f"{line}{format_bytes(tape):>11}")
    return "\n".join(lines) + "\n"


def _walk(body: tuple[Item, ...], depth: int) -> Iterator[tuple[int, Item, int]]:
    for item in body:
        if isinstance(item, Leaf):
            continue
        own = sum(part.left for part in item.body if isinstance(part, Leaf))
        yield depth, item, own
        yield from _walk(item.body, depth + 1)
