"""Runs that outlive their process: begun in a directory, resumed from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import BadValue, CorruptSnapshot, ProblemFailed, WrongLedger
from ..planning import Plan
from ..problem import Problem
from ..schedules import Action
from ..tiers import Background, DiskPool, Encoded, Tier, specs_of
from ._directory import RunDirectory
from ._journal import Commit, Journal, check_identity, first_record, identity_of
from ._ledger import LedgerContent
from ._play import play
from ._protocol import require_problem
from ._record import RunRecord
from ._recovery import restart
from ._rest import Rest, plan_rest
from ._stage import Stage, begin, open_stage, planned_ratio
from ._storage import Storage

__all__ = ["resume", "run_in"]

_RUN = 16


def resume(
    directory: str | Path,
    problem: Problem,
    *,
    storage: Storage | None = None,
    progress: bool = True,
) -> RunRecord:
    """Go on with a run that ended before its time; the problem then holds the gradient.

    Reads the last commit and every snapshot once, each by its checksum, plans what is left from
    what is valid, and plays it: from the last committed step of the reverse sweep and the
    snapshots below it, or of the forward sweep, or from the beginning. The bits are those of a
    run that was never interrupted, whatever happened and how often (with lossless tiers). After
    success nothing of the run is left on the disk.

    Parameters
    ----------
    directory : str or Path
        What `adjourn.run` was given.
    problem : Problem
        The same problem, made anew.
    storage : Storage, optional
        How the disk is used from here on; as before by default.
    progress : bool
        Show a bar on a terminal.

    Returns
    -------
    RunRecord
        What was done since; ``fallbacks`` says where it went on, and what was damaged.

    Raises
    ------
    WrongLedger
        The directory holds no run, or one of another problem or version; the message says how
        they differ, and nothing was changed.
    DirectoryBusy
        The run is still going on.
    FileNotFoundError
        There is no such directory.
    WrongType
        The directory is no path, or the problem none.
    """
    require_problem(problem)
    place = RunDirectory(directory, storage.files if storage else None)
    if not place.files.exists(place.path):
        raise FileNotFoundError(
            f"directory={place.path!r} is not there. Pass the directory of a run."
        )
    place.lock(make=False)
    try:
        content = place.read()
        if content is None:
            raise _nothing_to_resume(place)
        first = first_record(content, place.path)
        made = _matching(content, first, problem, place.path)
        storage = storage or Storage.from_json(first["storage"])
        place.take_over(bool(first.get("made")))
    except BaseException:
        place.let_be()
        raise
    run = bytes.fromhex(first["run"])
    stage: Stage | None = None
    journal = _journal(place, problem, run, storage)
    try:
        told = journal.continue_from(content)
        found = journal.restore()
        tiers, damaged = _adopt(problem, made, storage, place, run)
        told += damaged
        held = [(step, number) for number, tier in enumerate(tiers, 1) for step in tier.held()]
        commit = found[0] if found else Commit("forward", 0, 0)
        turned = commit.phase == "reverse"
        live = 0 if turned else commit.step
        if found and not turned:
            loaded = getattr(problem, "loaded", None)
            if loaded is not None:
                loaded(commit.step, found[1])
        if turned and commit.step == 0:
            record = None
        else:
            stop = commit.step if turned else made.steps
            rest = plan_rest(made, stop, held, live=live, turned=turned)
            stage = _stage_of_rest(problem, rest, storage, tiers)
            record = play(
                problem,
                stage,
                rest.schedule,
                journal=journal,
                progress=progress,
                far=made.steps if turned else live,
                actions=_actions(problem, rest.schedule, live=live, turned=turned),
                fallbacks=(_words(commit, held, bool(found)), *told),
            )
    except BaseException as error:
        _keep(stage, journal, error, place.path)
        raise
    return _finished(record or _nothing_left(made, told), stage, journal)


def run_in(
    directory: str | Path,
    problem: Problem,
    make: Callable[[str, int], Plan],
    storage: Storage,
    *,
    progress: bool,
) -> RunRecord:
    """Run in a directory, so that `resume` can go on; what `adjourn.run` calls.

    Raises
    ------
    BadValue
        The directory holds a run that is not finished.
    """
    place = RunDirectory(directory, storage.files)
    place.lock(make=True)
    stage: Stage | None = None
    journal: Journal | None = None
    begun = refused = False
    try:
        content = place.read()
        if content is not None and content.records:
            refused = True
            raise BadValue(
                f"directory={place.path!r} holds a run that is not finished. Go on with "
                f"adjourn.resume({place.path!r}, problem), remove it with `adjourn clean`, or pass "
                "another directory."
            )
        place.sweep()
        about = storage.to_json()
        problem.begin()
        beside = Journal.memory_for(problem)
        made = make(place.path, beside)
        begin(problem, made)
        run = os.urandom(_RUN)
        journal = _journal(place, problem, run, storage)
        stage = open_stage(
            problem,
            made,
            storage,
            pool=lambda number: storage.pool(place.pool_path(f"tier{number}"), run),
        )
        journal.begin(identity_of(problem), {"plan": made.to_json(), "storage": about})
        begun = True
        record = play(problem, stage, made.schedule, journal=journal, progress=progress)
    except BaseException as error:
        if begun:
            _keep(stage, journal, error, place.path)
        elif refused:
            place.unlock()
        else:
            with ExitStack() as left:
                if journal is None:
                    left.callback(place.remove)
                else:
                    left.callback(journal.close, keep=False)
                if stage is not None:
                    left.callback(stage.close)
        raise
    return _finished(record, stage, journal)


def _finished(record: RunRecord, stage: Stage | None, journal: Journal) -> RunRecord:
    """Remove every trace of a run; what cannot be removed is told, as the gradient is there."""
    try:
        with ExitStack() as left:
            left.callback(journal.close, keep=False)
            if stage is not None:
                left.callback(stage.close)
    except OSError as error:
        told = f"the gradient is complete, but not all files of the run could be removed: {error}"
        return replace(record, fallbacks=(*record.fallbacks, told))
    return record


def _journal(place: RunDirectory, problem: Problem, run: bytes, storage: Storage) -> Journal:
    return Journal(
        place,
        problem,
        run,
        overhead=storage.overhead,
        durable=storage.durable,
        tolerant=storage.tolerant,
    )


def _nothing_to_resume(place: RunDirectory) -> WrongLedger:
    """Return the error for a directory without a ledger."""
    again = f"Begin with adjourn.run(..., directory={place.path!r})"
    if place.was_begun:
        return WrongLedger(
            f"directory={place.path!r} is to be resumed; a run left its lock there and no ledger: "
            "it ended before its first step, while it was measured or planned, or after its last, "
            f"while its files were removed. There is nothing to go on from. {again}, which starts "
            "over there."
        )
    return WrongLedger(f"directory={place.path!r} is to be resumed; it holds no run. {again}.")


def _matching(
    content: LedgerContent | None, first: dict[str, Any], problem: Problem, path: str
) -> Plan:
    """Begin the problem and return the ledger's plan, if they belong together."""
    made = Plan.from_json(first["plan"])
    if made.steps != problem.steps:
        raise WrongLedger(
            f"directory={path!r} holds a run of {made.steps} steps; this problem has "
            f"{problem.steps}. Resume with the problem it was begun with."
        )
    try:
        begin(problem, made)
    except BadValue:
        check_identity(content, identity_of(problem), path)
        raise
    check_identity(content, identity_of(problem), path)
    return made


