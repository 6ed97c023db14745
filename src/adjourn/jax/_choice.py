"""What may be kept at each loop of a program, and what it costs in steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..optimum import revolve_advances
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
    """

    outer: int | str
    inner: str = "all"
    open: int = 0

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
        words += "; each step of inner loops run again" if self.inner != "all" else ""
        return words + (f"; {self.open} carries of loops of unknown length" if self.open else "")

    @property
    def family(self) -> tuple[str, str]:
        """The kind of choice, whatever the number of carries."""
        return (self.outer if isinstance(self.outer, str) else "slots", self.inner)

    @property
    def number(self) -> int:
        """The carries kept, where they have a number, else 0."""
        return self.open or (self.outer if isinstance(self.outer, int) else 0)

    def numbered(self, count: int) -> Choice:
        """Return the choice of the same kind with so many carries."""
        outer = self.outer if isinstance(self.outer, str) else count
        return Choice(outer, self.inner, count if self.open else 0)

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
            more = revolve_advances(n, self.open) - (n - 1) if self.open and n else 0
            work += 4 * n + more
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

    def replace(site: LoopSite, body: Any, init: Any, xs: Any) -> Any:
        slots = choice.at(site)
        if slots in (None, "all"):
            return None
        return scan_flat(body, init, xs, site.steps, site.reverse, slots)

    return replace


def run_as(choice: Choice, program: Program, leaves: Sequence[Any]) -> Any:
    """Evaluate a program on flat arguments, each of its loops as chosen; traceable."""

    def opened(_: str, condition: Callable[..., Any], body: Any, init: Any) -> Any:
        return while_flat(condition, body, init, choice.open)

    found = opened if choice.open else None
    return program.run(replacement(choice), leaves, opened=found)
