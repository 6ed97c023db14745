"""Runs with encoded snapshots in main memory, and what is said of an encoder before the run."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from adjourn import BadValue, Costs, Recording, plan
from adjourn.errors import ProblemFailed, TierFull
from adjourn.models import synthetic
from adjourn.planning._anywhere import optimal_fit
from adjourn.reports import Report
from adjourn.running import RunRecord, Storage, measure, resume, run
from adjourn.running._measure_storage import measure_storage
from adjourn.tiers import Int16, Zstd
from problems import Reaction
from running.toy import Toy

STEPS = 200
ITEMS = 1 << 13


class Quiet(Toy):
    """A toy all of whose values are alike, so that its states compress well."""

    def __init__(self, steps=STEPS, size=ITEMS):
        super().__init__(steps, size)
        self.m[:] = self.m[0]
        self.start[:] = self.start[:, :1]


def costs_of(problem, advance=1e-2):
    """Return stated costs: steps so slow that copies hardly matter."""
    problem.begin()
    return Costs(
        advance=advance,
        recordings=[Recording(2 * advance, problem.m.nbytes)],
        snapshot=sum(a.nbytes for a in problem.state(0)),
        reverse=advance,
        reads="tape",
        window=problem.window(),
    )


def exact(problem):
    """Return the gradient of a run that stores everything."""
    run(problem, budget="1 GiB", costs=costs_of(problem), progress=False)
    return problem.gradient.copy()


BUDGET = 16 * ITEMS * 8


def test_states_that_compress_buy_slots_in_main_memory():
    """The same bits within the same budget with fewer steps, and the report says why."""
    toy = Quiet()
    expected, costs = exact(toy), costs_of(toy)
    plain = run(toy, budget=BUDGET, costs=costs, progress=False)
    kept = Storage(encoder=Zstd(), encode="memory")
    record = run(toy, budget=BUDGET, costs=costs, storage=kept, progress=False)
    assert np.array_equal(toy.gradient, expected)
    assert record.forward_steps < 0.9 * plain.forward_steps
    assert record.plan.schedule.counts.snapshots[0] > 2 * plain.plan.schedule.counts.snapshots[0]
    assert record.peak_bytes <= record.plan.peak_bytes <= BUDGET
    (use,) = record.tiers
    assert use.name == "ram (zstd 1)"
    assert use.ratio > 20
    assert use.gradient_error == 0
    assert any("times smaller, and is counted on for" in words for words in record.plan.reasons)
    assert any("with states as they are it would take" in words for words in record.plan.reasons)
    assert RunRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_an_encoder_that_does_not_pay_is_left_out_and_said():
    """Noise does not compress: the plan keeps states as they are."""
    toy = Toy(STEPS, ITEMS)
    kept = Storage(encoder=Zstd(), encode="memory")
    record = run(toy, budget=BUDGET, costs=costs_of(toy), storage=kept, progress=False)
    assert record.tiers == ()
    assert any("they are kept as they are" in words for words in record.plan.reasons)
    assert record.fallbacks == ()


@pytest.mark.parametrize("on_full", ["raise", "recompute"])
def test_states_that_turn_out_larger_are_met(on_full):
    """A ratio that does not come true: a typed error, or a plan anew and the right bits."""
    toy = Toy(STEPS, ITEMS)
    expected = exact(toy)
    kept = Storage(encoder=Zstd(), encode="memory", ratio=4.0, on_full=on_full)
    options = {"budget": BUDGET, "costs": costs_of(toy), "storage": kept, "progress": False}
    if on_full == "raise":
        with pytest.raises(TierFull, match="compresses less well than planned"):
            run(toy, **options)
        return
    record = run(toy, **options)
    assert np.array_equal(toy.gradient, expected)
    assert any("planned anew" in words for words in record.fallbacks)
    assert record.peak_bytes <= BUDGET


def test_states_that_turn_out_smaller_buy_more_after_the_turn():
    """A cautious ratio: at the first load after the turn the rest is planned with more slots."""
    toy = Quiet()
    expected = exact(toy)
    budget = 3 * BUDGET // 4
    kept = Storage(encoder=Zstd(), encode="memory", ratio=3.0)
    record = run(toy, budget=budget, costs=costs_of(toy), storage=kept, progress=False)
    assert np.array_equal(toy.gradient, expected)
    assert any("leave room for more" in words for words in record.fallbacks)
    assert record.forward_steps < 0.9 * record.plan.schedule.forward_steps
    assert record.peak_bytes <= budget


def test_recordings_beside_encoded_snapshots_share_the_bytes():
    """Tapes that lie anywhere and encoded snapshots in one arena: the same bits, within."""
    problem = Reaction(steps=40, cells=4096)
    run(problem, budget="1 GiB", progress=False)
    expected = {name: a.copy() for name, a in problem.carried().items()}
    kept = Storage(encoder=Zstd(), encode="memory", ratio=1.2, on_full="recompute")
    _, costs = measure_storage(problem, measure(problem, effort=0.05, progress=False), kept)
    for budget in (400_000, 600_000, 900_000):
        fit = optimal_fit(40, costs, budget)
        made = replace(
            plan(40, costs, budget),
            schedule=fit.schedule,
            seconds=fit.seconds,
            peak_bytes=fit.peak_bytes,
        )
        assert made.schedule.reversal == "tape"
        record = run(problem, made, storage=kept, progress=False)
        assert all(np.array_equal(a, expected[n]) for n, a in problem.carried().items())
        assert record.peak_bytes <= budget
        assert record.tiers[0].name == "ram (zstd 1)"


def test_a_plan_for_encoded_memory_needs_the_encoder():
    """And a plan for states as they are says that the encoder was not used."""
    toy = Quiet()
    kept = Storage(encoder=Zstd(), encode="memory")
    plain, encoded = measure_storage(toy, costs_of(toy), kept)
    made = plan(STEPS, encoded, BUDGET)
    with pytest.raises(BadValue, match="encoded by zstd 1, and the storage has no encoder"):
        run(toy, made, progress=False)
    expected = exact(toy)
    run(toy, made, storage=kept, progress=False)
    assert np.array_equal(toy.gradient, expected)
    assert Costs.from_json(json.loads(json.dumps(encoded.to_json()))) == encoded
    assert plain.encoding.found == encoded.encoding.found
    record = run(toy, plan(STEPS, costs_of(toy), BUDGET), storage=kept, progress=False)
    assert any("made without the encoder" in words for words in record.fallbacks)
    record = run(toy, budget=BUDGET, costs=costs_of(toy), storage=Storage(encoder=Zstd()))
    assert any("the encoder is for snapshots on disk" in words for words in record.fallbacks)
    with pytest.raises(BadValue, match="encode='tape'"):
        Storage(encode="tape")


def test_a_run_with_encoded_memory_resumes(tmp_path):
    """Stopped in the reverse sweep, it goes on with the same bits within the budget."""
    toy = Quiet()
    expected = exact(toy)
    kept = Storage(encoder=Zstd(), encode="memory", overhead=math.inf)

    class Stopping(Quiet):
        def reverse(self, start, stop):
            if start < 30 and self.stop:
                raise FloatingPointError("stopped")
            super().reverse(start, stop)

    Stopping.stop = True
    with pytest.raises(ProblemFailed):
        run(
            Stopping(),
            budget=BUDGET,
            costs=costs_of(toy),
            storage=kept,
            directory=tmp_path / "run",
            progress=False,
        )
    Stopping.stop = False
    again = Stopping()
    record = resume(tmp_path / "run", again, progress=False)
    assert np.array_equal(again.gradient, expected)
    assert record.peak_bytes <= BUDGET
    assert record.tiers[0].name == "ram (zstd 1)"


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_the_effect_on_the_gradient_is_estimated(tolerance):
    """Max and rms of a state, and the gradient of a few steps: as far off as the run is, nearly."""
    shot = synthetic(shape=(30, 40), steps=100)
    seen = measure(shot, effort=0.05, progress=False)
    (recording,) = seen.recordings
    recording = Recording(2e-3, recording.left, recording.peak)
    costs = replace(seen, advance=1e-3, reverse=1e-3, recordings=[recording], tape_copy=1e-3)
    run(shot, budget="1 GiB", costs=costs, progress=False)
    expected = shot.gradient.copy()
    kept = Storage(encoder=Int16(tolerance, relative=True), encode="memory")
    _, costs = measure_storage(shot, costs, kept)
    found = costs.encoding
    assert found.stop - found.start == 8
    assert 0 < found.rms < found.largest <= tolerance * found.scale
    record = run(
        shot, plan(100, costs, 12 * costs.snapshot + costs.standing), storage=kept, progress=False
    )
    (use,) = record.tiers
    assert use.gradient_error == found.gradient
    assert 0 < use.rms_error < use.largest_error <= tolerance * use.scale
    assert use.stretch == (found.start, found.stop)
    text = "".join(Report(record).text().split())
    stretch = f"{found.start}to{found.stop}"
    assert f"gradientofsteps{stretch}offby{found.gradient:.1e}" in text
    assert f"largesterror{use.largest_error:.2g},rms{use.rms_error:.2g}" in text
    off = np.abs(shot.gradient - expected).max() / np.abs(expected).max()
    assert 0.05 < off / found.gradient < 20


def test_a_sensitive_model_is_told():
    """Where the gradient is off by far more than the state, the estimate says so."""
    toy = Toy(STEPS, 256)
    kept = Storage(encoder=Int16(1e-3, relative=True))
    (costs,) = measure_storage(toy, costs_of(toy), kept, disk=True)
    found = costs.encoding
    assert found.gradient > 10 * found.largest / found.scale


def test_trying_the_encoder_is_polite():
    """Steps run beside a long run's are at most 5% of it; the problem is as after begin()."""
    toy = Toy(4000)
    stated = costs_of(toy, advance=1.0)
    kept = Storage(encoder=Int16(1e-2))
    toy.begin()
    first = [a.copy() for a in toy.state(0)]
    (costs,) = measure_storage(toy, stated, kept, disk=True)
    assert 20 < toy.forward + sum(stop - start for start, stop in toy.log) <= 0.05 * 4000
    assert costs.encoding.start > 20
    assert all(np.array_equal(a, b) for a, b in zip(toy.state(0), first, strict=True))
    assert not toy.gradient.any()


