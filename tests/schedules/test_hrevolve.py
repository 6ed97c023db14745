"""Numbers, optimality and limits of H-Revolve and Disk-Revolve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, WrongType
from adjourn.optimum import revolve_advances
from adjourn.schedules import Advance, Level, disk_revolve, hrevolve, revolve
from playing import agrees
from search_schedules import cheapest, draws

NUMBERS = [  # steps, RAM, disk, cost (THEORY 5)
    (50, 2, 5, 144),
    (100, 2, 5, 340),
    (100, 5, 10, 242),
    (200, 5, 10, 542),
    (1000, 10, 10, 2847),
    (1000, 30, 100, 2019),
    (4000, 10, 10, 14436),
    (10_000, 10, 10, 39_075),
]


def cost(schedule) -> float:
    """By the convention of THEORY 5: the start's write counted, the recordings not."""
    return schedule.cost(schedule.advance, 0, 0, *_prices(schedule.levels))


def _prices(levels):
    return tuple(level.write for level in levels), tuple(level.read for level in levels)


@pytest.mark.parametrize(("steps", "ram", "disk", "least"), NUMBERS)
def test_numbers_of_the_theory(steps, ram, disk, least):
    """Costs by the schedule's own counts are those of THEORY 5."""
    assert cost(hrevolve(steps, [(ram,), (disk, 2, 2)])) == least


@pytest.mark.parametrize(("steps", "ram", "disk", "least"), NUMBERS[:6])
def test_played_schedules_cost_the_same(steps, ram, disk, least):
    """Played by the checker, the cost is that of the table."""
    seen = agrees(hrevolve(steps, [(ram,), (disk, 2, 2)]))
    assert seen.advances + 2 * (seen.writes[1] + seen.reads[1]) == least


def _levels(rng, most):
    count = rng.choice([1, 2, 2, 3])
    writes = sorted(rng.choice([0, 1, 2, 3, 5]) for _ in range(count))
    reads = sorted(rng.choice([0, 1, 2, 3, 5]) for _ in range(count))
    if rng.random() < 0.3:
        rng.shuffle(writes)
    slots = [rng.randint(0, 2 if count == 3 else most) for _ in range(count)]
    slots[rng.randrange(count)] += 1
    return list(zip(slots, writes, reads, strict=True))


@pytest.mark.parametrize(
    ("cases", "most_steps", "most_slots"),
    [(80, 6, 2), pytest.param(600, 7, 3, marks=pytest.mark.nightly)],
)
def test_equal_to_exhaustive_search(cases, most_steps, most_slots):
    """No schedule at all in one to three levels is cheaper: Dijkstra over machine states."""
    for rng in draws(cases, cases):
        steps, levels = rng.randint(1, most_steps), _levels(rng, most_slots)
        advance = rng.choice([1, 1, 2.5])
        schedule = hrevolve(steps, levels, advance)
        agrees(schedule)
        least = cheapest([advance] * steps, levels)
        assert cost(schedule) == pytest.approx(least), (steps, levels, advance)


def begins(schedule) -> int:
    """Return how often the first step is advanced over."""
    return sum(isinstance(action, Advance) and not action.start for action in schedule)


def test_a_cheaper_first_step_is_used_as_far_as_it_pays():
    """In one level no schedule at all is cheaper; in several, none that ignores the first step."""
    for rng in draws(11, 60):
        steps, levels = rng.randint(1, 6), _levels(rng, 2)
        first = rng.choice([0, 0.25, 1, 3])
        schedule = hrevolve(steps, levels, 3, first=first)
        agrees(schedule)
        plain = hrevolve(steps, levels, 3)
        least = cheapest([first] + [3] * (steps - 1), levels)
        found = cost(schedule) - begins(schedule) * (3 - first)
        ignoring = cost(plain) - begins(plain) * (3 - first)
        assert least - 1e-9 <= found <= ignoring + 1e-9, (steps, levels, first)
        if len(levels) == 1:
            assert found == pytest.approx(least), (steps, levels, first)


