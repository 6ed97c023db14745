"""The bridge to Tapenade: its printed profiles, a runtime that keeps the tree, its options."""

from ._compare import Comparison, Row, by_routine, compare, inline
from ._options import directives, nocheckpoint, split_sites
from ._propose import Proposal, Ranked, artefacts, propose
from ._report import Entry, ProfileReport, merge_reports, read_report
from ._runtime import runtime_sources

__all__ = [
    "Comparison",
    "Entry",
    "ProfileReport",
    "Proposal",
    "Ranked",
    "Row",
    "artefacts",
    "by_routine",
    "compare",
    "directives",
    "inline",
    "merge_reports",
    "nocheckpoint",
    "propose",
    "read_report",
    "runtime_sources",
    "split_sites",
]
