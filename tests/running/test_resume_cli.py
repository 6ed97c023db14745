"""`adjourn resume` and `adjourn clean` on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from adjourn import BadValue
from adjourn.cli._resume import add_parser
from running.killing import STEPS, killed_at, make_plan, reference

HERE = Path(__file__).parent
WHERE = f"{HERE / 'killing.py'}:small_toy"


def call(*words):
    parser = argparse.ArgumentParser(prog="adjourn")
    add_parser(parser.add_subparsers())
    args = parser.parse_args(list(map(str, words)))
    return args.func(args)


def test_a_killed_run_is_listed_resumed_and_gone(tmp_path, capsys):
    """List, resume with the output written, list again; then remove another."""
    for name in ("one", "two"):
        killed_at(tmp_path / name, 35, "kill", plan=make_plan())
    assert call("clean", tmp_path) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path / 'one'}: running.toy.Toy, " in out
    assert f"of {STEPS}, " in out
    assert "stopped" in out
    assert "to go on: adjourn resume" in out
    output = tmp_path / "out.npz"
    assert call("resume", tmp_path / "one", "--problem", WHERE, "--output", output) == 0
    out = capsys.readouterr().out
    assert out.startswith("resumed at step ")
    assert "finished: " in out
    with np.load(output) as found:
        for name, array in reference().items():
            assert np.array_equal(found[name], array)
    assert not (tmp_path / "one").exists()
    assert call("clean", tmp_path, "--remove") == 0
    assert "two: running.toy.Toy, " in capsys.readouterr().out
    assert call("clean", tmp_path) == 0
    assert capsys.readouterr().out == f"no unfinished run in {tmp_path}\n"


def test_a_run_without_a_ledger_is_listed(tmp_path, capsys):
    """It ended before its first step: there is nothing to go on from."""
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "adjourn.lock").write_text("{}")
    assert call("clean", tmp_path) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{tmp_path / 'early'}: ended before its first step, 2 B on disk")
    assert "to remove them: adjourn clean --remove" in out
    assert "adjourn resume" not in out
    assert call("clean", tmp_path, "--remove") == 0
    assert not list((tmp_path / "early").iterdir())


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nothing", "names no function"),
        ("none.py:x", "there is no file"),
        ("math:nothing", "has no function"),
        (f"{HERE / 'killing.py'}:STEPS", "has no function"),
    ],
)
def test_what_cannot_be_loaded_is_refused(tmp_path, where, words):
    """A place that names no function is told apart from a file that is not there."""
    with pytest.raises(BadValue, match=words):
        call("resume", tmp_path, "--problem", where)
