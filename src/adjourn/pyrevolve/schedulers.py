"""What to do next, one action at a time, with pyrevolve's names and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .._sizes import as_count
from ..errors import BadValue
from ..schedules import Schedule
from . import crevolve as cr

__all__ = [
    "Action",
    "Architecture",
    "CAction",
    "CRevolve",
    "HAction",
    "HRevolve",
    "Revolve",
    "Scheduler",
]


class Action:
    """One action: what, from which step, to which step, with which slot."""

    ADVANCE = 0
    TAKESHOT = 1
    RESTORE = 2
    LASTFW = 3
    REVERSE = 4
    CPDEL = 5
    TERMINATE = 6
    REVSTART = 15

    type_names: dict[int, str] = {  # noqa: RUF012
        ADVANCE: "ADVANCE",
        TAKESHOT: "TAKESHOT",
        RESTORE: "RESTORE",
        LASTFW: "LASTFW",
        REVERSE: "REVERSE",
        CPDEL: "CPDEL",
        TERMINATE: "TERMINATE",
        REVSTART: "REVSTART",
    }

    __slots__ = ("capo", "ckp", "level", "old_capo", "type")

    def __init__(
        self, action_type: int, capo: int, old_capo: int, ckp: int, level: int = 0
    ) -> None:
        self.type, self.capo, self.old_capo, self.ckp = action_type, capo, old_capo, ckp
        self.level = level

    def __repr__(self) -> str:
        return json.dumps(
            {
                "type": self.type_names[self.type],
                "from": self.old_capo,
                "to": self.capo,
                "ckp": self.ckp,
            }
        )

    def storageIndex(self) -> int:
        """Return the number of the storage the action goes to."""
        return self.level


class CAction(Action):
    """An action of `CRevolve`."""

    __slots__ = ()


class HAction(Action):
    """An action of `HRevolve`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return json.dumps(
            {
                "type": self.type_names[self.type],
                "capo": self.capo,
                "old_capo": self.old_capo,
                "ckp": self.ckp,
                "st_idx": self.level,
            }
        )


class Scheduler:
    """What every scheduler offers.

    Attributes
    ----------
    capo, old_capo : int
        Step that the last action led to, and step before it.
    cp_pointer : int
        Slot of the last action.
    """

    def __init__(self, n_checkpoints: int, n_timesteps: int) -> None:
        self.n_checkpoints, self.n_timesteps = n_checkpoints, n_timesteps
        self.capo = self.old_capo = 0
        self.cp_pointer = 0

    def next(self) -> Action:
        """Return the next action."""
        raise NotImplementedError

    @property
    def oplist(self) -> Sequence[Action]:
        """All actions of a run."""
        return []


_OF = {
    cr.Action.advance: Action.ADVANCE,
    cr.Action.takeshot: Action.TAKESHOT,
    cr.Action.restore: Action.RESTORE,
    cr.Action.firstrun: Action.LASTFW,
    cr.Action.youturn: Action.REVERSE,
    cr.Action.terminate: Action.TERMINATE,
}


class CRevolve(Scheduler):
    """Binomial checkpointing in one storage."""

    def __init__(self, n_checkpoints: int, n_timesteps: int) -> None:
        super().__init__(n_checkpoints, n_timesteps)
        self.revolve = cr.CRevolve(n_checkpoints, n_timesteps, None)
        self._starts_reverse = False

    def next(self) -> Action:
        """Return the next action; REVSTART follows LASTFW."""
        machine = self.revolve
        if self._starts_reverse:
            self._starts_reverse = False
            kind = Action.REVSTART
        else:
            kind = _OF[machine.revolve()]
            self._starts_reverse = kind == Action.LASTFW
        self.capo, self.old_capo, self.cp_pointer = machine.capo, machine.oldcapo, machine.check
        return CAction(kind, machine.capo, machine.oldcapo, machine.check)

    @property
    def oplist(self) -> Sequence[Action]:
        """All actions of a run, generated anew."""
        return list(self._all())

    @property
    def ratio(self) -> float:
        """Plain forward steps over steps."""
        return cr.expense(self.n_timesteps, self.n_checkpoints)

    def storage(self, k: int) -> list[int]:
        """Return the steps of which snapshots are taken, in order."""
        del k
        return [a.capo for a in self._all() if a.type == Action.TAKESHOT]

    def _all(self) -> Iterator[Action]:
        fresh = CRevolve(self.n_checkpoints, self.n_timesteps)
        while True:
            action = fresh.next()
            yield action
            if action.type == Action.TERMINATE:
                return


