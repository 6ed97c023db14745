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

    The turn is not part of any rule: it is played before the first reverse.
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
        rules = [[_prepare(item) for item in rule] for rule in self.rules]
        turned = False
        stack: list[tuple[Iterator[_Prepared], int]] = [(iter(rules[-1]), 0)]
        while stack:
            items, at = stack[-1]
            for kind, make, first, second, option in items:
                if kind == _RANGE:
                    yield make(at + first, at + second)
                elif kind == _USE:
                    stack.append((iter(rules[first]), at + second))
                    break
                elif kind == _POINT:
                    yield make(at + first, second)
                elif kind == _RECORD:
                    yield make(at + first, at + second, option)
                else:
                    if not turned:
                        turned = True
                        yield Turn()
                    if kind == _REVERSE:
                        yield make(at + first, at + second)
            else:
                stack.pop()


_RANGE, _POINT, _RECORD, _REVERSE, _USE, _TURN = range(6)
_Prepared: TypeAlias = tuple[int, Any, int, int, int]


def _prepare(item: Item) -> _Prepared:
    """Return an item as a flat tuple: playing is the inner loop of every run."""
    match item:
        case Use(rule, offset):
            return _USE, None, rule, offset, 0
        case Advance(start, stop):
            return _RANGE, Advance, start, stop, 0
        case Record(start, stop, 0):
            return _RANGE, Record, start, stop, 0
        case Record(start, stop, option):
            return _RECORD, Record, start, stop, option
        case Reverse(start, stop):
            return _REVERSE, Reverse, start, stop, 0
        case Save(step, tier) | Load(step, tier) | Drop(step, tier):
            return _POINT, type(item), step, tier, 0
        case Turn():
            return _TURN, None, 0, 0, 0


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
