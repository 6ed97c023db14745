"""The reports at 80 columns, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjourn import BadValue, revolve, segments, store_all, store_nothing
from adjourn.reports import Report, curve_text, plan_text, record_text, schedule_text
from adjourn.reports._record_text import compared, remarks
from adjourn.schedules import multistage
from reports.made import CURVE, PLAN, RECORD, TIER

PLAN_TEXT = """\
Plan: 100 steps within 40.0 MiB
===============================

schedule   segments, 30 steps a window, 3 snapshots
time       3.21 s predicted, 1.28 times as long as with the whole history stored
memory     36.0 MiB held at the peak, 90.0% of the budget
steps      170 forward steps: 100 recorded, 70 beyond one plain run
snapshots  3 held in memory, saved 3 times and loaded 3 times
optimal    yes, by the stated costs no schedule within this budget is faster
checked    played action by action before the run

Why this plan
- segments, 30 steps a window, 3 snapshots: 3.21 s predicted, 36.0 MiB of 40.0
  MiB held at the peak
- the whole history takes 100.0 MiB, which the budget does not hold

considered                                  time  ratio      peak
-----------------------------------------------------------------
segments, 30 steps a window, 3 snapshots  3.21 s   1.00  36.0 MiB
revolve, 19 snapshots                     3.90 s   1.22  39.0 MiB
"""

RECORD_TEXT = """\
Gradient of 100 steps within 40.0 MiB
=====================================

                     predicted   measured  ratio
------------------------------------------------
processor time          3.21 s     3.30 s   1.03
peak of memory held   36.0 MiB   36.0 MiB   1.00
forward steps              170        170   1.00
  advance 70 steps   700.00 ms  750.00 ms   1.07
  record 100 steps      1.00 s     1.05 s   1.05
  save 3 snapshots     3.00 ms    2.90 ms   0.97
  load 3 snapshots     3.00 ms    3.20 ms   1.07
  turn 1 time                -   200.0 us      -
  reverse 100 steps     1.50 s     1.60 s   1.07
  adjourn itself             -   800.0 us      -

- held 36.0 MiB, within the budget of 40.0 MiB
- 70 forward steps beyond one plain run of 100
- wall time 3.50 s; so are the times of the kinds of action above
- the peak resident set of the process grew by 37.0 MiB
- everything went as planned: no fallbacks

Plan
schedule   segments, 30 steps a window, 3 snapshots
steps      170 forward steps: 100 recorded, 70 beyond one plain run
snapshots  3 held in memory, saved 3 times and loaded 3 times
optimal    yes, by the stated costs no schedule within this budget is faster
checked    played action by action before the run

Why this plan
- segments, 30 steps a window, 3 snapshots: 3.21 s predicted, 36.0 MiB of 40.0
  MiB held at the peak
- the whole history takes 100.0 MiB, which the budget does not hold

considered                                  time  ratio      peak
-----------------------------------------------------------------
segments, 30 steps a window, 3 snapshots  3.21 s   1.00  36.0 MiB
revolve, 19 snapshots                     3.90 s   1.22  39.0 MiB
"""

REPORT_HEAD = """\
A run

The gradient equals the one with the whole history stored, bit for bit.
It took 3.30 s and 36.0 MiB; with the whole history stored 2.50 s and 100.0 MiB:
1.32 times the time at 36.0% of the memory.

"""

CURVE_TEXT = """\
Time against budget: 100 steps
==============================

    budget         time   ratio                             fastest family
--------------------------------------------------------------------------------
   3.0 MiB      20.00 s    8.00  ########################>  revolve
  10.0 MiB       4.00 s    1.60  ##########                 revolve
  40.0 MiB       3.21 s    1.28  ########                   segments
 100.0 MiB       2.50 s    1.00  ######                     store_all

- the least budget that works: 3.0 MiB, 20.00 s, 8.00 times the stored history
- the knee: less costs much, more saves little: 10.0 MiB, 4.00 s, 1.60 times the
  stored history
- your budget: 40.0 MiB, 3.21 s, 1.28 times the stored history
- nothing gets faster beyond: 100.0 MiB, 2.50 s, 1.00 times the stored history
"""

REVOLVE_TEXT = """\
revolve: 12 steps, 3 slots for snapshots, at most 1 step recorded at once
=========================================================================

- 33 forward steps: 21 plain, 12 recorded; 21 beyond one plain run
- 6 snapshots saved, 11 loaded, 3 held at most
- recorded steps lie in one window, which any other forward step overwrites

Signs: - run forward, = recorded, < reversed, # recorded and reversed, o
snapshot held, . still to be reversed.

 sweep  step 0
     1  o---o---o--#
     2  o...o...o-#
     3  o...o...o#
     4  o...o...#
     5  o...oo-#
     6  o...oo#
     7  o...o#
     8  o...#
     9  ooo#
    10  oo#
    11  o#
    12  #