class Architecture:
    """Costs and sizes of the levels of a hierarchy of storages.

    Parameters
    ----------
    storage_list : list of Storage or None
        The storages, quickest first; None for the lists that follow.
    wd, rd : list of float
        Cost of writing and reading one snapshot, in forward steps.
    sizes : list of int
        Snapshots each level holds.
    """

    def __init__(
        self,
        storage_list: Sequence[Any] | None,
        wd: Sequence[float] = (1,),
        rd: Sequence[float] = (1,),
        sizes: Sequence[int] = (1,),
    ) -> None:
        if storage_list is not None:
            wd = [st.wd for st in storage_list]
            rd = [st.rd for st in storage_list]
            sizes = [st.nckp for st in storage_list]
        self.wd, self.rd, self.sizes = list(wd), list(rd), list(sizes)
        self.nblevels = len(self.sizes)
        if not self.nblevels or not len(self.wd) == len(self.rd) == self.nblevels:
            raise BadValue(
                f"{self.nblevels} levels were given with {len(self.wd)} write costs and "
                f"{len(self.rd)} read costs. Give one of each for every level, at least one."
            )
        for size in self.sizes:
            as_count(size, "sizes", least=0)

    def __repr__(self) -> str:
        return repr(list(zip(self.sizes, self.wd, self.rd, strict=True)))


class HRevolve(Scheduler):
    """Checkpointing on a hierarchy of storages, optimal for their costs.

    The schedule is `adjourn.hrevolve`'s: it knows the costs, and stays within every level.
    """

    def __init__(
        self,
        n_checkpoints: int,
        n_timesteps: int,
        architecture: Architecture | None = None,
        uf: float = 1,
        ub: float = 1,
        up: float = 1,
    ) -> None:
        super().__init__(n_checkpoints, n_timesteps)
        self.architecture = Architecture(None) if architecture is None else architecture
        self.uf, self.ub, self.up = uf, ub, up
        self._schedule = _hierarchic(as_count(n_timesteps, "n_timesteps"), self.architecture, uf)
        self.resetSequence()

    def resetSequence(self) -> None:
        """Start again."""
        self._actions = self._all()

    def next(self) -> Action:
        """Return the next action."""
        action = next(self._actions, HAction(Action.TERMINATE, 0, 0, -1))
        self.capo, self.old_capo, self.cp_pointer = action.capo, action.old_capo, action.ckp
        return action

    @property
    def oplist(self) -> Sequence[Action]:
        """All actions of a run, generated anew."""
        return list(self._all())

    @property
    def makespan(self) -> float:
        """Cost of the run: forward, reverse, writes and reads."""
        counts = self._schedule.counts
        levels = zip(
            counts.writes, counts.reads, self.architecture.wd, self.architecture.rd, strict=True
        )
        moved = sum(w * wd + r * rd for w, r, wd, rd in levels)
        return counts.advances * self.uf + counts.reverses * self.ub + self.up + moved

    @property
    def ratio(self) -> float:
        """Plain forward steps over steps."""
        return self._schedule.counts.advances / self.n_timesteps

    def storage(self, k: int) -> list[int] | None:
        """Return the steps of which snapshots are taken on level ``k``, in order."""
        if k >= self.architecture.nblevels:
            return None
        return [a.capo for a in self._all() if a.type == Action.TAKESHOT and a.level == k]

    def _all(self) -> Iterator[Action]:
        from ..schedules import Advance, Drop, Load, Record, Reverse, Save  # noqa: PLC0415

        last = self.n_timesteps - 1
        for action in self._schedule:
            match action:
                case Advance(start, stop):
                    yield HAction(Action.ADVANCE, stop, start, -1)
                case Save(step, tier):
                    yield HAction(Action.TAKESHOT, step, step, step, tier)
                case Load(step, tier):
                    yield HAction(Action.RESTORE, step, step, step, tier)
                case Drop(step, tier):
                    yield HAction(Action.CPDEL, step, step, step, tier)
                case Record(start, _) if start == last:
                    yield HAction(Action.LASTFW, start, start, -1)
                case Reverse(start, _):
                    kind = Action.REVSTART if start == last else Action.REVERSE
                    yield HAction(kind, start, start, -1)
                case _:
                    pass


def _hierarchic(steps: int, architecture: Architecture, uf: float) -> Schedule:
    from ..schedules import hrevolve  # noqa: PLC0415

    levels = zip(architecture.sizes, architecture.wd, architecture.rd, strict=True)
    return hrevolve(steps, list(levels), advance=uf)


Revolve = CRevolve
