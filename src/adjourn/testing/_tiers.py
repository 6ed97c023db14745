"""The conformance suite of the tier contract: subclass it, name the tier, run pytest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadValue, TierFull
from ..problem import Array
from ..tiers import Tier, specs_of

__all__ = ["TierSuite"]


def _fail(message: str) -> None:
    raise AssertionError(message)


def _same(left: list[Array], right: list[Array]) -> bool:
    return all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(left, right, strict=True)
    )


class TierSuite:
    """What every lossless tier does, as tests for pytest.

    Subclass it under a name that begins with ``Test`` and give `make`. Each test opens tiers of
    a few kilobytes; the whole suite takes well under a second.

    Examples
    --------
    ::

        class TestMyTier(TierSuite):
            def make(self):
                return MyTier()
    """

    slots = 3
    """Slots that `make` tiers are opened with here; at least 2."""

    def make(self) -> Tier:
        """Return a tier that is not open yet."""
        raise NotImplementedError

    def state(self, step: int) -> list[Array]:
        """Return a state that differs from step to step; override it for tiers that are picky."""
        rng = np.random.default_rng(step)
        return [
            rng.standard_normal((5, 7)).astype(np.float32),
            np.asfortranarray(rng.standard_normal((4, 3))),
            rng.integers(0, 100, 9),
            rng.standard_normal((6, 8))[::2, 1:5],
            (rng.standard_normal(3) + 1j).astype(np.complex64),
            np.array(float(step)),
            np.empty((0, 4)),
        ]

    def opened(self) -> Any:
        """Return an open tier for states such as `state` returns."""
        tier: Any = self.make()
        tier.open(specs_of(self.state(0)), self.slots)
        return tier

    def test_is_a_tier(self) -> None:
        """The object has every member of the protocol, and a name."""
        tier: Any = self.make()
        if not isinstance(tier, Tier) or not tier.name:
            _fail(f"{tier!r} lacks a member of the Tier protocol")

    def test_a_snapshot_comes_back_bit_for_bit(self) -> None:
        """What was saved is loaded, whatever the layout and dtype of its arrays."""
        tier = self.opened()
        try:
            for step in range(self.slots):
                tier.save(step, self.state(step), {"time": 0.1 * step, "count": step})
            for step in (*range(self.slots), *range(self.slots)[::-1]):
                into = [np.full_like(a, 1) for a in self.state(step)]
                clock = tier.load(step, into)
                if not _same(into, self.state(step)):
                    _fail(f"step {step} came back with other bits")
                if dict(clock) != {"time": 0.1 * step, "count": step}:
                    _fail(f"step {step} came back with the clock {clock}")
        finally:
            tier.close()

    def test_special_values_come_back_bit_for_bit(self) -> None:
        """NaN with its payload, infinities, negative zero and denormals survive."""
        bits = np.array([0x7FF8DEADBEEF0001, 0x7FF0000000000000, 1 << 63, 1], np.uint64)
        state = [bits.view(np.float64)]
        tier: Any = self.make()
        tier.open(specs_of(state), self.slots)
        try:
            tier.save(0, state, {})
            into = [np.zeros_like(state[0])]
            tier.load(0, into)
            if into[0].tobytes() != bits.tobytes():
                _fail("special values came back with other bits")
        finally:
            tier.close()

    def test_loads_into_arrays_of_any_layout(self) -> None:
        """A snapshot of contiguous arrays loads into strided ones, and the reverse."""
        rng = np.random.default_rng(1)
        whole = rng.standard_normal((6, 10))
        tier: Any = self.make()
        tier.open(specs_of([whole]), self.slots)
        try:
            room = np.zeros((12, 20))
            for saved, loaded in (
                (whole, room[::2, ::2]),
                (np.asfortranarray(whole), np.zeros_like(whole)),
                (whole, np.asfortranarray(np.zeros_like(whole))),
            ):
                loaded[:] = 0
                tier.save(4, [saved], {})
                tier.load(4, [loaded])
                tier.drop(4)
                if not np.array_equal(loaded, whole):
                    _fail("a change of layout changed values")
        finally:
            tier.close()

    def test_a_save_copies(self) -> None:
        """The caller may overwrite its arrays as soon as `save` returns."""
        tier = self.opened()
        try:
            state = self.state(1)
            tier.save(1, state, {})
            for array in state:
                array[...] = 0
            into = [np.full_like(a, 1) for a in state]
            tier.load(1, into)
            if not _same(into, self.state(1)):
                _fail("the tier kept a reference, not a copy")
        finally:
            tier.close()

    def test_slots_are_reused(self) -> None:
        """After a drop there is room again, and the others are untouched, many times over."""
        tier = self.opened()
        try:
            for step in range(self.slots):
                tier.save(step, self.state(step), {})
            for step in range(self.slots, 5 * self.slots):
                tier.drop(step - self.slots)
                tier.save(step, self.state(step), {})
                for held in range(step - self.slots + 1, step + 1):
                    into = [np.full_like(a, 1) for a in self.state(held)]
                    tier.load(held, into)
                    if not _same(into, self.state(held)):
                        _fail(f"step {held} was damaged by a save of step {step}")
        finally:
            tier.close()

    def test_held_lists_what_is_held(self) -> None:
        """`held` has the steps saved and not dropped, each once."""
        tier = self.opened()
        try:
            if sorted(tier.held()) != []:
                _fail("a tier just opened holds something")
            tier.save(7, self.state(7), {})
            tier.save(2, self.state(2), {})
            if sorted(tier.held()) != [2, 7]:
                _fail(f"saved 7 and 2, held are {tier.held()}")
            tier.drop(7)
            if sorted(tier.held()) != [2]:
                _fail(f"dropped 7, held are {tier.held()}")
        finally:
            tier.close()

    def test_misuse_is_refused(self) -> None:
        """Saving twice, into a full tier or other shapes, loading or dropping what is not held."""
        tier = self.opened()
        try:
            for step in range(self.slots):
                tier.save(step, self.state(step), {})
            _refused(tier.save, self.slots, self.state(0), {})
            _refused(tier.load, self.slots, self.state(0))
            _refused(tier.drop, self.slots)
            tier.drop(0)
            _refused(tier.save, 1, self.state(1), {})
            _refused(tier.save, 0, self.state(0)[:1], {})
            _refused(tier.load, 1, [np.zeros(2)])
            if sorted(tier.held()) != list(range(1, self.slots)):
                _fail("a refused call changed what is held")
            tier.save(0, self.state(0), {})
        finally:
            tier.close()

    def test_close_is_idempotent_and_releases(self) -> None:
        """After `close` nothing is held and no memory is counted; it may be called again."""
        tier = self.opened()
        tier.save(0, self.state(0), {})
        tier.close()
        tier.close()
        if list(tier.held()) or tier.nbytes:
            _fail(f"after close {tier.held()} are held in {tier.nbytes} bytes")

    def test_can_be_opened_again(self) -> None:
        """A closed tier opens again, empty, also for other arrays."""
        tier = self.opened()
        tier.save(0, self.state(0), {})
        tier.close()
        other = [np.arange(3.0)]
        tier.open(specs_of(other), 1)
        try:
            if list(tier.held()):
                _fail("a tier opened again holds what it held before")
            tier.save(5, other, {})
            into = [np.zeros(3)]
            tier.load(5, into)
            if not _same(into, other):
                _fail("a tier opened again returns other bits")
        finally:
            tier.close()


def _refused(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except (BadValue, KeyError, TierFull):
        return
    _fail(f"{call.__name__}{arguments[:1]} was not refused with BadValue, KeyError or TierFull")