"""

DISK_TEXT = """\
 sweep  step 0                                40
     1  O--------O----------O---------o-----o--#
     6  O........O..........O.........o..o#
    11  O........O..........O---o--o-#
    16  O........O..........O...#
    21  O........OO---o--o-#
    25  O........OO...o#
    30  O........O#
    35  OOOoo#
    40  #
"""


def test_the_text_of_a_plan():
    """What, how long, how much, why, and what else was considered."""
    assert plan_text(PLAN) == PLAN_TEXT


def test_the_text_of_a_record():
    """Predicted beside measured, what else happened, and the plan."""
    assert record_text(RECORD) == RECORD_TEXT


def test_the_text_of_a_report():
    """The verdict and the stored history come before the record."""
    stored = replace(RECORD, cpu_seconds=2.5, peak_bytes=100 * 2**20)
    report = Report(RECORD, title="A run", stored=stored, same_bits=True)
    assert report.text() == REPORT_HEAD + RECORD_TEXT
    assert "DIFFERS" in replace(report, same_bits=False).text()
    assert Report(RECORD).text() == RECORD_TEXT


def test_the_text_of_a_curve():
    """One line a budget, and the points of interest in words."""
    assert curve_text(CURVE) == CURVE_TEXT


def test_what_a_tier_and_a_fallback_add():
    """The disk, its encoder and what did not go as planned are said."""
    text = record_text(
        replace(RECORD, tiers=(TIER,), fallbacks=("snapshot 30 was recomputed",), advances=0)
    )
    assert (
        "- disk, int16: 16.0 MiB of disk, by direct on ext4, encoded 2.0 times smaller,\n"
        "  largest error 1.5e-05, rms 3e-06, waited 500.00 ms (400.00 ms predicted), 75%\n"
        "  of the transfers hidden\n"
        "- not as planned: snapshot 30 was recomputed\n"
    ) in text
    assert "- no step was run twice\n" in text


def test_times_by_the_clock_are_compared_only_where_the_processor_was_there():
    """On a busy machine the kinds of action have no ratio; waiting for a disk is no such thing."""
    busy = replace(RECORD, wall_seconds=3 * RECORD.cpu_seconds)
    rows = {row[0].strip(): row for row in compared(busy)}
    assert rows["advance 70 steps"][1:] == ("700.00 ms", "750.00 ms", "-")
    assert rows["processor time"] == compared(RECORD)[0]
    assert "a processor was there for part of it only" in " ".join(remarks(busy))
    waited = 3 * RECORD.cpu_seconds - RECORD.wall_seconds
    tier = replace(TIER, waited_seconds=waited)
    assert compared(replace(busy, tiers=(tier,))) == compared(RECORD)


def test_what_is_not_known_is_said():
    """No bound, no check, no budget: each in words."""
    text = plan_text(replace(PLAN, gap=None, checked=False, budget=None, candidates=()))
    assert text.startswith("Plan: 100 steps by a schedule given by hand\n")
    assert "optimal    the fastest of the families considered; no lower bound is known" in text
    assert "checked    not played: longer than what the checker plays" in text
    assert "within 1.2% of a proven lower bound" in plan_text(replace(PLAN, gap=0.012))


def test_the_picture_of_a_schedule():
    """One line a sweep, steps from left to right."""
    assert schedule_text(revolve(12, 3)) == REVOLVE_TEXT


def test_the_picture_of_two_tiers():
    """Snapshots on disk have a sign of their own; of many sweeps some are shown."""
    assert schedule_text(multistage(40, 2, 3), lines=9).endswith(DISK_TEXT)


@pytest.mark.parametrize(
    "schedule",
    [
        revolve(3, 1),
        revolve(5000, 20),
        revolve(40, 40, reversal="state"),
        segments(1, 1),
        segments(977, 31),
        store_all(1000),
        store_nothing(7),
        multistage(300, 4, 6),
    ],
    ids=lambda s: f"{s.family} {s.steps}",
)
def test_no_line_is_longer_than_80_columns(schedule):
    """Whatever the schedule, its text keeps to 80 columns and to the lines asked for."""
    lines = schedule_text(schedule, lines=10).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert len(lines) <= 10 + 12


@pytest.mark.parametrize("text", [PLAN_TEXT, RECORD_TEXT, CURVE_TEXT])
def test_texts_keep_to_80_columns(text):
    """No line is longer, and none ends in blanks."""
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())


def test_nonsense_lines_are_refused():
    """A picture of one line shows nothing."""
    with pytest.raises(BadValue, match="lines=1 is too small"):
        schedule_text(revolve(5, 2), lines=1)
