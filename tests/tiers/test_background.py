"""Background transfer: the same bits as without, bounded memory, errors that surface."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn import BadValue, CorruptSnapshot
from adjourn.testing import TierSuite
from adjourn.tiers import Background, DiskPool, specs_of


class TestOneBuffer(TierSuite):
    def make(self):
        return Background(DiskPool(), 1)


class TestThreeBuffers(TierSuite):
    def make(self):
        return Background(DiskPool(direct=False), 3)


class Slow(DiskPool):
    """A disk pool whose transfers take a while, and that fails on demand."""

    fail = None

    def save(self, step, arrays, clock):
        time.sleep(0.01)
        if self.fail == ("save", step):
            raise CorruptSnapshot("save failed", step)
        super().save(step, arrays, clock)

    def load(self, step, arrays):
        time.sleep(0.01)
        if self.fail == ("load", step):
            raise CorruptSnapshot("load failed", step)
        return super().load(step, arrays)


def state(step):
    return [np.full(100, float(step)), np.arange(6).reshape(2, 3) + int(step)]


def opened(inner, buffers=2, slots=4):
    tier = Background(inner, buffers)
    tier.open(specs_of(state(0)), slots)
    return tier


@settings(max_examples=40)
@given(
    uses=st.lists(st.tuples(st.sampled_from(["saved", "load", "drop"]), st.integers(0, 5))),
    buffers=st.integers(1, 3),
    told=st.sampled_from(["nothing", "truth", "lies"]),
    data=st.data(),
)
def test_any_sequence_of_calls_gives_the_same_bits(uses, buffers, told, data):
    """Whatever is saved, loaded, dropped and foretold, each load returns the last save."""
    slots = 4
    model: dict[int, int] = {}
    valid = []
    content = 0
    for kind, step in uses:
        if kind == "saved" and step not in model and len(model) < slots:
            content += 1
            model[step] = content
            valid.append(("save", step, content))
        elif kind == "load" and step in model:
            valid.append(("load", step, model[step]))
        elif kind == "drop" and step in model:
            del model[step]
            valid.append(("drop", step, None))
    tier = opened(DiskPool(direct=False), buffers, slots)
    order = [(kind, step) for kind, step, _ in valid]
    if told == "lies":
        order = data.draw(st.permutations(order))
    if told != "nothing":
        tier.follow(order)
    try:
        for kind, step, value in valid:
            if kind == "save":
                tier.save(step, state(value), {"value": value})
            elif kind == "load":
                into = state(-1)
                assert tier.load(step, into) == {"value": value}
                assert all(np.array_equal(a, b) for a, b in zip(into, state(value), strict=True))
            else:
                tier.drop(step)
        tier.flush()
        assert sorted(tier.held()) == sorted(tier.inner.held()) == sorted(model)
    finally:
        tier.close()


def test_what_is_foreseen_is_read_ahead():
    """A load that was foretold is begun before it is asked for, and most of its time is hidden."""
    tier = opened(Slow(direct=False))
    uses = [("save", n) for n in range(4)] + [("load", n) for n in (0, 1, 2)]
    tier.follow(uses)
    for n in range(4):
        tier.save(n, state(n), {})
        time.sleep(0.02)
    for n in (0, 1, 2):
        deadline = time.monotonic() + 30
        while not any(b.step == n and b.use in ("ready", "clean") for b in tier._buffers):
            assert time.monotonic() < deadline, "nobody read ahead"
            time.sleep(0.001)
        into = state(-1)
        tier.load(n, into)
        assert into[0][0] == n
    assert tier.waiting.loads == 3
    assert tier.waiting.prefetched == 3
    assert tier.waiting.hidden > 0.5
    tier.close()


def test_memory_is_bounded_and_counted():
    """The staging buffers are counted, and a writer that lags makes the run wait."""
    tier = opened(Slow(direct=False), buffers=2)
    assert tier.nbytes == tier.inner.nbytes + 2 * 2 * 4096
    for n in range(4):
        tier.save(n, state(n), {})
    assert tier.waiting.waited > 0.005
    tier.close()
    assert tier.nbytes == 0
    assert not [t for t in threading.enumerate() if t.name == "adjourn transfer"]


@pytest.mark.parametrize("call", ["save", "load", "drop", "flush"])
def test_an_error_of_the_thread_surfaces_at_the_next_call(call):
    """What failed in the thread is raised, once, and what is held stays right."""
    inner = Slow(direct=False)
    tier = opened(inner)
    tier.save(0, state(0), {})
    tier.flush()
    inner.fail = ("save", 1)
    tier.save(1, state(1), {})
    time.sleep(0.05)
    arguments = {"save": (2, state(2), {}), "load": (0, state(0)), "drop": (0,), "flush": ()}
    with pytest.raises(CorruptSnapshot, match="save failed"):
        getattr(tier, call)(*arguments[call])
    assert list(tier.held()) == [0]
    tier.save(2, state(2), {})
    into = state(-1)
    tier.load(0, into)
    assert into[0][0] == 0
    tier.flush()
    assert sorted(inner.held()) == [0, 2]
    tier.close()


def test_a_corrupt_read_ahead_surfaces_at_the_load():
    """A snapshot that is damaged when read ahead is never returned."""
    inner = Slow(direct=False)
    tier = opened(inner, buffers=1)
    tier.follow([("save", 0), ("save", 1), ("load", 0)])
    inner.fail = ("load", 0)
    tier.save(0, state(0), {})
    tier.save(1, state(1), {})
    with pytest.raises(CorruptSnapshot, match="load failed"):
        tier.load(0, state(0))
    assert sorted(tier.held()) == [0, 1]
    tier.close()


def test_detach_finishes_and_keeps_the_inner_tier():
    """After `detach` the inner tier holds everything; `attach` goes on with it."""
    inner = Slow(direct=False)
    tier = opened(inner)
    for n in range(3):
        tier.save(n, state(n), {})
    tier.drop(1)
    tier.detach()
    assert sorted(inner.held()) == [0, 2]
    again = Background(inner)
    again.attach(specs_of(state(0)), 4)
    into = state(-1)
    again.load(2, into)
    assert into[0][0] == 2
    again.close()
    with pytest.raises(BadValue, match="closed"):
        again.load(2, into)
