"""A loop that other work follows, as rows over memory: F along its diagonals.

F(n, l, m) uses F only where both l and m are smaller by the same amount. With the slack d =
m - l fixed, F is a row over m, as C0 is, and starts from 0 seconds where d is free. More
generally the row starts from the seconds of what follows the loop for each free memory, and
then tells the seconds of both together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..optimum import StepTable
from ..optimum._tables import fill_ending
from ._sets import Floats

__all__ = ["Program", "Rule", "ending_of", "follow", "slack_end"]


class Rule(NamedTuple):
    """One step of a loop's schedule, made of later parts that are rules with smaller numbers.

    Attributes
    ----------
    steps : int
        Iterations it reverses.
    stored : bool
        Whether the start is held by a snapshot when it begins.
    option : int
        Record the first iteration with this option; -1 to keep the start and advance.
    span : int
        Iterations to advance; 0 if recorded.
    rest, again : int
        The rule for what comes after the recording or the advance, and the one that runs the
        advanced iterations again; -1 where there is nothing left.
    """

    steps: int
    stored: bool
    option: int
    span: int
    rest: int
    again: int


Program = tuple[Rule, ...]
"""The rules of a loop's schedule; the last one is the whole."""


def slack_end(units: int, slack: int) -> Floats:
    """Return the row that starts F for a slack: 0 seconds where that much is free."""
    end = np.full(units + 1, np.inf)
    end[slack:] = 0.0
    return end


def ending_of(table: StepTable, end: Floats) -> Floats:
    """Return the seconds of a loop and of what follows, for each number of iterations and m."""
    if not end.any():
        return table.free  # nothing follows: C0
    return fill_ending(table, table.steps, end)


def follow(table: StepTable, ending: Floats, units: int) -> tuple[Program, int]:
    """Return the schedule for m units, and the units free at its end for what follows.

    Costs one choice, O(steps + options), for each distinct part.
    """
    rest = _free_at_end(table, ending, units)
    found: dict[tuple[str, int, int], int] = {}
    rules: list[Rule] = []
    size = table.rates.snapshot
    stack = [("held", table.steps, units)]
    while stack:
        key = stack[-1]
        if key in found:
            stack.pop()
            continue
        kind, steps, m = key
        choice = table.choose(
            steps, m, stored=kind == "stored", ending=ending if kind == "held" else None
        )
        beyond = kind if kind == "held" else "free"
        if choice.span:
            after = (beyond, steps - choice.span, m - size)
            again = ("stored", choice.span, m)
        else:
            after = (beyond, steps - 1, m - choice.left)
            again = None
        missing = [
            part for part in (after, again) if part is not None and part[1] and part not in found
        ]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        found[key] = len(rules)
        rules.append(
            Rule(
                steps,
                kind == "stored",
                choice.option,
                choice.span,
                found[after] if after[1] else -1,
                found[again] if again is not None else -1,
            )
        )
    return tuple(rules), rest


def _free_at_end(table: StepTable, ending: Floats, units: int) -> int:
    steps = table.steps
    while steps:
        choice = table.choose(steps, units, ending=ending)
        steps -= choice.span or 1
        units -= table.rates.snapshot if choice.span else choice.left
    return units
