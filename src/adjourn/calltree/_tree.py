"""The call tree of an adjoint as a value: leaves, calls, repeats and loops, with their costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from operator import index
from typing import Any, Literal, TypeAlias

from ..errors import BadValue, WrongType

__all__ = ["Call", "CallTree", "Item", "Leaf", "Loop", "Mode", "Repeat", "Site"]

Site: TypeAlias = int | str
Mode: TypeAlias = Literal["joint", "split"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stretch of a routine without calls that could be checkpointed.

    Parameters
    ----------
    advance : float
        Seconds to run it without recording.
    seconds : float
        Seconds to record and to reverse it, together; at least ``advance``.
    left : int
        Bytes of tape that recording leaves.
    peak : int
        Most bytes held while it records, and again while it reverses; at least ``left``.
    record : float or None
        The part of ``seconds`` spent recording, where it is known.
    spread : float
        Half the range of the middle half of the measured ``seconds``; 0 if not measured.
    samples : int
        How many times it was measured.
    """

    advance: float
    seconds: float
    left: int
    peak: int
    record: float | None = None
    spread: float = 0.0
    samples: int = 1

    def __post_init__(self) -> None:
        for name in ("advance", "seconds", "spread"):
            _seconds(self, "Leaf", name)
        for name in ("left", "peak", "samples"):
            _whole(self, "Leaf", name)
        if self.record is not None:
            _seconds(self, "Leaf", "record")
        if self.peak < self.left:
            raise BadValue(
                f"Leaf(peak={self.peak}, left={self.left}): what is left is part of the peak. "
                f"Pass peak={self.left} or more."
            )
        if self.seconds < self.advance:
            raise BadValue(
                f"Leaf(seconds={self.seconds}, advance={self.advance}): recording runs the "
                "forward code and its reverse, so it takes at least an advance. "
                f"Pass seconds={self.advance} or more."
            )

    @property
    def primal(self) -> float:
        """Seconds of one plain run."""
        return self.advance

    @property
    def calls(self) -> int:
        """Calls made by one run."""
        return 0

    @property
    def pure(self) -> bool:
        """Whether it may be run twice."""
        return True


