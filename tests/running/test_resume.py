"""Kill and resume: at every call and at random moments, the same bits, and nothing left."""

from __future__ import annotations

import errno
import math
import os
import random
import signal
from dataclasses import replace

import numpy as np
import pytest

from adjourn import BadValue, CorruptSnapshot, Costs, ProblemFailed, Recording
from adjourn.errors import DirectoryBusy, DiskFull, NotSupported, TierFull, WrongLedger
from adjourn.planning import plan_schedule
from adjourn.running import Storage, clean, find_runs, resume, run
from adjourn.schedules import spread, window
from adjourn.tiers import Zstd
from running.killing import (
    STEPS,
    go,
    in_child,
    killed_after,
    killed_at,
    make_plan,
    reference,
    same,
    storage,
)
from running.toy import Toy
from tiers.faults import FaultyFiles

PLANS = {
    "disk": {"stride": 1},
    "disk and memory": {"stride": 4},
    "memory": {"stride": 0},
}


@pytest.mark.parametrize("tiers", PLANS)
@pytest.mark.parametrize("background", [0, 2])
def test_a_run_in_a_directory_gives_the_same_bits_and_leaves_nothing(tmp_path, tiers, background):
    """The directory that was made is gone; one that was there is empty."""
    expected = reference()
    plan = make_plan(**PLANS[tiers])
    assert same(go(tmp_path / "new", plan=plan, background=background), expected)
    assert list(tmp_path.iterdir()) == []
    assert same(go(tmp_path, plan=plan, background=background), expected)
    assert list(tmp_path.iterdir()) == []


def calls_of(tmp_path, **options):
    """Return how many system calls an undisturbed run makes, and their names."""
    files = FaultyFiles()
    go(tmp_path / "count", files, **options)
    return files.log


def finish(directory, expected, **options):
    """Resume in this process, and check that the bits are right and nothing is left."""
    toy = go(directory, **options)
    assert same(toy, expected)
    assert not directory.exists() or not list(directory.iterdir())


@pytest.mark.parametrize("fault", ["kill", "kill-mid", "kill-after"])
@pytest.mark.parametrize("tiers", ["disk", "memory"])
def test_killed_at_every_call_the_bits_are_the_same(tmp_path, fault, tiers):
    """Kill before, in the middle of and after each system call of a small run; then resume."""
    plan = make_plan(**PLANS[tiers])
    expected = reference()
    names = calls_of(tmp_path, plan=plan)
    assert {"open", "pwrite", "allocate", "unlink"} <= set(names)
    assert ("preadv" in names) == (tiers == "disk")
    stride = 2 if tiers == "disk" else 3
    for at in range({"kill": 0, "kill-mid": 1, "kill-after": 0}[fault], len(names), stride):
        if fault == "kill-mid" and names[at] not in ("pwrite", "preadv"):
            continue
        directory = tmp_path / f"run{at}"
        assert killed_at(directory, at, fault, plan=plan) == -9, names[at]
        finish(directory, expected, plan=plan)


@pytest.mark.parametrize("tiers", ["disk", "disk and memory"])
def test_killed_again_while_resuming_the_bits_are_the_same(tmp_path, tiers):
    """Kill a run, kill its resumption, resume again: seeded pairs of calls."""
    plan = make_plan(**PLANS[tiers])
    expected = reference()
    count = len(calls_of(tmp_path, plan=plan))
    rng = random.Random(7)
    for trial in range(25):
        directory = tmp_path / f"run{trial}"
        killed_at(directory, rng.randrange(count), "kill-mid", plan=plan)
        killed_at(directory, rng.randrange(count), rng.choice(["kill", "kill-mid"]), plan=plan)
        if directory.exists():
            finish(directory, expected, plan=plan)


