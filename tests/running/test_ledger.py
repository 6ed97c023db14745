"""The ledger: golden file, fuzzed parser, the pace of commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from adjourn import BadValue
from adjourn.errors import DiskFull
from adjourn.running import Storage
from adjourn.running._journal import Pace
from adjourn.running._ledger import Ledger, pack_record, parse_records, read_ledger
from adjourn.tiers import Files, Int16, Zstd
from tiers.faults import FaultyFiles

GOLDEN = Path(__file__).parent / "golden"
RECORDS = [
    {"kind": "begin", "format": 1, "run": "00ff", "problem": {"steps": 3, "type": "a.B"}},
    {"kind": "commit", "number": 1, "phase": "forward", "step": 2},
    {"kind": "commit", "number": 2, "phase": "reverse", "step": 1, "note": "é"},
]


def test_version_1_is_read_for_ever():
    """The ledger of the first release is read, and still written the same."""
    data = (GOLDEN / "ledger-v1.bin").read_bytes()
    content = parse_records(data)
    assert list(content.records) == RECORDS
    assert content.nbytes == len(data)
    assert content.damage is None
    assert b"".join(pack_record(n, r) for n, r in enumerate(RECORDS)) == data


FIELDS = st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.booleans())


@given(st.lists(FIELDS, max_size=6), st.data())
def test_a_ledger_cut_or_harmed_keeps_what_came_before(records, data):
    """The records before the first harmed byte are read; nothing after it is."""
    pieces = [pack_record(n, fields) for n, fields in enumerate(records)]
    whole = b"".join(pieces)
    assert list(parse_records(whole).records) == records
    if not whole:
        return
    at = data.draw(st.integers(0, len(whole) - 1))
    ends = [sum(map(len, pieces[: n + 1])) for n in range(len(pieces))]
    before = sum(end <= at for end in ends)
    harmed = bytearray(whole)
    harmed[at] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(harmed), whole[:at]):
        content = parse_records(damaged)
        assert list(content.records) == records[:before]
        assert content.nbytes == ([0, *ends])[before]
        assert content.damage is None if damaged == whole[: content.nbytes] else content.damage


@given(st.binary(max_size=200), st.booleans(), st.sampled_from([b"", b"[1]", b"{}", b"7", b"{"]))
def test_noise_is_never_a_crash(noise, sealed, body):
    """Arbitrary bytes, also under a right checksum, give records or a word of damage."""
    if sealed:
        text = body or noise
        head = len(text).to_bytes(4, "little") + (0).to_bytes(8, "little")
        digest = xxh3_64_intdigest(
            (0).to_bytes(8, "little") + len(text).to_bytes(4, "little") + text
        )
        noise = b"adjL" + head + digest.to_bytes(8, "little") + text
    content = parse_records(noise)
    assert content.damage or content.nbytes == len(noise)
    assert all(isinstance(record, dict) for record in content.records)


def test_records_moved_or_repeated_are_noticed():
    """A record has its place: swapped, repeated or left out, it ends the ledger."""
    a, b, c = (pack_record(n, r) for n, r in enumerate(RECORDS))
    for data, left in ((a + c, 1), (b + a, 0), (a + a, 1), (a + c + b, 1)):
        content = parse_records(data)
        assert len(content.records) == left
        assert content.damage == f"record {left} is damaged"


def test_appending_goes_on_after_damage(tmp_path):
    """A ledger with a torn end is cut there and continued."""
    path = tmp_path / "ledger"
    files = Files()
    ledger = Ledger(files, str(path), durable=True)
    ledger.create()
    for record in RECORDS:
        ledger.append(**record)
    ledger.close()
    ledger.close()
    path.write_bytes(path.read_bytes()[:-3])
    content = read_ledger(files, str(path))
    assert content.damage == "record 2 is cut off"
    ledger.continue_from(content)
    ledger.append("commit", number=9)
    ledger.close()
    assert [r.get("number") for r in read_ledger(files, str(path)).records] == [None, 1, 9]


def test_a_failed_append_leaves_the_ledger_as_it_was(tmp_path):
    """An error while appending is typed, and the next append takes its place."""
    path = tmp_path / "ledger"
    files = FaultyFiles(1, 28, only=["pwrite"])
    ledger = Ledger(files, str(path))
    ledger.create()
    ledger.append("begin")
    with pytest.raises(DiskFull, match="a line of the ledger"):
        ledger.append("commit", number=1)
    ledger.append("commit", number=2)
    ledger.close()
    assert [r.get("number") for r in read_ledger(files, str(path)).records] == [None, 2]


def test_the_pace_keeps_the_overhead():
    """Commits that take a known time come so rarely that they take the share that was stated."""
    for overhead, cost in ((0.01, 0.5), (0.05, 2.0), (0.2, 0.01)):
        clock = [0.0]
        pace = Pace(overhead, 10**9, clock=lambda clock=clock: clock[0])
        spent = 0.0
        while clock[0] < 5000:
            clock[0] += 0.37
            if pace.due():
                clock[0] += cost
                spent += cost
                pace.took(cost)
        assert spent == pytest.approx(pace.seconds)
        most = cost / (cost + 0.37)  # at every opportunity
        assert 0.5 * min(overhead, most) < spent / clock[0] <= overhead * 1.05


def test_the_turn_may_spend_what_was_saved():
    """The seed is committed as soon as the forward sweep has earned it."""
    clock = [0.0]
    pace = Pace(0.01, 10**6, clock=lambda: clock[0])
    clock[0] = 0.1
    assert not pace.due(turn=True)
    clock[0] = 10.0
    assert pace.due(turn=True)
    assert Pace(float("inf"), 1).due()
    assert not Pace(0, 1).due(turn=True)


def test_a_storage_survives_json():
    """What a ledger keeps of a storage comes back; nonsense is refused."""
    for storage in (
        Storage(),
        Storage(overhead=float("inf"), background=3, durable=True, direct=False),
        Storage(encoder=Zstd(4), ratio=2.5, on_corrupt="recompute", on_full="recompute"),
        Storage(encoder=Int16(1e-3, relative=True)),
    ):
        assert Storage.from_json(json.loads(json.dumps(storage.to_json()))) == storage
    with pytest.raises(BadValue, match="no share"):
        Storage(overhead=-1)
    with pytest.raises(BadValue, match='"raise" or "recompute"'):
        Storage(on_corrupt="ignore")
    with pytest.raises(BadValue, match="background"):
        Storage(background=-1)


def test_appending_is_cheap(tmp_path):
    """Lines of a ledger are small: a commit does not grow with the run."""
    ledger = Ledger(Files(), str(tmp_path / "ledger"))
    ledger.create()
    for number in range(100):
        ledger.append("commit", number=number, phase="reverse", step=10**6)
    ledger.close()
    assert (tmp_path / "ledger").stat().st_size < 100 * 120
