"""A menu of recordings as rows over the free memory, which is how the recurrences read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "MenuRow", "Option", "check_costs", "common_unit", "menu_rows"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Option: TypeAlias = tuple[float, int, int]
"""(t, R, K): record and reverse seconds, bytes left behind, peak bytes meanwhile."""


@dataclass(frozen=True, slots=True, eq=False)
class MenuRow:
    """The best of the options that leave the same bytes.

    Attributes
    ----------
    left : int
        Units left behind.
    seconds : ndarray of float, shape (units + 1,)
        Least seconds for each free memory; infinite where no option fits.
    option : ndarray of int, shape (units + 1,)
        The option that takes them; -1 where none fits.
    """

    left: int
    seconds: Floats
    option: Ints


def menu_rows(menu: Sequence[Option], units: int) -> list[MenuRow]:
    """Return the menu as rows over 0..units of free memory, without rows that never win."""
    rows: list[MenuRow] = []
    best = np.full(units + 1, np.inf)  # of the rows that leave less
    for left in sorted({option[1] for option in menu if option[2] <= units}):
        seconds = np.full(units + 1, np.inf)
        chosen = np.full(units + 1, -1, dtype=np.intp)
        for index, (t, option_left, peak) in enumerate(menu):
            if option_left == left and peak <= units:
                better = seconds[peak:] > t
                seconds[peak:][better] = t
                chosen[peak:][better] = index
        if bool((seconds < best).any()):
            rows.append(MenuRow(left, seconds, chosen))
            best = np.minimum(best, seconds)
    return rows


def common_unit(menu: Sequence[Option], snapshot: int) -> int:
    """Return the largest unit in which every need is whole; 1 if all needs are 0."""
    return gcd(snapshot, *(need for _, left, peak in menu for need in (left, peak))) or 1


def check_costs(
    steps: int,
    menu: Sequence[Option],
    snapshot: int,
    write: float,
    read: float,
    advance: float,
    budget: int,
) -> None:
    """Raise ValueError where the numbers are outside the theory."""
    for name, count in (("steps", steps), ("snapshot", snapshot), ("budget", budget)):
        _whole(name, count)
    for name, seconds in (("write", write), ("read", read), ("advance", advance)):
        _time(name, seconds)
    if not menu:
        raise ValueError("menu=[] has no recording. Pass at least one (seconds, left, peak).")
    for index, (seconds, left, peak) in enumerate(menu):
        _time(f"menu[{index}] seconds", seconds)
        _whole(f"menu[{index}] left", left)
        _whole(f"menu[{index}] peak", peak)
        if peak < left:
            raise ValueError(
                f"menu[{index}] leaves {left} and has a peak of {peak}. "
                "The peak includes what is left: pass a peak of at least that."
            )
        if seconds < advance:
            raise ValueError(
                f"menu[{index}] takes {seconds} and an advance takes {advance}. Recording runs "
                "the step and its reverse: pass at least the time of an advance."
            )


def _whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name}={value!r} is not an integer. Pass whole units of bytes or steps.")
    if value < 0:
        raise ValueError(f"{name}={value} is negative. Pass 0 or more.")


def _time(name: str, value: float) -> None:
    if not isfinite(value) or value < 0:
        raise ValueError(f"{name}={value!r} is not a time. Pass 0 or more seconds.")
