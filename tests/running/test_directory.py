"""The directory of a run: what is no directory, and runs that ended before they had a ledger."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from adjourn import BadValue, WrongType
from adjourn.errors import WrongLedger
from adjourn.running import clean, find_runs, resume, run
from running.killing import STEPS, go, in_child, make_plan, reference, same, storage
from running.toy import Toy
from tiers.faults import FaultyFiles


@pytest.mark.parametrize("value", [5, None, b"run", ""])
def test_what_is_no_path_is_refused(value):
    """Every door to a directory says so by a typed error."""
    for call in (lambda: resume(value, Toy(STEPS)), lambda: find_runs(value), lambda: clean(value)):
        with pytest.raises(WrongType, match=r"=.* is no path\. Pass a directory's path"):
            call()


def test_a_file_is_no_directory(tmp_path):
    """Neither for a new run nor for one to go on with."""
    path = tmp_path / "file"
    path.write_text("mine")
    for call in (
        lambda: resume(path, Toy(STEPS), progress=False),
        lambda: run(Toy(STEPS), make_plan(), directory=path, progress=False),
    ):
        with pytest.raises(BadValue, match="is a file"):
            call()
    assert path.read_text() == "mine"


def test_a_run_killed_while_it_was_measured_starts_over(tmp_path):
    """There is nothing to go on from: it is listed, named by resume, and run anew or removed."""

    class Measured(Toy):
        kill = True

        def advance(self, start, stop, *, replay):
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().advance(start, stop, replay=replay)

    def begin(name):
        toy = Measured(STEPS)
        run(toy, budget="64 KiB", directory=tmp_path / name, progress=False)
        return toy

    for name in ("again", "removed"):
        assert in_child(lambda name=name: begin(name) and 0) == -9
    found = find_runs(tmp_path)
    assert [one.phase for one in found] == ["not begun", "not begun"]
    for _ in range(2):
        with pytest.raises(
            WrongLedger, match=r"before its first step.*adjourn\.run\(.*starts over"
        ):
            resume(tmp_path / "again", Measured(STEPS), progress=False)
    assert [one.path for one in find_runs(tmp_path)] == [one.path for one in found]
    Measured.kill = False
    assert same(begin("again"), reference())
    assert [Path(run.path).name for run in clean(tmp_path)] == ["removed"]
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_is_refused_leaves_nothing(tmp_path):
    """No directory and no lock of a run that never was."""
    with pytest.raises(BadValue, match="the plan is for 20 steps"):
        run(Toy(21), make_plan(), directory=tmp_path / "run", progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("for_ever", [False, True])
@pytest.mark.parametrize("only", ["unlink", "open", "truncate"])
def test_a_directory_is_free_whatever_fails(tmp_path, only, for_ever):
    """Each call that makes or removes files fails: told or raised, and never left locked."""
    expected = reference()
    count = FaultyFiles(only=[only])
    go(tmp_path / "count", count)
    told = 0
    for at in range(count.calls):
        directory = tmp_path / f"run{at}"
        files = FaultyFiles(at, errno.EIO, for_ever=for_ever, only=[only])
        toy = Toy(STEPS)
        try:
            record = run(
                toy, make_plan(), directory=directory, storage=storage(files), progress=False
            )
        except OSError as error:
            assert error.errno == errno.EIO
        else:
            assert same(toy, expected)
            told += any("could be removed" in words for words in record.fallbacks)
        if directory.exists():
            assert same(go(directory), expected)
            assert not directory.exists() or not list(directory.iterdir())
    assert bool(told) == (only == "unlink")
