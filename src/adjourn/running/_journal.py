"""What a run in a directory writes down on its way, and how often."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xxhash import xxh3_128

from ..errors import CorruptSnapshot, DiskFull, NotSupported, StorageFailed, WrongLedger
from ..problem import Array, Clock, Problem
from ..tiers import DiskPool, specs_of
from ..tiers._files import view_of
from ._directory import RunDirectory
from ._ledger import FORMAT, Ledger, LedgerContent

__all__ = ["Commit", "Journal", "Pace", "identity_of"]

_FORWARD, _REVERSE = 0, 1
_PHASES = ("forward", "reverse")
_SLOTS = 2


@dataclass(slots=True)
class Pace:
    """Decides when to commit, so that commits take at most a share ``overhead`` of the run.

    A commit is due once the time since the last one, times ``overhead``, covers what a commit
    costs: a guess from its bytes at first, then what the last two took, the larger. The turn
    is worth more: it may spend what the whole run so far has left unspent.

    Parameters
    ----------
    overhead : float
        Share of the run's time; ``inf`` commits at every opportunity, 0 never.
    nbytes : int
        Bytes of one commit.
    clock : callable
        Returns seconds.
    """

    overhead: float
    nbytes: int
    clock: Callable[[], float] = time.perf_counter
    seconds: float = 0.0
    commits: int = 0
    _began: float = field(init=False)
    _last: float = field(init=False)
    _costs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    @property
    def expected(self) -> float:
        """Seconds that the next commit is expected to take."""
        return max(self._costs) if self._costs else 1e-3 + self.nbytes / 5e8

    def due(self, *, turn: bool = False) -> bool:
        """Return whether to commit now."""
        if self.overhead == 0:
            return False
        now = self.clock()
        if turn:
            return (now - self._began) * self.overhead - self.seconds >= self.expected
        return (now - self._last) * self.overhead >= self.expected

    def took(self, seconds: float) -> None:
        """Account for a commit that just ended."""
        self._costs = (*self._costs[-1:], seconds)
        self.seconds += seconds
        self.commits += 1
        self._last = self.clock()


@dataclass(frozen=True, slots=True)
class Commit:
    """A point from which a run can go on: sweep, step, and the number of the commit."""

    phase: str
    step: int
    number: int


class Journal:
    """Writes the commits of one run: in the forward sweep with the state, then without.

    Two slots each for either kind, used in turn, so that the last commit stays whole while the
    next is written. Disk: twice the state and carried arrays, twice the carried arrays.

    Parameters
    ----------
    directory : RunDirectory
        Locked.
    problem : Problem
        Has ``carried()``.
    run : bytes
        The 16 bytes that mark all files of this run.
    overhead : float
        See `Pace`.
    durable : bool
        Survive a loss of power, not just the end of the process.
    tolerant : bool
        Go on when a commit cannot be written; the one before it holds, and ``told`` says so.

    Raises
    ------
    NotSupported
        The problem has no ``carried()``.
    """

    def __init__(
        self,
        directory: RunDirectory,
        problem: Problem,
        run: bytes,
        *,
        overhead: float,
        durable: bool,
        tolerant: bool = False,
    ) -> None:
        self._directory = directory
        self._problem = problem
        # Asked for anew each time: arrays may change roles under their names.
        self._names = tuple(carried_of(problem))
        self._ledger = Ledger(directory.files, directory.ledger_path, durable=durable)
        self._number = 0
        self._tolerant = tolerant
        self.run = run
        self.told: list[str] = []

        def pool(name: str) -> DiskPool:
            return DiskPool(
                path=directory.pool_path(name),
                run=run,
                durable=durable,
                direct=False,
                files=directory.files,
            )

        self._pools = (pool("forward"), pool("carried"))
        nbytes = sum(a.nbytes for a in self._arrays())
        state = sum(a.nbytes for a in problem.state(0))
        self.paces = (Pace(overhead, nbytes + state), Pace(overhead, nbytes))

    @property
    def nbytes(self) -> int:
        """Bytes of main memory: the staging buffers of both pools."""
        return sum(pool.nbytes for pool in self._pools)

    @staticmethod
    def memory_for(problem: Problem) -> int:
        """Return the bytes of main memory that commits of a begun problem take."""
        carried = list(carried_of(problem).values())
        both = specs_of([*problem.state(0), *carried]), specs_of(carried)
        return sum(DiskPool.memory_for(specs, direct=False) for specs in both)

    @property
    def seconds(self) -> float:
        """Seconds spent in commits."""
        return sum(pace.seconds for pace in self.paces)

    @property
    def commits(self) -> int:
        """Commits written."""
        return sum(pace.commits for pace in self.paces)

    def begin(self, identity: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Open the pools, then begin the ledger: with it the run exists."""
        for pool, specs in zip(self._pools, self._specs(), strict=True):
            self._directory.files.unlink(pool.location)
            pool.open(specs, _SLOTS)
        self._ledger.create()
        self._ledger.append(
            "begin",
            format=FORMAT,
            run=self.run.hex(),
            made=self._directory.owns_directory(),
            pid=os.getpid(),
            problem=dict(identity),
            **about,
        )

    def continue_from(self, content: LedgerContent) -> list[str]:
        """Open what another process left; return what of it is damaged."""
        told: list[str] = []
        for pool, specs in zip(self._pools, self._specs(), strict=True):
            try:
                told += [f"{pool.location}: {what}" for what in pool.adopt(specs, _SLOTS)]
            except (CorruptSnapshot, FileNotFoundError) as error:
                told.append(str(error))
                self._directory.files.unlink(pool.location)
                pool.open(specs, _SLOTS)
        logged = [r.get("number", 0) for r in content.records if r.get("kind") == "commit"]
        held = [number for pool in self._pools for number in pool.held()]
        self._number = max(logged + held, default=0)
        if content.damage:
            told.append(f"{self._directory.ledger_path}: {content.damage}")
        self._ledger.continue_from(content)
        self._ledger.append("resume", pid=os.getpid())
        return told

    def restore(self) -> tuple[Commit, Clock] | None:
        """Load the newest commit that can be read into the problem; None if there is none.

        Commits say by themselves what they are, so that one whose line in the ledger is lost is
        good all the same. A forward commit is loaded into ``problem.state(step)`` too.
        """
        numbers = {n: phase for phase in (_FORWARD, _REVERSE) for n in self._pools[phase].held()}
        for number in sorted(numbers, reverse=True):
            phase = numbers[number]
            pool = self._pools[phase]
            arrays = list(self._arrays())
            try:
                step = int(pool.peek(number)["adjourn.step"])
                if phase == _FORWARD:
                    arrays = [*self._problem.state(step), *arrays]
                clock = dict(pool.load(number, arrays))
            except CorruptSnapshot:
                continue
            del clock["adjourn.step"]
            for pool_, keep in zip(
                self._pools, (phase == _FORWARD, phase == _REVERSE), strict=True
            ):
                for other in pool_.held():
                    if other != number or not keep:
                        pool_.drop(other)
            return Commit(_PHASES[phase], step, number), clock
        return None

    def advanced(self, step: int) -> None:
        """Note that the first sweep reached ``step``; its end is the turn's to commit."""
        if step < self._problem.steps and self.paces[_FORWARD].due():
            self.commit(_FORWARD, step)

    def turned(self) -> None:
        """Note that the seed is there."""
        if self.paces[_REVERSE].due(turn=True):
            self.commit(_REVERSE, self._problem.steps)

    def reversed(self, step: int) -> None:
        """Note that everything from ``step`` on is reversed."""
        if self.paces[_REVERSE].due():
            self.commit(_REVERSE, step)

    def commit(self, phase: int, step: int) -> None:
        """Write a commit now."""
        began = time.perf_counter()
        try:
            self._write(phase, step)
        except (DiskFull, StorageFailed) as error:
            if not self._tolerant:
                raise
            self.told.append(f"the commit of step {step} was not written: {error}")
        self.paces[phase].took(time.perf_counter() - began)

    def _write(self, phase: int, step: int) -> None:
        pool = self._pools[phase]
        clock: dict[str, float | int] = {}
        arrays: Sequence[Array] = self._arrays()
        if phase == _FORWARD:
            arrays = (*self._problem.state(step), *arrays)
            clock = dict(clock_of(self._problem, step))
        number = self._number + 1
        pool.save(number, arrays, {**clock, "adjourn.step": step})
        self._number = number
        for other in pool.held():
            if other != number:
                pool.drop(other)
        if phase == _REVERSE:
            for other in self._pools[_FORWARD].held():
                self._pools[_FORWARD].drop(other)
        self._ledger.append("commit", number=number, phase=_PHASES[phase], step=step)

    def close(self, *, keep: bool) -> None:
        """Close all files; without ``keep`` remove every trace of the run.

        Each is closed, and the directory given free, whatever fails.
        """
        with ExitStack() as left:
            left.callback(self._directory.unlock if keep else self._directory.remove)
            left.callback(self._ledger.close)
            for pool in self._pools:
                left.callback(pool.close, keep=keep)

    def _arrays(self) -> tuple[Array, ...]:
        carried = carried_of(self._problem)
        return tuple(carried[name] for name in self._names)

    def _specs(self) -> tuple[Any, Any]:
        carried = list(self._arrays())
        return specs_of([*self._problem.state(0), *carried]), specs_of(carried)