def _adopt(
    problem: Problem, made: Plan, storage: Storage, place: RunDirectory, run: bytes
) -> tuple[list[Tier], list[str]]:
    """Open the disk tiers with what is valid in them; tell what is not."""
    tiers: list[Tier] = []
    told: list[str] = []
    specs = specs_of(problem.state(0))
    for number, planned in enumerate(made.schedule.counts.snapshots[1:], start=1):
        slots = max(planned, 1)
        pool = storage.pool(place.pool_path(f"tier{number}"), run)
        tier = storage.encoded(pool, planned_ratio(made))
        inner, count = specs, slots
        if isinstance(tier, Encoded):
            inner, count = tier.inner_specs(specs, slots)
        try:
            told += [f"{pool.location}: {what}" for what in pool.adopt(inner, count)]
        except (CorruptSnapshot, FileNotFoundError) as error:
            told.append(str(error))
            place.files.unlink(pool.location)
            pool.open(inner, count)
        if isinstance(tier, Encoded):
            tier.attach(specs, slots)
        tiers.append(tier)
    return tiers, told


def _stage_of_rest(problem: Problem, rest: Plan, storage: Storage, tiers: Sequence[Tier]) -> Stage:
    """Open main memory for the rest of a run; drop the snapshots it has no use for."""
    schedule = cast("Rest", rest.schedule)
    wanted = {(part.tier, part.start) for part in schedule.parts}
    slots = schedule.counts.snapshots
    specs = specs_of(problem.state(0))
    ready: list[Tier] = []
    for number, tier in enumerate(tiers, start=1):
        for step in tier.held():
            if (number, step) not in wanted:
                tier.drop(step)
        need = slots[number] if number < len(slots) else 0
        if isinstance(tier, DiskPool):
            tier.grow(need)
            need = max(need, tier.slots)
        if storage.background:
            behind = Background(tier, storage.background)
            behind.attach(specs, need)
            ready.append(behind)
        else:
            ready.append(tier)
    return open_stage(problem, rest, storage, adopted=ready)


def _actions(problem: Problem, schedule: object, *, live: int, turned: bool) -> Iterator[Action]:
    """Generate the actions; begin the problem anew where a part starts without a snapshot."""
    for number, part in enumerate(cast("Rest", schedule).parts):
        here = number == 0 and part.start == live and (not turned or part.start == 0)
        if part.tier is None and not here:
            restart(problem)
        yield from part.actions()


def _words(commit: Commit, held: Sequence[tuple[int, int]], found: bool) -> str:
    valid = ", ".join(str(step) for step, _ in sorted(held)) or "none"
    if not found:
        return f"resumed from the beginning: no commit was valid; snapshots on disk: {valid}"
    return (
        f"resumed at step {commit.step} of the {commit.phase} sweep, commit {commit.number}; "
        f"valid snapshots on disk: {valid}"
    )


def _keep(stage: Stage | None, journal: Journal | None, error: BaseException, path: str) -> None:
    """Close everything and leave its files, so that the run can be resumed."""
    if isinstance(error, ProblemFailed):
        error.add_note(
            f"The run can go on from its last commit: adjourn.resume({path!r}, problem)."
        )
    try:
        if stage is not None:
            stage.close(keep=True)
    finally:
        if journal is not None:
            journal.close(keep=True)


def _nothing_left(made: Plan, told: list[str]) -> RunRecord:
    """Return the record of a run that had reversed everything when it ended."""
    return RunRecord(
        plan=made,
        cpu_seconds=0.0,
        wall_seconds=0.0,
        peak_bytes=0,
        resident_growth=None,
        advances=0,
        records=0,
        reverses=0,
        writes=0,
        reads=0,
        verbs=(),
        own_seconds=0.0,
        fallbacks=("resumed when everything was reversed: only the end was missing", *told),
    )
