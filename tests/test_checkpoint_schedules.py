"""Interoperation with the checkpoint_schedules package and with pyadjoint, both real."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjourn
from adjourn import BadValue, NotSupported, ScheduleError, WrongType, check
from adjourn.schedules import (
    Advance,
    Load,
    Record,
    Reverse,
    Save,
    Turn,
    disk_revolve,
    hrevolve,
    listed,
    multistage,
    revolve,
    segments,
    store_all,
    store_nothing,
    window,
)
from running.toy import Toy

theirs = pytest.importorskip("checkpoint_schedules")
bridge = pytest.importorskip("adjourn.checkpoint_schedules")
as_theirs, as_ours = bridge.as_checkpoint_schedule, bridge.from_checkpoint_schedule
RAM, DISK, WORK = theirs.StorageType.RAM, theirs.StorageType.DISK, theirs.StorageType.WORK

pytestmark = pytest.mark.pyadjoint

FAMILIES = {
    "revolve": lambda n, a, b: revolve(n, a + b),
    "segments": lambda n, a, b: segments(n, a),
    "window": lambda n, a, b: window(n, 1 + b, a),
    "multistage": lambda n, a, b: multistage(n, a, b),
    "hrevolve": lambda n, a, b: hrevolve(n, [(a,), (b, 2, 2)]),
    "disk_revolve": lambda n, a, b: disk_revolve(n, a),
}
# Theirs that take (steps, RAM, disk), with the storage each states; 1 step is left to them.
THEIRS = {
    "Multistage": lambda n, a, b: theirs.MultistageCheckpointSchedule(n, a, b),
    "Revolve": lambda n, a, b: theirs.Revolve(n, a),
    "HRevolve": lambda n, a, b: theirs.HRevolve(n, a, b),
    "DiskRevolve": lambda n, a, b: theirs.DiskRevolve(n, a),
    "PeriodicDisk": lambda n, a, b: theirs.PeriodicDiskRevolve(n, a),
    "Mixed": lambda n, a, b: theirs.MixedCheckpointSchedule(n, min(a, n - 1)),
    "TwoLevel": lambda n, a, b: theirs.TwoLevelCheckpointSchedule(1 + b, a, binomial_storage=RAM),
    "Memory": lambda n, a, b: theirs.SingleMemoryStorageSchedule(),
    "Disk": lambda n, a, b: theirs.SingleDiskStorageSchedule(),
    "DiskMoved": lambda n, a, b: theirs.SingleDiskStorageSchedule(move_data=True),
}
SIZES = st.tuples(st.integers(2, 40), st.integers(1, 6), st.integers(1, 6))


@pytest.fixture(autouse=True)
def no_numba():
    """Their mixed schedule warns when numba is not installed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Numba not available")
        yield


class Reader:
    """Plays their actions as their documentation states them; shares no code with the bridge."""

    def __init__(self, steps):
        self.steps, self.live, self.next = steps, 0, steps
        self.states, self.tapes, self.work = {}, {}, set()
        self.forward = 0
        self.ended = False

    def play(self, schedule):
        assert schedule.max_n == self.steps
        for action in schedule:
            getattr(self, type(action).__name__)(action)
            assert not schedule.is_exhausted or isinstance(action, theirs.EndReverse)
            if isinstance(action, theirs.EndReverse):
                break
        assert schedule.is_exhausted
        assert schedule.r == self.steps
        with pytest.raises(StopIteration):
            next(schedule)
        return self

    def Forward(self, action):
        assert action.n0 == self.live < action.n1 <= self.next
        if action.write_ics:
            assert action.storage in (RAM, DISK)
            assert (action.n0, action.storage) not in self.states
            self.states[action.n0, action.storage] = range(action.n0, action.n1)
        if action.write_adj_deps:
            new = set(range(action.n0, action.n1))
            if action.storage is WORK:
                self.work = self.work | new if max(self.work, default=-1) < action.n0 else new
            else:
                self.tapes.update({(step, action.storage): step for step in new})
        else:
            self.work = set()
        self.forward += action.n1 - action.n0
        self.live = action.n1

    def EndForward(self, action):
        assert self.live == self.steps
        assert not self.ended
        self.ended = True

    def Copy(self, action, *, move=False):
        key = action.n, action.from_storage
        assert (key in self.states) != (key in self.tapes)
        if key in self.states:
            if action.to_storage is WORK:
                self.live, self.work = action.n, set()
            if move:
                del self.states[key]
        else:
            assert action.to_storage is WORK
            self.work.add(action.n)
            if move:
                del self.tapes[key]

    def Move(self, action):
        self.Copy(action, move=True)

    def Reverse(self, action):
        assert self.ended
        assert action.n1 == self.next
        assert set(action) <= self.work
        assert action.clear_adj_deps
        self.work -= set(action)
        self.next, self.live = action.n0, None

    def EndReverse(self, action):
        assert self.next == 0
        assert not self.states
        assert not self.tapes


