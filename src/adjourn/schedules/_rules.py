"""Schedules composed of rules: how every dynamic programme states its decisions.

A rule is a short list of actions on steps counted from the rule's own start, and of uses of
earlier rules further along. Equal sub-problems share one rule, so that a schedule of 10^6
actions is a few thousand rules (a straight-line grammar); playing it needs a stack of the depth
of the recursion, and its counts are sums over rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._actions import Action, Advance, Drop, Load, Record, Reverse, Save, Turn
from ._schedule import Counts, Schedule

__all__ = ["Composed", "Item", "Rule", "Use", "count_rules"]


@dataclass(frozen=True, slots=True)
class Use:
    """Play rule number ``rule`` with its start moved ``offset`` steps along."""

    rule: int
    offset: int


Item: TypeAlias = Action | Use
Rule: TypeAlias = tuple[Item, ...]


class Composed(Schedule):
    """A schedule given by rules; the last rule is the whole.

    The turn is played before the first reverse, unless the last rule states it itself, earlier.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """The rules, each using only earlier ones."""

    @property
    def counts(self) -> Counts:
        """Counts summed over the rules; costs one pass over them."""
        return count_rules(self.rules, len(self.limits))

    @property
    def restarts(self) -> int:
        """Advances that begin at step 0, summed over the rules that begin there."""
        found: list[int] = []
        for rule in self.rules:
            total = 0
            for item in rule:
                if isinstance(item, Advance):
                    total += not item.start
                elif isinstance(item, Use) and not item.offset:
                    total += found[item.rule]
            found.append(total)
        return found[-1]

    def __iter__(self) -> Iterator[Action]:
        written = self.rules
        moved: list[list[_Prepared] | None] = [None] * len(written)
        turned = False
        stack: list[tuple[Iterator[Any], int]] = [(iter(written[-1]), 0)]
        while stack:
            items, at = stack[-1]
            number = -1
            if at:
                for make, first, second, option in items:
                    if make is None:
                        number, at = first, at + second
                        break
                    if not turned and make is Reverse:
                        turned = True
                        yield _TURN
                    build: Any = make
                    if option is None:
                        yield build(at + first, second)
                    elif option:
                        yield build(at + first, at + second, option)
                    else:
                        yield build(at + first, at + second)
            else:  # as written, and nothing is made
                for item in items:
                    kind = item.__class__
                    if kind is Use:
                        number, at = item.rule, item.offset
                        break
                    if not turned and (kind is Reverse or kind is Turn):
                        turned = True
                        yield _TURN
                    if kind is not Turn:
                        yield item
            if number < 0:
                stack.pop()
            elif at:
                ready = moved[number]
                if ready is None:
                    ready = moved[number] = [_prepare(item) for item in written[number]]
                stack.append((iter(ready), at))
            else:
                stack.append((iter(written[number]), 0))


_TURN = Turn()
_Prepared: TypeAlias = tuple[Any, int, int, int | None]


def _prepare(item: Any) -> _Prepared:
    """Return an item as (what to make, two numbers, option), for the inner loop of every run.

    Both numbers are moved along, or where there is no option only the first; nothing to make is
    a use of a rule at an offset.
    """
    kind = item.__class__
    if kind is Use:
        return None, item.rule, item.offset, 0
    if kind is Record:
        return kind, item.start, item.stop, item.option
    if kind is Advance or kind is Reverse:
        return kind, item.start, item.stop, 0
    return kind, item.step, item.tier, None


@dataclass(slots=True)
class _Tally:
    """Counts of one rule, with the net change and the peak of what is held."""

    advances: int
    records: int
    reverses: int
    writes: list[int]
    reads: list[int]
    held: list[int]
    peak: list[int]
    recorded: int
    recorded_peak: int


def count_rules(rules: Sequence[Rule], tiers: int) -> Counts:
    """Return the counts of the last rule; costs one visit of every item."""
    tallies: list[_Tally] = []
    for rule in rules:
        total = _Tally(0, 0, 0, [0] * tiers, [0] * tiers, [0] * tiers, [0] * tiers, 0, 0)
        for item in rule:
            _add(total, item, tallies)
        tallies.append(total)
    last = tallies[-1]
    return Counts(
        last.advances,
        last.records,
        last.reverses,
        tuple(last.writes),
        tuple(last.reads),
        tuple(last.peak),
        last.recorded_peak,
    )


def _add(total: _Tally, item: Item, done: Sequence[_Tally]) -> None:
    match item:
        case Advance(start, stop):
            total.advances += stop - start
        case Record(start, stop):
            total.records += stop - start
            total.recorded += stop - start
            total.recorded_peak = max(total.recorded_peak, total.recorded)
        case Reverse(start, stop):
            total.reverses += stop - start
            total.recorded -= stop - start
        case Save(_, tier):
            total.writes[tier] += 1
            total.held[tier] += 1
            total.peak[tier] = max(total.peak[tier], total.held[tier])
        case Load(_, tier):
            total.reads[tier] += 1
        case Drop(_, tier):
            total.held[tier] -= 1
        case Use(rule):
            _append(total, done[rule])
        case Turn():
            pass


def _append(total: _Tally, part: _Tally) -> None:
    total.advances += part.advances
    total.records += part.records
    total.reverses += part.reverses
    total.recorded_peak = max(total.recorded_peak, total.recorded + part.recorded_peak)
    total.recorded += part.recorded
    for tier in range(len(total.writes)):
        total.writes[tier] += part.writes[tier]
        total.reads[tier] += part.reads[tier]
        total.peak[tier] = max(total.peak[tier], total.held[tier] + part.peak[tier])
        total.held[tier] += part.held[tier]
