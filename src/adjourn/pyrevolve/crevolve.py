"""Griewank and Walther's Revolve as a state machine, with pyrevolve's names.

The sequence of actions is that of the published C code, split for split, so that a run makes
the saves and forward calls it made with pyrevolve. Integers are exact and have no limit.

References
----------
.. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Trans. Math. Softw. 26, 2000.
"""

from __future__ import annotations

from enum import Enum
from math import comb

from .._sizes import as_count
from ..errors import AdjournError, NotSupported

__all__ = ["Action", "CRevolve", "RevolveError", "adjust", "expense", "maxrange", "numforw"]


class RevolveError(AdjournError):
    """Kept for ``except RevolveError``: the errors it stood for cannot happen here."""

    errCodes: dict[int, str] = {}  # noqa: N815, RUF012  # pyrevolve's name


class Action(Enum):
    """What the caller of `CRevolve.revolve` does next."""

    advance = 1
    takeshot = 2
    restore = 3
    firstrun = 4
    youturn = 5
    terminate = 6
    error = 7


def maxrange(ss: int, tt: int) -> int:
    """Return the steps that ``ss`` slots reverse with ``tt`` forward sweeps: C(ss + tt, tt)."""
    ss, tt = as_count(ss, "ss", least=0), as_count(tt, "tt", least=0)
    return comb(ss + tt, tt)


def numforw(steps: int, snaps: int) -> int:
    """Return the plain forward steps of a run, the first sweep included."""
    steps, snaps = as_count(steps, "steps", least=0), as_count(snaps, "snaps")
    if steps < 2:
        return 0
    sweeps, _ = _sweeps(steps, snaps)
    return sweeps * steps - comb(snaps + sweeps, snaps + 1)


def expense(steps: int, snaps: int) -> float:
    """Return plain forward steps over steps."""
    return numforw(as_count(steps, "steps"), snaps) / steps


def adjust(steps: int) -> int:
    """Return pyrevolve's default number of slots, which balances slots and sweeps.

    It knows no bytes: pass ``budget`` to a revolver for a number that does.
    """
    steps = as_count(steps, "steps")
    if steps == 1:
        return 1
    snaps = 1
    while comb(2 * snaps, snaps) < steps:
        snaps += 1
    sweeps, lowered_snaps = snaps, False
    while comb(snaps + sweeps, sweeps) >= steps:
        lowered_snaps = snaps > sweeps
        if lowered_snaps:
            snaps -= 1
        else:
            sweeps -= 1
    return snaps + lowered_snaps


def _sweeps(steps: int, snaps: int) -> tuple[int, int]:
    """Return the least r with C(snaps + r, r) >= steps, and that number."""
    if snaps == 1:
        return steps - 1, steps
    sweeps, reach = 0, 1
    while reach < steps:
        sweeps += 1
        reach = reach * (sweeps + snaps) // sweeps
    return sweeps, reach


class CRevolve:
    """The state machine: each call of `revolve` says what to do next.

    Parameters
    ----------
    snaps : int
        Snapshots that may be held at once, at least 1.
    steps : int
        Steps to reverse.
    snaps_in_ram : None
        Multistage and online operation are not offered here; see `adjourn.multistage`.

    Attributes
    ----------
    capo, oldcapo : int
        Step the action leads to, and step before it.
    fine : int
        Upper end of what is still to be reversed.
    check : int
        Slot of the action, -1 if none is held.
    advances : int
        Plain forward steps so far.
    """

    def __init__(self, snaps: int, steps: int, snaps_in_ram: int | None = None) -> None:
        if steps is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise NotSupported(
                "the number of steps is None: online checkpointing is not part of this "
                "interface. Pass the number of steps, or use adjourn.online."
            )
        if snaps_in_ram is not None:
            raise NotSupported(
                f"snaps_in_ram={snaps_in_ram} asks for two kinds of memory, which is not part "
                "of this interface. Use MultiLevelRevolver, or adjourn.multistage."
            )
        self._snaps = as_count(snaps, "n_checkpoints")
        self.capo = self.oldcapo = 0
        self.fine = as_count(steps, "n_timesteps")
        self.check = -1
        self.advances = 0
        self.info = 0
        self._held: list[int] = []
        self._turned = False

    def revolve(self) -> Action:
        """Return the next action and update the attributes."""
        capo = self.oldcapo = self.capo
        todo = self.fine - capo
        held = self._held
        if todo == 0:
            if not held:
                return Action.terminate
            self.capo = held[-1]
            return Action.restore
        if todo == 1:
            self.fine -= 1
            if held and held[-1] == capo:
                held.pop()
                self.check -= 1
            if self._turned:
                return Action.youturn
            self._turned = True
            return Action.firstrun
        if not held or held[-1] != capo:
            held.append(capo)
            self.check += 1
            return Action.takeshot
        self.capo = capo + _split(todo, self._snaps - self.check)
        self.advances += self.capo - capo
        return Action.advance


def _split(steps: int, snaps: int) -> int:
    """Return how far to advance before the next snapshot; ``snaps`` counts the present one."""
    if snaps == 1:
        return steps - 1
    sweeps, reach = _sweeps(steps, snaps)
    one = reach * sweeps // (snaps + sweeps)
    two = one * snaps // (snaps + sweeps - 1)
    three = two * (snaps - 1) // (snaps + sweeps - 2) if snaps > 2 else 1
    if steps <= one + three:
        return max(1, two * (sweeps - 1) // snaps)
    if snaps < 3:
        five = 0
    else:
        five = three * (snaps - 2) // sweeps if snaps > 3 else 1
    return one if steps >= reach - five else max(1, steps - two - three)