@given(st.sampled_from(sorted(FAMILIES)), SIZES, st.sampled_from(["ram", "work"]))
def test_ours_keep_the_rules_of_their_vocabulary(family, sizes, tapes):
    """Played by a reader of their documentation: right order, nothing missing, nothing left."""
    schedule = FAMILIES[family](*sizes)
    played = Reader(schedule.steps).play(as_theirs(schedule, tapes=tapes))
    assert played.forward == schedule.forward_steps


@given(st.sampled_from(sorted(FAMILIES)), SIZES, st.sampled_from(["ram", "work"]))
def test_there_and_back_changes_nothing(family, sizes, tapes):
    """Ours, translated to theirs and back, takes the same advances, writes and reads."""
    schedule = FAMILIES[family](*sizes)
    back = as_ours(as_theirs(schedule, tapes=tapes))
    seen = check(back)
    counts = schedule.counts
    assert (seen.advances, seen.records) == (counts.advances, counts.records)
    assert seen.writes == counts.writes[: len(seen.writes)]
    assert seen.reads == counts.reads[: len(seen.reads)]
    assert sum(seen.writes) == schedule.writes


@given(st.sampled_from(sorted(THEIRS)), SIZES)
def test_theirs_play_in_our_checker(family, sizes):
    """Every schedule of that package, translated, reverses every step and leaves nothing."""
    steps = sizes[0]
    given = THEIRS[family](*sizes)
    ours = as_ours(given, None if given.max_n else steps)
    seen = check(ours)
    assert seen.reversed == range(steps)[::-1]
    if family in ("Memory", "Disk", "DiskMoved"):
        assert seen.forward_steps == steps
    if family in ("Multistage", "Revolve"):
        slots = sizes[1] + (sizes[2] if family == "Multistage" else 0)
        assert seen.advances == adjourn.revolve(steps, slots).advances


def left_and_most_on_disk(schedule) -> tuple[int, int]:
    """Return the snapshots never deleted, and the most on disk at once, of one of theirs."""
    held, most = set(), 0
    for action in schedule:
        if isinstance(action, theirs.Forward) and action.write_ics:
            held.add((action.n0, action.storage))
        elif isinstance(action, theirs.Move):
            held.remove((action.n, action.from_storage))
        most = max(most, sum(storage is DISK for _, storage in held))
        if isinstance(action, theirs.EndReverse):
            break
    return len(held), most


def test_faults_of_theirs_are_not_repeated():
    """Their HRevolve leaves snapshots and exceeds its disk; ours and its translation do not."""
    leaving = exceeding = 0
    for steps in range(3, 30):
        for ram, disk in ((1, 1), (2, 1), (1, 2), (2, 2)):
            left, most = left_and_most_on_disk(theirs.HRevolve(steps, ram, disk))
            leaving += left > 0
            exceeding += most > disk
            check(as_ours(theirs.HRevolve(steps, ram, disk)), limits=(ram, disk))
            ours = as_theirs(hrevolve(steps, [(ram,), (disk, 2, 2)]), tapes="work")
            left, most = left_and_most_on_disk(ours)
            assert left == 0
            assert most <= disk
    assert leaving > 0
    assert exceeding > 0


