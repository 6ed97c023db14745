"""The tiers in main memory: conformance, and bytes shared by pieces of unequal size."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn.errors import TierFull
from adjourn.testing import TierSuite
from adjourn.tiers import Arena, RamPool, specs_of, state_bytes


class TestRamPool(TierSuite):
    def make(self):
        return RamPool()


class TestArena(TierSuite):
    def make(self):
        return Arena(self.slots * state_bytes(specs_of(self.state(0))))


def test_the_arena_shares_its_bytes_between_snapshots_and_tapes():
    """A snapshot given up leaves its bytes to tapes of another size; the peak is exact."""
    arena = Arena(100)
    arena.open((), 0)
    state = [np.arange(40, dtype=np.uint8)]
    tape = [np.arange(25, dtype=np.uint8)]
    arena.save(0, state, {})
    arena.save(1, state, {})
    arena.drop(1)
    arena.push_tape(tape)
    arena.push_tape([tape[0] + 1])
    assert arena.peak_bytes == 90
    with pytest.raises(TierFull, match="25 bytes were to be kept above 90 bytes"):
        arena.push_tape(tape)
    back = [np.zeros(25, np.uint8)]
    arena.pop_tape(back)
    assert np.array_equal(back[0], tape[0] + 1)
    arena.pop_tape(back)
    assert np.array_equal(back[0], tape[0])
    arena.drop(0)
    arena.save(2, [np.zeros(100, np.uint8)], {})
    assert arena.peak_bytes == 100


def test_a_piece_dropped_out_of_order_is_reclaimed_later():
    """Dropping below the top leaves a gap that is used when the top is full."""
    arena = Arena(80)
    arena.open((), 0)
    state = [np.zeros(40, np.uint8)]
    arena.save(0, state, {})
    arena.save(1, state, {})
    arena.drop(0)
    arena.save(2, state, {})
    with pytest.raises(TierFull):
        arena.save(3, state, {})
    arena.drop(1)
    arena.save(3, state, {})
    assert sorted(arena.held()) == [2, 3]
