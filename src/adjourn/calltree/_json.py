"""The call tree as JSON: nested for reading, with shared parts written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

from ..errors import AdjournError, BadValue
from ._tree import Call, CallTree, Item, Leaf, Loop, Repeat

__all__ = ["SCHEMA", "line_of", "parse_json", "tree_from_json", "tree_to_json"]

SCHEMA = "adjourn.calltree/1"
_KINDS: dict[str, type[Leaf] | type[Call] | type[Loop] | type[Repeat]] = {
    "site": Call,
    "steps": Loop,
    "times": Repeat,
    "advance": Leaf,
}
_DEPTH = 900


def tree_to_json(tree: CallTree) -> dict[str, Any]:
    """Return the JSON value of a tree; an integer in a body is an index into ``nodes``."""
    shared = _shared(tree.body)
    nodes: list[Any] = []
    number: dict[int, int] = {}

    def write(item: Item) -> Any:
        if id(item) in number:
            return number[id(item)]
        value: dict[str, Any] = {}
        for entry in fields(item):
            if not entry.init or entry.name == "body":
                continue
            content = getattr(item, entry.name)
            if entry.name in _REQUIRED[type(item)] or content != entry.default:
                value[entry.name] = content
        if not isinstance(item, Leaf):
            value["body"] = [write(part) for part in item.body]
        if id(item) in shared:
            number[id(item)] = len(nodes)
            nodes.append(value)
            return number[id(item)]
        return value

    body = [write(item) for item in tree.body]
    result: dict[str, Any] = {"schema": SCHEMA}
    if tree.note:
        result["note"] = tree.note
    if nodes:
        result["nodes"] = nodes
    result["body"] = body
    return result


_REQUIRED: dict[type, frozenset[str]] = {
    Leaf: frozenset({"advance", "seconds", "left", "peak"}),
    Call: frozenset({"site", "snapshot", "copy"}),
    Loop: frozenset({"steps", "snapshot", "write", "read"}),
    Repeat: frozenset({"times"}),
}


def _shared(body: tuple[Item, ...]) -> set[int]:
    seen: set[int] = set()
    twice: set[int] = set()
    stack = list(body)
    while stack:
        item = stack.pop()
        if id(item) in seen:
            twice.add(id(item))
            continue
        seen.add(id(item))
        if not isinstance(item, Leaf):
            stack.extend(item.body)
    return twice


def parse_json(text: str, what: str) -> Any:
    """Return the value of a JSON text, or say in which line it is broken."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadValue(
            f"line {error.lineno}: not JSON: {error.msg} (column {error.colno}). "
            f"Pass {what} as it was written."
        ) from None
    except RecursionError:
        raise BadValue(
            f"line 1: the JSON text is nested deeper than Python reads. Pass {what} as it was "
            "written."
        ) from None


def tree_from_json(value: Mapping[str, Any] | str) -> CallTree:
    """Return the tree of a JSON value or text."""
    if not isinstance(value, str):
        return _Reader(lambda where: f"{_path(where)}: ").tree(value)
    text = value
    return _Reader(lambda where: f"line {line_of(text, where)}: {_path(where)}: ").tree(
        parse_json(text, "a call tree")
    )


