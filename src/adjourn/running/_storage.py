"""How a run uses its disk: one value, given to `run` and kept in the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

from .._sizes import as_count
from ..errors import BadValue, NotSupported
from ..tiers import Background, DiskPool, Encoded, Encoder, Files, Int16, Raw, Tier, Zfp, Zstd

__all__ = ["Storage", "encoded_tier"]

_ENCODERS = {kind.__name__: kind for kind in (Int16, Raw, Zfp, Zstd)}
_NOT_KEPT = ("encoder", "files", "scratch")


@dataclass(frozen=True, slots=True)
class Storage:
    """How a run uses its disk.

    Parameters
    ----------
    scratch : str, optional
        Directory of the anonymous file of a run without ``directory``; the system's directory
        for temporary files by default.
    direct : bool, optional
        Past the page cache or through it; None: past it where the file system takes that.
    durable : bool
        Survive a loss of power: wait for the medium at each snapshot and commit.
    overhead : float
        Share of a resumable run's time that commits may take; ``inf`` commits at every
        opportunity, 0 never.
    background : int
        Staging buffers of background transfer, a state each; 0 transfers in the foreground.
    on_corrupt : {"raise", "recompute"}
        A snapshot that cannot be read: raise, or rebuild it from a valid one before it.
    on_full : {"raise", "recompute"}
        A snapshot that cannot be written for want of room: raise, or do without it and rebuild
        it when it is needed.
    encoder : Encoder, optional
        Encodes snapshots. A lossy one changes the gradient by about its tolerance: the plan and
        the record have the error of a state, and of the gradient of a few steps.
    encode : {"disk", "memory", "both"}
        Which snapshots it encodes. In main memory it is used where the plan with it is faster
        than the one without.
    ratio : float, optional
        How many times smaller the encoder makes a state, as the plan counts on. By default a
        cautious reading of what is measured after the first twentieth of the steps. Snapshots
        that turn out larger meet ``on_full``; for smaller ones the rest is planned anew at the
        first load after the turn.
    files : Files, optional
        The layer of system calls, for tests.
    """

    scratch: str | None = None
    direct: bool | None = None
    durable: bool = False
    overhead: float = 0.01
    background: int = 0
    on_corrupt: Literal["raise", "recompute"] = "raise"
    on_full: Literal["raise", "recompute"] = "raise"
    encoder: Encoder | None = None
    encode: Literal["disk", "memory", "both"] = "disk"
    ratio: float | None = None
    files: Files | None = None

    def __post_init__(self) -> None:
        as_count(self.background, "background", least=0)
        if not self.overhead >= 0:
            raise BadValue(f"overhead={self.overhead!r} is no share. Pass 0.01 for 1 percent.")
        if self.encode not in ("disk", "memory", "both"):
            raise BadValue(f'encode={self.encode!r}. Pass "disk", "memory" or "both".')
        for name in ("on_corrupt", "on_full"):
            if getattr(self, name) not in ("raise", "recompute"):
                raise BadValue(f'{name}={getattr(self, name)!r}. Pass "raise" or "recompute".')

    @property
    def tolerant(self) -> bool:
        """Whether a run goes on when a snapshot fails."""
        return "recompute" in (self.on_corrupt, self.on_full)

    def pool(self, path: str | None, run: bytes | None) -> DiskPool:
        """Return the pool of a disk tier, not open: anonymous, or under a path."""
        return DiskPool(
            None if path else self.scratch,
            path=None if path is None else Path(path),
            direct=self.direct,
            durable=self.durable,
            run=run,
            files=self.files,
        )

    def encodes(self, where: Literal["disk", "memory"]) -> bool:
        """Return whether snapshots there are to be encoded."""
        return self.encoder is not None and self.encode in (where, "both")

    def encoded(self, pool: DiskPool, ratio: float) -> Tier:
        """Return the pool, encoded if that was asked for, at a ratio unless one was given."""
        if self.encoder is None or not self.encodes("disk"):
            return pool
        return Encoded(pool, self.encoder, ratio=self.ratio or ratio)

    def wrapped(self, pool: DiskPool, ratio: float) -> Tier:
        """Return the tier that a run sees: encoded and in the background, as asked for."""
        tier = self.encoded(pool, ratio)
        return Background(tier, self.background) if self.background else tier

    def to_json(self) -> dict[str, Any]:
        """Return what a resumed run needs to know.

        Raises
        ------
        NotSupported
            The encoder is not one of adjourn's own.
        """
        value = {name: getattr(self, name) for name in self.__slots__ if name not in _NOT_KEPT}
        value["overhead"] = repr(self.overhead)  # JSON has no infinity
        encoder = self.encoder
        if encoder is not None:
            if type(encoder).__name__ not in _ENCODERS or not is_dataclass(encoder):
                raise NotSupported(
                    f"a run in a directory was asked for with the encoder {encoder.name!r}, which "
                    "a ledger cannot name. Use one of adjourn's encoders, or leave directory= out."
                )
            value["encoder"] = [type(encoder).__name__, asdict(encoder)]
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any], files: Files | None = None) -> Storage:
        """Return what `to_json` wrote."""
        values = dict(value)
        values["overhead"] = float(values["overhead"])
        encoder = values.pop("encoder", None)
        if encoder is not None:
            values["encoder"] = _ENCODERS[encoder[0]](**encoder[1])
        return cls(**values, files=files)


def encoded_tier(tier: Tier) -> Encoded | None:
    """Return the encoded tier, perhaps behind a background one."""
    found: object = tier
    while found is not None and not isinstance(found, Encoded):
        found = getattr(found, "inner", None)
    return found
