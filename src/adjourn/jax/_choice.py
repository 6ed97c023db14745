"""What may be kept at each loop of a program, and what it costs in steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..optimum import revolve_advances
from ._program import LoopSite
from ._scan import Slots, scan_flat

__all__ = ["Choice", "families", "replacement"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What each loop keeps.

    Attributes
    ----------
    outer : int or str
        For the loops that lie in no other: as ``slots`` of `adjourn.jax.scan`.
    inner : str
        For the loops within: ``"all"`` or ``"steps"``.
    """

    outer: int | str
    inner: str = "all"

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
        return words + ("; each step of inner loops run again" if self.inner != "all" else "")

    @property
    def family(self) -> tuple[str, str]:
        """The kind of choice, whatever the number of carries."""
        return (self.outer if isinstance(self.outer, str) else "slots", self.inner)

    def at(self, site: LoopSite) -> Slots:
        """Return what one loop keeps."""
        if site.depth:
            return self.inner
        return self.outer if isinstance(self.outer, str) else min(self.outer, max(site.steps, 1))

    def work(self, sites: Sequence[LoopSite]) -> float:
        """Return the predicted work in forward steps: a pullback counts two."""
        work = 0.0
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


def families(sites: Sequence[LoopSite]) -> Iterator[tuple[str, str]]:
    """Yield the kinds of choices that a program has."""
    inner = ("all", "steps") if any(site.depth for site in sites) else ("all",)
    for kind in ("all", "steps", "segments", "slots") if sites else ("all",):
        for within in inner:
            yield kind, within


def replacement(choice: Choice) -> Any:
    """Return the function that runs each loop as chosen, for `Program.run`."""

    def replace(site: LoopSite, body: Any, init: Any, xs: Any) -> Any:
        slots = choice.at(site)
        if slots in (None, "all"):
            return None
        return scan_flat(body, init, xs, site.steps, site.reverse, slots)

    return replace