def _path(where: tuple[str | int, ...]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "the tree"


class _Reader:
    """Reads one JSON value; ``at`` turns a place in it into the beginning of a message."""

    def __init__(self, at: Callable[[tuple[str | int, ...]], str]) -> None:
        self._at = at
        self._nodes: list[Item] = []

    def tree(self, value: Any) -> CallTree:
        if not isinstance(value, Mapping):
            raise self._bad((), f"a call tree is an object, this is a {type(value).__name__}.")
        tree = cast("Mapping[str, Any]", value)
        schema = tree.get("schema")
        if schema != SCHEMA:
            raise self._bad(
                ("schema",) if "schema" in tree else (),
                f"schema={schema!r}, this version reads {SCHEMA!r}. "
                "Write the tree with CallTree.to_json.",
            )
        for key in tree:
            if key not in ("schema", "note", "nodes", "body"):
                raise self._bad((key,), "a call tree has schema, note, nodes and body.")
        for number, node in enumerate(self._list(tree, "nodes", (), required=False)):
            self._nodes.append(self._item(node, ("nodes", number), 1))
        body = self._body(tree, (), 1)
        note = tree.get("note", "")
        if not isinstance(note, str):
            raise self._bad(("note",), "a note is a text.")
        return CallTree(body, note)

    def _bad(self, where: tuple[str | int, ...], message: str) -> BadValue:
        return BadValue(self._at(where) + message)

    def _list(
        self,
        value: Mapping[str, Any],
        key: str,
        where: tuple[str | int, ...],
        *,
        required: bool = True,
    ) -> list[Any]:
        if key not in value:
            if required:
                raise self._bad(where, f"{key!r} is missing. Give a list of items.")
            return []
        content = value[key]
        if not isinstance(content, list):
            raise self._bad(
                (*where, key), f"{key!r} is a {type(content).__name__}. Give a list of items."
            )
        return cast("list[Any]", content)

    def _body(
        self, value: Mapping[str, Any], where: tuple[str | int, ...], depth: int
    ) -> list[Item]:
        return [
            self._item(part, (*where, "body", number), depth)
            for number, part in enumerate(self._list(value, "body", where))
        ]

    def _item(self, value: Any, where: tuple[str | int, ...], depth: int) -> Item:
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < len(self._nodes):
                raise self._bad(
                    where,
                    f"node {value} is not written yet; there are {len(self._nodes)} before it. "
                    "A body may use earlier nodes only.",
                )
            return self._nodes[value]
        if not isinstance(value, Mapping):
            raise self._bad(where, f"an item is an object or the number of a node, not {value!r}.")
        if depth > _DEPTH:
            raise self._bad(where, f"calls are nested more than {_DEPTH} deep.")
        item = cast("Mapping[str, Any]", value)
        kind = next((kind for key, kind in _KINDS.items() if key in item), None)
        if kind is None:
            raise self._bad(
                where,
                "an item has 'advance' (a leaf), 'site' (a call), 'steps' (a loop) or 'times' "
                f"(a repeat); this one has {sorted(item)}.",
            )
        known = {entry.name for entry in fields(kind) if entry.init}
        for key in item:
            if key not in known:
                raise self._bad(
                    (*where, key),
                    f"a {kind.__name__} has no {key!r}. It has {', '.join(sorted(known))}.",
                )
        missing = sorted(_REQUIRED[kind] - set(item))
        if missing:
            raise self._bad(where, f"a {kind.__name__} needs {', '.join(missing)}.")
        arguments = dict(item)
        if kind is not Leaf:
            arguments["body"] = self._body(item, where, depth + 1)
        try:
            return kind(**arguments)
        except AdjournError as error:
            name = str(error).partition("(")[2].partition("=")[0]
            raise self._bad((*where, name) if name in item else where, str(error)) from None


def line_of(text: str, where: tuple[str | int, ...]) -> int:
    """Return the number of the line in which the value at a place of a JSON text begins.

    The text is valid JSON that has the place; costs one pass up to there.
    """
    decoder = json.JSONDecoder()

    def blank(at: int) -> int:
        while at < len(text) and text[at] in " \t\r\n,:":
            at += 1
        return at

    at = blank(0)
    for part in where:
        at = blank(at + 1)
        count = 0
        while True:
            if isinstance(part, str):
                key, at = decoder.raw_decode(text, at)
                at = blank(at)
                if key == part:
                    break
            elif count == part:
                break
            _, at = decoder.raw_decode(text, at)
            at = blank(at)
            count += 1
    return text.count("\n", 0, at) + 1
