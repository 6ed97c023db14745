"""Revolve's state machine and numbers, as pyrevolve 2.2.8 gives them."""

from __future__ import annotations

from hashlib import sha256
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue, NotSupported, WrongType
from adjourn.pyrevolve import adjust, crevolve, expense, maxrange, numforw
from adjourn.pyrevolve.schedulers import Action, CRevolve, HRevolve, Revolve

# recorded from pyrevolve 2.2.8: action, capo, oldcapo, check
TEN_STEPS_THREE_SLOTS = """
takeshot 0 0 0, advance 4 0 0, takeshot 4 4 1, advance 7 4 1, takeshot 7 7 2, advance 9 7 2,
firstrun 9 9 2, restore 7 9 2, advance 8 7 2, youturn 8 8 2, restore 7 8 2, youturn 7 7 1,
restore 4 7 1, advance 5 4 1, takeshot 5 5 2, advance 6 5 2, youturn 6 6 2, restore 5 6 2,
youturn 5 5 1, restore 4 5 1, youturn 4 4 0, restore 0 4 0, advance 1 0 0, takeshot 1 1 1,
advance 2 1 1, takeshot 2 2 2, advance 3 2 2, youturn 3 3 2, restore 2 3 2, youturn 2 2 1,
restore 1 2 1, youturn 1 1 0, restore 0 1 0, youturn 0 0 -1
"""
# sha256 of all actions for 1 to 11 and 40 slots, 1 to 59, 100 and 333 steps, from 2.2.8
ALL_ACTIONS = "13b65fa6c270095a78d977b58802564f97466131b0568ca18ecdfa8f4a1632bb"


def test_the_actions_of_ten_steps_are_pyrevolve_s() -> None:
    """Every action, with its steps and slot, in order."""
    machine = crevolve.CRevolve(3, 10, None)
    for line in TEN_STEPS_THREE_SLOTS.replace("\n", " ").split(","):
        action = machine.revolve()
        assert f"{action.name} {machine.capo} {machine.oldcapo} {machine.check}" == line.strip()
    assert machine.revolve() is crevolve.Action.terminate
    assert machine.advances == numforw(10, 3) == 15


def test_the_actions_of_many_sizes_are_pyrevolve_s() -> None:
    """The digest of 700 schedules, recorded from the original, is ours."""
    digest = sha256()
    for slots in (*range(1, 12), 40):
        for steps in (*range(1, 60), 100, 333):
            scheduler = CRevolve(slots, steps)
            action = None
            while action is None or action.type != Action.TERMINATE:
                action = scheduler.next()
                place = scheduler.capo, scheduler.old_capo, scheduler.cp_pointer
                digest.update(repr((repr(action), *place, action.storageIndex())).encode())
            digest.update(repr(round(scheduler.ratio, 12)).encode())
    assert digest.hexdigest() == ALL_ACTIONS


@given(steps=st.integers(1, 300), slots=st.integers(1, 30))
def test_the_closed_forms_count_the_machine(steps: int, slots: int) -> None:
    """Numforw counts what the machine does; it never holds more than its slots."""
    machine = crevolve.CRevolve(slots, steps)
    most = -1
    while machine.revolve() is not crevolve.Action.terminate:
        most = max(most, machine.check)
    assert machine.advances == numforw(steps, slots)
    assert most < slots
    assert expense(steps, slots) == machine.advances / steps


@pytest.mark.parametrize(("steps", "slots"), [(2, 1), (10, 3), (1000, 7), (10**6, 12)])
def test_the_default_slots_are_pyrevolve_s(steps: int, slots: int) -> None:
    """Adjust gives the numbers of the original."""
    assert adjust(steps) == slots


def test_ranges_are_exact_where_the_original_saturates() -> None:
    """Maxrange has no largest integer."""
    assert maxrange(5, 3) == 56
    assert maxrange(1000, 10) == comb(1010, 10) > 2**31


def test_one_slot_reverses_thousands_of_steps() -> None:
    """Where the original asks to report a bug, one slot works."""
    scheduler = CRevolve(1, 7000)
    kinds = [scheduler.next().type for _ in range(5)]
    assert kinds == [
        Action.TAKESHOT,
        Action.ADVANCE,
        Action.LASTFW,
        Action.REVSTART,
        Action.RESTORE,
    ]
    assert scheduler.ratio == 6999 / 2


def test_bad_numbers_are_refused_by_name() -> None:
    """What was a segmentation fault, an abort or an endless loop is a typed error."""
    cases = [
        (lambda: CRevolve(0, 5), BadValue, "n_checkpoints=0"),
        (lambda: CRevolve(-1, 5), BadValue, "n_checkpoints=-1"),
        (lambda: CRevolve(3, 0), BadValue, "n_timesteps=0"),
        (lambda: CRevolve(3, 2.5), WrongType, "n_timesteps=2.5"),
        (lambda: CRevolve(None, 5), WrongType, "n_checkpoints=None"),
        (lambda: CRevolve(3, None), NotSupported, "adjourn.online"),
        (lambda: crevolve.CRevolve(3, 5, 2), NotSupported, "MultiLevelRevolver"),
        (lambda: adjust(0), BadValue, "steps=0"),
        (lambda: adjust(-3), BadValue, "steps=-3"),
        (lambda: numforw(3, 0), BadValue, "snaps=0"),
        (lambda: expense(0, 3), BadValue, "steps=0"),
        (lambda: maxrange(-1, 3), BadValue, "ss=-1"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()


def test_names_of_old_programs_remain() -> None:
    """Revolve is CRevolve; an action prints as JSON; the operations list is complete."""
    assert Revolve is CRevolve
    scheduler = CRevolve(3, 10)
    assert repr(scheduler.next()) == '{"type": "TAKESHOT", "from": 0, "to": 0, "ckp": 0}'
    assert len(scheduler.oplist) == 36
    assert scheduler.storage(0) == [0, 4, 7, 5, 1, 2]
    assert HRevolve(7, 7).ratio == 3.0
