"""How much measuring may take (promise 9)."""

from __future__ import annotations

__all__ = ["COPIED_BYTES", "LEAST_SECONDS", "RECORDED_BYTES", "SHARE"]

LEAST_SECONDS = 5.0
"""Seconds that measuring may take whatever a forward run does."""

SHARE = 0.05
"""Share of one forward run that measuring may take, where that is more."""

RECORDED_BYTES = 64 * 2**20
"""Recorded steps held while measuring, at most, or one step."""

COPIED_BYTES = 64 * 2**20
"""Copies of a state held while measuring, at most, or one: more than processor caches hold."""
