"""What every revolver does: two sweeps over a user's operators and checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from typing import Any, Literal

import numpy as np

from .._sizes import as_count
from ..errors import BadValue, NotSupported, ScheduleError
from ._reads import stored_levels_suffice
from .compression import init_compression
from .profiling import Profiler
from .schedulers import Action, Scheduler
from .storage import BytesStorage, DiskStorage, NumpyStorage, Storage

__all__ = ["BaseRevolver", "Checkpoint", "Operator", "ReverseReads"]

ReverseReads = Literal["state", "next"]


class Operator:
    """Something that runs steps; subclasses give ``apply(t_start=, t_end=)``."""

    def apply(self, **kwargs: int) -> None:
        """Run the steps [t_start, t_end)."""


class Checkpoint:
    """The live data of a simulation; subclasses give ``dtype``, ``size`` and ``get_data``."""

    @property
    def dtype(self) -> Any:
        """Type of an entry."""
        return NotImplemented

    @property
    def size(self) -> int:
        """Entries of one checkpoint."""
        return NotImplemented

    def get_data(self, timestep: int) -> Any:
        """Return the live arrays that restart the simulation at ``timestep``."""
        del timestep
        return NotImplemented

    def get_data_location(self, timestep: int) -> Any:
        """Return the arrays that a checkpoint of ``timestep`` is loaded into."""
        return self.get_data(timestep)

    @property
    def nbytes(self) -> int:
        """Bytes of one checkpoint."""
        return self.size * np.dtype(self.dtype).itemsize


class BaseRevolver:
    """Plays a scheduler's actions on operators, checkpoint and storages.

    Parameters
    ----------
    checkpoint : Checkpoint
        The live data.
    fwd_operator, rev_operator : Operator
        Forward and reverse steps.
    n_checkpoints, n_timesteps : int
        Snapshots and steps.
    storage_list : list of Storage, optional
        Where checkpoints go.
    scheduler : Scheduler, optional
        What to do next.
    timings : object
        Kept for the signature.
    profiler : Profiler, optional
        Gets times and counts of all actions.
    block : int
        Steps reversed at once. More than 1 needs operators that run ranges and wavefields whose
        buffers hold that many steps; the schedule is then one over blocks, the short one first.
    reverse_reads : {None, "state", "next"}
        ``"state"``: the reverse of a step reads stored data only, so that the forward step
        before it, which pyrevolve makes, is dropped. ``"next"``: it is made. None: it is dropped
        where the operators' own expressions prove that stored levels suffice.
    """

    def __init__(
        self,
        checkpoint: Any,
        fwd_operator: Any,
        rev_operator: Any,
        n_checkpoints: int,
        n_timesteps: int,
        storage_list: MutableSequence[Any] | None = None,
        scheduler: Scheduler | None = None,
        timings: Any = None,
        profiler: Profiler | None = None,
        *,
        block: int = 1,
        reverse_reads: ReverseReads | None = None,
    ) -> None:
        if n_timesteps is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise NotSupported(
                "n_timesteps is None: online checkpointing is not part of this interface. Pass "
                "the number of steps, or use adjourn.online."
            )
        if reverse_reads not in (None, "state", "next"):
            raise BadValue(
                f'reverse_reads={reverse_reads!r} is unknown. Pass None, "state" or "next".'
            )
        self.profiler = Profiler() if profiler is None else profiler
        self.storage_list: MutableSequence[Any] = [] if storage_list is None else storage_list
        self.checkpoint = checkpoint
        self.fwd_operator, self.rev_operator = fwd_operator, rev_operator
        self.n_timesteps = as_count(n_timesteps, "n_timesteps")
        self.n_checkpoints = n_checkpoints
        self.timings = timings
        self.scheduler: Any = scheduler
        self._block = as_count(block, "block", most=self.n_timesteps)
        self._steps_before_reverse = self._block > 1 or not (
            reverse_reads == "state"
            or (
                reverse_reads is None
                and stored_levels_suffice(checkpoint, fwd_operator, rev_operator)
            )
        )
        self._state: Literal["new", "turned", "reversed", "broken"] = "new"

    def addStorage(self, new_storage: Any) -> None:
        """Add a storage."""
        self.storage_list.append(new_storage)

    def removeStorage(self, st_idx: int) -> None:
        """Remove a storage."""
        if st_idx < len(self.storage_list):
            del self.storage_list[st_idx]

    def resetStorageList(self) -> None:
        """Remove all storages."""
        self.storage_list.clear()

    def addDiskStorage(
        self, filedir: str = "./", singlefile: bool = False, wd: float = 0, rd: float = 0
    ) -> int:
        """Add a storage on disk; return its index."""
        return self._add(
            DiskStorage(
                self.checkpoint.size,
                self.n_checkpoints,
                self.checkpoint.dtype,
                profiler=self.profiler,
                filedir=filedir,
                singlefile=singlefile,
                wd=wd,
                rd=rd,
            )
        )

    def addNumpyStorage(self, compression_params: Mapping[str, Any] | None = None) -> int:
        """Add a storage in memory, compressed if a scheme is given; return its index."""
        if compression_params is not None and compression_params.get("scheme") is not None:
            return self.addByteStorage(compression_params)
        return self._add(
            NumpyStorage(
                self.checkpoint.size,
                self.n_checkpoints,
                self.checkpoint.dtype,
                profiler=self.profiler,
            )
        )

    def addByteStorage(self, compression_params: Mapping[str, Any]) -> int:
        """Add a compressed storage in memory; return its index."""
        return self._add(
            BytesStorage(
                self.checkpoint.nbytes,
                self.n_checkpoints,
                self.checkpoint.dtype,
                compression=init_compression(compression_params),
                profiler=self.profiler,
            )
        )

    @property
    def makespan(self) -> float:
        """Cost of the run, where the scheduler knows costs."""
        return 0

    @property
    def ratio(self) -> float:
        """Plain forward steps over steps."""
        return 0

    def apply_forward(self) -> None:
        """Run the forward sweep and keep checkpoints; a second call starts anew."""
        if self._state != "new":
            self._reload()
        self._state = "broken"
        timer, forward = self.profiler.get_timer, self.fwd_operator.apply
        while True:
            action = self.scheduler.next()
            kind = action.type
            if kind == Action.ADVANCE:
                with timer("forward", "advance"):
                    forward(t_start=self._at(action.old_capo), t_end=self._at(action.capo))
            elif kind == Action.TAKESHOT:
                with timer("forward", "takeshot"):
                    self.save_checkpoint(action.storageIndex())
            elif kind == Action.CPDEL:
                with timer("forward", "remove"):
                    self.remove_checkpoint(action.storageIndex())
            elif kind == Action.LASTFW:
                with timer("forward", "lastfw"):
                    forward(t_start=self._at(action.old_capo), t_end=self.n_timesteps)
                break
            else:
                raise self._unknown(action, "forward")
        self._state = "turned"

    def apply_reverse(self) -> None:
        """Run the reverse sweep, recomputing from checkpoints.

        Raises
        ------
        ScheduleError
            The forward sweep was not run just before.
        """
        if self._state != "turned":
            raise ScheduleError(
                f"apply_reverse was called; {_WHY[self._state]}. Call apply_forward first."
            )
        self._state = "broken"
        timer = self.profiler.get_timer
        forward, reverse = self.fwd_operator.apply, self.rev_operator.apply
        while True:
            action = self.scheduler.next()
            kind = action.type
            if kind in (Action.REVERSE, Action.REVSTART):
                start, stop = self._at(action.capo), self._at(action.capo + 1)
                with timer("reverse", "reverse"):
                    if kind == Action.REVERSE and self._steps_before_reverse:
                        forward(t_start=start, t_end=stop)
                    reverse(t_start=start, t_end=stop)
            elif kind == Action.RESTORE:
                with timer("reverse", "restore"):
                    self.load_checkpoint(action.storageIndex())
            elif kind == Action.ADVANCE:
                with timer("reverse", "advance"):
                    forward(t_start=self._at(action.old_capo), t_end=self._at(action.capo))
            elif kind == Action.TAKESHOT:
                with timer("reverse", "takeshot"):
                    self.save_checkpoint(action.storageIndex())
            elif kind == Action.CPDEL:
                with timer("reverse", "remove"):
                    self.remove_checkpoint(action.storageIndex())
            elif kind == Action.TERMINATE:
                break
            else:
                raise self._unknown(action, "reverse")
        self._state = "reversed"

    def save_checkpoint(self, st_idx: int = 0) -> None:
        """Copy the live data into the scheduler's present slot."""
        data = self.checkpoint.get_data(self._at(self.scheduler.capo))
        self.storage_list[st_idx].save(self.scheduler.cp_pointer, data)

    def load_checkpoint(self, st_idx: int = 0) -> None:
        """Copy the scheduler's present slot into the live data."""
        places = self.checkpoint.get_data_location(self._at(self.scheduler.capo))
        self.storage_list[st_idx].load(self.scheduler.cp_pointer, places)

    def remove_checkpoint(self, st_idx: int = 0) -> None:
        """Give the scheduler's present slot up."""
        del st_idx

    def storage_ckps(self, k: int = 0) -> list[int] | None:
        """Return the steps of which snapshots are taken in storage ``k``."""
        return None if self.scheduler is None else self.scheduler.storage(k)

    def _reload(self) -> None:
        raise NotImplementedError

    def _add(self, storage: Storage) -> int:
        self.addStorage(storage)
        return len(self.storage_list) - 1

    @property
    def _blocks(self) -> int:
        return -(-self.n_timesteps // self._block)

    def _at(self, position: int) -> int:
        """Return the step at which a block of the schedule begins; the first is the short one."""
        if self._block == 1 or position == 0:
            return position
        return self.n_timesteps - (self._blocks - position) * self._block

    def _unknown(self, action: Any, sweep: str) -> ScheduleError:
        return ScheduleError(
            f"the scheduler gave {action!r} in the {sweep} sweep, where it has no meaning. Return "
            "the actions of adjourn.pyrevolve.schedulers."
        )


_WHY = {
    "new": "the forward sweep was not run",
    "reversed": "this sweep was reversed already",
    "broken": "the last sweep ended with an error",
}