def killed_at_random_moments(tmp_path, points, seed):
    """Kill by the clock at random moments, twice in a row, then resume; return what was seen."""
    expected = reference()
    rng = random.Random(seed)
    ends = []
    for trial in range(points):
        directory = tmp_path / f"run{trial}"
        plan = make_plan(stride=rng.choice([0, 1, 4]))
        options = {"plan": plan, "background": rng.choice([0, 2])}
        moments = [rng.uniform(0.0005, 0.02) for _ in range(2)]
        ends.extend([killed_after(directory, moment, **options) for moment in moments])
        if directory.exists():
            finish(directory, expected, **options)
    return ends


def test_killed_at_random_moments_the_bits_are_the_same(tmp_path):
    """60 seeded random moments here; 600 in `make nightly`."""
    ends = killed_at_random_moments(tmp_path, 30, seed=3)
    assert ends.count(-9) > 20


@pytest.mark.nightly
def test_killed_at_many_random_moments_the_bits_are_the_same(tmp_path):
    """600 seeded random moments, in pairs."""
    assert killed_at_random_moments(tmp_path, 300, seed=4).count(-9) > 200


def test_a_resumed_run_does_less_than_all(tmp_path):
    """Killed late, it goes on from the last commit and the snapshots below, and says so."""
    plan = make_plan()
    names = calls_of(tmp_path, plan=plan)
    directory = tmp_path / "run"
    at = len(names) - 1 - names[::-1].index("preadv")
    killed_at(directory, at, "kill", plan=plan)
    toy = Toy(STEPS)
    record = resume(directory, toy, storage=storage(), progress=False)
    assert toy.forward < STEPS
    assert sum(stop - start for start, stop in toy.log) < STEPS
    assert record.fallbacks[0].startswith("resumed at step ")
    assert "of the reverse sweep" in record.fallbacks[0]
    assert record.plan.schedule.family == "rest"


