"""The call tree as indented text, and as a speedscope profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._sizes import format_bytes, format_seconds
from ._made import Body, Made, name_calls
from ._place import made_of, settle
from ._sites import Modes
from ._tree import Call, CallTree, Item, Leaf, Loop, Repeat

__all__ = ["speedscope", "tree_text"]

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


def speedscope(
    tree: CallTree, modes: Modes | None = None, *, name: str = "adjoint"
) -> dict[str, Any]:
    """Return the time of an adjoint as a profile for https://www.speedscope.app, a JSON value.

    Each sample is a stretch with the stack it runs in and its predicted seconds: running forward
    again under joint calls, copying their snapshots, recording and reversing. Loops are shown
    with every iteration recorded once.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    modes : mapping of site or path to mode, optional
        The placement; every other call is joint.
    name : str
        The profile's name.

    Examples
    --------
    >>> tree = CallTree([Call(site="a", snapshot=2, copy=1,
    ...                       body=[Leaf(advance=5, seconds=11, left=6, peak=8)])])
    >>> profile = speedscope(tree)["profiles"][0]
    >>> profile["weights"]
    [5.0, 1.0, 11.0]
    """
    settled, _ = settle(tree, modes)
    frames: dict[str, int] = {}
    samples: list[list[int]] = []
    weights: list[float] = []

    def frame(label: str) -> int:
        return frames.setdefault(label, len(frames))

    def add(stack: list[int], label: str, seconds: float) -> None:
        if seconds:
            samples.append([*stack, frame(label)])
            weights.append(float(seconds))

    def walk(body: Body, stack: list[int], times: int, names: dict[int, str]) -> None:
        own: float = 0
        for made in body:
            own += inside(made, stack, times, names)
        add(stack, "record and reverse", own * times)

    def inside(made: Made, stack: list[int], times: int, names: dict[int, str]) -> float:
        match made.item:
            case Leaf() as leaf:
                return leaf.seconds
            case Call() as call:
                deeper = [*stack, frame(str(call.site))]
                if made.mode == "joint":
                    add(deeper, "run forward", call.primal * times)
                    add(deeper, "copy snapshot", call.copy * times)
                path = names[id(made)]
                walk(made.bodies[0], deeper, times, name_calls(made.bodies[0], path))
            case Loop() as loop:
                deeper = [*stack, frame(f"loop {loop.name}")]
                walk(made.bodies[0], deeper, times * loop.steps, names)
            case Repeat(times=count):
                walk(made.bodies[0], stack, times * count, names)
        return 0

    body = made_of(tree.body, settled, "joint", "")
    walk(body, [], 1, name_calls(body, ""))
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "adjourn",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": label} for label in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
