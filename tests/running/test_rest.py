"""The rest of a run: from any snapshots, what is left is reversed within the slots."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn import Costs, Recording, Window, check
from adjourn.planning import Plan, plan_schedule
from adjourn.running._rest import Rest, plan_rest
from adjourn.schedules import (
    Advance,
    Drop,
    Load,
    Reverse,
    Save,
    Turn,
    revolve,
    schedule_from_json,
    spread,
    store_all,
    store_nothing,
    window,
)

COSTS = Costs(
    advance=1.0,
    recordings=[Recording(2.5, 100)],
    snapshot=200,
    write=0.01,
    read=0.01,
    reverse=1.0,
    window=Window(step_bytes=100),
    disk_write=2.0,
    disk_read=2.0,
    disk_snapshot=200,
)
STATE = Costs(**{**{n: getattr(COSTS, n) for n in COSTS.__slots__}, "reads": "state"})

PLANS = st.one_of(
    st.builds(
        lambda n, k, ram, disk: plan_schedule(
            spread(window(n, min(k, n), ram + disk), disk) if n > k else store_all(n), COSTS
        ),
        st.integers(2, 40),
        st.integers(1, 6),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    st.builds(
        lambda n, ram, disk: plan_schedule(
            spread(revolve(n, ram + disk, reversal="state"), disk), STATE
        ),
        st.integers(2, 40),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
)


def played(made, rest, held, stop, live, turned):
    """Return the rest as a whole schedule: what led to it first, then its actions."""
    n = made.steps
    actions = [Save(0, 2)]
    at = 0
    for step, tier in sorted(held):
        if step:
            actions.append(Advance(at, step))
            at = step
        actions.append(Save(step, tier))
    end = n if turned else live
    if end > at:
        actions.append(Advance(at, end))
        at = end
    if turned:
        actions.append(Turn())
    for number, part in enumerate(rest.parts):
        if part.tier is None and not (number == 0 and part.start == at and not turned):
            actions.append(Load(0, 2))  # the problem is begun anew
        actions.extend(part.actions())
    return actions


@settings(max_examples=150)
@given(made=PLANS, data=st.data())
def test_what_is_left_is_reversed_within_the_slots(made, data):
    """From any valid snapshots and any commit: every step once, in order, within both tiers."""
    n = made.steps
    disk = (*made.schedule.counts.snapshots, 0)[1]
    turned = data.draw(st.booleans())
    live = 0 if turned else data.draw(st.integers(0, n - 1))
    below = st.integers(0, max((n if turned else live) - 1, 0))
    steps = data.draw(st.sets(below, max_size=disk)) if turned or live else set()
    held = [(step, 1) for step in steps]
    rest = plan_rest(made, n, held, live=live, turned=turned)
    schedule = rest.schedule
    assert isinstance(schedule, Rest)
    used = {(part.start, part.tier) for part in schedule.parts if part.tier is not None}
    assert used <= set(held)
    actions = [
        a
        for a in played(made, schedule, sorted(used), n, live, turned)
        if not isinstance(a, Load | Save) or a.tier < 2 or a.step == 0
    ]
    actions.append(Drop(0, 2))
    limits = (10**6, max(disk, 1), 1)
    seen = check(actions, limits, made.costs, steps=n, reversal=schedule.reversal)
    assert seen.reversed == range(n)[::-1]
    assert seen.peak_bytes <= made.peak_bytes
    if made.schedule.reversal == "retape":
        assert seen.peak_recorded <= max(made.window_steps, 1)
    assert rest.peak_bytes <= made.peak_bytes
    assert schedule_from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
    assert Plan.from_json(json.loads(json.dumps(rest.to_json()))) == rest
    counts = schedule.counts
    assert counts.advances + counts.records == seen.forward_steps - (n if turned else live)


def test_valid_snapshots_save_steps():
    """With more valid snapshots less is left to run."""
    made = plan_schedule(spread(window(40, 4, 5), 5), COSTS)
    seconds = [
        plan_rest(made, 40, [(step, 1) for step in steps], turned=True).seconds
        for steps in ([], [0], [0, 20], [0, 12, 20, 32])
    ]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] < seconds[0]


def test_a_problem_that_reads_nothing_just_goes_on():
    """Nothing is run forward again, whatever is held."""
    costs = Costs(advance=1.0, recordings=[], snapshot=200, reverse=1.0, reads="nothing")
    made = plan_schedule(store_nothing(30), costs)
    rest = plan_rest(made, 17, [], turned=True)
    assert list(rest.schedule) == [Reverse(0, 17)]
