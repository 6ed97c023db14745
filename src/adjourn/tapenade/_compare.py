"""The list applied and profiled again: what was predicted against what is seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._sizes import format_seconds
from ..calltree import Call, CallTree, Leaf, Loop, Repeat
from ..calltree._tree import Item, Site, with_body
from ..errors import BadValue

__all__ = ["Comparison", "Row", "by_routine", "compare", "inline"]


@dataclass(frozen=True, slots=True)
class Row:
    """A routine that is still checkpointed, with what is now recorded inside it.

    Attributes
    ----------
    site : int or str
        The call; empty for the root.
    split : tuple of int or str
        The sites recorded within it.
    predicted, seen : float
        Seconds of its recording and reverse, over the whole run, calls that are still
        checkpointed apart.
    gain : float
        The seconds that splitting was predicted to save.
    """

    site: Site
    split: tuple[Site, ...]
    predicted: float
    seen: float
    gain: float

    @property
    def short(self) -> float:
        """The part of the predicted gain that was not seen, from 0 to 1."""
        if not self.gain:
            return 0.0
        return min(1.0, max(0.0, (self.seen - self.predicted) / self.gain))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted against seen.

    Attributes
    ----------
    rows : tuple of Row
        One for each routine that is still checkpointed.
    split : tuple of int or str
        The sites that were split.
    before, predicted, seen : float
        Seconds of the whole adjoint: as it was, as predicted for the list, as profiled again.
    corrected : CallTree
        The first tree with the costs of the split form corrected: place it again.
    """

    rows: tuple[Row, ...]
    split: tuple[Site, ...]
    before: float
    predicted: float
    seen: float
    corrected: CallTree

    @property
    def factor(self) -> float:
        """How many times the gain was over-predicted."""
        gain = self.before - self.seen
        return (self.before - self.predicted) / gain if gain > 0 else float("inf")

    def text(self) -> str:
        """Return the comparison as text of 80 columns."""
        lines = [
            f"split: {' '.join(map(str, self.split)) or 'nothing'}",
            (
                f"before {format_seconds(self.before)}, predicted "
                f"{format_seconds(self.predicted)}, seen {format_seconds(self.seen)}"
            ),
        ]
        if self.split:
            lines.append(
                f"predicted gain {format_seconds(max(0.0, self.before - self.predicted))}, "
                f"over-predicted {self.factor:.2f} times"
            )
        lines.append(f"{'predicted':>12}{'seen':>12}{'ratio':>8}  checkpointed routine")
        for row in sorted(self.rows, key=lambda row: row.predicted - row.seen):
            ratio = f"{row.seen / row.predicted:.2f}" if row.predicted else "-"
            lines.append(
                f"{format_seconds(row.predicted):>12}{format_seconds(row.seen):>12}{ratio:>8}  "
                f"{row.site or 'the root'}"
            )
        return "\n".join(lines) + "\n"


def inline(tree: CallTree, split: frozenset[Site]) -> CallTree:
    """Return the tree that a profile of the program sees once the sites are split."""

    def body(items: tuple[Item, ...]) -> tuple[Item, ...]:
        made: list[Item] = []
        for item in items:
            if isinstance(item, Leaf):
                made.append(item)
            elif isinstance(item, Call) and item.site in split and not item.external:
                made.extend(body(item.body))
            else:
                made.append(with_body(item, body(item.body)))
        return tuple(made)

    return CallTree(body(tree.body), tree.note)


def by_routine(tree: CallTree) -> CallTree:
    """Return the tree with its sites named by the routine called, for ``-nocheckpoint``."""

    def body(items: tuple[Item, ...]) -> tuple[Item, ...]:
        made: list[Item] = []
        for item in items:
            if isinstance(item, Leaf):
                made.append(item)
            else:
                whole = with_body(item, body(item.body))
                if isinstance(whole, Call) and whole.routine:
                    whole = replace(whole, site=whole.routine)
                made.append(whole)
        return tuple(made)

    return CallTree(body(tree.body), tree.note)


