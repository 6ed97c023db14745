"""Rules as short lists of numbers: how a composed schedule keeps what was decided.

A plan written today must play under a later version that may decide otherwise, so its rules are
data. An item is a letter and its numbers: ``["A", start, stop]`` advance, ``["R", start, stop,
option]`` record, ``["V", start, stop]`` reverse, ``["S", step]`` save, ``["L", step]`` load,
``["D", step]`` drop (each with the tier as a second number unless it is 0), ``["U", rule,
offset]`` use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..errors import BadValue
from ._actions import Advance, Drop, Load, Record, Reverse, Save, Turn
from ._rules import Item, Rule, Use

__all__ = ["Encoded", "decode", "encode"]

Encoded: TypeAlias = tuple[tuple[tuple[Any, ...], ...], ...]

_MAKERS: dict[str, Any] = {
    "A": Advance,
    "R": Record,
    "V": Reverse,
    "S": Save,
    "L": Load,
    "D": Drop,
    "U": Use,
}


def encode(rules: Iterable[Rule]) -> Encoded:
    """Return the rules as nested tuples of letters and numbers."""
    return tuple(tuple(_encode(item) for item in rule) for rule in rules)


def _encode(item: Item) -> tuple[Any, ...]:
    match item:
        case Advance(start, stop):
            return ("A", start, stop)
        case Record(start, stop, option):
            return ("R", start, stop, option)
        case Reverse(start, stop):
            return ("V", start, stop)
        case Save(step, tier):
            return ("S", step, tier) if tier else ("S", step)
        case Load(step, tier):
            return ("L", step, tier) if tier else ("L", step)
        case Drop(step, tier):
            return ("D", step, tier) if tier else ("D", step)
        case Use(rule, offset):
            return ("U", rule, offset)
        case Turn():
            raise BadValue("A rule holds a Turn. Leave it out: it is played before any reverse.")


def decode(encoded: Sequence[Sequence[Sequence[Any]]]) -> tuple[Rule, ...]:
    """Return the rules that `encode` wrote.

    Raises
    ------
    BadValue
        An item is none of those above, or a rule uses one that is not earlier.
    """
    rules: list[Rule] = []
    for number, rule in enumerate(encoded):
        try:
            items = tuple(_MAKERS[letter](*numbers) for letter, *numbers in rule)
        except (KeyError, TypeError, ValueError):
            raise BadValue(
                f"rule {number} of the schedule, {rule!r}, is not understood. The file is damaged, "
                "or was written by a later version of adjourn: use that version."
            ) from None
        if any(isinstance(item, Use) and not 0 <= item.rule < number for item in items):
            raise BadValue(
                f"rule {number} of the schedule uses a rule that is not earlier. "
                "The file is damaged: make the plan anew."
            )
        rules.append(items)
    return tuple(rules)
