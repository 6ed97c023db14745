"""The reader of printed reports, and the lists proposed from them."""

from __future__ import annotations

import pytest

from adjourn.errors import BadValue
from adjourn.tapenade import artefacts, merge_reports, propose, read_report

REPORT = """\
 some output of the program
PEAK STACK:923000000 bytes
SUGGESTED NOCHECKPOINTs:
 * Peak memory gain:
  - Time gain -75.000 s. and peak memory gain -31100000b for call timestep (51840 times), at location#12: line 310 of file dynamics.f
  - Time gain - 0.000 s. and peak memory gain -38574980b for call ext_a (1440 times), at location#20: line 11 of file main.f
  - Time gain - 0.000 s. and peak memory gain -38574980b for call ext_b (1440 times), at location#21: line 12 of file main.f
  - Time gain - 0.000 s. and peak memory gain -38574980b for call ext_b (1440 times), at location#22: line 15 of file main.f
 * Peak memory neutral:
  - Time gain -71.000 s. at peak memory cost zero for call forward_step (1440 times), at location#1: line 750 of file main.f
  - Time gain - 2.000 s. at peak memory cost zero for checkpoint (7 times) starting at location#30: line 3 of file loop.f
 * Peak memory cost:
  - Time gain -12.000 s. at peak memory cost    9.300000 Mb for call dynamics (1440 times), at location#3: line 760 of file main.f
  - Time gain - 5.000 s. at peak memory cost    1.900000 Mb for call temp (720 times), at location#4: line 770 of file main.f
  - Time gain - 3.000 s. at peak memory cost    0.000512 Mb for call temp (720 times), at location#5: line 771 of file main.f
  - Time gain -17.000 s. at peak memory cost 11300.000001 Mb for call main_do_loop (1 times), at location#6: line 9 of file main.f

more output
"""  # noqa: E501


def test_a_report_is_read_whole():
    """Every entry with its routine, place, count, gain and bytes; megabytes are 10^6 bytes."""
    report = read_report(REPORT)
    assert report.peak_bytes == 923_000_000
    assert len(report.entries) == 10
    by_place = {entry.where: entry for entry in report.entries}
    assert by_place["dynamics.f:310"].peak_bytes == -31_100_000
    assert by_place["dynamics.f:310"].occurrences == 51840
    assert by_place["main.f:771"].peak_bytes == 512
    assert by_place["main.f:9"].peak_bytes == 11_300_000_001
    assert by_place["loop.f:3"].routine == ""
    assert report.truncated


def test_external_calls_are_recognised():
    """Three or more sites of no time with one identical gain are artefacts, not gains."""
    report = read_report(REPORT)
    assert [entry.routine for entry in artefacts(report)] == ["ext_a", "ext_b", "ext_b"]
    proposal = propose(report, "1GB")
    assert not {"ext_a", "ext_b"} & {one.name for one in proposal.chosen}
    assert any("external calls" in warning for warning in proposal.warnings)


def test_a_list_by_routine_under_a_budget():
    """Free routines first, then seconds for each byte, as long as the sum fits."""
    report = read_report(REPORT)
    proposal = propose(report, 923_000_000 + 12_000_000)
    assert proposal.option == '-nocheckpoint "timestep forward_step temp dynamics"'
    assert proposal.said_bytes == 923_000_000 + 1_900_512 + 9_300_000
    assert proposal.seconds == 75 + 71 + 8 + 12
    tight = propose(report, 923_000_000 + 5_000_000)
    assert tight.option == '-nocheckpoint "timestep forward_step temp"'
    assert [one.name for one in tight.left_out] == ["dynamics", "main_do_loop"]


def test_a_list_by_site():
    """A directive for each call; two calls of one routine are two decisions."""
    proposal = propose(read_report(REPORT), 923_000_000 + 600, by="site")
    assert "main.f:771: $AD NOCHECKPOINT before the call of temp" in proposal.directives
    assert not any("main.f:770" in words for words in proposal.directives)
    with pytest.raises(BadValue, match="neither"):
        propose(read_report(REPORT), by="file")


def test_the_reports_caveats_are_said():
    """Entries do not add up, whole seconds are coarse, and a peak above the budget is told."""
    words = propose(read_report(REPORT), "900MB").text()
    assert "do not add up" in words
    assert "whole seconds" in words
    assert "above the" in words
    assert all(len(line) <= 80 for line in words.splitlines() if "warning" in line)


def test_ranks_are_merged():
    """Median seconds, largest bytes, and half the range of the seconds as the spread."""
    ranks = [read_report(REPORT.replace("-75.000", f"-{s}.000")) for s in (70, 75, 90)]
    merged = merge_reports(ranks)
    entry = next(e for e in merged.entries if e.routine == "timestep")
    assert (entry.seconds, entry.spread) == (75, 10)
    with pytest.raises(BadValue, match="no reports"):
        merge_reports([])


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("PEAK STACK:923000000 bytes", "nothing", 1, "no 'PEAK STACK:'"),
        ("923000000 bytes", "many bytes", 2, "followed by a number"),
        ("Peak memory gain:", "Peak memory loss:", 4, "a section is"),
        ("-75.000", "-75,000", 5, "an entry reads"),
        ("-31100000b", "-31100000", 5, "an entry reads"),
        ("(51840 times)", "(many times)", 5, "an entry reads"),
        ("location#12", "location 12", 5, "an entry reads"),
        ("line 310 of", "line of", 5, "an entry reads"),
        ("of file dynamics.f", "of file", 5, "an entry reads"),
        (" * Peak memory gain:\n", "", 4, "after the title"),
        ("cost zero for call forward_step", "cost    0.000001 Mb for call f", 10, "a memory cost"),
        ("line 15 of", "line 12 of", 8, "already in line 7"),
        (" * Peak memory cost:", " * Peak memory neutral:", 12, "comes twice"),
        ("0.000512 Mb", "0.512 Mb", 15, "an entry reads"),
        ("   9.300000 Mb", "-9.300000 Mb", 13, "an entry reads"),
        ("SUGGESTED", "PEAK STACK:1 bytes\nSUGGESTED", 3, "a second report"),
    ],
)
def test_a_malformed_report_is_told_with_its_line(old, new, line, words):
    """The message begins with the line of the fault and shows how a good one reads."""
    assert old in REPORT
    with pytest.raises(BadValue, match=words) as caught:
        read_report(REPORT.replace(old, new, 1))
    assert str(caught.value).startswith(f"line {line}:"), str(caught.value)


def test_a_report_that_is_cut_off_is_refused():
    """Absent sections are an error, never zero entries."""
    with pytest.raises(BadValue, match="cut off"):
        read_report(REPORT.partition(" * Peak memory cost")[0])
