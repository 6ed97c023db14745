"""Loss of power: never wrong bits; with ``durable`` no commit is lost once it was written."""

from __future__ import annotations

import math
import random

import pytest

from adjourn.errors import WrongLedger
from adjourn.running import Storage, resume, run
from adjourn.running._journal import Journal
from running.killing import STEPS, make_plan, reference, same
from running.power import PowerFiles, PowerLossError
from running.toy import Toy

PLACE = "/disk"


def kept(files, durable):
    return Storage(overhead=math.inf, direct=False, durable=durable, files=files)


def begin(files, durable, plan):
    toy = Toy(STEPS)
    run(toy, plan, directory=PLACE, storage=kept(files, durable), progress=False)
    return toy


def progress(phase, step):
    """Return how far a commit is, as a number that grows along the run."""
    return step if phase == "forward" else 2 * STEPS - step


@pytest.fixture
def written(monkeypatch):
    """Return the list of commits that were completed."""
    done = []
    commit = Journal.commit

    def noted(self, phase, step):
        commit(self, phase, step)
        done.append(progress(("forward", "reverse")[phase], step))

    monkeypatch.setattr(Journal, "commit", noted)
    return done


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("stride", [0, 1])
def test_power_may_go_at_every_call(written, durable, stride):
    """Cut at each call, with seeded fates of what was not synced: resume, cut again, resume."""
    plan = make_plan(stride=stride)
    expected = reference()
    files = PowerFiles()
    assert same(begin(files, durable, plan), expected)
    assert not files.names
    total = files.calls
    rng = random.Random(8)
    begun = 0
    for at in range(0, total, 1 if durable else 2):
        files = PowerFiles(at)
        written.clear()
        with pytest.raises(PowerLossError):
            begin(files, durable, plan)
        last = written[-1] if written else 0
        files = files.lose_power(rng)
        files.at = rng.randrange(60)
        toy = Toy(STEPS)
        try:
            record = resume(PLACE, toy, storage=kept(files, durable), progress=False)
        except PowerLossError:
            last = max([last, *written])
            files = files.lose_power(rng)
            record = None
        except WrongLedger:
            # Only the removal of a finished run can have taken a durable ledger away.
            assert not (durable and 0 < last < 2 * STEPS)
            files.at = None
            assert same(begin(files, durable, plan), expected)
            begun += 1
            continue
        if record is None:
            try:
                toy = Toy(STEPS)
                record = resume(PLACE, toy, storage=kept(files, durable), progress=False)
            except (WrongLedger, FileNotFoundError):
                assert not (durable and 0 < last < 2 * STEPS)
                files.at = None
                assert same(begin(files, durable, plan), expected)
                continue
        assert same(toy, expected)
        assert not files.names
        if durable and 0 < last < 2 * STEPS:  # at 2 n it was being removed
            words = record.fallbacks[0].split()
            assert words[:2] in (["resumed", "at"], ["resumed", "when"])  # when all was reversed
            if words[1] == "at":
                assert progress(words[6], int(words[3])) >= last
    assert begun < total / 2
