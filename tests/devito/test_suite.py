"""The laws of the problem protocol on Devito problems: a window, a ring, a subsampled history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjourn
from adjourn import BudgetTooSmall
from adjourn.testing import ProblemSuite

pytest.importorskip("devito.operator", reason="Devito is not installed: adjourn[devito]")

from devito import Buffer

from adjourn.devito import Adjoint
from devito_wave import Wave

pytestmark = pytest.mark.devito


def make(save: Any, **options: Any) -> tuple[Wave, Adjoint]:
    wave = Wave(shape=(14, 12), nt=22, **options)
    u = wave.u(wave.nt if save == "history" else save)
    job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt})
    return wave, job


@pytest.fixture(scope="class")
def _history(request: pytest.FixtureRequest) -> None:
    request.cls.wave, request.cls.job = make("history", reads_dt2=True)


@pytest.fixture(scope="class")
def _ring(request: pytest.FixtureRequest) -> None:
    request.cls.wave, request.cls.job = make(Buffer(8))


@pytest.mark.usefixtures("_history")
class TestHistory(ProblemSuite):
    """A wavefield made with save=nt."""

    def make(self) -> Any:
        self.job.close()
        return self.job


@pytest.mark.usefixtures("_ring")
class TestRing(ProblemSuite):
    """A wavefield made with save=Buffer(8)."""

    def make(self) -> Any:
        return self.job


def test_a_budget_gives_a_gradient_with_the_bits_of_the_stored_history() -> None:
    """From full storage down to the least budget: same bits, accounting within the budget."""
    wave = Wave(shape=(40, 36), nt=162)
    stored = wave.stored()
    u = wave.u(wave.nt)
    job = Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt})
    level = job.window().step_bytes
    costs = adjourn.measure(job, effort=0.05, progress=False)
    families = []
    for budget in ("1 GiB", 60 * level, 40 * level, 12 * level, 7 * level):
        record = job.run(budget=budget, costs=costs, progress=False)
        assert np.array_equal(wave.gradient.data, stored)
        assert record.peak_bytes <= record.plan.budget
        families.append(record.plan.family)
    assert families[0] == "store_all"
    assert families[1] in ("segments", "window")
    assert families[-1] in ("window", "revolve")
    with pytest.raises(BudgetTooSmall) as caught:
        job.run(budget=2 * level, costs=costs, progress=False)
    job.run(budget=caught.value.least, costs=costs, progress=False)
    assert np.array_equal(wave.gradient.data, stored)


def test_shots_share_one_plan_and_one_window() -> None:
    """A second run with the same budget measures nothing, plans nothing, allocates nothing."""
    wave, job = make("history")
    first = job.run(budget="10 MiB", progress=False)
    (field,) = job._fields
    place = field._levels.ctypes.data
    one = np.array(wave.gradient.data)
    wave.src.data[:] *= 2
    wave.src.coordinates.data[:] += 13.0
    second = job.run(budget="10 MiB", progress=False)
    assert second.plan is first.plan
    assert field._levels.ctypes.data == place
    two = np.array(wave.gradient.data)
    assert not np.array_equal(one, two)
    assert np.array_equal(two, wave.computed())
