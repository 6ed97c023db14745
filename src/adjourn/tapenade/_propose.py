"""Proposes calls to split from a printed report, the way it is done by hand, with its caveats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from textwrap import wrap

from .._sizes import as_bytes, format_bytes
from ..errors import BadValue
from ._report import Entry, ProfileReport

__all__ = ["Proposal", "Ranked", "artefacts", "propose"]

_ALIKE = 3


@dataclass(frozen=True, slots=True)
class Ranked:
    """A routine, or a site, with the figures of its entries added up.

    Attributes
    ----------
    name : str
        The routine; with file and line for a site.
    entries : tuple of Entry
        Its entries in the report.
    """

    name: str
    entries: tuple[Entry, ...]

    @property
    def seconds(self) -> float:
        """Seconds gained: those of the sites add up."""
        return sum(entry.seconds for entry in self.entries)

    @property
    def peak_bytes(self) -> int:
        """Bytes more at the peak: the sum of the sites that cost any, which is an upper bound."""
        costs = sum(max(0, entry.peak_bytes) for entry in self.entries)
        return costs or max(entry.peak_bytes for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Calls to split.

    Attributes
    ----------
    chosen, left_out : tuple of Ranked
        In the order of the ranking.
    by : {"routine", "site"}
        What is ranked.
    budget : int or None
        Bytes for the stack.
    said_bytes : int
        The peak that the sum of single figures says.
    artefacts : tuple of Entry
        Entries that are none: external calls.
    warnings : tuple of str
        What the report cannot tell.
    """

    chosen: tuple[Ranked, ...]
    left_out: tuple[Ranked, ...]
    by: str
    budget: int | None
    said_bytes: int
    artefacts: tuple[Entry, ...]
    warnings: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Seconds that the sum of single figures says are gained."""
        return sum(one.seconds for one in self.chosen)

    @property
    def option(self) -> str:
        """The option for Tapenade's command line, by routine."""
        names = dict.fromkeys(one.entries[0].routine for one in self.chosen)
        return f'-nocheckpoint "{" ".join(names)}"'

    @property
    def directives(self) -> tuple[str, ...]:
        """The lines before which ``$AD NOCHECKPOINT`` belongs."""
        return tuple(
            f"{entry.where}: $AD NOCHECKPOINT before the call of {entry.routine}"
            for one in self.chosen
            for entry in one.entries
        )

    def text(self) -> str:
        """Return the proposal as text of 80 columns."""
        budget = "no budget" if self.budget is None else f"budget {format_bytes(self.budget)}"
        of = f"{len(self.chosen)} of {len(self.chosen) + len(self.left_out)} {self.by}s"
        lines = [
            f"from the printed report, {budget}: {of}",
            f"{'gain [s]':>10} {'peak [bytes]':>14} {'times':>9}  {self.by}",
        ]
        lines += [_line(one) for one in self.chosen]
        if self.left_out:
            lines += ["left out", *(_line(one) for one in self.left_out[:20])]
            if len(self.left_out) > 20:
                lines.append(f"  and {len(self.left_out) - 20} more")
        if self.artefacts:
            names = dict.fromkeys(entry.routine for entry in self.artefacts)
            lines.append(f"external, not to be split: {' '.join(names)}")
        lines.append(f"the single figures say {self.seconds:.3f} s and {self.said_bytes} bytes")
        for warning in self.warnings:
            lines += wrap(f"warning: {warning}", 80, subsequent_indent="  ")
        lines.append(self.option if self.by == "routine" else "\n".join(self.directives))
        return "\n".join(lines) + "\n"


def _line(one: Ranked) -> str:
    times = sum(entry.occurrences for entry in one.entries)
    return f"{one.seconds:>10.3f} {one.peak_bytes:>14} {times:>9}  {one.name}"


def artefacts(report: ProfileReport) -> tuple[Entry, ...]:
    """Return entries that are no gains: external calls, which never report a turning point.

    They show as three or more sites of zero seconds that gain one identical number of bytes.
    """
    alike = Counter(
        entry.peak_bytes for entry in report.entries if entry.peak_bytes < 0 and not entry.seconds
    )
    return tuple(
        entry
        for entry in report.entries
        if not entry.seconds and entry.peak_bytes < 0 and alike[entry.peak_bytes] >= _ALIKE
    )


def propose(
    report: ProfileReport, budget: int | str | None = None, *, by: str = "routine"
) -> Proposal:
    """Return the calls to split by the ranking of a report: the published way.

    What costs no bytes comes first, then seconds gained for each byte; taken as long as the sum
    of the single figures fits the budget. Entries are not additive, which only a tree can mend.

    Parameters
    ----------
    report : ProfileReport
        One report, or several merged.
    budget : int or str, optional
        Bytes for the stack; without, everything that gains a second or costs nothing is taken.
    by : {"routine", "site"}
        Rank routines, for ``-nocheckpoint``, or sites, for ``$AD NOCHECKPOINT``.

    Raises
    ------
    BadValue
        ``by`` is something else.
    """
    if by not in ("routine", "site"):
        raise BadValue(f"by={by!r} is neither 'routine' nor 'site'.")
    nbytes = None if budget is None else as_bytes(budget)
    external = artefacts(report)
    groups: dict[str, list[Entry]] = {}
    for entry in report.entries:
        if entry not in external and entry.routine:
            name = entry.routine if by == "routine" else f"{entry.routine} at {entry.where}"
            groups.setdefault(name, []).append(entry)
    ranked = sorted(
        (Ranked(name, tuple(entries)) for name, entries in groups.items()),
        key=lambda one: (
            one.peak_bytes > 0,
            -one.seconds / one.peak_bytes if one.peak_bytes > 0 else -one.seconds,
        ),
    )
    chosen: list[Ranked] = []
    left_out: list[Ranked] = []
    said = report.peak_bytes
    full = False
    for one in ranked:
        costs = one.peak_bytes > 0
        full = full or (nbytes is not None and costs and said + one.peak_bytes > nbytes)
        free = one.seconds > 0 or one.peak_bytes < 0
        if (full and costs) or not free or (nbytes is None and costs and one.seconds < 1):
            left_out.append(one)
            continue
        chosen.append(one)
        said += max(0, one.peak_bytes)
    return Proposal(
        tuple(chosen),
        tuple(left_out),
        by,
        nbytes,
        said,
        external,
        _warnings(report, nbytes, external),
    )


def _warnings(
    report: ProfileReport, budget: int | None, external: tuple[Entry, ...]
) -> tuple[str, ...]:
    found = [
        (
            "entries do not add up: splitting one call changes what the others cost. The tree "
            "that adjourn's runtime writes has no such gap."
        )
    ]
    if report.truncated:
        zero = sum(not entry.seconds for entry in report.entries)
        found.append(
            f"times are whole seconds: {zero} of {len(report.entries)} sites print 0. "
            "Profile a longer run."
        )
    if external:
        found.append(
            f"{len(external)} sites gain {-external[0].peak_bytes} bytes each in no time: "
            "external calls, whose snapshot is taken for a gain."
        )
    if budget is not None and report.peak_bytes > budget:
        found.append(
            f"the peak with every call checkpointed is {report.peak_bytes} bytes, above the "
            f"budget of {budget}: only the sites of the first section can help."
        )
    spread = [entry for entry in report.entries if entry.spread > 0.25 * max(entry.seconds, 1)]
    if spread:
        found.append(f"ranks differ by more than half on {len(spread)} sites.")
    return tuple(found)
