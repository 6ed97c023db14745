"""What a law is, and how a break of it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from ..errors import AdjournError, LawBroken
from ..problem import Problem
from ._driver import Driver, Outputs

__all__ = ["Law", "broken"]


def _always(_: Driver) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Law:
    """One law of the problem protocol.

    Attributes
    ----------
    name : str
        Short, as in `LawBroken.law`.
    statement : str
        The law in a sentence.
    play : callable
        Plays the problem through a driver and raises `LawBroken`.
    applies : callable
        Whether the law has a meaning for the problem.
    """

    name: str
    statement: str
    play: Callable[[Law, Driver], None]
    applies: Callable[[Driver], bool] = _always

    def check(self, problem: Problem, outputs: Outputs | None = None) -> bool:
        """Play the law on a problem; return whether it applies to it.

        Parameters
        ----------
        problem : Problem
            The problem; it is run a few times and left as after ``begin``.
        outputs : callable, optional
            Takes the problem to its outputs by name; by default ``carried()``.

        Raises
        ------
        LawBroken
            The law is broken, or the problem raised while it was checked (which is chained).
        """
        driver = Driver(problem, outputs)
        if not self.applies(driver):
            return False
        try:
            self.play(self, driver)
            driver.begin()
        except AdjournError:
            raise
        except Exception as error:
            broken(self, f"{type(error).__name__}: {error}", error)
        return True


def broken(law: Law, seen: str, cause: BaseException | None = None) -> NoReturn:
    """Raise `LawBroken`: the law's name, what was seen, and the law in words."""
    raise LawBroken(law.name, f"{seen}. The law: {law.statement}") from cause
