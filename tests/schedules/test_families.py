"""Every family at random parameters, through the checker; and nonsense to every family."""

from __future__ import annotations

import random

import pytest

import adjourn
from adjourn import AdjournError
from adjourn.schedules import (
    asynchronous,
    disk_revolve,
    hrevolve,
    mixed,
    multistage,
    online,
    periodic,
    repeated,
    revolve,
    segments,
    stages,
    store_all,
    store_nothing,
    uneven,
    window,
)
from playing import agrees


def _steps(rng: random.Random) -> int:
    return rng.choice([1, 2, rng.randint(1, 12), rng.randint(1, 60), rng.randint(1, 160)])


def _slots(rng: random.Random) -> int:
    return rng.choice([1, 2, rng.randint(1, 8), rng.randint(1, 200)])


def _price(rng: random.Random) -> float:
    return rng.choice([0, 1, 2, rng.random() * 30])


def _levels(rng: random.Random) -> list[tuple[int | None, float, float]]:
    levels = [
        (rng.choice([0, 1, rng.randint(0, 9), None]), _price(rng), _price(rng))
        for _ in range(rng.randint(1, 4))
    ]
    levels[rng.randrange(len(levels))] = (rng.randint(1, 9), _price(rng), _price(rng))
    return levels


FAMILIES = {
    "store_all": lambda r: store_all(_steps(r)),
    "store_nothing": lambda r: store_nothing(_steps(r)),
    "segments": lambda r: segments(_steps(r), _slots(r)),
    "revolve": lambda r: revolve(_steps(r), _slots(r), reversal=r.choice(["retape", "state"])),
    "window": lambda r: window(_steps(r), _slots(r), _slots(r)),
    "mixed": lambda r: mixed(_steps(r), _slots(r)),
    "multistage": lambda r: multistage(_steps(r), _slots(r), _slots(r) - 1),
    "disk_revolve": lambda r: disk_revolve(_steps(r), _slots(r) - 1, _price(r), _price(r)),
    "periodic": lambda r: periodic(
        _steps(r), _slots(r) - 1, _price(r), _price(r), period=r.choice([None, _slots(r)])
    ),
    "hrevolve": lambda r: hrevolve(_steps(r), _levels(r), r.choice([0.5, 1, 3])),
    "asynchronous": lambda r: asynchronous(_steps(r), _slots(r), _price(r), _price(r)),
    "online": lambda r: online(
        _slots(r), rule=r.choice(["least total", "wang-moin-iaccarino"])
    ).schedule(_steps(r), announced=r.random() < 0.5),
    "online_disk": lambda r: online(_slots(r) - 1, write=_price(r), read=_price(r)).schedule(
        _steps(r), announced=r.random() < 0.5
    ),
    "uneven": lambda r: uneven([_price(r) for _ in range(min(_steps(r), 40))], _slots(r)),
    "uneven_sizes": lambda r: uneven(
        [_price(r) for _ in range(20)],
        sizes=[r.randint(0, 9) for _ in range(20)],
        budget=r.randint(9, 60),
    ),
    "stages": lambda r: stages(
        min(_steps(r), 60),
        r.randint(3, 30),
        r.randint(1, 3),
        snapshot=r.randint(1, 3),
        stiffly_accurate=r.random() < 0.5,
    ),
}


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize(
    "cases", [130, pytest.param(1300, marks=pytest.mark.nightly)]
)  # over all families 2 080, and 20 800 at night
def test_random_parameters(family, cases):
    """Limits hold at every level, nothing is left, and all is as stated, whatever is asked."""
    rng = random.Random(f"{family} {cases}")
    for _ in range(cases):
        agrees(FAMILIES[family](rng))


NONSENSE = [0, -1, -(10**9), 2.5, None, True, "7", float("nan"), float("inf"), [], 10**30]
CALLS = {
    "mixed": lambda x: mixed(x, 3),
    "multistage": lambda x: multistage(x, 2, 2),
    "multistage ram": lambda x: multistage(9, x, 0),
    "disk_revolve": lambda x: disk_revolve(x, 2),
    "periodic": lambda x: periodic(x, 2),
    "periodic period": lambda x: periodic(9, 2, period=x) if x is not None else online(0),
    "hrevolve": lambda x: hrevolve(x, [(2, 0, 0)]),
    "hrevolve slots": lambda x: hrevolve(9, [(x, 0, 0)]) if x is not None else online(0),
    "asynchronous": lambda x: asynchronous(x, 2, 2, 2),
    "online": lambda x: online(x),
    "online schedule": lambda x: online(3).schedule(x),
    "stages": lambda x: stages(x, 3, 1),
    "stages record": lambda x: stages(9, 3, x),
    "repeated": lambda x: repeated(x, 3),
    "repeated sweeps": lambda x: repeated(9, 3, x),
    "uneven": lambda x: uneven(x, 3),
    "uneven slots": lambda x: uneven([1, 2, 3], x),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("call", sorted(CALLS))
def test_nonsense_is_refused_at_once(call):
    """Zero, negative, fractional, absent, absurd: a typed error of three parts, never a hang."""
    for value in NONSENSE:
        with pytest.raises(AdjournError) as caught:
            CALLS[call](value)
        assert isinstance(caught.value, (ValueError, TypeError))
        assert len(str(caught.value)) > 30


@pytest.mark.timeout(60)
def test_huge_values_are_planned_or_refused_at_once():
    """10^12 steps: closed forms answer, tables are refused, nothing hangs."""
    most = 10**12
    assert multistage(most, 10, 10).counts.reverses == most
    assert periodic(most, 10).counts.reverses == most
    assert asynchronous(most, 10, 3, 3).counts.reverses == most
    assert online(10).start().due == 1
    assert repeated(most, 10).gap < 0.1
    for refused in (
        lambda: disk_revolve(most, 2),
        lambda: hrevolve(most, [(2, 0, 0), (2, 1, 1)]),
        lambda: stages(most, 3, 1),
        lambda: hrevolve(10**5, [(10**4, 1, 1)]),
        lambda: adjourn.stages(10**5, 10**5, 1),
    ):
        with pytest.raises(AdjournError, match="to plan"):
            refused()
