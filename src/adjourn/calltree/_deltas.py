"""What each site alone would change: exact seconds and peak, all sites in one pass.

A profile of single sites is folded up the tree: each routine knows its own figures and those it
would have with one site the other way, for every site known to either part that is joined (the
full union). Sites of external calls are never switched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from ..errors import BadValue
from ._made import Value
from ._sites import Key, Modes, keys_of, resolve_modes, step_names
from ._tree import Call, CallTree, Item, Leaf, Loop, Mode, Repeat

__all__ = ["Delta", "deltas", "profile"]


class Delta(NamedTuple):
    """What switching one site changes.

    Attributes
    ----------
    seconds : float
        Seconds more; negative is a gain.
    peak_bytes : int
        Bytes more at the peak.
    mode : {"joint", "split"}
        The mode it has now.
    occurrences : int
        How often one plain run makes the call.
    """

    seconds: float
    peak_bytes: int
    mode: Mode
    occurrences: int


_Known: TypeAlias = dict[Key, Value]
_Namer: TypeAlias = Callable[[str, Call], Key | None]


def deltas(
    tree: CallTree,
    modes: Modes | None = None,
    *,
    by: Literal["site", "context"] = "site",
    loops: Literal["record", "rerun"] = "record",
) -> dict[Key, Delta]:
    """Return what switching each site alone would change, exactly.

    Costs, for each routine, its items times the sites below it.

    Parameters
    ----------
    tree : CallTree
        The measured tree.
    modes : mapping of site or path to mode, optional
        The placement to start from; every other call is joint.
    by : {"site", "context"}
        Switch all contexts of a site together, as AD tools do, or each alone.
    loops : {"record", "rerun"}
        Whether loops record each iteration in place, or reverse one at a time from snapshots
        that are not counted here.

    Returns
    -------
    dict of site to Delta
        External calls, and impure ones, have no entry.

    Examples
    --------
    >>> from adjourn.calltree import Call, Leaf
    >>> tree = CallTree([
    ...     Call(site="a", snapshot=2, copy=1, body=[Leaf(advance=5, seconds=11, left=6, peak=8)]),
    ... ])
    >>> deltas(tree)
    {'a': Delta(seconds=-6, peak_bytes=-2, mode='joint', occurrences=1)}
    """
    if by not in ("site", "context"):
        raise BadValue(f"by={by!r} is neither 'site' nor 'context'.")
    keys = keys_of(tree)
    given = resolve_modes(tree, modes) if modes else {}

    def name(path: str, call: Call) -> Key:
        return call.site if by == "site" else keys[path]

    pass_ = _Pass(given, name, lambda _: loops == "rerun")
    base, known = pass_.body(tree.body, "", 1)
    return {
        key: Delta(value.seconds - base.seconds, value.peak - base.peak, *pass_.seen[key])
        for key, value in known.items()
    }


def profile(
    tree: CallTree, given: dict[str, Mode], rerun: Callable[[Loop], bool]
) -> tuple[Value, _Known]:
    """Return the figures of a placement, and those with each site the other way."""
    pass_ = _Pass(given, lambda _, call: call.site, rerun)
    return pass_.body(tree.body, "", 1)


class _Pass:
    """One pass over a tree; modes by path, joint where not given."""

    def __init__(self, given: dict[str, Mode], name: _Namer, rerun: Callable[[Loop], bool]) -> None:
        self._given = given
        self._name = name
        self._rerun = rerun
        self.seen: dict[Key, tuple[Mode, int]] = {}

    def body(self, items: tuple[Item, ...], prefix: str, times: int) -> tuple[Value, _Known]:
        paths = [path for _, path in step_names(items, prefix)]
        return self._part(items, paths, times)

    def _part(self, items: tuple[Item, ...], paths: list[str], times: int) -> tuple[Value, _Known]:
        base = Value(0, 0, 0)
        known: _Known = {}
        for item in reversed(items):
            own, own_known = self._item(item, paths, times)
            joined = {key: _before(own, after) for key, after in known.items()}
            for key, other in own_known.items():
                joined[key] = _before(other, known.get(key, base))
            base, known = _before(own, base), joined
        return base, known

    def _item(self, item: Item, paths: list[str], times: int) -> tuple[Value, _Known]:
        match item:
            case Leaf():
                return Value(item.seconds, item.left, item.peak), {}
            case Call():
                return self._call(item, paths.pop(), times)
            case Repeat():
                base, known = self._part(item.body, paths, times * item.times)
                return _repeat(item.times, base), {
                    key: _repeat(item.times, value) for key, value in known.items()
                }
            case Loop():
                base, known = self._part(item.body, paths, times * item.steps)
                again = _rerun if self._rerun(item) else _repeat
                return again(item.steps, base), {
                    key: again(item.steps, value) for key, value in known.items()
                }

    def _call(self, call: Call, path: str, times: int) -> tuple[Value, _Known]:
        base, known = self.body(call.body, path, times)
        mode = self._given.get(path, "joint")
        if call.external:
            mode = "joint"
        elif not call.pure:
            mode = "split"
        here = _joint if mode == "joint" else _split
        made = {key: here(call, value) for key, value in known.items()}
        if not call.external and call.pure:
            key = self._name(path, call)
            if key is not None:
                there = _split if mode == "joint" else _joint
                made[key] = there(call, known.get(key, base))
                self.seen[key] = (mode, times + (self.seen[key][1] if key in self.seen else 0))
        return here(call, base), made


def _before(first: Value, then: Value) -> Value:
    return Value(
        first.seconds + then.seconds,
        first.left + then.left,
        max(first.peak, first.left + then.peak),
    )


def _joint(call: Call, body: Value) -> Value:
    again = call.snapshot + body.peak if call.keep else max(call.snapshot, body.peak)
    return Value(body.seconds + call.primal + call.copy, call.snapshot, again)


def _split(call: Call, body: Value) -> Value:
    return Value(body.seconds + call.extra, *body[1:]) if call.extra else body


def _repeat(times: int, body: Value) -> Value:
    return Value(times * body.seconds, times * body.left, (times - 1) * body.left + body.peak)


def _rerun(times: int, body: Value) -> Value:
    return Value(times * body.seconds, 0, body.peak)
