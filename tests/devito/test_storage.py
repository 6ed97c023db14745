"""Devito's wavefields on disk, encoded, and over the end of the process that began the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjourn
from adjourn import Costs, ProblemFailed, Storage
from adjourn.running._journal import Journal
from adjourn.running._measure import measure_disk
from adjourn.tiers import Int16, Zstd

pytest.importorskip("devito.operator", reason="Devito is not installed: adjourn[devito]")

from adjourn.devito import Adjoint
from devito_wave import Wave

pytestmark = pytest.mark.devito


@pytest.fixture(scope="module")
def wave() -> Wave:
    return Wave(shape=(40, 36), nt=162)


@pytest.fixture(scope="module")
def stored(wave: Wave) -> np.ndarray:
    return wave.stored()


def adjoint(wave: Wave) -> Adjoint:
    u = wave.u(wave.nt)
    return Adjoint(wave.forward(u), wave.adjoint(u), [u], wave.residual, arguments={"dt": wave.dt})


@pytest.fixture(scope="module")
def job(wave: Wave) -> Adjoint:
    return adjoint(wave)


def fast_disk(job: Adjoint, storage: Storage) -> Costs:
    """Return measured costs with a disk so fast that a plan uses it."""
    costs = measure_disk(job, adjourn.measure(job, effort=0.05, progress=False), None, storage)
    return replace(costs, disk_write=1e-9, disk_read=1e-9)


@pytest.mark.parametrize(
    "storage",
    [Storage(), Storage(background=2), Storage(encoder=Zstd(), ratio=1.0)],
    ids=["disk", "background", "zstd"],
)
def test_the_disk_gives_the_bits_of_the_stored_history(
    storage: Storage, job: Adjoint, wave: Wave, stored: np.ndarray
) -> None:
    """With snapshots on disk, in the background or compressed without loss: the same bits."""
    costs = fast_disk(job, storage)
    budget = 12 * job.window().step_bytes + costs.disk_staging
    record = job.run(budget=budget, disk="64 MiB", costs=costs, storage=storage, progress=False)
    assert any(tier.disk_bytes for tier in record.tiers)
    assert record.peak_bytes <= record.plan.budget
    assert np.array_equal(wave.gradient.data, stored)


def test_a_lossy_encoder_changes_the_gradient_by_about_its_tolerance(
    job: Adjoint, wave: Wave, stored: np.ndarray
) -> None:
    """int16 on disk: not the same bits, an error of its size, and the report shows it."""
    storage = Storage(encoder=Int16(1e-2))
    costs = fast_disk(job, storage)
    budget = 12 * job.window().step_bytes + costs.disk_staging
    record = job.run(budget=budget, disk="64 MiB", costs=costs, storage=storage, progress=False)
    (tier,) = (tier for tier in record.tiers if tier.disk_bytes)
    assert 0 < tier.rms_error <= tier.largest_error
    error = np.abs(wave.gradient.data - stored).max() / np.abs(stored).max()
    assert 0 < error < 1e-2


class Halted(Exception):
    """The process is to end here."""


def test_a_run_goes_on_in_another_adjoint(
    wave: Wave, stored: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ended in its reverse sweep is resumed by operators made anew, to the same bits."""
    storage = Storage(overhead=float("inf"))
    first = adjoint(wave)
    costs = fast_disk(first, storage)
    first.begin()
    budget = 12 * first.window().step_bytes + costs.disk_staging + Journal.memory_for(first)
    reverse, left = first.reverse, [6]

    def halting(start: int, stop: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise Halted
        reverse(start, stop)

    monkeypatch.setattr(first, "reverse", halting)
    options: dict[str, Any] = {"directory": tmp_path, "storage": storage, "progress": False}
    with pytest.raises(ProblemFailed):
        first.run(budget=budget, disk="64 MiB", costs=costs, **options)
    first.close()
    wave.gradient.data[...] = 7.0
    record = adjourn.resume(tmp_path, adjoint(wave), progress=False)
    assert record.reverses < wave.nt - 2
    assert np.array_equal(wave.gradient.data, stored)
    assert not list(tmp_path.iterdir())
