"""The plan against every schedule family at the same budget."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from adjourn import Costs, Recording, Window, check, plan
from adjourn.errors import AdjournError
from adjourn.planning._candidates import predict_seconds
from adjourn.running._waiting import predict_waiting
from adjourn.schedules import (
    asynchronous,
    blocked,
    disk_revolve,
    hrevolve,
    multistage,
    periodic,
    revolve,
    segments,
    spread,
    store_all,
    window,
)
from search_schedules import draws


def drawn(rng: random.Random) -> Costs:
    """Costs of a random problem with a fixed window and a disk, in whole numbers."""
    advance, reverse = rng.randint(1, 20), rng.randint(0, 20)
    step = rng.randint(1, 8)
    write, read = rng.choice([0, rng.randint(0, 9)]), rng.choice([0, rng.randint(0, 9)])
    return Costs(
        advance=advance,
        recordings=[Recording(advance + reverse + rng.randint(0, 5), step)],
        snapshot=rng.randint(1, 9),
        write=write,
        read=read,
        reverse=reverse,
        window=Window(step_bytes=step, after=rng.randint(0, 2)),
        disk_write=write + rng.choice([0, 1, 9, 60, 400]),
        disk_read=read + rng.choice([0, 1, 9, 60, 400]),
        disk_snapshot=rng.randint(1, 9),
        disk_staging=rng.randint(0, 3),
    )


def every(steps: int, costs: Costs, budget: int, disk: int):
    """Yield a schedule of each family for each window that fits, and whether it fits as well."""
    frame, on_disk = costs.window, disk // costs.disk_snapshot
    write, read = costs.disk_write, costs.disk_read
    if frame.nbytes(steps) <= budget:
        yield store_all(steps)
    for length in range(1, steps):
        room = (budget - frame.nbytes(length)) // costs.snapshot
        blocks = -(-steps // length)
        if room >= blocks - 1:
            yield segments(steps, length)
        if room >= 1:
            yield window(steps, length, room)
            yield revolve(steps, room) if length == 1 else window(steps, length, 1)
        in_memory = (budget - frame.nbytes(length) - costs.disk_staging) // costs.snapshot
        if in_memory < 0:
            continue
        each = costs.advance * length
        for make in (
            lambda b=blocks, c=in_memory: multistage(b, c, on_disk),
            lambda b=blocks, c=in_memory: disk_revolve(b, c, write, read, costs.advance),
            lambda b=blocks, c=in_memory, e=each: disk_revolve(b, c, write, read, e),
            lambda b=blocks, c=in_memory, e=each: periodic(b, c, write, read, e),
            lambda b=blocks, c=in_memory, e=each: asynchronous(b, c, write, read, e),
            lambda b=blocks, c=in_memory, e=each: hrevolve(
                b, [(c, costs.write, costs.read), (on_disk, write, read)], e
            ),
            lambda b=blocks, c=in_memory: spread(revolve(b, c + on_disk), on_disk),
        ):
            try:
                inner = make()
            except AdjournError:
                continue
            held = inner.counts.snapshots
            if held[0] <= in_memory and sum(held[1:]) <= on_disk:
                yield blocked(inner, steps, length)


@pytest.mark.parametrize(
    ("cases", "most"), [(40, 40), pytest.param(1500, 90, marks=pytest.mark.nightly)]
)
def test_no_family_is_faster_than_the_plan(cases, most):
    """At the same budget, no schedule of any family on any window takes less predicted time."""
    seen = set()
    for rng in draws(31, cases):
        costs, steps = drawn(rng), rng.randint(2, most)
        budget, disk = rng.randint(4, 120), rng.choice([0, rng.randint(0, 300)])
        try:
            made = plan(steps, costs, budget, disk)
        except AdjournError:
            assert not list(every(steps, costs, budget, disk))
            continue
        seen.add(made.family if made.family != "blocked" else made.schedule.inner.family)
        for other in every(steps, costs, budget, disk):
            assert made.seconds <= predict_seconds(other, costs) * (1 + 1e-12), (
                other,
                costs,
                budget,
                disk,
            )
    assert {"hrevolve", "store_all"} <= seen


@pytest.mark.parametrize("cases", [5, pytest.param(600, marks=pytest.mark.nightly)])
def test_more_memory_or_disk_is_never_slower_in_long_runs(cases):
    """Where tables do not hold all slots either, more of either level never costs time."""
    for rng in draws(37, cases):
        costs = replace(drawn(rng), disk_buffers=rng.choice([0, 2]))
        steps = rng.randint(200, 30_000)
        budgets = sorted(rng.randint(4, 3000) for _ in range(3))
        disks = sorted(rng.choice([rng.randint(1, 100), rng.randint(1, 9000)]) for _ in range(2))
        seen = []
        for budget in budgets:
            for disk in disks:
                try:
                    made = plan(steps, costs, budget, disk)
                except AdjournError:
                    continue
                assert made.peak_bytes <= budget
                assert sum(made.schedule.counts.snapshots[1:]) * costs.disk_snapshot <= disk
                for less, smaller, before in seen:
                    if less <= budget and smaller <= disk:
                        assert made.seconds <= before * (1 + 1e-12), (steps, costs, budget, disk)
                seen.append((budget, disk, made.seconds))


def test_background_writes_are_planned_where_they_win():
    """With staging buffers a dear disk is written while the model runs, and the wait is told."""
    costs = Costs(
        advance=1,
        recordings=[Recording(2.5, 8)],
        snapshot=8,
        window=Window(step_bytes=8),
        disk_write=40,
        disk_read=40,
        disk_staging=16,
    )
    still = plan(2000, costs, 120, 8000)
    made = plan(2000, replace(costs, disk_buffers=2), 120, 8000)
    inner = made.schedule.inner
    assert inner.family == "asynchronous"
    assert made.seconds < still.seconds
    assert made.peak_bytes <= 120
    seen = check(made.schedule, costs=costs)
    waited = predict_waiting(made.schedule, made.costs, 1, 2)
    in_full = seen.writes[1] * 40 + seen.reads[1] * 40
    assert made.seconds == pytest.approx(seen.seconds - in_full + waited, rel=0.01)
    assert any("written in the background every" in reason for reason in made.reasons)


def test_a_problem_without_a_window_uses_its_disk():
    """Recordings that lie anywhere do not keep a plan from the disk, where that is faster."""
    costs = Costs(
        advance=1,
        recordings=[Recording(2.5, 8)],
        snapshot=8,
        standing=3,
        disk_write=1,
        disk_read=1,
    )
    without = plan(400, costs, 120)
    made = plan(400, costs, 120, 8000)
    assert without.family == "optimal"
    assert made.seconds < without.seconds
    assert made.checked
    assert made.schedule.counts.snapshots[1] > 0
    assert made.peak_bytes <= 120
