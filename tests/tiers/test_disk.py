"""The disk pool: conformance, speed of nothing, faults at every call, nothing left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from adjourn import BadValue, CorruptSnapshot, DiskFull, WrongType
from adjourn.errors import StorageFailed
from adjourn.testing import TierSuite
from adjourn.tiers import DiskPool, Files, specs_of
from adjourn.tiers._files import aligned
from tiers.faults import FaultyFiles

BIG = 3_000_000


class TestDirect(TierSuite):
    def make(self):
        return DiskPool(direct=None)


class TestPageCache(TierSuite):
    def make(self):
        return DiskPool(direct=False)


class TestDurable(TierSuite):
    def make(self):
        return DiskPool(durable=True)


class TestNamed(TierSuite):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path):
        self.path = tmp_path / "pool"

    def make(self):
        return DiskPool(path=self.path)


class TestInterruptedAndShort(TierSuite):
    def make(self):
        class Short(Files):
            turn = 0

            def pwrite(self, fd, data, offset):
                self.turn += 1
                if self.turn % 2:
                    raise InterruptedError
                return super().pwrite(fd, data[:1000], offset)

            def preadv(self, fd, buffers, offset):
                self.turn += 1
                if self.turn % 2:
                    raise InterruptedError
                return super().preadv(fd, [buffers[0][:1000]], offset)

        return DiskPool(direct=False, files=Short())


def big_state(step):
    """Return a state whose arrays take every way through the staging buffer."""
    rng = np.random.default_rng(step)
    whole = rng.standard_normal((700, 1200)).astype(np.float32)
    return [
        rng.standard_normal(5),
        whole,
        np.asfortranarray(whole),
        whole[1:-1, 1:-1],
        rng.integers(0, 255, BIG, dtype=np.uint8),
        whole.reshape(70, 10, 1200)[:, ::2, ::3],
        rng.integers(0, 255, 3, dtype=np.uint8),
    ]


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("direct", [None, False])
def test_large_arrays_of_every_layout_come_back(direct):
    """Arrays larger than the staging buffer, strided, transposed and tiny, bit for bit."""
    pool = DiskPool(direct=direct)
    pool.open(specs_of(big_state(0)), 2)
    try:
        for step in range(4):
            pool.save(step, big_state(step), {})
            into = [np.zeros_like(a) for a in big_state(step)]
            pool.load(step, into)
            assert same(into, big_state(step))
            if step:
                into = big_state(0)
                pool.load(step - 1, into)
                assert same(into, big_state(step - 1))
                pool.drop(step - 1)
    finally:
        pool.close()


@given(
    arrays=st.lists(
        hnp.arrays(
            st.sampled_from(["f4", "f8", "i2", "u1", "c16", "?"]),
            hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6),
        ),
        max_size=4,
    ),
    clock=st.dictionaries(
        st.text(max_size=5),
        st.integers() | st.floats(allow_nan=False) | st.just(np.float32(0.5)),
        max_size=4,
    ),
    step=st.integers(0, 2**40),
)
def test_any_state_and_clock_come_back(arrays, clock, step):
    """Any shapes, dtypes and scalars return as they were."""
    pool = DiskPool(direct=False)
    pool.open(specs_of(arrays), 1)
    pool.save(step, arrays, clock)
    into = [np.zeros_like(a) for a in arrays]
    assert pool.load(step, into) == clock
    assert [a.tobytes() for a in into] == [a.tobytes() for a in arrays]
    pool.close()


def test_memory_is_what_it_says_and_bounded():
    """A pool of a large state takes the staging it states, under 5 MiB, and no more when used."""
    state = [np.zeros(40_000_000, np.uint8)]
    pool = DiskPool()
    pool.open(specs_of(state), 1)
    assert pool.nbytes <= DiskPool.memory_for(specs_of(state)) < 5 << 20
    tracemalloc.start()
    pool.save(0, state, {})
    pool.load(0, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000
    pool.close()


def test_nothing_is_left_behind_even_by_kill(tmp_path):
    """An anonymous pool has no name while open and none after the process was killed."""
    script = (
        "import os, signal, sys, numpy as np\n"
        "from adjourn.tiers import DiskPool, specs_of\n"
        "a = [np.zeros(1000)]; p = DiskPool(sys.argv[1]); p.open(specs_of(a), 3)\n"
        "p.save(0, a, {}); assert os.listdir(sys.argv[1]) == []\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


def test_close_removes_a_named_pool_and_can_keep_it(tmp_path):
    """`close` removes the file, `close(keep=True)` leaves it."""
    path = tmp_path / "pool"
    state = [np.zeros(10)]
    pool = DiskPool(path=path)
    pool.open(specs_of(state), 1)
    pool.close(keep=True)
    assert path.exists()
    with pytest.raises(BadValue, match="is there already"):
        pool.open(specs_of(state), 1)
    assert path.exists()
    pool.adopt(specs_of(state), 1)
    pool.close()
    assert not path.exists()


def test_a_full_disk_is_met_at_open(tmp_path):
    """Too many slots: DiskFull with the bytes needed and free, and no file."""
    pool = DiskPool(path=tmp_path / "pool")
    with pytest.raises(DiskFull, match=r"needs .* \(\d+ B\) in .*; the disk has .* free") as seen:
        pool.open(specs_of([np.zeros(1 << 20)]), 10**7)
    assert seen.value.needed == DiskPool.disk_bytes_for(specs_of([np.zeros(1 << 20)]), 10**7)
    assert 0 < seen.value.free < seen.value.needed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_at_allocation_or_later_is_typed(tmp_path, code):
    """A refused allocation leaves no file; a refused write leaves earlier snapshots intact."""
    state = big_state(0)
    pool = DiskPool(path=tmp_path / "pool", files=FaultyFiles(0, code, only=["allocate"]))
    with pytest.raises(DiskFull):
        pool.open(specs_of(state), 2)
    assert list(tmp_path.iterdir()) == []

    files = FaultyFiles(only=["pwrite"])
    pool = DiskPool(tmp_path, files=files)
    pool.open(specs_of(state), 2)
    pool.save(0, state, {})
    per_save = files.calls - 1
    assert per_save > 2
    files.fault, files.for_ever = code, False
    for n in range(per_save):
        files.calls, files.at = 0, n
        with pytest.raises(DiskFull) as seen:
            pool.save(1, big_state(1), {})
        assert seen.value.free > 0
        into = [np.zeros_like(a) for a in state]
        pool.load(0, into)
        assert same(into, state)
        assert list(pool.held()) == [0]
    files.at = None
    pool.save(1, big_state(1), {})
    pool.close()


def play(pool, state):
    """Play a small run over a pool; return what was loaded."""
    pool.open(specs_of(state(0)), 2)
    seen = []
    for step in range(3):
        pool.save(step, state(step), {"t": step})
        if step:
            into = [np.zeros_like(a) for a in state(0)]
            clock = pool.load(step - 1, into)
            seen.append((clock["t"], into))
            pool.drop(step - 1)
    pool.close()
    return seen


def on_pages(step):
    """Return a state so large that a thread transfers it, each array on its own pages."""
    rng = np.random.default_rng(step)
    arrays = [aligned(n) for n in (BIG, 5_000_000, 1 << 20)]
    for array in arrays:
        array[:] = rng.integers(0, 255, array.size, dtype=np.uint8)
    return arrays


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (big_state, errno.EIO),
        (big_state, errno.ENOSPC),
        (big_state, "short"),
        (on_pages, errno.EIO),
        (on_pages, errno.EINTR),
    ],
)
def test_a_transfer_by_a_thread_may_fail_at_every_call(tmp_path, make, fault):
    """Direct transfers of large states: a typed error or the right bits; what was held stays."""
    first, second = make(1), make(2)
    alone = threading.active_count()

    def play(at):
        files = FaultyFiles(fault=fault, only=("pwrite", "preadv"))
        pool = DiskPool(tmp_path, files=files)
        pool.open(specs_of(first), 2)
        if pool.transfer != "direct":
            pytest.skip("direct transfer is not taken here")
        error = None
        pool.save(1, first, {})
        start = files.calls
        files.at = start + at
        into = [np.zeros_like(a) for a in second]
        try:
            pool.save(2, second, {})
            pool.load(2, into)
            assert same(into, second)
        except OSError as caught:
            error = caught
        calls = files.calls - start
        pool.load(1, into)
        assert same(into, first)
        assert threading.active_count() == alone
        pool.close()
        return calls, error

    calls, _ = play(10**9)
    failed = [error for at in range(0, calls, 2) if (error := play(at)[1]) is not None]
    if fault in (errno.EINTR, "short"):
        assert failed == []
    else:
        kind = DiskFull if fault == errno.ENOSPC else StorageFailed
        assert len(failed) == (calls + 1) // 2
        assert {type(error) for error in failed} == {kind}


@pytest.mark.parametrize("for_ever", [False, True])
@pytest.mark.parametrize("fault", [errno.EIO, errno.ENOSPC, errno.EINTR, "short"])
def test_every_call_may_fail_and_nothing_wrong_is_returned(tmp_path, fault, for_ever):
    """Fail the N-th call for every N: right bits or a typed error, and no file is left."""
    state = lambda step: [np.full(3000, step, np.float32), np.full((5, 4), step)[:, ::2]]  # noqa: E731
    calls = ("pwrite", "preadv", "allocate", "sync", "open")
    count = FaultyFiles(only=calls)
    play(DiskPool(path=tmp_path / "pool", durable=True, files=count), state)
    outcomes = set()
    for n in range(count.calls):
        if fault == errno.EINTR and for_ever:
            continue
        files = FaultyFiles(n, fault, for_ever=for_ever, only=calls)
        pool = DiskPool(path=tmp_path / "pool", durable=True, files=files)
        try:
            for value, into in play(pool, state):
                assert same(into, state(value))
            outcomes.add("right")
        except OSError as error:
            outcomes.add(type(error).__name__)
            assert fault in (errno.EIO, errno.ENOSPC) or count.log[n] == "open"
            pool.close()
        assert list(tmp_path.iterdir()) == []
    if fault == "short":
        assert outcomes <= {"right"}
    if fault == errno.ENOSPC:
        assert "DiskFull" in outcomes


def test_wrong_arrays_and_clocks_are_refused():
    """Objects, unfit clocks and closed pools get an error that says what to do."""
    with pytest.raises(WrongType, match="array of dtype object"):
        DiskPool().open(specs_of([np.array([None])]), 1)
    pool = DiskPool()
    state = [np.zeros(3)]
    with pytest.raises(BadValue, match="closed"):
        pool.save(0, state, {})
    pool.open(specs_of(state), 1)
    with pytest.raises(WrongType, match="clock entry 'a'"):
        pool.save(0, state, {"a": "text"})
    with pytest.raises(BadValue, match="clock of step 0"):
        pool.save(0, state, {f"name{i}": 1.0 for i in range(3000)})
    assert not pool.held()
    pool.close()
    with pytest.raises(BadValue, match="Pass one of them"):
        DiskPool(".", path="pool")


def test_without_nameless_files_a_name_is_used_for_a_moment(tmp_path):
    """Where O_TMPFILE is unknown, the file is unlinked as soon as it is made."""

    class Old(Files):
        def open(self, path, flags, mode=0o600):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "no")
            return super().open(path, flags, mode)

    pool = DiskPool(tmp_path, files=Old())
    state = [np.arange(5.0)]
    pool.open(specs_of(state), 1)
    assert list(tmp_path.iterdir()) == []
    pool.save(0, state, {})
    pool.load(0, state)
    pool.close()


@pytest.mark.parametrize("refuses", ["open", "pwrite"])
def test_without_direct_transfer_the_page_cache_is_used_and_said(tmp_path, refuses):
    """A file system that refuses O_DIRECT at open, or only at the first transfer, still works."""

    class Plain(Files):
        def open(self, path, flags, mode=0o600):
            if flags & os.O_DIRECT and refuses == "open":
                raise OSError(errno.EINVAL, "no")
            return super().open(path, flags, mode)

        def pwrite(self, fd, data, offset):
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT and refuses == "pwrite":
                raise OSError(errno.EINVAL, "no")
            return super().pwrite(fd, data, offset)

    state = [np.arange(5.0)]
    pool = DiskPool(tmp_path, files=Plain())
    pool.open(specs_of(state), 1)
    assert pool.transfer == "page cache"
    pool.save(0, state, {})
    pool.load(0, state)
    pool.close()
    with pytest.raises(OSError, match="no"):
        DiskPool(tmp_path, direct=True, files=Plain()).open(specs_of(state), 1)
    assert list(tmp_path.iterdir()) == []


def test_it_says_where_it_is(tmp_path):
    """Transfer, file system, location and repr are there for reports."""
    pool = DiskPool(tmp_path)
    pool.open(specs_of([np.zeros(3)]), 2)
    assert pool.transfer in ("direct", "page cache")
    assert pool.location == str(tmp_path)
    assert pool.file_system != ""
    assert pool.disk_bytes == 4096 + 2 * (4096 + 4096)
    assert repr(pool) == f"<DiskPool of 2 slots, 0 held, an anonymous file in {tmp_path}>"
    pool.close()
    assert Path(tmp_path).exists()


def test_corruption_names_file_slot_and_step(tmp_path):
    """The error has the path, the slot, the step and what differs."""
    path = tmp_path / "pool"
    state = [np.arange(1000.0)]
    pool = DiskPool(path=path, direct=False)
    pool.open(specs_of(state), 2)
    pool.save(41, state, {})
    with path.open("r+b") as file:
        file.seek(4096 + 4096 + 100)
        file.write(b"\xff")
    with pytest.raises(
        CorruptSnapshot, match=r"pool: slot 0, which should hold step 41: the check"
    ):
        pool.load(41, state)
    pool.close()
