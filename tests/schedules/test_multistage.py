"""Numbers, limits and disk traffic of multistage."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue
from adjourn.optimum import revolve_advances
from adjourn.optimum._positions import split_range
from adjourn.schedules import hrevolve, multistage, revolve
from playing import agrees

NUMBERS = [  # steps, RAM, disk, cost by the fewest-write split, by the split that uses disk least
    (50, 2, 5, 175, 175),
    (100, 2, 5, 393, 387),
    (100, 5, 10, 343, 339),
    (200, 5, 10, 687, 687),
]


def cost(schedule) -> float:
    """By the convention of THEORY 5, disk writes and reads at 2 advances."""
    return schedule.cost(1, 0, 0, (0.0, 2.0), (0.0, 2.0))


def fewest_write_cost(steps: int, ram: int, disk: int) -> int:
    """Cost of the fewest-write split of Revolve, its busiest positions in RAM.

    Every advance in two slots or more counts as a write, that to the last step of a range too;
    of the splits with fewest of them the shortest advance is taken.
    """
    slots = min(ram + disk, steps - 1)
    uses = [0] * slots

    @cache
    def best(left: int, free: int) -> tuple[int, int]:
        if left == 1 or free == 1:
            return 0, left - 1
        low, high = split_range(left, free)
        return min(
            (1 + best(left - j, free - 1)[0] + best(j, free)[0], j) for j in range(low, high + 1)
        )

    def play(left: int, free: int, saved: int) -> None:
        position = slots - free
        uses[position] += saved
        if left > 1 and free == 1:
            uses[position] += left - 1
        elif left > 1:
            span = best(left, free)[1]
            uses[position] += 1
            if left - span > 1:
                play(left - span, free - 1, 1)
            play(span, free, 0)

    play(steps, slots, 1)
    return revolve_advances(steps, slots) + 2 * sum(sorted(uses)[: max(slots - ram, 0)])


@pytest.mark.parametrize(("steps", "ram", "disk", "fewest_writes", "least_disk"), NUMBERS)
def test_numbers_of_the_theory(steps, ram, disk, fewest_writes, least_disk):
    """THEORY 5's numbers by the fewest-write split, and less by the split that uses disk least."""
    assert fewest_write_cost(steps, ram, disk) == fewest_writes
    schedule = multistage(steps, ram, disk)
    agrees(schedule)
    assert cost(schedule) == least_disk <= fewest_writes
    assert schedule.advances == revolve_advances(steps, ram + disk)
    levels = hrevolve(steps, [(ram,), (disk, 2, 2)])
    least = levels.cost(1, 0, 0, (0.0, 2.0), (0.0, 2.0))
    assert 1.13 < least_disk / least <= fewest_writes / least < 1.43


@given(st.integers(1, 200), st.integers(0, 20), st.integers(0, 20))
def test_multistage_keeps_its_word(steps, ram, disk):
    """Played by the checker, t(n, s) advances and the stated traffic, within both limits."""
    if ram + disk or steps == 1:
        agrees(multistage(steps, ram, disk))


@given(st.integers(1001, 30_000), st.integers(0, 4), st.integers(20, 40))
def test_beyond_the_table_it_still_keeps_its_word(steps, ram, disk):
    """Where the shortest advance is taken instead of the table's, limits and counts hold."""
    schedule = multistage(steps, ram, disk)
    assert schedule.advances == revolve_advances(steps, ram + disk)
    if steps < 3000:
        agrees(schedule)


@given(st.integers(1, 100), st.integers(1, 12))
def test_ram_alone_is_revolve(steps, ram):
    """Without a disk it is Revolve, action by action."""
    assert list(multistage(steps, ram, 0)) == list(revolve(steps, ram))


def least_traffic(steps: int, ram: int, disk: int) -> int:
    """Fewest disk reads and writes of any split with t(n, s) advances, disk below RAM."""

    @cache
    def stored(left: int, free: int) -> int:
        if left == 1:
            return 0
        best = 10**9
        for j in range(1, left):
            right = left - j
            if free == 1 and right > 1:
                continue
            tail = revolve_advances(right, free - 1) if right > 1 else 0
            if j + tail + revolve_advances(j, free) == revolve_advances(left, free):
                saved = (free - 1 > ram) + stored(right, free - 1) if right > 1 else 0
                best = min(best, (free > ram) + saved + stored(j, free))
        return best

    slots = min(ram + disk, steps - 1)
    return stored(steps, slots) + (slots > ram)


@pytest.mark.parametrize("ram", [0, 1, 2, 4])
@pytest.mark.parametrize("disk", [1, 3, 6])
def test_disk_traffic_is_least(ram, disk):
    """Of all splits with fewest advances, none reads and writes the disk less."""
    for steps in (2, 3, 5, 9, 14, 23, 40):
        counts = multistage(steps, ram, disk).counts
        traffic = counts.writes[1] + counts.reads[1]
        assert traffic <= least_traffic(steps, ram, disk), steps


def test_huge_runs_are_made_at_once():
    """10^7 steps take milliseconds to make; the first actions come at once."""
    schedule = multistage(10**7, 10, 90)
    assert schedule.counts.reverses == 10**7
    assert sum(schedule.counts.reads) == 10**7 - 1
    assert next(iter(schedule)).step == 0


def test_nothing_to_keep_a_snapshot_in():
    """Without any slot only one step can be reversed; absurd stacks are refused."""
    assert multistage(1, 0, 0).writes == 0
    with pytest.raises(BadValue, match="ram=0 and disk=0 hold no snapshot, and 2 steps"):
        multistage(2, 0, 0)
    with pytest.raises(BadValue, match="make a stack of 1000000 snapshots, more than 100000"):
        multistage(10**7, 10**6, 0)
    agrees(multistage(10, 10**9, 10**9))
