"""Bounded places for snapshots: RAM, disk; the contract that third-party tiers fulfil."""

from ._contract import ArraySpec, Tier, specs_of, state_bytes

__all__ = ["ArraySpec", "Tier", "specs_of", "state_bytes"]
