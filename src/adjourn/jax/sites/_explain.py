"""What each site would save in context, what it costs, and why it runs again or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..._sizes import format_bytes, format_seconds
from ._incontext import Ways
from ._levels import Level, Node
from ._placing import Placer, Sites

__all__ = ["SiteFigures", "explained", "figures_of"]


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """A site in the context of a choice.

    Attributes
    ----------
    path : str
        Where it lies.
    kind : str
        ``call``, ``site``, ``jit``, ``scan``, ``cond``, ``custom_vjp`` or ``checkpoint``.
    saves : int
        Bytes less at the peak if it runs again, everything else being as chosen; below 0 if its
        inputs take more than what it frees.
    seconds : float
        Predicted seconds of running it again, in all steps of one gradient.
    chosen : bool
        Whether it runs again.
    at_peak : bool
        Whether the most bytes are held while it is reversed.
    pure : bool
        Whether a second run gave the same results.
    why : str
        Why it was chosen, or was not.
    """

    path: str
    kind: str
    saves: int
    seconds: float
    chosen: bool
    at_peak: bool
    pure: bool
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return the figures as a JSON value."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SiteFigures:
        """Return the figures that `to_json` wrote."""
        return cls(**value)


def figures_of(placer: Placer, sites: Sites, ways: Ways) -> tuple[SiteFigures, ...]:
    """Return every site that may run again or is not pure, in the order of the program.

    Costs one placement in context for each: milliseconds.
    """
    whole = placer.model.held(sites, ways)
    asked = {*placer.sites, *placer.impure, *sites, whole.at_peak}
    found: list[SiteFigures] = []

    def visit(level: Level) -> None:
        for node in level.here():
            if node.path in asked:
                found.append(one(level, node))
            for sub in level.flats[node.start].subs if node.enters else ():
                visit(sub)

    def one(level: Level, node: Node) -> SiteFigures:
        path, pure = node.path, placer.of(node.path).pure
        chosen = path in sites
        peak = placer.nbytes(sites ^ {path}, ways) if pure else whole.peak
        saves = (peak - whole.peak) * (1 if chosen else -1)
        seconds = placer.of(path).primal * placer.turns.get(path, 1)
        around = next((o for o in _around(level, node) if o in sites), None)
        why = _why(chosen=chosen, saves=saves, pure=pure, around=around)
        return SiteFigures(
            path, node.kind, saves, seconds, chosen, path == whole.at_peak, pure, why
        )

    visit(placer.model.root)
    return tuple(found)


def _around(level: Level, node: Node) -> list[str]:
    """Return the sites of its level that a site lies in."""
    return [
        other.path
        for other in level.here()
        if other is not node and other.start <= node.start and node.stop <= other.stop
    ]


def _why(*, chosen: bool, saves: int, pure: bool, around: str | None) -> str:
    if not pure:
        return "a second run gives other results, or acts on the world: it must not run again"
    if chosen:
        return "what it frees is worth its second run" if saves > 0 else "its second run is cheap"
    if around is not None:
        return f"it lies in {around}, which runs again"
    if saves < 0:
        return "its inputs would take more than what it frees"
    if saves == 0:
        return "nothing would be freed at the peak: what it holds is kept for others, or below it"
    return "its second run would cost more time than what it frees is worth here"


def explained(figures: Sequence[SiteFigures]) -> str:
    """Return sites as text of about 80 columns, those that matter most first."""
    if not figures:
        return "no site holds enough to matter"
    lines = [f"  {'site':<44}{'saves':>12}{'costs':>12}  again"]
    order = sorted(figures, key=lambda f: (not f.chosen, -abs(f.saves)))
    for one in order:
        sign = "-" if one.saves < 0 else ""
        mark = "*" if one.at_peak else " "
        name = one.path if len(one.path) <= 43 else f"~{one.path[-42:]}"
        saves, costs = sign + format_bytes(abs(one.saves)), format_seconds(one.seconds)
        again = "yes" if one.chosen else "no"
        lines += [f"{mark} {name:<44}{saves:>12}{costs:>12}  {again}", f"      {one.why}"]
    peak = next((one.path for one in figures if one.at_peak), None)
    lines.append(
        "the most is held at the turn, when everything kept is kept at once"
        if peak is None
        else f"the most is held while {peak} (*) is reversed"
    )
    return "\n".join(lines)