LEVELS = st.lists(
    st.tuples(st.integers(0, 12), st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=4
).filter(lambda levels: any(level[0] for level in levels))


@given(st.integers(1, 150), LEVELS, st.floats(0.1, 4))
def test_limits_hold_at_every_level(steps, levels, advance):
    """Played by the checker, no level ever holds more than its slots, and nothing is left."""
    agrees(hrevolve(steps, levels, advance))


@given(st.integers(1, 200), st.integers(1, 30))
def test_one_level_is_revolve(steps, slots):
    """With RAM alone the advances are t(n, s), and the writes as few as Revolve's."""
    schedule = hrevolve(steps, [(slots,)])
    assert schedule.advances == revolve_advances(steps, slots)
    assert schedule.writes == revolve(steps, slots).writes


@given(st.integers(1, 60), st.integers(0, 5), st.floats(0, 20), st.floats(0, 20))
def test_more_storage_is_never_slower(steps, ram, write, read):
    """Another slot, or a level more, never raises the cost."""
    levels = [(ram, 0, 0), (2, write, read)]
    least = cost(hrevolve(steps, levels))
    assert cost(hrevolve(steps, [(ram + 1, 0, 0), levels[1]])) <= least + 1e-9
    assert cost(hrevolve(steps, [levels[0], (3, write, read)])) <= least + 1e-9
    assert cost(hrevolve(steps, [*levels, (3, write, read)])) <= least + 1e-9


def aupy(steps: int, ram: int, write: float, read: float) -> float:
    """Disk-Revolve by the published recurrence, index l = n - 1 (THEORY 5)."""
    memory = [
        revolve_advances(n, ram) if ram or n == 1 else float("inf") for n in range(1, steps + 1)
    ]
    from_disk, least = [0.0], [0.0]
    for last in range(1, steps):
        tails = [j + memory[last - j] + read + from_disk[j - 1] for j in range(1, last + 1)]
        from_disk.append(min(memory[last], *tails))
    for last in range(1, steps):
        tails = [write + j + least[last - j] + read + from_disk[j - 1] for j in range(1, last + 1)]
        least.append(min(memory[last], *tails))
    return least[-1]


def test_disk_revolve_equals_the_published_recurrence():
    """Writing again in a range that is run again, which the paper forbids, never pays."""
    for rng in draws(3, 100):
        steps, ram = rng.randint(1, 60), rng.randint(0, 4)
        write, read = (rng.choice([0, 0.5, 1, 2, 5, 20]) for _ in range(2))
        schedule = disk_revolve(steps, ram, write, read)
        agrees(schedule)
        found = schedule.cost(1, 0, 0, (0.0, write), (0.0, read))
        assert found == pytest.approx(aupy(steps, ram, write, read)), schedule


def test_disk_revolve_of_2500_steps():
    """The case of the benchmark: one slot in RAM, 2500 steps."""
    schedule = disk_revolve(2500, 1)
    assert schedule.cost(1, 0, 0, (0.0, 2.0), (0.0, 2.0)) == 8326
    agrees(schedule)


BAD = [
    (lambda: hrevolve(5, None), WrongType, "levels=None is no list of levels."),
    (lambda: hrevolve(5, []), WrongType, "levels=[] is no list of levels."),
    (lambda: hrevolve(5, [3]), WrongType, "levels[0]=3 is no level."),
    (lambda: hrevolve(5, ["ab"]), WrongType, "levels[0]='ab' is no level."),
    (lambda: hrevolve(5, [(1, 2, 3, 4)]), WrongType, "levels[0]=(1, 2, 3, 4) is no level."),
    (lambda: hrevolve(5, [(1.5,)]), WrongType, "levels[0].slots=1.5 is of type float."),
    (lambda: hrevolve(5, [(-1,)]), BadValue, "levels[0].slots=-1 is too small."),
    (lambda: hrevolve(5, [(1, float("nan"))]), BadValue, "levels[0].write=nan is not a cost."),
    (lambda: hrevolve(5, [(1, 0, -2)]), BadValue, "levels[0].read=-2 is not a cost."),
    (lambda: hrevolve(5, [(0,), (0, 1, 1)]), BadValue, "levels=(Level(slots=0"),
    (lambda: hrevolve(5, [(1,)], 0), BadValue, "advance=0 is not a cost."),
    (lambda: hrevolve(5, [(1,)], 1, first=2), BadValue, "first=2.0 is more than advance=1.0"),
    (lambda: hrevolve(5, [(1,)], 1, first="x"), WrongType, "first='x' is of type str."),
    (lambda: hrevolve(5, [(1,)], None), WrongType, "advance=None is of type NoneType."),
    (
        lambda: hrevolve(10**9, [(5,)]),
        BadValue,
        "hrevolve of 1000000000 steps in 5 slots needs tab",
    ),
    (
        lambda: hrevolve(10**6, [(0,), (9, 1)]),
        BadValue,
        "hrevolve of 1000000 steps in 9 slots needs",
    ),
    (lambda: disk_revolve(5, -1), BadValue, "ram=-1 is too small."),
    (lambda: disk_revolve(5, 1, write="x"), WrongType, "write='x' is of type str."),
    (lambda: disk_revolve(10**12, 1), BadValue, "disk_revolve of 1000000000000 steps"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    """Nonsense, and what would not fit in memory to plan, is refused at once."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_trivial_cases():
    """One step needs no storage; slots beyond the steps are of no use."""
    assert hrevolve(1, [(0,)]).forward_steps == 1
    assert hrevolve(1, [(None, 1, 1)]).writes == 0
    few = hrevolve(5, [Level(10**6), Level(10**6, 1, 1)])
    assert (few.advances, few.writes) == (4, 4)
    agrees(few)