def compare(before: CallTree, after: CallTree) -> Comparison:
    """Return what splitting was predicted to do against what a second profile shows.

    The sites that the second tree does not have any more are those that were split. Costs one
    visit of each tree.

    Parameters
    ----------
    before : CallTree
        The profile with every call checkpointed.
    after : CallTree
        The profile of the same run with some sites split.

    Raises
    ------
    BadValue
        The second tree has a site that the first does not have.

    Notes
    -----
    Compilers optimise the recording of a routine differently on its own and within its caller,
    so a list gains less than its single figures say. For each routine that is still checkpointed
    the seconds missing from the predicted gain are shared by the sites split within it, as
    seconds more when split (`Call.extra`); a placement of ``corrected`` then knows.
    """
    new = set(after.sites) - set(before.sites)
    if new:
        raise BadValue(
            f"the second profile has {sorted(map(str, new))[0]!r}, which the first does not have. "
            "Compare profiles of the same program; the first one with every call checkpointed."
        )
    gone = frozenset(before.sites) - frozenset(after.sites)
    predicted, seen = _own(inline(before, gone)), _own(after)
    gains = _gains(before, gone)
    rows = tuple(
        Row(
            site,
            tuple(gains.get(site, {})),
            predicted[site],
            seen.get(site, 0.0),
            sum(gains.get(site, {}).values()),
        )
        for site in predicted
    )
    short = {site: row.short for row in rows for site in row.split}
    return Comparison(
        rows,
        tuple(site for site in before.sites if site in gone),
        _joint_seconds(before),
        _joint_seconds(inline(before, gone)),
        _joint_seconds(after),
        _corrected(before, short),
    )


def _own(tree: CallTree) -> dict[Site, float]:
    """Return the seconds of recording and reversing each routine itself, over the whole run."""
    found: dict[Site, float] = {}

    def walk(items: tuple[Item, ...], site: Site, times: int) -> None:
        found.setdefault(site, 0.0)
        for item in items:
            if isinstance(item, Leaf):
                found[site] += times * item.seconds
            elif isinstance(item, Call):
                walk(item.body, item.site, times)
            else:
                walk(item.body, site, times * _count(item))

    walk(tree.body, "", 1)
    return found


def _count(item: Repeat | Loop) -> int:
    return item.times if isinstance(item, Repeat) else item.steps


def _gains(tree: CallTree, gone: frozenset[Site]) -> dict[Site, dict[Site, float]]:
    """Return the predicted gain of each split site, by the checkpointed routine it is in."""
    found: dict[Site, dict[Site, float]] = {}

    def walk(items: tuple[Item, ...], site: Site, times: int) -> None:
        for item in items:
            if isinstance(item, Call):
                if item.site in gone:
                    within = found.setdefault(site, {})
                    gain = times * (item.primal + item.copy)
                    within[item.site] = within.get(item.site, 0.0) + gain
                    walk(item.body, site, times)
                else:
                    walk(item.body, item.site, times)
            elif not isinstance(item, Leaf):
                walk(item.body, site, times * _count(item))

    walk(tree.body, "", 1)
    return found


def _joint_seconds(tree: CallTree) -> float:
    def body(items: tuple[Item, ...]) -> float:
        total = 0.0
        for item in items:
            if isinstance(item, Leaf):
                total += item.seconds
            elif isinstance(item, Call):
                total += item.primal + item.copy + body(item.body)
            else:
                total += _count(item) * body(item.body)
        return total

    return body(tree.body)


def _corrected(tree: CallTree, short: dict[Site, float]) -> CallTree:
    def body(items: tuple[Item, ...]) -> tuple[Item, ...]:
        made: list[Item] = []
        for item in items:
            if isinstance(item, Leaf):
                made.append(item)
                continue
            whole = with_body(item, body(item.body))
            if isinstance(whole, Call) and short.get(whole.site):
                whole = replace(whole, extra=short[whole.site] * (whole.primal + whole.copy))
            made.append(whole)
        return tuple(made)

    return CallTree(body(tree.body), tree.note)
