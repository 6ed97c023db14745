"""Revolvers with one storage: binomial checkpointing in memory or on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._sizes import as_bytes, as_count, format_bytes
from ..errors import BadValue, BudgetTooSmall
from . import crevolve as cr
from ._base import BaseRevolver, ReverseReads
from .profiling import Profiler
from .schedulers import CRevolve

__all__ = ["DiskRevolver", "MemoryRevolver", "Revolver", "SingleLevelRevolver"]


class SingleLevelRevolver(BaseRevolver):
    """Binomial checkpointing in memory or on disk.

    Parameters
    ----------
    checkpoint, fwd_operator, rev_operator, n_checkpoints, n_timesteps, timings, profiler
        As in `BaseRevolver`; ``n_checkpoints=None`` takes ``budget``, else pyrevolve's default,
        which knows no bytes.
    compression_params : dict, optional
        See `compression.init_compression`.
    diskstorage : bool
        Keep checkpoints on disk, in ``filedir``.
    budget : int or str, optional
        Bytes for checkpoints, such as ``"2 GiB"``, in place of ``n_checkpoints``.
    block, reverse_reads
        As in `BaseRevolver`.
    """

    def __init__(
        self,
        checkpoint: Any,
        fwd_operator: Any,
        rev_operator: Any,
        n_checkpoints: int | None,
        n_timesteps: int,
        timings: Any = None,
        profiler: Profiler | None = None,
        compression_params: Mapping[str, Any] | None = None,
        diskstorage: bool = False,
        filedir: str = "./",
        singlefile: bool = True,
        *,
        budget: int | str | None = None,
        block: int = 1,
        reverse_reads: ReverseReads | None = None,
    ) -> None:
        super().__init__(
            checkpoint,
            fwd_operator,
            rev_operator,
            0,
            n_timesteps,
            timings=timings,
            profiler=profiler,
            block=block,
            reverse_reads=reverse_reads,
        )
        self.filedir, self.singlefile = filedir, singlefile
        self.compression_params = compression_params
        if budget is not None:
            if n_checkpoints is not None:
                raise BadValue(
                    f"n_checkpoints={n_checkpoints} and budget={budget!r} were both given. Pass "
                    "one of them, the other as None."
                )
            n_checkpoints = _within(budget, checkpoint.nbytes, self._blocks)
        elif n_checkpoints is None:
            n_checkpoints = cr.adjust(self._blocks)
        self.n_checkpoints = as_count(n_checkpoints, "n_checkpoints")
        self._reload()
        if diskstorage:
            self.addDiskStorage(filedir=filedir, singlefile=singlefile)
        else:
            self.addNumpyStorage(compression_params)

    def _reload(self) -> None:
        self.scheduler = CRevolve(self.n_checkpoints, self._blocks)

    @property
    def ratio(self) -> float:
        """Plain forward steps over steps."""
        return self.scheduler.ratio


def _within(budget: int | str, nbytes: int, steps: int) -> int:
    room = as_bytes(budget)
    if room < nbytes:
        raise BudgetTooSmall(
            f"budget={budget!r} holds no checkpoint of {format_bytes(nbytes)}; one is needed. "
            f"Pass budget={nbytes} or more.",
            nbytes,
        )
    return min(room // nbytes, steps)


class MemoryRevolver(SingleLevelRevolver):
    """Binomial checkpointing in memory; see `SingleLevelRevolver`."""

    def __init__(
        self,
        checkpoint: Any,
        fwd_operator: Any,
        rev_operator: Any,
        n_checkpoints: int | None,
        n_timesteps: int,
        timings: Any = None,
        profiler: Profiler | None = None,
        compression_params: Mapping[str, Any] | None = None,
        *,
        budget: int | str | None = None,
        block: int = 1,
        reverse_reads: ReverseReads | None = None,
    ) -> None:
        super().__init__(
            checkpoint,
            fwd_operator,
            rev_operator,
            n_checkpoints,
            n_timesteps,
            timings,
            profiler,
            compression_params,
            budget=budget,
            block=block,
            reverse_reads=reverse_reads,
        )


class DiskRevolver(SingleLevelRevolver):
    """Binomial checkpointing on disk; see `SingleLevelRevolver`."""

    def __init__(
        self,
        checkpoint: Any,
        fwd_operator: Any,
        rev_operator: Any,
        n_checkpoints: int | None,
        n_timesteps: int,
        timings: Any = None,
        profiler: Profiler | None = None,
        filedir: str = "./",
        singlefile: bool = True,
        *,
        budget: int | str | None = None,
        block: int = 1,
        reverse_reads: ReverseReads | None = None,
    ) -> None:
        super().__init__(
            checkpoint,
            fwd_operator,
            rev_operator,
            n_checkpoints,
            n_timesteps,
            timings,
            profiler,
            diskstorage=True,
            filedir=filedir,
            singlefile=singlefile,
            budget=budget,
            block=block,
            reverse_reads=reverse_reads,
        )


Revolver = MemoryRevolver
