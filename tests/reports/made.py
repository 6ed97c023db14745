"""A plan and a record made by hand, so that texts do not depend on planner or machine."""

from __future__ import annotations

from adjourn import Candidate, Costs, Curve, Plan, Recording, RunRecord, Window, segments
from adjourn.planning import CurvePoint, FamilyCurve
from adjourn.running import TierUse, Verb

COSTS = Costs(
    advance=0.01,
    recordings=[Recording(seconds=0.025, left=2**20)],
    snapshot=2**21,
    write=0.001,
    read=0.001,
    reverse=0.015,
    reads="state",
    window=Window(step_bytes=2**20),
)
PLAN = Plan(
    schedule=segments(100, 30),
    costs=COSTS,
    budget=40 * 2**20,
    disk=None,
    seconds=3.206,
    peak_bytes=36 * 2**20,
    gap=0.0,
    reasons=(
        (
            "segments, 30 steps a window, 3 snapshots: 3.21 s predicted, 36.0 MiB of 40.0 MiB "
            "held at the peak"
        ),
        "the whole history takes 100.0 MiB, which the budget does not hold",
    ),
    candidates=(
        Candidate("segments, 30 steps a window, 3 snapshots", 3.206, 36 * 2**20),
        Candidate("revolve, 19 snapshots", 3.9, 39 * 2**20),
    ),
    checked=True,
)
RECORD = RunRecord(
    plan=PLAN,
    cpu_seconds=3.3,
    wall_seconds=3.5,
    peak_bytes=36 * 2**20,
    resident_growth=37 * 2**20,
    advances=70,
    records=100,
    reverses=100,
    writes=3,
    reads=3,
    verbs=(
        Verb("advance", 70, 0.75, 0.7),
        Verb("record", 100, 1.05, 1.0),
        Verb("save", 3, 0.0029, 0.003),
        Verb("load", 3, 0.0032, 0.003),
        Verb("turn", 1, 0.0002, 0.0),
        Verb("reverse", 100, 1.6, 1.5),
    ),
    own_seconds=0.0008,
)
TIER = TierUse(
    name="disk, int16",
    transfer="direct",
    file_system="ext4",
    disk_bytes=2**24,
    memory_bytes=2**20,
    transfer_seconds=2.0,
    waited_seconds=0.5,
    predicted_seconds=0.4,
    loads=3,
    ratio=2.0,
    largest_error=1.5e-5,
    rms_error=3e-6,
)
CURVE = Curve(
    steps=100,
    store_all_seconds=2.5,
    points=(
        CurvePoint(3 * 2**20, 20.0, 3 * 2**20, "revolve"),
        CurvePoint(10 * 2**20, 4.0, 10 * 2**20, "revolve"),
        CurvePoint(40 * 2**20, 3.206, 36 * 2**20, "segments"),
        CurvePoint(100 * 2**20, 2.5, 100 * 2**20, "store_all"),
    ),
    families=(
        FamilyCurve(
            "revolve",
            (
                CurvePoint(3 * 2**20, 20.0, 3 * 2**20, "revolve"),
                CurvePoint(10 * 2**20, 4.0, 10 * 2**20, "revolve"),
                CurvePoint(40 * 2**20, 3.9, 39 * 2**20, "revolve"),
                CurvePoint(100 * 2**20, 3.8, 99 * 2**20, "revolve"),
            ),
        ),
        FamilyCurve("store_all", (CurvePoint(100 * 2**20, 2.5, 100 * 2**20, "store_all"),)),
    ),
    knee=CurvePoint(10 * 2**20, 4.0, 10 * 2**20, "revolve"),
    chosen=CurvePoint(40 * 2**20, 3.206, 36 * 2**20, "segments"),
)
