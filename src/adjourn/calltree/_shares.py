"""Where the time of an adjoint goes: as a tree of shares, and as a speedscope profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._made import Body, Made, name_calls
from ._sites import Modes
from ._tree import Call, CallTree, Leaf, Loop, Mode, Repeat
from ._within import made_of, settle

__all__ = ["Share", "shares", "speedscope"]


@dataclass(frozen=True, slots=True)
class Share:
    """A part of an adjoint's time.

    Attributes
    ----------
    name : str
        The call or loop; or, at the ends of the tree, ``"run forward"``, ``"copy snapshot"`` or
        ``"record and reverse"``.
    seconds : float
        Predicted seconds, parts included.
    mode : {"joint", "split"} or None
        The mode of a call.
    path : str
        The call's path; empty for what is no call.
    parts : tuple of Share
        What it is made of, in the order of the run.
    """

    name: str
    seconds: float
    mode: Mode | None = None
    path: str = ""
    parts: tuple[Share, ...] = ()


def shares(tree: CallTree, modes: Modes | None = None) -> tuple[Share, ...]:
    """Return where the time of an adjoint goes, call by call.

    Joint calls run forward again and copy their snapshots. Loops are shown with every iteration
    recorded once. Costs one walk over the tree.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    modes : mapping of site or path to mode, optional
        The placement; every other call is joint.

    Examples
    --------
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([Call(site="a", snapshot=2, copy=1,
    ...                       body=[Leaf(advance=5, seconds=11, left=6, peak=8)])])
    >>> [(part.name, part.seconds) for part in shares(tree)[0].parts]
    [('run forward', 5), ('copy snapshot', 1), ('record and reverse', 11)]
    """
    settled, _ = settle(tree, modes)
    body = made_of(tree.body, settled, "joint", "")
    return tuple(part for part in _walk(body, 1, name_calls(body, "")) if part.seconds)


def _walk(body: Body, times: int, names: dict[int, str]) -> Iterator[Share]:
    own: float = 0
    for made in body:
        if isinstance(made.item, Leaf):
            own += made.item.seconds
        else:
            yield from _inside(made, times, names)
    if own:
        yield Share("record and reverse", own * times)


def _inside(made: Made, times: int, names: dict[int, str]) -> Iterator[Share]:
    match made.item:
        case Call() as call:
            parts: list[Share] = []
            if made.mode == "joint":
                parts.append(Share("run forward", call.primal * times))
                parts.append(Share("copy snapshot", call.copy * times))
            path = names[id(made)]
            parts += _walk(made.bodies[0], times, name_calls(made.bodies[0], path))
            yield _sum(str(call.site), parts, made.mode, path)
        case Loop() as loop:
            inner = list(_walk(made.bodies[0], times * loop.steps, names))
            yield _sum(f"loop {loop.name}", inner)
        case Repeat(times=count):
            yield from _walk(made.bodies[0], times * count, names)
        case Leaf():  # its seconds are the caller's own
            return


def _sum(name: str, parts: list[Share], mode: Mode | None = None, path: str = "") -> Share:
    kept = tuple(part for part in parts if part.seconds)
    return Share(name, sum(part.seconds for part in kept), mode, path, kept)


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
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([Call(site="a", snapshot=2, copy=1,
    ...                       body=[Leaf(advance=5, seconds=11, left=6, peak=8)])])
    >>> profile = speedscope(tree)["profiles"][0]
    >>> profile["weights"]
    [5.0, 1.0, 11.0]
    """
    frames: dict[str, int] = {}
    samples: list[list[int]] = []
    weights: list[float] = []

    def add(parts: tuple[Share, ...], stack: list[int]) -> None:
        for part in parts:
            deeper = [*stack, frames.setdefault(part.name, len(frames))]
            if part.parts:
                add(part.parts, deeper)
            else:
                samples.append(deeper)
                weights.append(float(part.seconds))

    add(shares(tree, modes), [])
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