@pytest.mark.parametrize("family", sorted(THEIRS))
def test_theirs_run_in_our_executor(family):
    """The gradient by a schedule of theirs has the bits of the stored-history gradient."""
    stored = Toy(steps=13)
    adjourn.run(stored, store_all(13), progress=False)
    given = THEIRS[family](13, 2, 3)
    plan = as_ours(given, None if given.max_n else 13)
    problem = Toy(steps=13, survives=plan.reversal == "tape")
    costs = adjourn.Costs(
        advance=1,
        recordings=[adjourn.Recording(seconds=2, left=1)],
        snapshot=256,
        window=None if problem.survives else problem.window(),
        disk_write=1,
        disk_read=1,
    )
    record = adjourn.run(problem, adjourn.planning.plan_schedule(plan, costs), progress=False)
    assert record.reverses == 13
    assert np.array_equal(problem.gradient, stored.gradient)


def test_bad_input():
    """What cannot be translated is refused, and says what can."""
    with pytest.raises(WrongType, match="schedule=3 is no schedule of adjourn"):
        as_theirs(3)
    with pytest.raises(BadValue, match="tapes='disk'"):
        as_theirs(revolve(3, 1), tapes="disk")
    with pytest.raises(NotSupported, match='has reversal="nothing"'):
        as_theirs(store_nothing(3))
    with pytest.raises(NotSupported, match='has reversal="state"'):
        as_theirs(revolve(3, 2, reversal="state"))
    with pytest.raises(NotSupported, match="has 3 tiers"):
        as_theirs(hrevolve(9, [(1, 0, 0), (1, 0.1, 0.1), (1, 0.2, 0.2)]))
    with pytest.raises(WrongType, match="schedule=3 is no schedule of checkpoint_schedules"):
        as_ours(3)
    with pytest.raises(BadValue, match="does not know the number of steps"):
        as_ours(theirs.SingleMemoryStorageSchedule())
    with pytest.raises(BadValue, match="steps=4, and the schedule is for 3"):
        as_ours(theirs.Revolve(3, 1), 4)
    started = theirs.Revolve(3, 1)
    next(started)
    with pytest.raises(BadValue, match="was started before"):
        as_ours(started)
    with pytest.raises(ScheduleError, match="reverses nothing"):
        as_ours(theirs.NoneCheckpointSchedule(), 3)


def test_what_their_vocabulary_cannot_say():
    """One step in two tiers, and a snapshot of a step recorded at once, are refused."""
    twice = listed(1, [Save(0, 0), Save(0, 1), Record(0, 1), Turn(), Reverse(0, 1)])
    with pytest.raises(NotSupported, match="one step in two tiers"):
        list(as_theirs(twice))
    both = listed(1, [Save(0), Record(0, 1), Turn(), Reverse(0, 1)])
    with pytest.raises(NotSupported, match="a step that is recorded at once"):
        list(as_theirs(both))


def test_what_theirs_asks_for_must_be_stored():
    """A copy of what was not stored is named."""

    class Wrong(theirs.CheckpointSchedule):
        def _iterator(self):
            yield theirs.Forward(0, 2, False, True, WORK)
            yield theirs.EndForward()
            yield theirs.Copy(1, RAM, WORK)

        def uses_storage_type(self, storage_type):
            return False

    with pytest.raises(ScheduleError, match=r"Copy\(1, StorageType.RAM, StorageType.WORK\) reads"):
        as_ours(Wrong(2))


def test_recordings_that_survive():
    """Recordings kept over other forward steps go to storage and are moved back in time."""
    actions = [
        Record(0, 1),
        Save(1),
        Advance(1, 3),
        Record(3, 4),
        Turn(),
        Reverse(3, 4),
        Load(1),
        Record(1, 3),
        Reverse(1, 3),
        Reverse(0, 1),
    ]
    actions.insert(7, adjourn.schedules.Drop(1))
    schedule = listed(4, actions, reversal="tape")
    check(schedule)
    for tapes in ("ram", "work"):
        Reader(4).play(as_theirs(schedule, tapes=tapes))
        back = as_ours(as_theirs(schedule, tapes=tapes))
        assert back.reversal == "tape"
        assert check(back).forward_steps == 6


