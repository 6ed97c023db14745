"""The on-disk format: golden files, fuzzed parsers, and damage that is always noticed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_128_digest

from adjourn import CorruptSnapshot
from adjourn.tiers import DiskPool, specs_of
from adjourn.tiers._format import (
    HeaderError,
    PoolHeader,
    SlotHeader,
    StoredArray,
    header_room,
    pack_pool,
    pack_slot,
    parse_pool,
    parse_slot,
)

GOLDEN = Path(__file__).parent / "golden"
RUN = bytes(range(16))
PAGE = 4096


def golden_state(step):
    """Return the arrays that the golden files hold; integers, so that no generator matters."""
    ramp = (np.arange(24, dtype=np.float32) * 0.5 + step).reshape(4, 6)
    return [
        ramp,
        np.asfortranarray(ramp.astype(np.float64)),
        np.arange(5, dtype=np.int16) - step,
        np.array([1 + 2j, step], np.complex64),
        np.array(step % 2 == 0),
    ]


GOLDEN_CLOCK = {"time": 0.1, "steps": 3, "large": 2**70, "dt-é": -0.0}


def write_golden(path):
    """Write a pool as the golden files were written: steps 3 and 9 of three slots."""
    pool = DiskPool(path=path, run=RUN, direct=False)
    pool.open(specs_of(golden_state(0)), 3)
    pool.save(1, golden_state(1), {})
    pool.save(3, golden_state(3), GOLDEN_CLOCK)
    pool.drop(1)
    pool.save(9, golden_state(9), {})
    pool.close(keep=True)


def test_version_1_is_read_for_ever(tmp_path):
    """A pool written by the first release is adopted, with its bits and clocks."""
    path = tmp_path / "pool"
    path.write_bytes((GOLDEN / "pool-v1.bin").read_bytes())
    pool = DiskPool(path=path, run=RUN)
    assert pool.adopt(specs_of(golden_state(0)), 3) == []
    assert sorted(pool.held()) == [3, 9]
    for step, clock in ((3, GOLDEN_CLOCK), (9, {})):
        into = [np.zeros_like(a) for a in golden_state(0)]
        assert pool.load(step, into) == clock
        assert [a.tobytes("K") for a in into] == [a.tobytes("K") for a in golden_state(step)]
    pool.close()


def test_version_1_is_still_written_the_same(tmp_path):
    """The same calls write the same bytes as the first release; a change needs a new version."""
    write_golden(tmp_path / "pool")
    assert (tmp_path / "pool").read_bytes() == (GOLDEN / "pool-v1.bin").read_bytes()


@pytest.fixture
def damaged(tmp_path):
    """Return a function that damages a fresh pool and tells the steps that still load."""
    count = 0

    def check(harm, run=RUN, state=golden_state, steps=(3, 9)):
        nonlocal count
        count += 1
        path = tmp_path / f"pool{count}"
        data = bytearray((GOLDEN / "pool-v1.bin").read_bytes())
        harm(data)
        path.write_bytes(data)
        pool = DiskPool(path=path, run=run, direct=False)
        try:
            told = pool.adopt(specs_of(state(0)), 3)
        except CorruptSnapshot:
            path.unlink()
            return None, []
        for step in pool.held():
            into = [np.zeros_like(a) for a in state(0)]
            pool.load(step, into)
            assert all(np.array_equal(a, b) for a, b in zip(into, state(step), strict=True))
        held = sorted(pool.held())
        pool.close()
        return held, told

    return check


SLOT = PAGE + 2 * PAGE
"""Where slot 1 starts; its header is one page, its payload less than one."""


def test_every_header_byte_flipped_is_noticed(damaged):
    """Each byte of a slot's header and of the pool's own page, one at a time."""
    for at in range(PAGE):
        held, told = damaged(lambda data, at=at: data.__setitem__(SLOT + at, data[SLOT + at] ^ 1))
        assert held == [9]
        assert len(told) == 1
        assert told[0].startswith("slot 1: ")
    for at in range(0, PAGE, 5):
        assert damaged(lambda data, at=at: data.__setitem__(at, data[at] ^ 128)) == (None, [])


def test_random_payload_bits_flipped_are_noticed(damaged):
    """200 seeded single bits of a payload."""
    rng = random.Random(5)
    payload = sum(a.nbytes for a in golden_state(0))
    for _ in range(200):
        at, bit = SLOT + PAGE + rng.randrange(payload), 1 << rng.randrange(8)
        held, told = damaged(lambda data, at=at, bit=bit: data.__setitem__(at, data[at] ^ bit))
        assert held == [9]
        assert "checksum of its payload" in told[0]


def test_an_open_pool_notices_too(tmp_path):
    """Damage, truncation and a write that got lost are met by `load` of a pool in use."""
    path = tmp_path / "pool"
    pool = DiskPool(path=path, direct=False)
    pool.open(specs_of(golden_state(0)), 1)
    pool.save(1, golden_state(1), {})
    before = path.read_bytes()
    pool.drop(1)
    pool.save(1, golden_state(2), {})
    after = path.read_bytes()
    rng = random.Random(1)
    for _ in range(100):
        at = PAGE + rng.randrange(PAGE + sum(a.nbytes for a in golden_state(0)))
        data = bytearray(after)
        data[at] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with pytest.raises(CorruptSnapshot, match="slot 0, which should hold step 1"):
            pool.load(1, golden_state(0))
    path.write_bytes(before)
    with pytest.raises(CorruptSnapshot, match="it holds write 1, of step 1"):
        pool.load(1, golden_state(0))
    for length in (0, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 10):
        path.write_bytes(after[:length])
        with pytest.raises(CorruptSnapshot, match="ends inside"):
            pool.load(1, golden_state(0))
    path.write_bytes(after)
    pool.load(1, golden_state(0))
    pool.close()


def test_truncation_is_noticed(damaged):
    """A file cut anywhere keeps the slots before the cut, or is refused as a whole."""
    whole = len((GOLDEN / "pool-v1.bin").read_bytes())
    for length in range(0, whole, 501):
        held, _ = damaged(lambda data, length=length: data.__delitem__(slice(length, None)))
        ends = {3: 5 * PAGE, 9: 3 * PAGE}
        whole_slots = [step for step, end in ends.items() if length >= end]
        assert held == (None if length < PAGE else whole_slots)


def test_swapped_and_copied_slots_are_noticed(damaged):
    """A slot moved to the place of another is not taken for it."""

    def swap(data):
        first, second = data[PAGE : 3 * PAGE], data[3 * PAGE : 5 * PAGE]
        data[PAGE : 3 * PAGE], data[3 * PAGE : 5 * PAGE] = second, first

    held, told = damaged(swap)
    assert held == []
    assert "it was written to slot 1" in told[0]
    assert "it was written to slot 0" in told[1]

    def copy(data):
        data[5 * PAGE : 7 * PAGE] = data[3 * PAGE : 5 * PAGE]

    held, told = damaged(copy)
    assert held == [3, 9]
    assert "it was written to slot 1" in told[0]


def test_slots_of_another_run_or_shape_are_noticed(damaged, tmp_path):
    """A slot, or a whole file, of another run or of other arrays is refused by name."""
    other = tmp_path / "other"
    pool = DiskPool(path=other, run=bytes(16), direct=False)
    pool.open(specs_of(golden_state(0)), 3)
    for step in (3, 4, 5):
        pool.save(step, golden_state(7), {})
    pool.close(keep=True)
    foreign = other.read_bytes()

    def mix(data):
        data[PAGE : 3 * PAGE] = foreign[PAGE : 3 * PAGE]

    held, told = damaged(mix)
    assert held == [3]
    assert "it belongs to another run, 00000000000000000000000000000000" in told[0]
    assert damaged(lambda data: None, run=bytes(16)) == (None, [])
    assert damaged(lambda data: None, state=lambda step: [np.zeros(3)]) == (None, [])


def test_another_version_is_refused_by_name():
    """A header of a later format is not guessed at."""
    page = bytearray(pack_pool(PoolHeader(RUN, PAGE, 10)))
    page[8] = 2
    page[-16:] = xxh3_128_digest(bytes(page[:-16]))
    with pytest.raises(HeaderError, match="version 2; this adjourn reads version 1"):
        parse_pool(bytes(page))


def slot_header(arrays, clock):
    return SlotHeader(RUN, 3, 5, 8, arrays, clock, sum(array.nbytes for array in arrays), b"d" * 16)


ARRAYS = st.lists(
    st.builds(
        StoredArray,
        st.sampled_from(["<f4", "<f8", "|u1", "<c16", "<i8", "|b1", "<M8[ns]", "<V2"]),
        st.lists(st.integers(0, 9), max_size=4).map(tuple),
        st.sampled_from("CF"),
    ),
    max_size=5,
).map(tuple)
CLOCKS = st.dictionaries(
    st.text(max_size=9), st.integers() | st.floats(allow_nan=False), max_size=9
)


@given(arrays=ARRAYS, clock=CLOCKS)
def test_headers_are_parsed_as_they_were_packed(arrays, clock):
    """Packing and parsing are inverse."""
    header = slot_header(arrays, clock)
    assert parse_slot(pack_slot(header, 2 * PAGE)) == header
    pool = PoolHeader(RUN, 2 * PAGE, header.payload_bytes)
    assert parse_pool(pack_pool(pool)) == pool


@given(
    arrays=ARRAYS,
    clock=CLOCKS,
    harm=st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=9)), max_size=5),
    sealed=st.booleans(),
)
def test_a_fuzzed_header_parses_or_is_bad(arrays, clock, harm, sealed):
    """Whatever the bytes, even under a right checksum, there is a value or `HeaderError`."""
    for pack, parse in (
        (lambda: pack_slot(slot_header(arrays, clock), PAGE), parse_slot),
        (lambda: pack_pool(PoolHeader(RUN, PAGE, 77)), parse_pool),
    ):
        data = bytearray(pack())
        for at, piece in harm:
            data[at : at + len(piece)] = piece
        if sealed:
            data[-16:] = xxh3_128_digest(bytes(data[:-16]))
        try:
            parse(bytes(data))
        except HeaderError:
            pass
        else:
            assert sealed or not harm or bytes(data) == pack()


@given(st.binary(max_size=300), st.integers(0, 2), st.booleans())
def test_noise_is_bad(noise, pages, sealed):
    """Arbitrary bytes, short, long or sealed, are never a crash."""
    for magic, parse in ((b"adjrnsl\x00", parse_slot), (b"adjrnpl\x00", parse_pool)):
        data = (magic + (1).to_bytes(4, "little") + noise).ljust(pages * PAGE, b"\x07")
        if sealed and len(data) >= PAGE:
            data = data[:-16] + xxh3_128_digest(data[:-16])
        with pytest.raises(HeaderError):
            parse(data)


def test_the_header_room_holds_any_specs():
    """The room of a header grows with the arrays, in whole pages."""
    for count in (0, 1, 50, 500):
        specs = specs_of([np.zeros((1,) * 30)] * count)
        arrays = tuple(StoredArray("<f8", spec.shape, "C") for spec in specs)
        room = header_room(specs)
        assert room % PAGE == 0
        assert parse_slot(pack_slot(slot_header(arrays, {"t": 1.0}), room)).arrays == arrays
