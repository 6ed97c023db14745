"""Bounded places for snapshots: RAM, disk; the contract that third-party tiers fulfil."""

from ._contract import ArraySpec, Tier, specs_of, state_bytes
from ._disk import DiskPool
from ._files import Files

__all__ = ["ArraySpec", "DiskPool", "Files", "Tier", "specs_of", "state_bytes"]
