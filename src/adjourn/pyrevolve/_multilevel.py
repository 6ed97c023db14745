"""The revolver with a hierarchy of storages."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from ..errors import BadValue, WrongType
from ._base import BaseRevolver, ReverseReads
from .profiling import Profiler
from .schedulers import Architecture, HRevolve
from .storage import Storage

__all__ = ["MultiLevelRevolver"]


class MultiLevelRevolver(BaseRevolver):
    """Checkpointing on a hierarchy of storages, optimal for their costs (H-Revolve).

    Parameters
    ----------
    checkpoint, fwd_operator, rev_operator, n_timesteps, timings, profiler
        As in `BaseRevolver`.
    storage_list : list of Storage
        The storages, quickest first, each with its ``wd`` and ``rd``.
    uf, ub, up : float
        Cost of a forward step, of a reverse step, and of the turn.
    """

    def __init__(
        self,
        checkpoint: Any,
        fwd_operator: Any,
        rev_operator: Any,
        n_timesteps: int,
        storage_list: MutableSequence[Any],
        timings: Any = None,
        profiler: Profiler | None = None,
        uf: float = 1,
        ub: float = 1,
        up: float = 1,
        *,
        block: int = 1,
        reverse_reads: ReverseReads | None = None,
    ) -> None:
        if storage_list is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise BadValue("storage_list is None. Pass a list of storages, the quickest first.")
        super().__init__(
            checkpoint,
            fwd_operator,
            rev_operator,
            n_timesteps,
            n_timesteps,
            storage_list=storage_list,
            timings=timings,
            profiler=profiler,
            block=block,
            reverse_reads=reverse_reads,
        )
        self.uf, self.ub, self.up = uf, ub, up
        self.arch: Architecture | None = None
        for storage in storage_list:
            if not isinstance(storage, Storage):
                raise WrongType(
                    f"storage_list holds a {type(storage).__name__}. Pass objects of Storage, "
                    "such as NumpyStorage(...) and DiskStorage(...)."
                )
            storage.profiler = self.profiler
        self.reload_scheduler(uf, ub, up)

    def reload_scheduler(self, uf: float = 1, ub: float = 1, up: float = 1) -> None:
        """Plan again for the storages and costs of now."""
        self.uf, self.ub, self.up = uf, ub, up
        if not self.storage_list:
            raise BadValue("storage_list is empty. Pass at least one storage.")
        self.arch = Architecture(self.storage_list)
        self._reload()

    def _reload(self) -> None:
        self.scheduler = HRevolve(self._blocks, self._blocks, self.arch, self.uf, self.ub, self.up)
        self._slots: list[dict[int, int]] = [{} for _ in self.storage_list]

    @property
    def makespan(self) -> float:
        """Cost of the run: forward, reverse, writes and reads."""
        return self.scheduler.makespan

    @property
    def ratio(self) -> float:
        """Plain forward steps over steps."""
        return self.scheduler.ratio

    def save_checkpoint(self, st_idx: int = 0) -> None:
        """Copy the live data into a free slot of a storage."""
        capo, slots = self.scheduler.capo, self._slots[st_idx]
        taken = set(slots.values())
        slots[capo] = next(n for n in range(len(taken) + 1) if n not in taken)
        self.storage_list[st_idx].save(slots[capo], self.checkpoint.get_data(self._at(capo)))

    def load_checkpoint(self, st_idx: int = 0) -> None:
        """Copy the checkpoint of the scheduler's present step into the live data."""
        capo = self.scheduler.capo
        places = self.checkpoint.get_data_location(self._at(capo))
        self.storage_list[st_idx].load(self._slots[st_idx][capo], places)

    def remove_checkpoint(self, st_idx: int = 0) -> None:
        """Give the checkpoint of the scheduler's present step up."""
        del self._slots[st_idx][self.scheduler.capo]
