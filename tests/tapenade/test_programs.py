"""The C runtime on programs in the form of Tapenade's output, in C and in Fortran."""

from __future__ import annotations

import os
import random
import threading
from ctypes import CDLL, c_char_p, c_uint, c_uint64

import pytest

from adjourn.calltree import Call, Leaf, Recorder, deltas, place, what_if
from adjourn.tapenade import by_routine, compare, inline, read_report, runtime_sources
from calltree.events import Adjoint, structure


def sets_of(tree, count, seed=1):
    """Return ``count`` random lists of routines to split, the empty and the full one first."""
    routines = [site for site in tree.sites if site != "solve"]
    rng = random.Random(seed)
    found = [(), tuple(routines)]
    while len(found) < count:
        some = tuple(site for site in routines if rng.random() < 0.5)
        if some not in found:
            found.append(some)
    return found


def test_the_predicted_peak_is_the_measured_one(program):
    """Ten placements, compiled and run: the peak to the byte, the gradient bit for bit."""
    profiled = program(profile=True)
    tree = by_routine(profiled.tree)
    assert "never completed" not in tree.note
    for split in sets_of(tree, 10):
        seen = program(split)
        assert what_if(tree, dict.fromkeys(split, "split")).peak_bytes == seen.peak, split
        assert seen.gradient == profiled.gradient


def test_the_optimal_list_keeps_its_budget(program):
    """What the placement splits stays within the budget when it is compiled and run."""
    tree = by_routine(program(profile=True).tree)
    least = what_if(tree, {}).peak_bytes
    for factor in (0.9, 1.0, 3.0):
        placement = place(tree, int(least * factor), tied=True)
        seen = program(placement.split)
        assert seen.peak == placement.peak_bytes <= int(least * factor)


def test_the_printed_report_agrees_with_the_tree(program):
    """Single-site peaks to the byte, gains to the printed digit; the external call is no entry."""
    seen = program(profile=True)
    report = read_report(seen.report)
    changes = deltas(seen.tree)
    assert report.peak_bytes == seen.peak
    assert len(report.entries) == len(changes)
    for entry in report.entries:
        change = changes[f"{entry.routine}@{entry.file}:{entry.line}"]
        assert entry.peak_bytes == change.peak_bytes
        assert entry.occurrences == change.occurrences
        assert entry.seconds == pytest.approx(-change.seconds, abs=1.5e-3)
    assert "solve" not in {entry.routine for entry in report.entries}


def test_a_list_applied_and_profiled_again_is_compared(program):
    """The second profile has the calls and bytes that the first one, inlined, has."""
    before = by_routine(program(profile=True).tree)
    split = ("physics", "level")
    after = by_routine(program(split, profile=True).tree)
    made = compare(before, after)
    assert set(made.split) == set(split)
    predicted = inline(before, frozenset(split))
    assert what_if(predicted, {}).peak_bytes == what_if(after, {}).peak_bytes
    assert {row.site for row in made.rows} == {"", *after.sites}
    extras = {call.site: call.extra for call in _calls(made.corrected.body)}
    assert all(extras[site] == 0 for site in extras if site not in split)
    assert "over-predicted" in made.text()


def _calls(items):
    for item in items:
        if isinstance(item, Call):
            yield item
        if not isinstance(item, Leaf):
            yield from _calls(item.body)


@pytest.fixture(scope="module")
def library(program, tmp_path_factory):
    """Return the runtime as a shared library, with a stack size that Python sets."""
    if program.language != "c":
        pytest.skip("the library is the same for both programs")
    folder = tmp_path_factory.mktemp("library")
    # read when the process ends, long after any fixture is undone
    os.environ["ADJOURN_TREE"] = str(folder / "tree")
    source = folder / "size.c"
    source.write_text(
        "#include <stdint.h>\nstatic __thread uint64_t held;\n"
        "void set_held(uint64_t size) { held = size; }\n"
        "uint64_t adStack_getCurrentStackSize(void) { return held; }\n"
    )
    target = folder / "runtime.so"
    program.run(
        "gcc", "-O2", "-shared", "-fPIC", source, *runtime_sources(), "-lpthread", "-o", target
    )
    return CDLL(str(target)), folder


EVENTS = {
    "snapshot": "SNPWrite",
    "begin_advance": "beginAdvance",
    "end_advance": "endAdvance",
    "read": "SNPRead",
    "begin_reverse": "beginReverse",
    "end_reverse": "endReverse",
}


class Both:
    """Sends each event to the C runtime and to the recorder in Python."""

    def __init__(self, library):
        self.library = library
        self.recorder = Recorder()
        for name in (*EVENTS, "turn"):
            setattr(self, name, self._send(name))
        library.set_held.argtypes = [c_uint64]

    def _send(self, name):
        ours = getattr(self.recorder, name)
        theirs = getattr(self.library, f"adProfileAdj_{EVENTS.get(name, name)}")
        theirs.argtypes = [c_char_p, c_char_p] + [c_uint] * (name != "turn")

        def send(site, held):
            self.library.set_held(held)
            ours(f"{site}@x.f:7", held)
            theirs(site.encode(), b"x.f", *([7] if name != "turn" else []))

        return send


def test_the_c_runtime_and_the_recorder_make_the_same_tree(library):
    """Random nested adjoints with repeats, early exits and recursion: equal in every byte."""
    runtime, folder = library
    rng = random.Random(11)

    def body(depth):
        items = [rng.randint(1, 40)]
        for _ in range(rng.randint(0, 3)):
            inner = (
                None if rng.random() < 0.1 else body(depth - 1) if depth else [rng.randint(1, 9)]
            )
            items += [(rng.choice("abcdef"), rng.randint(1, 30), inner), rng.randint(0, 5)] * (
                rng.choice([1, 1, 4, 12])
            )
        return items

    results = []

    def work():
        both = Both(runtime)
        Adjoint(both).run(body(3), "main")
        both.snapshot("late", 3)  # an adjoint that is never finished
        results.append(both.recorder.tree())
        path = folder / "report.txt"
        runtime.adProfileAdj_showProfilesFile(str(path).encode())
        results.append(read_report(path.read_text()))

    for _ in range(12):
        results.clear()
        thread = threading.Thread(target=work)  # the runtime keeps one tree a thread
        thread.start()
        thread.join()
        tree, report = results
        if not tree.body:
            continue
        assert report.peak_bytes == what_if(tree, {}).peak_bytes
        changes = {key: change.peak_bytes for key, change in deltas(tree).items()}
        found = {f"{e.routine}@x.f:7": e.peak_bytes for e in report.entries}
        assert {key: found[key] for key in changes} == changes
        assert structure(tree.body)