@pytest.mark.parametrize("on", ["forward", "reverse"])
def test_a_step_that_crashes_can_be_resumed(tmp_path, on):
    """The problem raises in the middle of a sweep; the error says how to go on."""

    class Crashing(Toy):
        crash = True

        def _step(self, step, replay):
            if self.crash and on == "forward" and step == 13:
                raise FloatingPointError("blown up")
            super()._step(step, replay)

        def reverse(self, start, stop):
            if self.crash and on == "reverse" and start <= 9 < stop:
                raise FloatingPointError("blown up")
            super().reverse(start, stop)

    with pytest.raises(ProblemFailed, match="blown up") as seen:
        go(tmp_path / "run", problem=Crashing)
    assert any("adjourn.resume(" in note for note in seen.value.__notes__)
    Crashing.crash = False
    toy = Crashing(STEPS)
    record = resume(tmp_path / "run", toy, storage=storage(), progress=False)
    assert same(toy, reference())
    assert f"of the {on} sweep" in record.fallbacks[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("for_ever", [False, True])
@pytest.mark.parametrize("fault", [errno.EIO, errno.ENOSPC, errno.EINTR, "short"])
@pytest.mark.parametrize("tolerant", [False, True])
def test_every_call_may_fail(tmp_path, fault, for_ever, tolerant):
    """Fail the N-th call for every N: the right bits or a typed error, then resume: right bits."""
    if fault == errno.EINTR and for_ever:
        pytest.skip("a system that interrupts for ever makes no progress")
    rule = "recompute" if tolerant else "raise"
    options = {"on_corrupt": rule, "on_full": rule, "durable": True}
    expected = reference()
    only = ("pwrite", "preadv", "allocate", "sync")
    files = FaultyFiles(only=only)
    go(tmp_path / "count", files, **options)
    failed = 0
    for at in range(0, files.calls, 3):
        directory = tmp_path / f"run{at}"
        toy, error = None, None
        try:
            toy = go(directory, FaultyFiles(at, fault, for_ever=for_ever, only=only), **options)
        except OSError as caught:
            error = caught
        if error is None:
            assert same(toy, expected)
            assert not directory.exists()
            continue
        failed += 1
        assert fault in (errno.EIO, errno.ENOSPC)
        assert error.errno == fault or isinstance(error, DiskFull | CorruptSnapshot)
        if directory.exists():
            finish(directory, expected, **options)
    assert (failed > 0) == (fault in (errno.EIO, errno.ENOSPC))


def test_damage_to_any_file_is_noticed(tmp_path):
    """Flip bytes all over the directory of a killed run: the same bits, never wrong ones."""
    expected = reference()
    names = calls_of(tmp_path)
    source = tmp_path / "run"
    killed_at(source, len(names) * 2 // 3, "kill")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    rng = random.Random(2)
    begins = [name for name in files if "ledger" not in name and "lock" not in name]
    assert len(begins) == 3
    told = 0
    for trial in range(60):
        directory = tmp_path / f"harmed{trial}"
        directory.mkdir()
        harmed = rng.choice([*begins, "adjourn.ledger"])
        for name, content in files.items():
            data = bytearray(content)
            if name == harmed:
                used = len(data.rstrip(b"\x00"))
                low = 4000 if "ledger" in name else 0
                for _ in range(rng.choice([1, 3])):
                    data[rng.randrange(min(low, used - 1), used)] ^= 1 << rng.randrange(8)
                if rng.random() < 0.3:
                    del data[rng.randrange(min(low, used - 1), used) :]
            (directory / name).write_bytes(data)
        toy = Toy(STEPS)
        record = resume(directory, toy, storage=storage(), progress=False)
        assert same(toy, expected)
        told += len(record.fallbacks) > 1
    assert told > 30


def test_only_one_run_a_directory(tmp_path):
    """The second is told pid and host; afterwards the directory is free."""

    class Nosy(Toy):
        seen = None

        def turn(self):
            with pytest.raises(DirectoryBusy, match=r"process \d+ on .* runs in it"):
                resume(tmp_path, Toy(STEPS), progress=False)
            with pytest.raises(DirectoryBusy, match=r"process \d+ on .* runs in it") as seen:
                run(Toy(STEPS), make_plan(), directory=tmp_path, progress=False)
            Nosy.seen = str(seen.value)
            assert find_runs(tmp_path)[0].running.startswith("process ")
            assert clean(tmp_path) == []
            super().turn()

    assert same(go(tmp_path, problem=Nosy), reference())
    assert f"process {os.getpid()} on" in Nosy.seen


def interrupted(directory, **options):
    names = calls_of(directory.parent / "counting", **options)
    killed_at(directory, len(names) // 2, "kill", **options)
    assert directory.exists()


def test_a_run_of_something_else_is_refused_by_name(tmp_path):
    """Another problem, another number of steps, another version: each difference is named."""
    directory = tmp_path / "run"
    interrupted(directory)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(WrongLedger, match="a run of 20 steps; this problem has 21"):
        resume(directory, Toy(21), progress=False)
    with pytest.raises(WrongLedger, match=r"its first state is .*its identity is 'm="):
        resume(directory, Toy(STEPS, seed=1), progress=False)
    with pytest.raises(WrongLedger, match=r"its state is .*its carried is "):
        resume(directory, Toy(STEPS, size=17), progress=False)

    class Other(Toy):
        pass

    with pytest.raises(WrongLedger, match=r"its type is '.*toy\.Toy', this one's .*Other"):
        resume(directory, Other(STEPS), progress=False)
    with pytest.raises(BadValue, match="holds a run that is not finished"):
        run(Toy(STEPS), make_plan(), directory=directory, progress=False)
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    del before["adjourn.lock"], after["adjourn.lock"]
    assert before == after
    assert same(go(directory), reference())


def test_what_is_no_run_is_refused(tmp_path):
    """No directory, an empty one, a problem without `carried`."""
    with pytest.raises(FileNotFoundError, match="is not there"):
        resume(tmp_path / "none", Toy(STEPS), progress=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(WrongLedger, match="it holds no run"):
        resume(tmp_path / "empty", Toy(STEPS), progress=False)

    class Bare(Toy):
        carried = None

    with pytest.raises(NotSupported, match="has no carried"):
        run(Bare(STEPS), make_plan(), directory=tmp_path / "bare", progress=False)
    assert not (tmp_path / "bare").exists()
    assert not list((tmp_path / "empty").iterdir())


def test_a_full_disk_is_met_before_the_run(tmp_path):
    """DiskFull at once, no step was run, nothing is left."""
    toy = Toy(STEPS)
    files = FaultyFiles(0, errno.ENOSPC, only=["allocate"])
    with pytest.raises(DiskFull, match="free"):
        run(toy, make_plan(), directory=tmp_path / "run", storage=storage(files), progress=False)
    assert toy.forward == 0
    assert list(tmp_path.iterdir()) == []


def test_commits_follow_the_overhead(tmp_path):
    """None at 0, each opportunity at infinity, and between them so many as the share allows."""
    counts = {}
    for overhead in (0, math.inf):
        files = FaultyFiles()
        go(tmp_path / "run", files, overhead=overhead)
        counts[overhead] = files.calls
    assert counts[0] + 15 < counts[math.inf]


@pytest.mark.parametrize("options", [{"encoder": Zstd()}, {"durable": True}, {"background": 3}])
def test_other_storages_resume_too(tmp_path, options):
    """Encoded, durable and background storage, killed at seeded calls."""
    expected = reference()
    plan = make_plan()
    count = len(calls_of(tmp_path, plan=plan, **options))
    rng = random.Random(11)
    for trial in range(12):
        directory = tmp_path / f"run{trial}"
        ended = killed_at(directory, rng.randrange(count - 8), "kill-mid", plan=plan, **options)
        assert ended == -9
        finish(directory, expected, plan=plan, **options)


def test_settings_are_kept_in_the_ledger(tmp_path):
    """Without a storage, a resumed run uses the disk as before."""
    directory = tmp_path / "run"
    interrupted(directory, encoder=Zstd(3), background=2)
    toy = Toy(STEPS)
    record = resume(directory, toy, progress=False)
    assert same(toy, reference())
    assert [use.name for use in record.tiers] == ["disk (zstd 3), background"]


def test_clean_lists_and_removes_what_nobody_runs(tmp_path):
    """Killed runs are found with their progress, and removed; other files stay."""
    interrupted(tmp_path / "one")
    (tmp_path / "mine.txt").write_text("keep me")
    (tmp_path / "one" / "mine.txt").write_text("keep me")
    (found,) = find_runs(tmp_path)
    assert found.path == str(tmp_path / "one")
    assert found.steps == STEPS
    assert found.phase in ("forward", "reverse")
    assert found.running is None
    assert found.nbytes > 4096
    assert found.problem.endswith("Toy")
    assert clean(tmp_path) == [found]
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["mine.txt", "mine.txt"]
    assert find_runs(tmp_path) == []
    with pytest.raises(FileNotFoundError, match="no directory"):
        find_runs(tmp_path / "none")


def test_lost_snapshots_are_recomputed_and_told(tmp_path):
    """With on_corrupt="recompute" a damaged pool costs steps, never bits."""
    pools = []

    class Harming(Storage):
        __slots__ = ()

        def pool(self, path, run):
            pools.append(super().pool(path, run))
            return pools[-1]

    class Harmed(Toy):
        def turn(self):
            super().turn()
            pool = pools[0]
            for step in pool.held():
                slot, _ = pool._slots[step]
                pool._files.pwrite(pool._file.fd, b"damage", 4096 + slot * 8192 + 4100)

    expected = reference()
    with pytest.raises(CorruptSnapshot, match=r"slot \d, which should hold step"):
        run(Harmed(STEPS), make_plan(), storage=Harming(direct=False), progress=False)
    toy = Harmed(STEPS)
    kept = Harming(direct=False, on_corrupt="recompute")
    pools.clear()
    record = run(toy, make_plan(), storage=kept, progress=False)
    assert same(toy, expected)
    assert record.advances > make_plan().schedule.advances
    assert any("was lost, and run again from the beginning" in told for told in record.fallbacks)


def test_a_disk_that_fills_costs_steps_not_bits(tmp_path):
    """With on_full="recompute" writes may fail from any point on for ever."""
    expected = reference()
    for at in range(1, 12):
        files = FaultyFiles(at, errno.ENOSPC, for_ever=True, only=["pwrite"])
        kept = Storage(direct=False, files=files, on_full="recompute")
        toy = Toy(STEPS)
        record = run(toy, make_plan(), storage=kept, progress=False)
        assert same(toy, expected)
        if at < 5:
            assert any("was not kept" in told for told in record.fallbacks)


def test_sigterm_is_survived(tmp_path):
    """A run ended by SIGTERM, as a queue does, resumes."""

    class Ended(Toy):
        def turn(self):
            os.kill(os.getpid(), signal.SIGTERM)

    def work():
        go(tmp_path / "run", problem=Ended)

    assert in_child(work) == -15
    Ended.turn = Toy.turn
    finish(tmp_path / "run", reference(), problem=Ended)


def test_the_carried_arrays_are_loaded_in_place(tmp_path):
    """Arrays that the user holds are filled, not replaced."""
    interrupted(tmp_path / "run")
    toy = Toy(STEPS)
    gradient = toy.gradient
    resume(tmp_path / "run", toy, progress=False)
    assert gradient is toy.gradient
    assert np.array_equal(gradient, reference()["gradient"])


class Quiet(Toy):
    """A toy all of whose values are alike, so that its states compress well."""

    def __init__(self, steps=STEPS, size=4096):
        super().__init__(steps, size)
        self.m[:] = self.m[0]
        self.start[:] = self.start[:, :1]


def test_encoded_snapshots_that_are_smaller_buy_more_of_them(tmp_path):
    """Planned for few slots, a run whose states compress well is planned anew, and runs less."""
    steps = 60
    exact = Quiet(steps)
    whole = run(exact, budget="64 MiB", progress=False)
    assert whole.recomputed_steps <= 0
    costs = Costs(
        advance=1e-3,
        recordings=[Recording(2e-3, 32768)],
        snapshot=65536,
        reads="tape",
        window=exact.window(),
        disk_write=1e-5,
        disk_read=1e-5,
    )
    plan = plan_schedule(spread(window(steps, 2, 3), 3), costs)
    toy = Quiet(steps)
    kept = Storage(encoder=Zstd(), ratio=1.0)
    record = run(toy, plan, storage=kept, progress=False)
    assert np.array_equal(toy.gradient, exact.gradient)
    assert record.tiers[0].ratio > 5
    assert record.advances < 0.8 * plan.schedule.advances
    assert any("leave room for more" in told for told in record.fallbacks)


def test_encoded_snapshots_that_are_larger_are_planned_anew():
    """Planned for a ratio that does not come true, a run goes on with fewer snapshots."""
    toy = Toy(60, size=4096)
    costs = Costs(
        advance=1e-3,
        recordings=[Recording(2e-3, 32768)],
        snapshot=65536,
        reads="tape",
        window=toy.window(),
        disk_write=1e-5,
        disk_read=1e-5,
    )
    plan = plan_schedule(spread(window(60, 4, 9), 9), costs)
    exact = Toy(60, size=4096)
    run(exact, budget="64 MiB", progress=False)
    with pytest.raises(TierFull, match="compresses less well"):
        run(toy, plan, storage=Storage(encoder=Zstd(), ratio=3.0), progress=False)
    kept = Storage(encoder=Zstd(), ratio=3.0, on_full="recompute")
    for background in (0, 2):
        record = run(toy, plan, storage=replace(kept, background=background), progress=False)
        assert np.array_equal(toy.gradient, exact.gradient)
        assert any("was planned anew" in told for told in record.fallbacks)
        assert plan.schedule.advances < record.advances < 5 * plan.schedule.advances
