"""Which Python calls the equations of a traced program were made in."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import count
from types import FrameType
from typing import Any

from ..errors import BadValue, WrongType
from ._compat import fresh_traces, jax, scopes

__all__ = ["Range", "as_packages", "label_of", "marking", "ranges", "site"]

_CALL, _SITE = "adjourn-call:", "adjourn-site:"
_number = count()  # tells one call from the next


@dataclass(frozen=True, slots=True)
class Range:
    """Equations of one program that were traced within one Python call.

    Attributes
    ----------
    label : str
        The name of the function, with ``()`` and the number of the call in this program.
    start, stop : int
        The equations, half open.
    marked : bool
        Whether the user marked it, by `site`.
    """

    label: str
    start: int
    stop: int
    marked: bool


def site(fn: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return ``fn`` as a site of the call tree: the same values, and a mark on its equations.

    For marks finer than functions or packages tell. Costs nothing when the program runs; without
    `plan` or `profile` it does nothing.

    Parameters
    ----------
    fn : callable
        What is traced as one site at each call.
    name : str, optional
        By default the name of the function.

    Raises
    ------
    WrongType
        ``fn`` is not callable, or the name is no text.
    BadValue
        The name is empty or holds one of ``/#:``, which separate the parts of a path.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(x):
    ...     for _ in range(2):
    ...         x = adjourn.jax.site(lambda x: jnp.sin(jnp.cos(x)), name="link")(x)
    ...     return x.sum()
    >>> adjourn.jax.profile(loss, jnp.ones(8), seconds=1, progress=False).sites
    ('link',)
    """
    if not callable(fn):
        raise WrongType(f"site({fn!r}): not callable. Pass the function to mark.")
    label = _name(str(getattr(fn, "__qualname__", type(fn).__name__))) if name is None else name
    if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"site(name={name!r}) is no text. Pass a name such as 'solve'.")
    if not label or set("/#:") & set(label):
        raise BadValue(
            f"site(name={label!r}): a name has at least one letter and none of '/#:', which "
            "separate the parts of a path. Pass another name."
        )

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.named_scope(f"{_SITE}{label}:{next(_number)}"):
            return fn(*args, **kwargs)

    return run


def as_packages(packages: Sequence[str] | str) -> tuple[str, ...]:
    """Return the names of packages, or say what is wrong with them."""
    names = (packages,) if isinstance(packages, str) else tuple(packages)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"packages={packages!r}: {name!r} is not the name of a package. Pass texts such "
                'as ("veros",).'
            )
    return names


@contextmanager
def marking(packages: tuple[str, ...]) -> Generator[None]:
    """While open, mark what is traced with the calls of functions of these packages.

    Doubles the time of tracing. Functions under `jax.jit` are traced anew; before JAX 0.9 its
    caches are cleared for that.
    """
    if not packages:
        yield
        return
    inside = tuple(f"{name}." for name in packages)
    known: dict[Any, str] = {}
    opened: list[tuple[FrameType, Any]] = []

    def name_of(frame: FrameType) -> str:
        code = frame.f_code
        if code not in known:
            module = f"{frame.f_globals.get('__name__', '')}."
            named = module.startswith(inside) and code.co_name[:1] != "<"
            known[code] = code.co_name if named else ""
        return known[code]

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = name_of(frame)
            if name:
                scope = jax.named_scope(f"{_CALL}{name}:{next(_number)}")
                scope.__enter__()
                opened.append((frame, scope))
        elif event == "return" and opened and opened[-1][0] is frame:
            opened.pop()[1].__exit__(None, None, None)

    before = sys.getprofile()
    with fresh_traces(packages):
        sys.setprofile(watch)
        try:
            yield
        finally:
            sys.setprofile(before)
            while opened:
                opened.pop()[1].__exit__(None, None, None)


def _name(qualified: str) -> str:
    return qualified.rpartition(".")[2].strip("<>")


def label_of(path: str) -> str:
    """Return the name at the end of a path, without its number."""
    return path.rpartition("/")[2].partition("#")[0].removesuffix("()")


def ranges(jaxpr: Any) -> list[Range]:
    """Return the calls that a program's equations were made in, outer ones before inner ones.

    Of calls that have the same equations the innermost stays, those that are the whole program
    or a single equation do not, unless they are marked by the user.
    """
    found: list[Range] = []
    counts = Counter[str]()
    spans = _spans(jaxpr.eqns)
    best: dict[tuple[int, int], int] = {}
    for index, (start, stop, _, marked) in enumerate(spans):
        kept = best.get((start, stop))
        if kept is None or marked or not spans[kept][3]:
            best[start, stop] = index
    for index, (start, stop, name, marked) in enumerate(spans):
        single = stop == start + 1
        whole = start == 0 and stop == len(jaxpr.eqns)
        if best[start, stop] != index or ((single or whole) and not marked):
            continue
        label = f"{name}()"
        found.append(Range(f"{label}#{counts[label]}", start, stop, marked))
        counts[label] += 1
    return found


def _spans(eqns: Sequence[Any]) -> list[tuple[int, int, str, bool]]:
    """Return start, stop, name and kind of each run of equations made in one call."""
    found: list[list[Any]] = []
    opened: list[tuple[tuple[str, ...], int]] = []  # what tells the call, its place in `found`
    for index, eqn in enumerate(eqns):
        keys = _keys(eqn)
        same = 0
        while same < min(len(keys), len(opened)) and keys[same] == opened[same][0]:
            same += 1
        for _, at in opened[same:]:
            found[at][1] = index
        del opened[same:]
        for key in keys[same:]:
            name = key[-1].split(":")[1]
            opened.append((key, len(found)))
            found.append([index, index, name, key[-1].startswith(_SITE)])
    for _, at in opened:
        found[at][1] = len(eqns)
    return [tuple(span) for span in found]  # type: ignore[misc]


def _keys(eqn: Any) -> list[tuple[str, ...]]:
    """Return the marks of an equation, each with the transformations around it."""
    keys: list[tuple[str, ...]] = []
    around: list[str] = []
    for name, is_scope in scopes(eqn):
        if not is_scope:
            around.append(name)
        elif name.startswith((_CALL, _SITE)):
            keys.append((*around, name))
    return keys