# pyadjoint -------------------------------------------------------------------------------------

pyadjoint = pytest.importorskip("pyadjoint")
STEPS = 13
PHYSICS = {
    "power": lambda u, c: u**1.1,
    "logistic": lambda u, c: u + 0.1 * u * (1.0 - u) * u**0.5,
    "forced": lambda u, c: u + 0.1 * u * (c - u) * u**0.5,
}
DRIVERS = {
    "store_all": store_all(STEPS),
    "revolve": revolve(STEPS, 3),
    "multistage": multistage(STEPS, 2, 1),
    "hrevolve": hrevolve(STEPS, [(1,), (2, 2, 2)]),
    "disk_revolve": disk_revolve(STEPS, 1),
    "segments": segments(STEPS, 4),
    "window": window(STEPS, 2, 3),
    "mixed": as_ours(theirs.MultistageCheckpointSchedule(STEPS, 3, 0)),
}


def functional(physics, schedule, running):
    """Tape a time loop of AdjFloats with the schedule; return its reduced functional."""
    tape = pyadjoint.Tape()
    with pyadjoint.set_working_tape(tape):
        pyadjoint.continue_annotation()
        if schedule is not None:
            tape.enable_checkpointing(schedule)
        control = pyadjoint.AdjFloat(0.7)
        u = control
        total = pyadjoint.AdjFloat(0.0)
        for _ in tape.timestepper(iter(range(STEPS))):
            u = PHYSICS[physics](u, control)
            if running:
                total = total + u * u
        goal = total if running else u * u
        reduced = pyadjoint.ReducedFunctional(goal, pyadjoint.Control(control), tape=tape)
        pyadjoint.pause_annotation()
    return reduced


@pytest.mark.parametrize("running", [False, True], ids=["final", "running"])
@pytest.mark.parametrize("physics", sorted(PHYSICS))
@pytest.mark.parametrize("family", sorted(DRIVERS))
def test_pyadjoint_gradients(family, physics, running, caplog):
    """By our schedules, pyadjoint's gradient is that without checkpointing, bit for bit.

    Also after the functional was evaluated at another control, where pyadjoint runs the tape's
    blocks again; there the Taylor test converges at second order.
    """
    caplog.set_level("ERROR")
    plain = functional(physics, None, running)
    driven = functional(physics, as_theirs(DRIVERS[family], tiers=("ram", "ram")), running)
    assert driven.derivative() == plain.derivative()
    other = pyadjoint.AdjFloat(1.3)
    assert driven(other) == plain(other)
    assert driven.derivative() == plain.derivative()
    step = pyadjoint.AdjFloat(0.1)
    assert pyadjoint.taylor_test(driven, other, step) > 1.95


@pytest.mark.parametrize("family", sorted(DRIVERS))
def test_pyadjoint_recomputes_as_many_blocks_as_predicted(family, monkeypatch):
    """Pyadjoint runs again exactly the forward steps that the schedule states."""
    from pyadjoint.adjfloat import AdjFloatExprBlock  # noqa: PLC0415

    schedule = DRIVERS[family]
    driven = functional("power", as_theirs(schedule, tiers=("ram", "ram")), running=False)
    count = []
    run_again = AdjFloatExprBlock.recompute
    monkeypatch.setattr(
        AdjFloatExprBlock, "recompute", lambda self, *a, **k: (count.append(1), run_again(self))
    )
    driven.derivative()
    extra = len(count)  # one block a step, and the goal's block in the last, which is not re-run
    assert extra == schedule.recomputed_steps


def test_pyadjoint_needs_a_disk_for_schedules_with_one():
    """Without a package that stores on disk, pyadjoint itself refuses a schedule that does."""
    with pyadjoint.set_working_tape() as tape:
        with pytest.raises(pyadjoint.checkpointing.CheckpointError, match="disk checkpointing"):
            tape.enable_checkpointing(as_theirs(multistage(STEPS, 1, 2)))
        tape.enable_checkpointing(as_theirs(multistage(STEPS, 3, 0)))
