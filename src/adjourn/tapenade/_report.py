"""Reads the report that Tapenade's profiler prints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ..errors import BadValue

__all__ = ["Entry", "ProfileReport", "merge_reports", "read_report"]

_PEAK = re.compile(r"PEAK STACK:\s*(\d+)\s*bytes")
_SECTION = re.compile(r"\* Peak memory (gain|neutral|cost):")
_ENTRY = re.compile(
    r"- Time gain\s+-\s*(?P<seconds>\d+)\.(?P<milliseconds>\d{3}) s\."
    r"(?:\s+and peak memory gain\s+(?P<gain>-\d+)\s*b"
    r"|\s+at peak memory cost\s+(?P<zero>zero)"
    r"|\s+at peak memory cost\s+(?P<mega>\d+)\.(?P<bytes>\d{6})\s+Mb)"
    r"\s+for (?:call (?P<routine>\S+) \((?P<times>\d+) times\), at"
    r"|checkpoint \((?P<manual>\d+) times\) starting at)"
    r"\s+location#(?P<location>\d+): line (?P<line>\d+) of file (?P<file>\S+)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One site of a report.

    Attributes
    ----------
    routine : str
        The routine called; empty for a checkpoint set by hand.
    file : str
        The file of the call.
    line : int
        Its line there.
    occurrences : int
        How often it was reversed.
    seconds : float
        Seconds gained without the checkpoint, over all occurrences.
    peak_bytes : int
        Change of the peak if only this site is changed; negative is a gain.
    location : int
        The profiler's own number of the site.
    spread : float
        Half the range of the seconds over the reports merged.
    """

    routine: str
    file: str
    line: int
    occurrences: int
    seconds: float
    peak_bytes: int
    location: int
    spread: float = 0.0

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """What one profiled run says.

    Attributes
    ----------
    peak_bytes : int
        Peak of the stack with every call checkpointed.
    entries : tuple of Entry
        The sites, in the report's order.
    """

    peak_bytes: int
    entries: tuple[Entry, ...]

    @property
    def truncated(self) -> bool:
        """Whether the times are in whole seconds, as one version of the profiler prints them."""
        return bool(self.entries) and all(entry.seconds % 1 == 0 for entry in self.entries)


def read_report(text: str) -> ProfileReport:
    """Return the report in a text; lines of the program before and after it are skipped.

    Parameters
    ----------
    text : str
        What ``adProfileAdj_showProfiles`` printed.

    Raises
    ------
    BadValue
        Not such a report, or a broken one; the message says in which line.

    Examples
    --------
    >>> report = read_report('''PEAK STACK:4096 bytes
    ... SUGGESTED NOCHECKPOINTs:
    ...  * Peak memory gain:
    ...  * Peak memory neutral:
    ...  * Peak memory cost:
    ...   - Time gain - 1.250 s. at peak memory cost    0.000512 Mb for call f (3 times), at \
location#1: line 7 of file a.f
    ... ''')
    >>> report.entries[0].routine, report.entries[0].peak_bytes
    ('f', 512)
    """
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if "PEAK STACK" in line), None)
    if start is None:
        raise BadValue(
            "line 1: no 'PEAK STACK:' in this text. Pass what adProfileAdj_showProfiles or "
            "adProfileAdj_showProfilesFile wrote."
        )
    peak = _PEAK.search(lines[start])
    if peak is None:
        raise _bad(start, lines[start], "'PEAK STACK:' is followed by a number and 'bytes'")
    entries: list[Entry] = []
    seen: dict[tuple[str, str, int], int] = {}
    sections: list[str] = []
    for number, line in enumerate(lines[start + 1 :], start + 1):
        words = line.strip()
        section = _SECTION.fullmatch(words)
        if section:
            if section[1] in sections:
                raise _bad(number, line, f"the section 'Peak memory {section[1]}' comes twice")
            sections.append(section[1])
        elif words.startswith("* Peak"):
            raise _bad(number, line, "a section is 'Peak memory gain', 'neutral' or 'cost'")
        elif words.startswith("-") and "Time gain" in words:
            if not sections:
                raise _bad(number, line, "an entry comes after the title of its section")
            entry = _entry(number, line, sections[-1])
            key = (entry.routine, entry.file, entry.line)
            if key in seen:
                raise _bad(number, line, f"this site was already in line {seen[key]}")
            seen[key] = number + 1
            entries.append(entry)
        elif "PEAK STACK" in words:
            raise _bad(number, line, "a second report begins: pass one file a rank")
        elif sections and len(sections) == 3 and not words:
            break
    missing = {"gain", "neutral", "cost"} - set(sections)
    if missing:
        raise _bad(
            len(lines) - 1,
            lines[-1],
            f"the section 'Peak memory {sorted(missing)[0]}' is missing: the report is cut off",
        )
    return ProfileReport(int(peak[1]), tuple(entries))


def _entry(number: int, line: str, section: str) -> Entry:
    match = _ENTRY.fullmatch(line.strip())
    if match is None:
        raise _bad(
            number,
            line,
            "an entry reads 'Time gain -N.NNN s. and peak memory gain -Nb for call NAME "
            "(K times), at location#L: line N of file F'",
        )
    if match["gain"] is not None:
        kind, change = "gain", int(match["gain"])
    elif match["zero"] is not None:
        kind, change = "neutral", 0
    else:
        kind, change = "cost", int(match["mega"]) * 10**6 + int(match["bytes"])
    if kind != section:
        raise _bad(number, line, f"a memory {kind} stands in the section of memory {section}")
    return Entry(
        match["routine"] or "",
        match["file"],
        int(match["line"]),
        int(match["times"] or match["manual"]),
        int(match["seconds"]) + int(match["milliseconds"]) / 1000,
        change,
        int(match["location"]),
    )


def _bad(number: int, line: str, message: str) -> BadValue:
    return BadValue(
        f"line {number + 1}: {message}; this is {line.strip()[:70]!r}. "
        "Pass the profiler's report as it was written."
    )


def merge_reports(reports: Iterable[ProfileReport]) -> ProfileReport:
    """Return one report for those of several ranks: median seconds, largest bytes.

    A site that some ranks did not reach keeps the figures of those that did.

    Raises
    ------
    BadValue
        No reports.
    """
    given = list(reports)
    if not given:
        raise BadValue("merge_reports([]) has no reports. Pass at least one.")
    found: dict[tuple[str, str, int], list[Entry]] = {}
    for report in given:
        for entry in report.entries:
            found.setdefault((entry.routine, entry.file, entry.line), []).append(entry)
    entries = tuple(
        Entry(
            routine,
            file,
            line,
            max(entry.occurrences for entry in same),
            median(entry.seconds for entry in same),
            max(entry.peak_bytes for entry in same),
            same[0].location,
            (max(e.seconds for e in same) - min(e.seconds for e in same)) / 2,
        )
        for (routine, file, line), same in found.items()
    )
    return ProfileReport(max(report.peak_bytes for report in given), entries)