@dataclass(frozen=True, slots=True)
class Call:
    """A call site: joint (snapshot now, run again and reverse later) or split (recorded).

    Parameters
    ----------
    site : int or str
        The name of the place in the code. The same name may occur in several contexts.
    snapshot : int
        Bytes that restart the call.
    copy : float
        Seconds to write and to read the snapshot, together.
    body : sequence of Leaf, Call, Loop or Repeat
        What the callee does.
    external : bool
        The adjoint of the callee is not ours to split (it never reports a turning point): the
        call is always joint.
    pure : bool
        False if the callee must not be run twice; it and its callers are then always split.
    keep : bool
        Whether the snapshot stays while the call is run again, as in the theory; False where
        it is popped first, as Tapenade does.
    extra : float
        Seconds more when it is split: what a compiler loses on recording it within its caller.
    routine, file, line
        Where the call is, for reports and for the directives of an AD tool.
    spread : float
        Half the range of the middle half of the measured ``copy``; 0 if not measured.
    samples : int
        How many times it was measured.
    """

    site: Site
    snapshot: int
    copy: float
    body: tuple[Item, ...]
    external: bool = False
    pure: bool = True
    keep: bool = True
    extra: float = 0.0
    routine: str | None = None
    file: str | None = None
    line: int | None = None
    spread: float = 0.0
    samples: int = 1
    primal: float = field(init=False, repr=False, compare=False)
    calls: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        site: Any = self.site
        if isinstance(site, bool) or not isinstance(site, (int, str)):
            raise WrongType(f"Call(site={self.site!r}): name a site by an int or a text.")
        if self.site == "" or (isinstance(self.site, str) and "/" in self.site):
            raise BadValue(
                f"Call(site={self.site!r}): a name has at least one letter and no '/', "
                "which separates the names of a path."
            )
        _whole(self, "Call", "snapshot")
        _whole(self, "Call", "samples")
        _seconds(self, "Call", "copy")
        _seconds(self, "Call", "extra")
        _seconds(self, "Call", "spread")
        _take_body(self, "Call")
        pure = self.pure and all(item.pure for item in self.body)
        if self.external and not pure:
            raise BadValue(
                f"Call(site={self.site!r}, external=True, pure=False): an external call is run "
                "twice, forward and in the reverse, which an impure one must not be. "
                "Take its side effects out of the differentiated code."
            )
        object.__setattr__(self, "pure", pure)
        object.__setattr__(self, "primal", _total(self.body))
        if self.extra > (self.primal + self.copy) * (1 + 1e-9):
            raise BadValue(
                f"Call(site={self.site!r}, extra={self.extra}): splitting would take longer than "
                f"the second run and the snapshot it saves. Pass {self.primal + self.copy} or less."
            )
        object.__setattr__(self, "calls", 1 + sum(item.calls for item in self.body))


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of equal iterations between which the state can be snapshot.

    Parameters
    ----------
    steps : int
        Number of iterations.
    snapshot : int
        Bytes that restart an iteration.
    write, read : float
        Seconds to write and to read a snapshot.
    body : sequence of Leaf, Call, Loop or Repeat
        What an iteration does.
    name : str
        A name for reports.
    """

    steps: int
    snapshot: int
    write: float
    read: float
    body: tuple[Item, ...]
    name: str = "loop"
    primal: float = field(init=False, repr=False, compare=False)
    calls: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _whole(self, "Loop", "steps", 1)
        _whole(self, "Loop", "snapshot")
        _seconds(self, "Loop", "write")
        _seconds(self, "Loop", "read")
        _take_body(self, "Loop")
        object.__setattr__(self, "primal", self.steps * _total(self.body))
        object.__setattr__(self, "calls", self.steps * sum(item.calls for item in self.body))

    @property
    def pure(self) -> bool:
        """Whether it may be run twice."""
        return all(item.pure for item in self.body)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Equal stretches one after the other, for which one decision is taken.

    Parameters
    ----------
    times : int
        How many.
    body : sequence of Leaf, Call, Loop or Repeat
        One of them.
    """

    times: int
    body: tuple[Item, ...]
    primal: float = field(init=False, repr=False, compare=False)
    calls: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _whole(self, "Repeat", "times", 1)
        _take_body(self, "Repeat")
        object.__setattr__(self, "primal", self.times * _total(self.body))
        object.__setattr__(self, "calls", self.times * sum(item.calls for item in self.body))

    @property
    def pure(self) -> bool:
        """Whether it may be run twice."""
        return all(item.pure for item in self.body)


Item: TypeAlias = Leaf | Call | Loop | Repeat


