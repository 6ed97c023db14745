"""The commands `place` and `tapenade`, and the text they print."""

from __future__ import annotations

import json

import pytest

from adjourn.calltree import Call, CallTree, Leaf, Placement, Repeat, place, placement_report
from adjourn.cli import main


def step(routine, line, snapshot, left):
    body = [Leaf(0.5, 1.5, left, left)]
    return Call(
        f"{routine}@m.f:{line}", snapshot, 0.25, body, routine=routine, file="m.f", line=line
    )


@pytest.fixture
def saved(tmp_path):
    """Write a tree of two routines, one called from two lines, and return its path."""
    inner = (step("a", 3, 20, 12), step("b", 4, 8, 30), step("a", 5, 20, 12))
    whole = Call("step@m.f:9", 40, 0.5, inner, routine="step", file="m.f", line=9)
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(CallTree([Repeat(10, [whole])]).to_json()))
    return str(path)


def test_place_prints_the_placement_its_sites_and_the_curve(saved, capsys):
    """Everything within 80 columns: modes, baselines, a line a site, the picture."""
    assert main(["place", saved, "--budget", "500B", "--curve"]) == 0
    words = capsys.readouterr().out
    assert max(map(len, words.splitlines())) <= 80
    for part in ("placement (optimal)", "rank_once", "if switched", "time against bytes"):
        assert part in words


def test_place_answers_what_if_and_prints_json(saved, capsys):
    """A given placement has its exact seconds and bytes; unknown sites are refused."""
    question = ["place", saved, "--what-if", "step@m.f:9=split,b@m.f:4=split", "--json"]
    assert main(question) == 0
    placement = Placement.from_json(json.loads(capsys.readouterr().out))
    assert placement.peak_bytes == 10 * (20 + 30 + 20) + 12
    assert main(["place", saved, "--what-if", "zzz=split"]) == 2
    assert "is not in the tree" in capsys.readouterr().err
    assert main(["place", saved, "--what-if", "split"]) == 2
    assert main(["place", saved]) == 2


def test_place_writes_what_it_is_told_to(saved, tmp_path, capsys):
    """The placement as JSON and the profile for speedscope."""
    files = [str(tmp_path / name) for name in ("placed.json", "profile.json")]
    command = ["place", saved, "--budget", "500", "--output", files[0], "--speedscope", files[1]]
    assert main(command) == 0
    with open(files[0]) as file:  # noqa: PTH123
        assert Placement.from_json(json.load(file)).budget == 500
    with open(files[1]) as file:  # noqa: PTH123
        assert json.load(file)["exporter"] == "adjourn"


def test_a_budget_that_cannot_work_is_an_error_with_the_least_one(saved, capsys):
    """Exit code 2, and the message names bytes that work."""
    assert main(["place", saved, "--budget", "1B"]) == 2
    assert "Pass budget=" in capsys.readouterr().err


def test_tapenade_proposes_by_routine_and_by_site(saved, capsys):
    """One option for the command line, or one directive a call."""
    assert main(["tapenade", saved, "--budget", "520"]) == 0
    words = capsys.readouterr().out
    assert '-nocheckpoint "' in words
    assert "rank_once" in words
    assert main(["tapenade", saved, "--budget", "520", "--by", "site"]) == 0
    assert "m.f:5: $AD NOCHECKPOINT before the call of a" in capsys.readouterr().out
    assert main(["tapenade", saved]) == 2
    assert main(["tapenade"]) == 2


def test_a_time_loop_is_placed_with_the_calls(saved, capsys):
    """A repeat that is said to be a loop gets snapshots along time in the same budget."""
    assert main(["place", saved, "--budget", "300", "--loop", "step@m.f:9=40"]) == 0
    assert "loop 'step@m.f:9': 10 iterations" in capsys.readouterr().out
    assert main(["place", saved, "--budget", "300", "--loop", "step"]) == 2


def test_tapenade_compares_two_profiles(saved, tmp_path, capsys):
    """What is gone was split; its shortfall is in the corrected tree and the next list."""
    tree = CallTree.from_json((tmp_path / "tree.json").read_text())
    whole = tree.body[0].body[0]
    kept = (whole.body[0], Leaf(0.5, 2.0, 30, 30), whole.body[2])
    after = tmp_path / "after.json"
    slower = Call(whole.site, 40, 0.5, kept, routine="step", file="m.f", line=9)
    after.write_text(json.dumps(CallTree([Repeat(10, [slower])]).to_json()))
    corrected = str(tmp_path / "corrected.json")
    command = ["tapenade", "--compare", saved, str(after), "--corrected", corrected]
    assert main([*command, "--budget", "600"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("split: b\n")
    assert "over-predicted 3.00 times" in words
    assert "next list" in words
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["split"] == ["b"]
    assert main(["tapenade", "--compare", str(after), saved]) == 2


def test_files_that_are_no_trees_are_named(tmp_path, capsys):
    """A missing file, a folder, and text of another kind: exit code 2 and the file's name."""
    bad = tmp_path / "bad.json"
    bad.write_text('{"schema": "adjourn.calltree/1",\n "body": [{"site": 3}]}')
    for path in (str(tmp_path / "none.json"), str(tmp_path), str(bad)):
        assert main(["place", path, "--budget", "1MB"]) == 2
        assert path in capsys.readouterr().err
        assert main(["tapenade", path, "--budget", "1MB"]) == 2
        assert path in capsys.readouterr().err


def test_the_runtime_can_be_found(capsys):
    """The command prints the C files that the user compiles."""
    assert main(["tapenade", "--runtime"]) == 0
    assert capsys.readouterr().out.count(".c\n") == 3


def test_the_text_of_a_placement():
    """Exactly as printed."""
    leaf = Leaf(2.0, 6.0, 100, 120)
    tree = CallTree([Call("a", 16, 1.0, [leaf]), Call("b", 16, 1.0, [leaf])])
    assert placement_report(tree, place(tree, 230)) == (
        "placement (optimal), budget 230 B\n"
        "  time  12.00 s, 3.00 x the primal\n"
        "  peak  220 B (220 bytes)\n"
        "  optimal\n"
        "  2 split, 0 joint\n"
        "  split: a b\n"
        "peak made of\n"
        "       100 B  tape of a\n"
        "       100 B  tape of b\n"
        "        20 B  transient of b\n"
        "\n"
        "  site                      mode   if switched        peak   snapshot       tape\n"
        "* b                         split      +3.00 s       +16 B       16 B      100 B\n"
        "* a                         split      +3.00 s       -84 B       16 B      100 B\n"
    )
