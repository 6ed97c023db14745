"""Bounded places for snapshots: RAM, disk; the contract that third-party tiers fulfil."""

from ._arena import Arena
from ._background import Background
from ._contract import ArraySpec, Tier, specs_of, state_bytes
from ._disk import DiskPool
from ._encoded import Encoded
from ._encoders import Encoder, Int16, Raw, Zfp, Zstd
from ._files import Files
from ._loss import Loss, measure_encoder
from ._ram import RamPool

__all__ = [
    "Arena",
    "ArraySpec",
    "Background",
    "DiskPool",
    "Encoded",
    "Encoder",
    "Files",
    "Int16",
    "Loss",
    "RamPool",
    "Raw",
    "Tier",
    "Zfp",
    "Zstd",
    "measure_encoder",
    "specs_of",
    "state_bytes",
]
