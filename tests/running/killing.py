"""Runs in a child process that is killed at a chosen call, and what is found afterwards."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from adjourn import Costs, Recording
from adjourn.planning import plan_schedule
from adjourn.running import Storage, resume, run
from adjourn.running._ledger import parse_records
from adjourn.schedules import window
from running.tiered import OnDisk
from running.toy import Toy
from tiers.faults import FaultyFiles

STEPS = 20


def make_plan(length=3, slots=3, stride=1, survives=False):
    """Return a plan of the toy whose snapshots lie on disk, or a part of them."""
    costs = Costs(
        advance=1e-5,
        recordings=[Recording(2e-5, 128)],
        snapshot=256,
        reads="tape",
        window=Toy(STEPS, survives=survives).window(),
        disk_write=1e-5,
        disk_read=1e-5,
    )
    schedule = window(STEPS, length, slots)
    return plan_schedule(OnDisk(STEPS, schedule, stride) if stride else schedule, costs)


def reference(problem=Toy):
    """Return what an uninterrupted run in memory leaves in the problem."""
    toy = problem(STEPS)
    toy.begin()
    toy.record(0, STEPS, replay=False)
    toy.turn()
    toy.reverse(0, STEPS)
    return {name: array.copy() for name, array in toy.carried().items()}


def storage(files=None, **options):
    """Return a storage that commits at every opportunity."""
    return Storage(**{"overhead": math.inf, "direct": False, "files": files, **options})


def go(directory, files=None, plan=None, problem=Toy, **options):
    """Begin, or go on if a run was begun; return the problem."""
    toy = problem(STEPS)
    kept = storage(files, **options)
    ledger = Path(directory) / "adjourn.ledger"
    if ledger.exists() and parse_records(ledger.read_bytes()).records:
        resume(directory, toy, storage=kept, progress=False)
    else:
        run(toy, plan or make_plan(), directory=directory, storage=kept, progress=False)
    return toy


def in_child(work, seconds=None):
    """Run ``work`` in a forked child; return how it ended: 0, an exit code or minus a signal.

    With ``seconds`` it is killed after that time.
    """
    with warnings.catch_warnings():
        # JAX, loaded by other tests, warns of forks; the child never comes near it.
        warnings.simplefilter("ignore", RuntimeWarning)
        pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = work() or 0
        except BaseException as error:
            print(f"child: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(directory, at, fault, **options):
    """Run in a child that is killed at one call; return how it ended."""

    def work():
        go(directory, FaultyFiles(at, fault), **options)

    return in_child(work)


def killed_after(directory, seconds, **options):
    """Run in a child that is killed after a time; return how it ended."""

    def work():
        go(directory, **options)

    return in_child(work, seconds)


def same(toy, expected):
    """Return whether all that a problem carries has the expected bits."""
    found = toy.carried()
    return all(np.array_equal(found[name], array) for name, array in expected.items())


def small_toy():
    """Return the problem of these runs; named on a command line."""
    return Toy(STEPS)