def carried_of(problem: Problem) -> dict[str, Array]:
    """Return the arrays that a resumed run needs besides snapshots.

    Raises
    ------
    NotSupported
        The problem does not name them.
    """
    method = getattr(problem, "carried", None)
    if method is None:
        raise NotSupported(
            f"a run in a directory was asked for; {type(problem).__name__} has no carried(), so "
            "nothing tells which arrays a resumed run needs. Add carried(), which returns the "
            "adjoint state, the gradient and the outputs by name, or leave directory= out."
        )
    return dict(method())


def clock_of(problem: Problem, step: int) -> Clock:
    """Return the scalars kept with a snapshot; none if the problem has none."""
    method = getattr(problem, "clock", None)
    return {} if method is None else method(step)


def identity_of(problem: Problem) -> dict[str, Any]:
    """Return what tells a problem from another, taken just after ``begin``.

    Its type, steps and reads, shapes of state and carried arrays, the checksum of its first
    state, and what its own ``identity()`` says, if it has one.
    """
    state = problem.state(0)
    digest = xxh3_128()
    for array in state:
        digest.update(view_of(np.ascontiguousarray(array).reshape(-1).view(np.uint8)))
    kind = type(problem)
    own = getattr(problem, "identity", None)
    return {
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "steps": problem.steps,
        "reads": problem.reads,
        "state": [[a.dtype.str, list(a.shape)] for a in state],
        "carried": {k: [a.dtype.str, list(a.shape)] for k, a in carried_of(problem).items()},
        "first state": digest.hexdigest(),
        "identity": None if own is None else str(own()),
    }


