"""From the decisions of a dynamic programme to the rules of a `Composed` schedule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ._actions import Action
from ._rules import Composed, Item, Rule, Use, count_rules
from ._schedule import Counts

__all__ = ["Body", "Part", "Planned", "grow"]


class Part(NamedTuple):
    """The sub-problem ``key``, its start moved ``offset`` steps along."""

    key: Hashable
    offset: int


Body: TypeAlias = Sequence[Action | Part]


def grow(root: Body, expand: Callable[[Any], Body]) -> tuple[Rule, ...]:
    """Return the rules that play ``root``, one for each sub-problem met; the last is ``root``.

    Costs one call of ``expand`` for each sub-problem, without recursion: sub-problems may nest
    as deep as there are steps.
    """
    rules: list[Rule] = []
    numbers: dict[Hashable, int] = {}
    waiting: list[tuple[Hashable | None, Body]] = [(None, root)]
    while waiting:
        key, body = waiting[-1]
        missing = {
            item.key: None for item in body if isinstance(item, Part) and item.key not in numbers
        }
        if missing:
            waiting.extend((part, expand(part)) for part in missing)
            continue
        waiting.pop()
        if key is None or key not in numbers:
            rules.append(tuple(_item(item, numbers) for item in body))
            if key is not None:
                numbers[key] = len(rules) - 1
    return tuple(rules)


def _item(item: Action | Part, numbers: dict[Hashable, int]) -> Item:
    return Use(numbers[item.key], item.offset) if isinstance(item, Part) else item


@dataclass(frozen=True, slots=True)
class Planned(Composed):
    """A composed schedule whose rules and counts are made once, when it is made.

    Both follow from the parameters: they are no part of comparison, text or JSON.
    """

    _rules: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _counts: Counts = field(init=False, repr=False, compare=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, each using only earlier ones."""
        return self._rules

    @property
    def counts(self) -> Counts:
        """Counts summed over the rules when the schedule was made."""
        return self._counts

    def _settle(self, rules: tuple[Rule, ...], tiers: int, **parameters: object) -> None:
        """Keep the checked parameters, the rules and what they count."""
        for name, value in parameters.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_rules", rules)
        object.__setattr__(self, "_counts", count_rules(rules, tiers))
