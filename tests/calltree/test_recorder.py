"""The recorder: what events become, and what it tolerates."""

from __future__ import annotations

import json

import pytest

from adjourn.calltree import Call, CallTree, Leaf, Recorder, what_if
from calltree.events import Adjoint, structure

STEP = ("step", 9, [4, *[("a", 2, [3]), 1, ("b", 5, [2, ("c", 1, [1])])] * 6, ("d", 3, [7])])


@pytest.mark.parametrize("keep", [False, True])
def test_the_tree_has_the_bytes_and_the_peak_of_the_run(keep):
    """Calls, tapes and snapshots are as they were played; the predicted peak is the seen one."""
    recorder = Recorder()
    adjoint = Adjoint(recorder, keep)
    adjoint.run([5, *[STEP, 2] * 20, 1], "main")
    tree = recorder.tree()
    assert what_if(tree, {}).peak_bytes == adjoint.peak
    assert all(call.keep is keep for call in _calls(tree.body))
    step = ("step", 9, [4, (6, [("a", 2, [3]), 1, ("b", 5, [2, ("c", 1, [1])])]), ("d", 3, [7])])
    assert structure(tree.body)[:2] == [5, (19, [step, 2])]
    assert tree.calls == 20 * (1 + 6 * 3 + 1)


def _calls(items):
    for item in items:
        if isinstance(item, Call):
            yield item
        if not isinstance(item, Leaf):
            yield from _calls(item.body)


def test_many_calls_are_kept_compressed():
    """60 000 dynamic calls of 24 sites make a tree of a few thousand characters."""
    recorder = Recorder()
    leaves = [(f"s{n}", 10 + n, [n + 1]) for n in range(20)]
    step = ("step", 100, [7, *[("a", 5, [3]), 2, ("b", 6, [4])] * 40, *leaves])
    Adjoint(recorder).run([step, 2] * 600, "main")
    tree = recorder.tree()
    assert tree.calls == 600 * 101
    assert len(json.dumps(tree.to_json())) < 20_000


def test_a_call_that_never_turns_is_external():
    """No turn within: the call is external and leaves nothing."""
    recorder = Recorder()
    Adjoint(recorder).run([1, ("ext", 4, None), 2], "main")
    tree = recorder.tree()
    call = next(_calls(tree.body))
    assert call.external
    assert call.body[0].left == 0


def test_recursion_has_a_context_for_each_level():
    """A routine that calls itself is one site, nested."""
    recorder = Recorder()
    Adjoint(recorder).run([("f", 2, [1, ("f", 2, [1, ("f", 2, [3])])])], "main")
    assert structure(recorder.tree().body) == [("f", 2, [1, ("f", 2, [1, ("f", 2, [3])])])]


def test_an_early_exit_is_counted_and_does_no_harm():
    """Calls that are never reversed are dropped; frames left by an exception are closed."""
    recorder = Recorder()
    for event, site, held in [
        ("snapshot", "a", 0), ("begin_advance", "a", 2), ("end_advance", "a", 2),
        ("snapshot", "b", 2), ("begin_advance", "b", 5), ("end_advance", "b", 5),
        ("turn", "main", 5),
        ("read", "a", 2), ("begin_reverse", "a", 0),
        ("snapshot", "c", 0), ("begin_advance", "c", 1), ("end_advance", "c", 1),
        ("turn", "a", 1), ("read", "c", 1), ("begin_reverse", "c", 0),
        ("end_reverse", "a", 0),
        ("end_reverse", "zzz", 0),
    ]:  # fmt: skip
        getattr(recorder, event)(site, held)
    tree = recorder.tree()
    assert [call.site for call in _calls(tree.body)] == ["a"]
    assert "never completed" in tree.note


def test_several_adjoints_of_one_process_are_one_tree():
    """Equal adjoints one after the other are samples; another one is told in the note."""
    recorder = Recorder()
    for _ in range(3):
        Adjoint(recorder).run([("a", 2, [3])], "main")
    Adjoint(recorder).run([("b", 2, [3])], "main")
    tree = recorder.tree()
    assert [call.site for call in _calls(tree.body)] == ["a"]
    assert next(_calls(tree.body)).samples == 3
    assert "3 of 4 adjoints" in tree.note


def test_a_routine_that_reverses_piecewise_is_a_repeat():
    """A loop reversed an iteration at a time, as binomial checkpointing does, is a repeat."""
    recorder = Recorder()
    adjoint = Adjoint(recorder)
    recorder.snapshot("loop", 0)
    recorder.begin_advance("loop", 3)
    recorder.end_advance("loop", 3)
    recorder.turn("main", 3)
    recorder.read("loop", 3)
    recorder.begin_reverse("loop", 0)
    for _ in range(5):
        adjoint.run([("step", 4, [6])], "loop")
    recorder.end_reverse("loop", 0)
    call = recorder.tree().body[0]
    assert structure([call]) == [("loop", 3, [(5, [("step", 4, [6])])])]


def test_bytes_that_never_repeat_are_rounded_up():
    """A routine whose tape is different each time keeps few variants, none below the truth."""
    recorder = Recorder()
    adjoint = Adjoint(recorder)
    adjoint.run([("a", 8, [1000 + 7 * n]) for n in range(400)], "main")
    tree = recorder.tree()
    assert tree.calls == 400
    assert len({id(call) for call in _calls(tree.body)}) < 150
    assert what_if(tree, {}).peak_bytes >= adjoint.peak


def test_an_empty_recorder_has_an_empty_tree():
    """Nothing reported, nothing invented."""
    assert Recorder().tree() == CallTree([], "recorded")