def check_identity(content: LedgerContent | None, problem: Mapping[str, Any], path: str) -> None:
    """Refuse a ledger of another problem or version.

    Raises
    ------
    WrongLedger
        The message names each difference.
    """
    begin = first_record(content, path)
    saved = begin["problem"]
    different = [
        f"its {name} is {saved.get(name)!r}, this one's {value!r}"
        for name, value in problem.items()
        if saved.get(name) != value
    ]
    if different:
        raise WrongLedger(
            f"directory={path!r} holds a run of another problem: {'; '.join(different)}. "
            "Resume with the problem it was begun with, or pass another directory."
        )


def first_record(content: LedgerContent | None, path: str) -> dict[str, Any]:
    """Return the record with which a run begins.

    Raises
    ------
    WrongLedger
        There is none, or it is of another version.
    """
    begin = content.records[0] if content and content.records else {}
    if begin.get("kind") != "begin" or not isinstance(begin.get("problem"), dict):
        raise WrongLedger(
            f"directory={path!r} holds no run that can be resumed: its ledger is missing or ends "
            f"before its first record. Begin with adjourn.run(..., directory={path!r})."
        )
    if begin.get("format") != FORMAT:
        raise WrongLedger(
            f"directory={path!r} holds a run written in version {begin.get('format')} of the "
            f"ledger; this adjourn reads version {FORMAT}. Resume it with the adjourn that began "
            "it, or remove it with `adjourn clean`."
        )
    return begin
