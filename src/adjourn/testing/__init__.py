"""Tests and conformance suites that a user's problems and tiers can be put to."""

from ._tiers import TierSuite

__all__ = ["TierSuite"]
