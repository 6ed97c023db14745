"""What a run took, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import BadValue
from ..planning import Plan

__all__ = ["RunRecord", "TierUse", "Verb"]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Verb:
    """The time one kind of action took.

    Attributes
    ----------
    name : str
        ``"advance"``, ``"record"``, ``"save"``, ``"load"``, ``"turn"`` or ``"reverse"``.
    count : int
        Steps, or snapshots copied.
    seconds : float
        Wall time measured.
    predicted : float
        Time predicted; recording and reversing are predicted together, under ``"record"``,
        unless the costs know the reverse alone.
    """

    name: str
    count: int
    seconds: float
    predicted: float


@dataclass(frozen=True, slots=True)
class TierUse:
    """What one tier on disk, or with encoded snapshots, did during a run.

    Attributes
    ----------
    name : str
        The tier's name, with its encoder.
    transfer : str
        ``"direct"`` (past the page cache), ``"page cache"``, or ``""`` where it does not say.
    file_system : str
        The type of the file system; ``"tmpfs"`` is main memory.
    disk_bytes, memory_bytes : int
        Bytes of the file, and of staging buffers in main memory.
    transfer_seconds : float or None
        Wall time of the transfers in the background; None without background transfer.
    waited_seconds : float
        Wall time that the run stood still for transfers, copies to staging buffers included.
    predicted_seconds : float or None
        What the costs predicted for that; None if the costs know no disk.
    prefetched, loads : int
        Loads that were begun ahead of their time, and all loads.
    ratio : float
        How many times smaller the encoder made the states.
    largest_error, rms_error, scale : float
        Errors of the encoder, measured on some of the states, and the largest magnitude of
        those.
    gradient_error : float or None
        Largest error of the gradient of a few steps, over its largest magnitude, as compared
        before the run; None where that was not done.
    stretch : tuple of int
        The first of those steps and the one after the last.
    """

    name: str
    transfer: str
    file_system: str
    disk_bytes: int
    memory_bytes: int
    transfer_seconds: float | None = None
    waited_seconds: float = 0.0
    predicted_seconds: float | None = None
    prefetched: int = 0
    loads: int = 0
    ratio: float = 1.0
    largest_error: float = 0.0
    rms_error: float = 0.0
    scale: float = 0.0
    gradient_error: float | None = None
    stretch: tuple[int, int] = (0, 0)

    @property
    def hidden(self) -> float | None:
        """Share of the background transfers that the run did not wait for."""
        if not self.transfer_seconds:
            return None
        return max(0.0, 1.0 - self.waited_seconds / self.transfer_seconds)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one gradient took: time, bytes, counts, and why.

    Attributes
    ----------
    plan : Plan
        What was played, and its prediction.
    cpu_seconds, wall_seconds : float
        Time of the run: of the process's processors, and of the clock on the wall.
    peak_bytes : int
        Own accounting: bytes allocated for snapshots, recordings, windows and staging.
    resident_growth : int or None
        How far the process's peak resident set rose during the run, where the system tells.
    advances, records, reverses, writes, reads : int
        Steps and snapshots.
    verbs : tuple of Verb
        Time by kind of action.
    own_seconds : float
        Wall time outside the problem and the tiers' copies: adjourn's own.
    fallbacks : tuple of str
        What did not go the planned way, in words; empty in a plain run.
    tiers : tuple of TierUse
        What each tier on disk, or with encoded snapshots, did.
    """

    plan: Plan
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    resident_growth: int | None
    advances: int
    records: int
    reverses: int
    writes: int
    reads: int
    verbs: tuple[Verb, ...]
    own_seconds: float
    fallbacks: tuple[str, ...] = ()
    tiers: tuple[TierUse, ...] = ()

    @property
    def forward_steps(self) -> int:
        """Forward steps of either kind."""
        return self.advances + self.records

    @property
    def recomputed_steps(self) -> int:
        """Forward steps beyond those of one plain run."""
        return self.forward_steps - self.plan.steps

    @property
    def predicted_seconds(self) -> float:
        """What the plan predicted."""
        return self.plan.seconds

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON value; `RunRecord.from_json` is the way back."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        values["schema"] = SCHEMA
        values["plan"] = self.plan.to_json()
        values["verbs"] = [[v.name, v.count, v.seconds, v.predicted] for v in self.verbs]
        values["fallbacks"] = list(self.fallbacks)
        values["tiers"] = [
            {name: getattr(tier, name) for name in tier.__slots__} for tier in self.tiers
        ]
        return values

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunRecord:
        """Return the record that `to_json` wrote.

        Raises
        ------
        BadValue
            The value was written under another schema, or is no record.
        """
        values = dict(value)
        schema = values.pop("schema", None)
        if schema != SCHEMA:
            raise BadValue(
                f"the run record has schema {schema!r}, and this version reads {SCHEMA}. Use the "
                "version that wrote it."
            )
        values["plan"] = Plan.from_json(values["plan"])
        values["verbs"] = tuple(Verb(*v) for v in values["verbs"])
        values["fallbacks"] = tuple(values["fallbacks"])
        tiers: list[dict[str, Any]] = [{"stretch": (0, 0), **tier} for tier in values["tiers"]]
        for tier in tiers:
            tier["stretch"] = tuple(tier["stretch"])
        values["tiers"] = tuple(TierUse(**tier) for tier in tiers)
        return cls(**values)
