"""Encoders: what is lossless loses nothing, what is lossy keeps its tolerance, on any tier."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from adjourn.errors import BadValue, MissingExtra, TierFull
from adjourn.testing import TierSuite
from adjourn.tiers import (
    Background,
    DiskPool,
    Encoded,
    Encoder,
    Int16,
    RamPool,
    Raw,
    Zfp,
    Zstd,
    measure_encoder,
    specs_of,
)


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


needs_zfp = pytest.mark.skipif(not _has("zfpy"), reason="needs zfpy")
needs_zstd = pytest.mark.skipif(not _has("zstandard"), reason="needs zstandard")
LOSSY = [Int16(1e-3), Int16(1e-3, relative=True)]
if _has("zfpy"):
    LOSSY += [Zfp(1e-3), Zfp(1e-3, relative=True)]
LOSSLESS = [Raw()] + ([Zstd()] if _has("zstandard") else [])


class TestRawOnDisk(TierSuite):
    def make(self):
        return Encoded(DiskPool(), Raw())


@needs_zstd
class TestZstdInMemory(TierSuite):
    def make(self):
        return Encoded(RamPool(), Zstd())


@needs_zstd
class TestZstdOnDisk(TierSuite):
    def make(self):
        return Encoded(DiskPool(direct=False), Zstd())


@needs_zstd
class TestZstdInBackground(TierSuite):
    def make(self):
        return Background(Encoded(DiskPool(direct=False), Zstd()))


def wave(n=40, dtype=np.float32, seed=0):
    """Return a smooth field such as a wave, and its like in other layouts."""
    axis = np.linspace(0, 6, n)
    field = np.sin(axis[:, None, None] * 2 + seed) * np.cos(axis[:, None] * 3) * np.exp(-axis)
    return field.astype(dtype)


@pytest.mark.parametrize("encoder", LOSSY + LOSSLESS, ids=lambda e: e.name)
def test_encoders_fulfil_their_protocol(encoder):
    """Each has a name that says its tolerance, and tells whether it loses bits."""
    assert isinstance(encoder, Encoder)
    assert encoder.lossless == (encoder in LOSSLESS)
    assert encoder == type(encoder)(**{f: getattr(encoder, f) for f in encoder.__slots__})


FLOATS = st.sampled_from(["f4", "f8"]).flatmap(
    lambda kind: hnp.arrays(
        kind,
        hnp.array_shapes(min_dims=1, max_dims=5, max_side=7),
        elements=st.floats(-1e6, 1e6, width=32) | st.floats(width=32),
    )
)


@settings(max_examples=60)
@given(block=FLOATS)
@pytest.mark.parametrize("encoder", LOSSY + LOSSLESS, ids=lambda e: e.name)
def test_errors_stay_within_the_tolerance(encoder, block):
    """Whatever the values, the error of each is at most what was allowed, or the block is kept."""
    with np.errstate(all="ignore"):
        scale = float(np.abs(block).max())
        data = encoder.encode(block, scale)
    if data is None:
        return
    assert np.isfinite(block).all() or encoder.lossless
    back = np.full_like(block, 7)
    encoder.decode(memoryview(data), back)
    if encoder.lossless:
        assert back.tobytes() == block.tobytes()
    else:
        allowed = encoder.tolerance * (scale if encoder.relative else 1)
        assert np.abs(back.astype(np.float64) - block).max() <= allowed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-310])
def test_levels_too_close_to_tell_apart_are_one_or_none(dtype, tolerance):
    """Values whose range has no inverse stay within the tolerance, or are kept as they are."""
    tiny = float(np.finfo(dtype).tiny)
    block = np.array([0, tiny * 3, tiny * 1000], dtype)
    data = Int16(tolerance).encode(block, 0.0)
    if data is None:
        assert tolerance < tiny * 1000
        return
    back = np.full_like(block, np.nan)
    Int16(tolerance).decode(memoryview(data), back)
    assert np.abs(back - block).max() <= tolerance


@pytest.mark.parametrize("encoder", LOSSY + LOSSLESS, ids=lambda e: e.name)
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda a: a[:, ::2]])
def test_memory_is_what_it_says(encoder, layout):
    """What is traced while saving and loading a large state is within `nbytes`."""
    state = [layout(wave(130)), layout(np.random.default_rng(0).standard_normal((130,) * 3))]
    tracemalloc.start()
    try:
        tier = Encoded(RamPool(), encoder, ratio=0.9, measure_every=1)
        into = [np.empty_like(a) for a in state]
        before = tracemalloc.get_traced_memory()[0]
        tier.open(specs_of(state), 1)
        tier.save(1, state, {})
        tier.load(1, into)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak <= tier.nbytes + 65536
    assert tier.nbytes == Encoded.bytes_for(specs_of(state), 0.9) + Encoded.memory_for(
        specs_of(state), 0.9
    )
    tier.close()
    assert tier.nbytes == 0


@pytest.mark.parametrize("encoder", LOSSY, ids=lambda e: e.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lossy_snapshots_come_back_within_the_tolerance(encoder, dtype):
    """Through a tier, in every layout; integers and what is not finite keep their bits."""
    field = wave(dtype=dtype)
    odd = field.copy()
    odd[3, 4, 5] = np.nan
    state = [field, field[::2, 1:, ::3], np.asfortranarray(field), np.arange(9), odd]
    tier = Encoded(DiskPool(direct=False), encoder)
    tier.open(specs_of(state), 2)
    tier.save(5, state, {"time": 2.5})
    into = [np.zeros_like(a) for a in state]
    assert tier.load(5, into) == {"time": 2.5}
    for a, b in zip(into[:3], state[:3], strict=True):
        assert 0 < np.abs(a - b).max() <= encoder.tolerance
    assert np.array_equal(into[3], state[3])
    assert into[4].tobytes() == odd.tobytes()
    assert tier.loss.ratio > 1.2
    assert 0 < tier.loss.rms <= tier.loss.largest <= encoder.tolerance
    assert tier.loss.kept == 2
    tier.close()


def fill(tier, state, most):
    """Save until the tier is full, at most so often; return how often."""
    for count in range(most):
        try:
            tier.save(count, state, {})
        except TierFull as error:
            assert "compresses less well than planned" in str(error)
            return count
    return most


@needs_zfp
def test_better_compressing_states_leave_room_for_more():
    """Variable sizes: of quiet states many more fit than of lively ones; a full tier says so."""
    quiet, lively = [np.zeros((50, 64, 64), np.float32)], [wave(60)[:50]]
    lively = [np.random.default_rng(0).standard_normal((50, 64, 64), np.float32)]
    counts = []
    for state in (quiet, lively):
        tier = Encoded(DiskPool(direct=False), Zfp(1e-2), ratio=2)
        tier.open(specs_of(state), 6)
        count = fill(tier, state, most=40)
        assert sorted(tier.held()) == list(range(count))
        into = [np.ones_like(state[0])]
        tier.load(count - 1, into)
        assert np.abs(into[0] - state[0]).max() <= 1e-2
        free = tier.room_beside(tier.held())
        assert tier.room_beside([]) >= free + 1
        tier.drop(0)
        assert tier.room_beside(tier.held()) > free
        tier.save(99, state, {})
        counts.append(count)
        tier.close()
    assert counts[0] == 40
    assert counts[1] < 12


def test_the_ratio_is_measured_before_and_during():
    """`measure_encoder` tells ratio and error of a state; the tier keeps measuring."""
    state = [wave()]
    before = measure_encoder(Int16(1e-3), state)
    assert 1.9 < before.ratio <= 2
    assert 0 < before.rms < before.largest <= 1e-3
    assert before.scale == np.abs(state[0]).max()
    tier = Encoded(DiskPool(), Int16(1e-3), ratio=before.ratio, measure_every=2)
    tier.open(specs_of(state), 4)
    for step in range(4):
        tier.save(step, state, {})
    assert tier.loss.values == 2 * state[0].size
    assert tier.loss.raw == 4 * state[0].nbytes
    tier.close()


def test_nonsense_is_refused(monkeypatch):
    """Tolerances, levels and ratios that mean nothing; extras that are not installed."""
    for tolerance in (0, -1, float("nan"), float("inf")):
        with pytest.raises(BadValue, match="no error bound"):
            Int16(tolerance)
    with pytest.raises(BadValue, match="no ratio"):
        Encoded(DiskPool(), Raw(), ratio=0)
    monkeypatch.setitem(__import__("sys").modules, "zfpy", None)
    with pytest.raises(MissingExtra, match=r"adjourn\[zfp\]"):
        Zfp(1e-3)
    if _has("zstandard"):
        with pytest.raises(BadValue, match="-7 to 22"):
            Zstd(40)
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"adjourn\[zstd\]"):
        Zstd()