@dataclass(frozen=True, slots=True, init=False)
class CallTree:
    """The body of the routine that is reversed.

    A tree is a value: comparable, printable, JSON both ways. Equal parts may be one shared
    object, so that 10^6 calls of 200 sites stay under 10 MB.

    Parameters
    ----------
    items : iterable of Leaf, Call, Loop or Repeat
        The body, in the order in which it runs.

    Attributes
    ----------
    body : tuple of Leaf, Call, Loop or Repeat
        The body.
    note : str
        Where the figures come from.

    Examples
    --------
    >>> tree = CallTree([
    ...     Leaf(advance=1, seconds=3, left=4, peak=4),
    ...     Call(site="solve", snapshot=2, copy=0,
    ...          body=[Leaf(advance=5, seconds=11, left=6, peak=8)]),
    ... ])
    >>> tree.primal, tree.calls, tree.sites
    (6, 1, ('solve',))
    >>> CallTree.from_json(tree.to_json()) == tree
    True
    """

    body: tuple[Item, ...]
    note: str

    def __init__(self, items: Iterable[Item], note: str = "") -> None:
        object.__setattr__(self, "body", items)
        object.__setattr__(self, "note", note)
        _take_body(self, "CallTree")

    @property
    def primal(self) -> float:
        """Seconds of one plain run of the tree."""
        return _total(self.body)

    @property
    def calls(self) -> int:
        """Calls made by one plain run."""
        return sum(item.calls for item in self.body)

    @property
    def pure(self) -> bool:
        """Whether every part may be run twice."""
        return all(item.pure for item in self.body)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The names of the call sites, each once, in the order of first calls."""
        found: dict[Site, None] = {}
        for node in distinct(self.body):
            if isinstance(node, Call):
                found.setdefault(node.site)
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Return the tree as a JSON value; shared parts are written once."""
        from ._json import tree_to_json  # noqa: PLC0415 - it needs these classes

        return tree_to_json(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | str) -> CallTree:
        """Return the tree that `to_json` made, from the value or from its text.

        Raises
        ------
        BadValue
            Not a call tree; the message says where, for a text with the number of the line.
        """
        from ._json import tree_from_json  # noqa: PLC0415 - it needs these classes

        return tree_from_json(value)

    def text(self) -> str:
        """Return the tree as indented text of 80 columns."""
        from ._text import tree_text  # noqa: PLC0415 - it needs these classes

        return tree_text(self)

    def with_loop(
        self, site: Site, *, snapshot: int, write: float = 0.0, read: float = 0.0
    ) -> CallTree:
        """Return the tree in which the repeat that directly calls ``site`` is a loop.

        A recorder sees that stretches repeat; that the state between them can be snapshot is
        for the user to say.

        Raises
        ------
        BadValue
            No repeat of the outermost routine calls the site.
        """
        found = False
        body: list[Item] = []
        for item in self.body:
            if isinstance(item, Repeat) and any(
                isinstance(part, Call) and part.site == site for part in item.body
            ):
                found = True
                body.append(Loop(item.times, snapshot, write, read, item.body, name=str(site)))
            else:
                body.append(item)
        if not found:
            raise BadValue(
                f"with_loop({site!r}): no repeat of the outermost routine calls it. "
                f"Its items are {[type(item).__name__ for item in self.body]}."
            )
        return CallTree(body, self.note)


def distinct(body: Iterable[Item]) -> Iterator[Item]:
    """Generate every distinct object of a tree once, callers before what they call."""
    seen: set[int] = set()
    stack = list(body)[::-1]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if not isinstance(node, Leaf):
            stack.extend(reversed(node.body))


def with_body(item: Call | Loop | Repeat, body: tuple[Item, ...]) -> Call | Loop | Repeat:
    """Return the item with another body."""
    if isinstance(item, Loop):
        return Loop(item.steps, item.snapshot, item.write, item.read, body, item.name)
    return replace(item, body=body)


def _total(body: tuple[Item, ...]) -> float:
    return sum(item.primal for item in body)


def _take_body(node: Any, kind: str) -> None:
    try:
        body = tuple(node.body)
    except TypeError:
        raise WrongType(f"{kind}(body={node.body!r}): pass a list of items.") from None
    for item in body:
        if not isinstance(item, (Leaf, Call, Loop, Repeat)):
            raise WrongType(
                f"{kind} holds a {type(item).__name__}. A body is a list of Leaf, Call, Loop "
                "and Repeat."
            )
    object.__setattr__(node, "body", body)


def _seconds(node: Any, kind: str, name: str) -> None:
    given: Any = getattr(node, name)
    value: Any = given
    if type(given) not in (int, float) and hasattr(given, "item"):
        value = given.item()  # a NumPy scalar
        object.__setattr__(node, name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongType(f"{kind}({name}={given!r}) is not a number. Pass seconds.")
    if not isfinite(value) or value < 0:
        raise BadValue(f"{kind}({name}={value!r}) is not a time. Pass 0 or more seconds.")


def _whole(node: Any, kind: str, name: str, least: int = 0) -> None:
    given = getattr(node, name)
    try:
        if isinstance(given, bool):
            raise TypeError
        value = index(given)
    except TypeError:
        raise WrongType(
            f"{kind}({name}={given!r}) is not an integer. Pass a whole number."
        ) from None
    if value < least:
        raise BadValue(f"{kind}({name}={value}) is too small. Pass {least} or more.")
    if value >= 2**62:
        raise BadValue(f"{kind}({name}={value}) is more than any machine holds. Check the unit.")
    object.__setattr__(node, name, value)