def test_a_problem_that_cannot_be_compared_is_told():
    """No carried(), or a turn that is refused before the end: no estimate, and no failure."""

    class Late(Toy):
        def turn(self):
            if not self.trace.all():
                raise RuntimeError("not at the end")
            super().turn()

    kept = Storage(encoder=Int16(1e-2, relative=True), encode="memory")
    record = run(Late(STEPS, ITEMS), budget=BUDGET, storage=kept, progress=False)
    assert "what the encoder does to the gradient could not be compared before the run" in (
        record.plan.reasons
    )


def test_commits_are_within_the_budget(tmp_path):
    """The staging buffers of commits are counted, and planned for."""
    toy = Toy(STEPS, ITEMS)
    expected, costs = exact(toy), costs_of(toy)
    budgets = (8 * ITEMS * 8, 12 * ITEMS * 8, 20 * ITEMS * 8)
    for budget in budgets:
        record = run(toy, budget=budget, costs=costs, directory=tmp_path / "run", progress=False)
        assert np.array_equal(toy.gradient, expected)
        assert record.peak_bytes <= record.plan.peak_bytes <= budget
        assert record.fallbacks == ()
    made = plan(STEPS, costs, budgets[0])
    record = run(toy, made, directory=tmp_path / "run", progress=False)
    assert record.peak_bytes > made.budget or not record.fallbacks
    assert (record.peak_bytes > made.budget) == any("commits took" in w for w in record.fallbacks)


@pytest.mark.parametrize("storage", [Storage(), Storage(background=2), Storage(encoder=Zstd())])
def test_staging_is_counted_whatever_the_costs_say(storage):
    """Costs that know nothing of staging buffers: the accounting stays within the budget."""
    toy = Quiet()
    costs = replace(costs_of(toy), disk_write=1e-9, disk_read=1e-9)
    expected = exact(toy)
    budget = 30 * ITEMS * 8
    record = run(toy, budget=budget, disk="64 MiB", costs=costs, storage=storage, progress=False)
    assert np.array_equal(toy.gradient, expected)
    assert record.tiers
    assert record.peak_bytes <= record.plan.peak_bytes <= budget
