"""What may be kept at each loop of a program, and what it costs in steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..optimum import revolve_advances
from ._pieces import NOTHING, Again
from ._program import LoopSite, Program
from ._scan import Slots, scan_flat
from ._while import while_flat

__all__ = ["Choice", "families", "replacement", "run_as"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What each loop keeps.

    Attributes
    ----------
    outer : int or str
        For the loops that lie in no other: as ``slots`` of `adjourn.jax.scan`.
    inner : str
        For the loops within: ``"all"`` or ``"steps"``.
    open : int
        For loops of unknown length, wherever they lie: the carries kept; 0 leaves them as they
        are, without a backward pass.
    window : int
        With a number of carries for outer loops: as ``window`` of `adjourn.jax.scan`.
    again : Again
        The sites of the call tree that run again in the backward pass.
    """

    outer: int | str
    inner: str = "all"
    open: int = 0
    window: int = 1
    again: Again = NOTHING

    def __str__(self) -> str:
        """Say it in words."""
        text = {
            "all": "all values of every step",
            "steps": "the carry of every step",
            "segments": "the carries of segments of about sqrt(n) steps",
        }
        words = (
            text[self.outer]
            if isinstance(self.outer, str)
            else f"{self.outer} carries by the binomial schedule"
        )
        words += f", blocks of {self.window} steps" if self.window > 1 else ""
        words += "; each step of inner loops run again" if self.inner != "all" else ""
        words += f"; {self.again}" if self.again.sites else ""
        return words + (f"; {self.open} carries of loops of unknown length" if self.open else "")

    @property
    def sites(self) -> tuple[str, ...]:
        """The paths of the sites that run again."""
        return self.again.sites

    @property
    def family(self) -> tuple[str, str, int, Again]:
        """The kind of choice, whatever the number of carries."""
        kind = self.outer if isinstance(self.outer, str) else "slots"
        return kind, self.inner, self.window, self.again

    @property
    def number(self) -> int:
        """The carries kept, where they have a number, else 0."""
        return self.open or (self.outer if isinstance(self.outer, int) else 0)

    def numbered(self, count: int) -> Choice:
        """Return the choice of the same kind with so many carries."""
        outer = self.outer if isinstance(self.outer, str) else count
        return replace(self, outer=outer, open=count if self.open else 0)

    def to_json(self) -> list[Any]:
        """Return the choice as a JSON value."""
        sites = [list(self.again.sites), self.again.drops]
        return [self.outer, self.inner, self.open, self.window, *sites]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Choice:
        """Return the choice that `to_json` wrote."""
        outer, inner, opened, window, sites, drops = value
        return cls(outer, inner, opened, window, Again(tuple(sites), drops))

    def at(self, site: LoopSite) -> Slots:
        """Return what one loop keeps."""
        if site.depth:
            return self.inner
        return self.outer if isinstance(self.outer, str) else min(self.outer, max(site.steps, 1))

    def work(self, sites: Sequence[LoopSite], opened: Mapping[str, int]) -> float:
        """Return the predicted work in forward steps: a pullback counts two.

        ``opened`` has the steps that loops of unknown length took.
        """
        work = 0.0
        for n in opened.values():
            again = revolve_advances(n, self.open) - (n - 1) if self.open and n else 0
            work += 4 * n + again
        for site in sites:
            if site.depth:
                continue
            n = site.steps
            again = {"all": 0, "steps": n, "segments": 2 * n}
            slots = self.at(site)
            if isinstance(slots, str):
                work += 3 * n + again[slots]
            else:
                work += 4 * n + revolve_advances(n, slots or 1) - max(n - 1, 0)
            work += n if self.inner != "all" else 0
        return work


def families(sites: Sequence[LoopSite], opened: Sequence[str]) -> Iterator[Choice]:
    """Yield a choice of each kind that a program has, those with a number with 1.

    Loops of unknown length have a number of carries in every kind.
    """
    inner = ("all", "steps") if any(site.depth for site in sites) else ("all",)
    kinds: tuple[int | str, ...] = ("all",)
    if any(not site.depth for site in sites):
        kinds = ("all", "steps", "segments", 1)
    for kind in kinds:
        for within in inner:
            yield Choice(kind, within, 1 if opened else 0)


def replacement(choice: Choice) -> Any:
    """Return the function that runs each loop as chosen, for `Program.run`."""

    def run(site: LoopSite, body: Any, init: Any, xs: Any) -> Any:
        slots = choice.at(site)
        if slots in (None, "all"):
            return None
        return scan_flat(body, init, xs, site.steps, site.reverse, slots, choice.window)

    return run


def run_as(choice: Choice, program: Program, leaves: Sequence[Any]) -> Any:
    """Evaluate a program on flat arguments, each of its loops as chosen; traceable."""

    def opened(_: str, condition: Callable[..., Any], body: Any, init: Any) -> Any:
        return while_flat(condition, body, init, choice.open)

    found = opened if choice.open else None
    return program.run(replacement(choice), leaves, choice.again, opened=found)
