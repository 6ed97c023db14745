"""What lies in a problem: the arrays and numbers reachable from it, to say which one changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Number
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, cast

import numpy as np
from xxhash import xxh3_64_intdigest

from ..problem import Array

__all__ = ["Picture", "changed", "picture"]

Picture: TypeAlias = dict[str, int]
"""A digest of each array and number by the path that leads to it."""

_DEPTH = 4
_MOST = 20_000  # objects looked at: symbolic packages hold webs of them


def picture(problem: object) -> Picture:
    """Return a digest of everything reachable from the problem's attributes.

    Attributes are followed four levels deep through objects, mappings and sequences. What
    lies in compiled code or behind properties is not seen.
    """
    return dict(_walk(problem, type(problem).__name__, _DEPTH, set()))


def changed(before: Picture, after: Picture) -> set[str]:
    """Return the paths whose digest changed, or that only one picture has."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def _walk(value: Any, path: str, depth: int, seen: set[int]) -> Iterator[tuple[str, int]]:
    if isinstance(value, (Number, str)):
        yield path, hash(repr(value))
        return
    if id(value) in seen or isinstance(value, (ModuleType, FunctionType, type)):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        if not array.dtype.hasobject:
            yield path, xxh3_64_intdigest(array.tobytes())
    elif depth > 0 and len(seen) < _MOST:
        for name, part in _parts(value):
            yield from _walk(part, path + name, depth - 1, seen)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():  # type: ignore[reportUnknownVariableType]
            yield f"[{key!r}]", part
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value[:64]):  # type: ignore[reportUnknownArgumentType]
            yield f"[{index}]", part
    else:
        for name, part in getattr(value, "__dict__", {}).items():
            yield f".{name}", part
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if not name.startswith("__") and hasattr(value, name):
                    yield f".{name}", getattr(value, name)
