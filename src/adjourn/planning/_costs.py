"""What a problem costs: the numbers between measuring and planning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from .._sizes import as_bytes, as_count, shortened
from ..errors import BadValue, WrongType
from ..problem import Reads, Window

__all__ = ["Costs", "Encoding", "Recording"]


_LONGEST = 1e100  # seconds: sums over any number of steps stay finite


@dataclass(frozen=True, slots=True)
class Recording:
    """One way to record a step.

    Parameters
    ----------
    seconds : float
        Time to record a step and, later, to reverse it; at least the time of an advance.
    left : int
        Bytes left after recording, until the step is reversed.
    peak : int, optional
        Most bytes held while recording and again while reversing; ``left`` by default.
    holds_state : bool
        The recording ends with the state that the step reaches (the last stage of a stiffly
        accurate method), from which the model can be restarted.
    """

    seconds: float
    left: int
    peak: int = -1
    holds_state: bool = False

    def __post_init__(self) -> None:
        left = as_bytes(self.left, "left")
        peak = left if self.peak == -1 else as_bytes(self.peak, "peak")
        if peak < left:
            raise BadValue(f"peak={peak} is below left={left}. A peak includes what is left.")
        object.__setattr__(self, "seconds", _seconds(self.seconds, "seconds"))
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "peak", peak)
        object.__setattr__(self, "holds_state", bool(self.holds_state))


@dataclass(frozen=True, slots=True)
class Encoding:
    """What an encoder did to one state, and what that did to the gradient of a short stretch.

    Attributes
    ----------
    name : str
        The encoder.
    ratio : float
        How many times smaller a state is counted on to be.
    memory : bool
        Snapshots in main memory are encoded: ``Costs.snapshot`` has the bytes of such a one.
    found : float
        How many times smaller the measured state was.
    largest, rms, scale : float
        Its largest and root mean square error, and its largest magnitude.
    gradient : float or None
        Largest error of what the reverse of the stretch computed from that state, over its
        largest magnitude; 0 for a lossless encoder, None where it could not be compared.
    start, stop : int
        The stretch of steps; ``start`` is where the state was measured.
    """

    name: str
    ratio: float
    memory: bool = False
    found: float = 1.0
    largest: float = 0.0
    rms: float = 0.0
    scale: float = 0.0
    gradient: float | None = None
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """The measured costs of one step of a problem: seconds and bytes.

    Parameters
    ----------
    advance : float
        Seconds of one forward step without recording.
    recordings : sequence of Recording
        The menu of ways to record a step, one or more; may be empty if
        ``reads="nothing"``.
    snapshot : int
        Bytes of one snapshot.
    write, read : float
        Seconds to save and to load a snapshot in main memory.
    reverse : float
        Seconds of the reverse of one step alone; part of every ``Recording.seconds``.
    reads : {"nothing", "state", "tape"}
        What the reverse of a step reads.
    window : Window or None
        The problem's own buffer of recorded steps. None: recordings may lie anywhere and
        survive advances.
    disk_write, disk_read : float or None
        Seconds to save and to load a snapshot on disk.
    disk_snapshot, disk_staging : int
        Bytes of a snapshot on disk, headers included (0: those of ``snapshot``), and of main
        memory to stage it.
    disk_buffers : int
        Staging buffers of background transfer, which ``disk_staging`` includes; 0: the model
        stands still while a snapshot is on its way.
    tape_copy : float
        Seconds to move one recorded step out of the problem's window and back in.
    standing : int
        Bytes held throughout a run whose recordings lie anywhere, besides snapshots and
        recordings: the window through which they are moved, or what a recording needs around
        it.
    encoding : Encoding, optional
        What the encoder of a run's snapshots did when it was measured.

    Raises
    ------
    WrongType, BadValue
        A time is not a finite number of 0 or more, a size is not a number of bytes, or a
        recording takes less time than an advance (record-and-discard would then be a cheaper
        advance, and no plan would be exact).

    Examples
    --------
    >>> Costs(advance=1, recordings=[Recording(seconds=2.5, left=1)], snapshot=2).snapshot
    2
    """

    advance: float
    recordings: Sequence[Recording]
    snapshot: int
    write: float = 0.0
    read: float = 0.0
    reverse: float = 0.0
    reads: Reads = "tape"
    window: Window | None = None
    disk_write: float | None = None
    disk_read: float | None = None
    tape_copy: float = 0.0
    standing: int = 0
    disk_snapshot: int = 0
    disk_staging: int = 0
    disk_buffers: int = 0
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        for name in ("advance", "write", "read", "reverse", "tape_copy"):
            object.__setattr__(self, name, _seconds(getattr(self, name), name))
        for name in ("disk_write", "disk_read"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _seconds(getattr(self, name), name))
        object.__setattr__(self, "recordings", _recordings(self.recordings))
        object.__setattr__(self, "snapshot", as_bytes(self.snapshot, "snapshot"))
        for name in ("standing", "disk_snapshot", "disk_staging"):
            object.__setattr__(self, name, as_bytes(getattr(self, name), name))
        buffers = as_count(self.disk_buffers, "disk_buffers", least=0)
        object.__setattr__(self, "disk_buffers", buffers)
        if self.reads not in ("nothing", "state", "tape"):
            raise BadValue(f'reads={self.reads!r} is unknown. Pass "nothing", "state" or "tape".')
        if not self.recordings and self.reads != "nothing":
            raise BadValue(
                f"recordings is empty, and reads={self.reads!r} needs one. Pass at least one "
                'Recording, or reads="nothing".'
            )
        for number, recording in enumerate(self.recordings):
            if recording.seconds < self.advance:
                raise BadValue(
                    f"recordings[{number}] takes {recording.seconds} s, less than the "
                    f"{self.advance} s of an advance. Recording and reversing a step runs it: "
                    "measure both on the same machine."
                )

    def write_seconds(self, tier: int) -> float:
        """Return the seconds of one save in a tier: 0 is main memory, others are disk."""
        return self.write if tier == 0 else _known(self.disk_write, "disk_write")

    def read_seconds(self, tier: int) -> float:
        """Return the seconds of one load from a tier: 0 is main memory, others are disk."""
        return self.read if tier == 0 else _known(self.disk_read, "disk_read")

    def to_json(self) -> dict[str, Any]:
        """Return the costs as a JSON value."""
        window = self.window
        return {
            "advance": self.advance,
            "recordings": [
                [r.seconds, r.left, r.peak] + [True] * r.holds_state for r in self.recordings
            ],
            "snapshot": self.snapshot,
            "write": self.write,
            "read": self.read,
            "reverse": self.reverse,
            "reads": self.reads,
            "window": None
            if window is None
            else {name: getattr(window, name) for name in window.__slots__},
            "disk_write": self.disk_write,
            "disk_read": self.disk_read,
            "tape_copy": self.tape_copy,
            "standing": self.standing,
            "disk_snapshot": self.disk_snapshot,
            "disk_staging": self.disk_staging,
            "disk_buffers": self.disk_buffers,
            "encoding": None
            if self.encoding is None
            else {name: getattr(self.encoding, name) for name in self.encoding.__slots__},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Costs:
        """Return the costs that `to_json` wrote."""
        values = dict(value)
        values["recordings"] = tuple(Recording(*r) for r in values["recordings"])
        if values["window"] is not None:
            values["window"] = Window(**values["window"])
        if values.get("encoding") is not None:
            values["encoding"] = Encoding(**values["encoding"])
        return cls(**values)


def _seconds(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = float(value)  # type: ignore[arg-type]  # NumPy scalars
        except (TypeError, ValueError):
            raise WrongType(
                f"{name}={value!r} is of type {type(value).__name__}. Pass a number of seconds."
            ) from None
    if not 0 <= value <= _LONGEST:
        raise BadValue(
            f"{name}={shortened(value)} is no duration. Pass a number from 0 to {_LONGEST:g}."
        )
    return value


def _recordings(value: object) -> tuple[Recording, ...]:
    if isinstance(value, Sequence):
        items = tuple(cast("Sequence[object]", value))
        if all(isinstance(item, Recording) for item in items):
            return cast("tuple[Recording, ...]", items)
    raise WrongType(f"recordings={value!r} is not a sequence of Recording. Pass [Recording(...)].")


def _known(value: float | None, name: str) -> float:
    if value is None:
        raise BadValue(f"the schedule uses a disk, and {name} is not known. Pass Costs({name}=).")
    return value
