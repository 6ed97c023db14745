"""Schedules to and from the `checkpoint_schedules` package: pyadjoint, Firedrake, tlm_adjoint.

Any schedule of ours drives those tools through `as_checkpoint_schedule`; any schedule of that
package plays in our checker and executor through `from_checkpoint_schedule`. This module is
imported by the user, never by the core, and needs ``pip install adjourn[schedules]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from ._sizes import as_count
from .errors import BadValue, MissingExtra, NotSupported, ScheduleError, WrongType
from .schedules import (
    Action,
    Advance,
    Drop,
    Listed,
    Load,
    Record,
    Reverse,
    Save,
    Schedule,
    StoreAll,
    Turn,
    listed,
)

try:
    import checkpoint_schedules as _theirs  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise MissingExtra(
        "adjourn.checkpoint_schedules needs the package checkpoint_schedules, which is not "
        'installed. Run: pip install "adjourn[schedules]".'
    ) from error

__all__ = ["as_checkpoint_schedule", "from_checkpoint_schedule"]

_Their: Any = _theirs
_STORAGE: Any = _Their.StorageType
_TIERS = {_STORAGE.RAM: 0, _STORAGE.DISK: 1}


def as_checkpoint_schedule(
    schedule: Schedule,
    *,
    tiers: tuple[Literal["ram", "disk"], ...] = ("ram", "disk"),
    tapes: Literal["ram", "work"] = "ram",
) -> Any:
    """Return a ``checkpoint_schedules.CheckpointSchedule`` that plays ``schedule``.

    Like all schedules of that package it is played once: make another for another tape. It
    takes constant memory beyond ``schedule``'s own, and one look ahead.

    pyadjoint refuses deletions while the forward model is taped: every family here that knows
    the number of steps keeps what it stores in the first sweep, so that all of them run.

    Parameters
    ----------
    schedule : Schedule
        Any schedule with ``reversal`` "retape" or "tape". Those that read stored states, or
        nothing, have no counterpart: that package knows dependencies of the adjoint only.
    tiers : tuple of {"ram", "disk"}
        Where each tier's snapshots go. ``("ram", "ram")`` plays a schedule for RAM and disk in
        RAM alone. pyadjoint uses a disk only where a package such as Firedrake provides one.
    tapes : {"ram", "work"}
        How a step recorded just before its reverse is kept. ``"work"``: in working memory, as
        that package's own schedules do. ``"ram"``: as a checkpoint, moved to working memory for
        the reverse. With ``"work"``, pyadjoint 2026.10 clears the inputs of a step that it runs
        again, and linearises about the values of the first run: gradients are then wrong as
        soon as the control has changed. Hence the default.

    Returns
    -------
    checkpoint_schedules.CheckpointSchedule
        For ``tape.enable_checkpointing(...)``. ``store_all`` gives that package's own
        ``SingleMemoryStorageSchedule``, which pyadjoint treats specially.

    Raises
    ------
    WrongType, BadValue
        Not a schedule, or unknown options.
    NotSupported
        A reversal or a tier without counterpart.

    Examples
    --------
    >>> from adjourn.schedules import revolve
    >>> for action in as_checkpoint_schedule(revolve(2, 1), tapes="work"):
    ...     print(action)
    Forward(0, 1, True, False, StorageType.RAM)
    Forward(1, 2, False, True, StorageType.WORK)
    EndForward()
    Reverse(2, 1, True)
    Move(0, StorageType.RAM, StorageType.WORK)
    Forward(0, 1, False, True, StorageType.WORK)
    Reverse(1, 0, True)
    EndReverse()
    """
    if not isinstance(schedule, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"schedule={schedule!r} is no schedule of adjourn. Pass one, such as revolve(100, 5)."
        )
    if tapes not in ("ram", "work") or any(tier not in ("ram", "disk") for tier in tiers):
        raise BadValue(
            f"tapes={tapes!r} and tiers={tiers!r} are not understood. Pass "
            'tapes="ram" or "work", and a tuple of "ram" and "disk".'
        )
    if schedule.reversal not in ("retape", "tape"):
        raise NotSupported(
            f'{schedule!r} has reversal="{schedule.reversal}", which checkpoint_schedules cannot '
            'say. Take a schedule with reversal="retape" or "tape".'
        )
    if isinstance(schedule, StoreAll):
        return _Their.SingleMemoryStorageSchedule()
    storages = tuple(_STORAGE.RAM if tier == "ram" else _STORAGE.DISK for tier in tiers)
    used = {
        storage for storage, writes in zip(storages, schedule.counts.writes, strict=False) if writes
    }
    if any(schedule.counts.writes[len(storages) :]):
        raise NotSupported(
            f"{schedule!r} has {len(schedule.limits)} tiers, and checkpoint_schedules knows RAM "
            f"and disk. Say where each goes with tiers=; now tiers={tiers!r}."
        )
    if tapes == "ram" or schedule.reversal == "tape":
        used.add(_STORAGE.RAM)
    translation = _Translation(storages, None if tapes == "work" else _STORAGE.RAM)
    return _Bridge(schedule.steps, translation.play(schedule), used)


class _Bridge(_Their.CheckpointSchedule):
    """Our actions in their vocabulary; offline, one adjoint calculation."""

    def __init__(self, steps: int, actions: Iterator[Any], used: set[Any]) -> None:
        super().__init__(steps)  # pyright: ignore[reportUnknownMemberType]
        self._r: int = 0
        self._actions = actions
        self._used = used
        self._exhausted = False

    def _iterator(self) -> Iterator[Any]:
        for action in self._actions:
            if isinstance(action, _Their.Forward):
                self._n = action.n1
            elif isinstance(action, _Their.Reverse):
                self._n = action.n1
                self._r += len(action)
            elif isinstance(action, (_Their.Copy, _Their.Move)):
                if action.to_storage == _STORAGE.WORK:
                    self._n = action.n
            elif isinstance(action, _Their.EndReverse):
                self._exhausted = True
            yield action

    @property
    def is_exhausted(self) -> bool:
        """Whether the one adjoint calculation is over."""
        return self._exhausted

    def uses_storage_type(self, storage_type: Any) -> bool:
        """Return whether snapshots or recordings go to the given storage."""
        return storage_type in self._used


class _Translation:
    """From our actions to theirs, looking ahead to the end of each run of recordings."""

    def __init__(self, storages: tuple[Any, ...], tapes: Any) -> None:
        self.storages = storages
        self.tapes = tapes  # None: working memory
        self.taped: set[int] = set()  # steps whose recordings are kept in storage

    def play(self, schedule: Schedule) -> Iterator[Any]:
        saved: Save | None = None
        waiting: list[Action] = []
        for action in schedule:
            if waiting and not _goes_on(waiting, action):
                yield from self._flush(saved, waiting)
                saved = None
                waiting = []
            if isinstance(action, Save):
                if saved is not None:
                    raise self._beyond(action, "one step in two tiers at once")
                saved = action
            else:
                waiting.append(action)
        yield from self._flush(saved, waiting)
        yield _Their.EndReverse()

    def _flush(self, saved: Save | None, run: list[Action]) -> Iterator[Any]:
        """Translate a run: advances, or a load with its drop, or recordings with their end."""
        first, last = run[0], run[-1]
        if isinstance(first, Advance) and isinstance(last, Advance):
            storage = _STORAGE.WORK if saved is None else self.storages[saved.tier]
            yield _Their.Forward(first.start, last.stop, saved is not None, False, storage)
            return
        if saved is not None:
            raise self._beyond(first, "a snapshot of a step that is recorded at once")
        if isinstance(first, Load):
            make = _Their.Move if isinstance(last, Drop) else _Their.Copy
            yield make(first.step, self.storages[first.tier], _STORAGE.WORK)
            return
        low = min((item.start for item in run if isinstance(item, Reverse)), default=None)
        for item in run:
            if isinstance(item, Record):
                yield from self._record(item, low)
            elif isinstance(item, Turn):
                yield _Their.EndForward()
            elif isinstance(item, Reverse):
                yield from self._reverse(item)
            elif isinstance(item, Drop):
                yield _Their.Move(item.step, self.storages[item.tier], _STORAGE.NONE)

    def _record(self, item: Record, low: int | None) -> Iterator[Any]:
        """Record; steps below ``low`` are not reversed at once and must be kept."""
        stop = item.stop
        if self.tapes is None and low is not None and low < stop:
            stop = max(low, item.start)
        for step in range(item.start, stop):
            self.taped.add(step)
            yield _Their.Forward(step, step + 1, False, True, self.tapes or _STORAGE.RAM)
        if stop < item.stop:
            yield _Their.Forward(stop, item.stop, False, True, _STORAGE.WORK)

    def _reverse(self, item: Reverse) -> Iterator[Any]:
        stop = item.stop
        for step in range(item.stop - 1, item.start - 1, -1):
            if step in self.taped:
                if step + 1 < stop:
                    yield _Their.Reverse(stop, step + 1, True)
                self.taped.remove(step)
                yield _Their.Move(step, self.tapes or _STORAGE.RAM, _STORAGE.WORK)
                yield _Their.Reverse(step + 1, step, True)
                stop = step
        if item.start < stop:
            yield _Their.Reverse(stop, item.start, True)

    def _beyond(self, action: Action, what: str) -> NotSupported:
        return NotSupported(
            f"{action} asks for {what}, which checkpoint_schedules cannot say. "
            "Take a schedule without it, such as revolve or hrevolve."
        )


def _goes_on(run: list[Action], action: Action) -> bool:
    """Return whether ``action`` belongs to the run before it."""
    first, last = run[0], run[-1]
    if isinstance(first, Advance):
        return isinstance(action, Advance)
    if isinstance(first, Load):
        return isinstance(action, Drop) and len(run) == 1 and action.step == first.step
    if isinstance(action, Record):
        return isinstance(last, Record)
    return isinstance(action, (Turn, Reverse, Drop))


def from_checkpoint_schedule(schedule: Any, steps: int | None = None) -> Listed:
    """Return a schedule of ours that does what one of ``checkpoint_schedules`` does.

    The given one is played through its first adjoint calculation, once, and used up by it; the
    result can be played again and again. Costs one object an action. RAM becomes tier 0, disk
    tier 1. Snapshots that it never deletes are dropped as soon as their step is reversed, so
    that the result keeps our rules; `adjourn.check` with ``limits=`` tells whether it keeps to
    the storage it was made for (that package's HRevolve does not always).

    Parameters
    ----------
    schedule : checkpoint_schedules.CheckpointSchedule
        A schedule that was not started.
    steps : int, optional
        Number of steps, where the schedule does not know it.

    Returns
    -------
    Listed
        ``reversal`` is "tape" if a recording must survive other forward steps, else "retape".

    Raises
    ------
    WrongType, BadValue
        Not a schedule of that package, started already, without a number of steps, or with a
        different one.
    ScheduleError
        It asks for data that it did not store, or reverses nothing.

    Examples
    --------
    >>> from checkpoint_schedules import MultistageCheckpointSchedule
    >>> ours = from_checkpoint_schedule(MultistageCheckpointSchedule(10, 2, 1))
    >>> ours.advances, ours.limits
    (15, (2, 1))
    """
    if not isinstance(schedule, _Their.CheckpointSchedule):
        raise WrongType(
            f"schedule={schedule!r} is no schedule of checkpoint_schedules. Pass one, "
            "such as MultistageCheckpointSchedule(100, 5, 0)."
        )
    theirs: Any = schedule
    if hasattr(theirs, "iter"):
        raise BadValue(f"schedule={theirs!r} was started before. Pass a new one.")
    total = theirs.max_n if steps is None else as_count(steps, "steps")
    if total is None:
        raise BadValue(f"schedule={theirs!r} does not know the number of steps. Pass steps=.")
    if theirs.max_n not in (None, total):
        raise BadValue(f"steps={total}, and the schedule is for {theirs.max_n}. Leave steps= out.")
    reading = _Reading(total)
    for action in _actions(theirs, total):
        reading.read(action)
    return listed(total, reading.actions, reversal="tape" if reading.survives else "retape")


def _actions(schedule: Any, total: int) -> Iterable[Any]:
    """Yield the actions of the first adjoint calculation, telling online schedules the end."""
    for action in schedule:
        yield action
        if isinstance(action, _Their.EndReverse):
            return
        if isinstance(action, _Their.Forward) and schedule.max_n is None and action.n1 >= total:
            schedule.finalize(total)
    raise ScheduleError(f"{schedule!r} reverses nothing. Take a schedule with an adjoint.")


class _Reading:
    """Their actions read one by one; knows what is stored, as they leave it to the reader."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.next = total
        self.actions: list[Action] = []
        self.states: set[tuple[int, Any]] = set()
        self.tapes: set[tuple[int, Any]] = set()
        self.window = range(0)  # recorded steps that no other forward step has overwritten
        self.survives = False

    def read(self, action: Any) -> None:
        if isinstance(action, _Their.Forward):
            self._forward(action)
        elif isinstance(action, (_Their.Copy, _Their.Move)):
            self._copy(action)
        elif isinstance(action, _Their.EndForward):
            self.actions.append(Turn())
        elif isinstance(action, _Their.Reverse):
            start, stop = action.n0, action.n1
            if start not in self.window or stop - 1 not in self.window:
                self.survives = True
            self.window = range(self.window.start, min(self.window.stop, start))
            self.actions.append(Reverse(start, stop))
            self.next = start
            for step, storage in sorted(self.states, key=lambda key: (key[0], _TIERS[key[1]])):
                if step >= start:
                    self._drop(step, storage)

    def _forward(self, action: Any) -> None:
        start, stop = action.n0, min(action.n1, self.total)
        storage = action.storage
        if action.write_ics and storage in _TIERS:
            self._save(start, storage)
        if action.write_adj_deps:
            self.actions.append(Record(start, stop))
            low = self.window.start if self.window and self.window.stop == start else start
            self.window = range(low, stop)
            if storage in _TIERS:
                self.tapes.update((step, storage) for step in range(start, stop))
        else:
            self.actions.append(Advance(start, stop))
            self.window = range(0)

    def _copy(self, action: Any) -> None:
        key = (action.n, action.from_storage)
        if key not in self.states and key not in self.tapes:
            raise ScheduleError(
                f"{action!r} reads what was not stored, or is of a step already reversed.",
                len(self.actions),
            )
        target = action.to_storage
        if key in self.states:
            if target != _STORAGE.NONE:
                self.actions.append(Load(action.n, _TIERS[action.from_storage]))
                self.window = range(0)
            if isinstance(action, _Their.Move):
                self._drop(*key)
            if target in _TIERS:
                self._save(action.n, target)
        if key in self.tapes:
            if isinstance(action, _Their.Move):
                self.tapes.remove(key)
            if target in _TIERS:
                self.tapes.add((action.n, target))

    def _save(self, step: int, storage: Any) -> None:
        if (step, storage) not in self.states:
            self.states.add((step, storage))
            self.actions.append(Save(step, _TIERS[storage]))

    def _drop(self, step: int, storage: Any) -> None:
        self.states.remove((step, storage))
        self.actions.append(Drop(step, _TIERS[storage]))
