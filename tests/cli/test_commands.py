"""The commands: what they print, and the exit codes they promise."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import adjourn.planning
from adjourn import Curve, Plan, ProblemFailed, revolve
from adjourn.cli import main
from adjourn.models import Acoustic
from adjourn.reports import Report, plan_text, schedule_text
from adjourn.schedules import Schedule, hrevolve
from reports.made import RECORD

STATED = ["--steps", "100", "--state", "64MiB", "--tape", "32MiB", "--ring"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Run in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    """Return exit code, standard output and standard error."""
    code = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_plan_prints_the_text_of_the_plan(capsys):
    """Text and JSON say the same plan."""
    code, text, _ = run(capsys, "plan", *STATED, "--budget", "1GiB")
    assert code == 0
    code, value, _ = run(capsys, "plan", *STATED, "--budget", "1GiB", "--json")
    made = Plan.from_json(json.loads(value))
    assert code == 0
    assert text.startswith(plan_text(made))
    assert "1 s stands for the time of one forward step" in text
    assert made.budget == 2**30
    assert made.costs.recordings[0].seconds == 2.5


def test_plan_takes_seconds_and_kinds(capsys):
    """What the options state arrives in the costs."""
    code, value, _ = run(
        capsys, "plan", "--steps", 50, "--state", "2MB", "--tape", "1MB", "--peak", "1500kB",
        "--budget", "20MB", "--advance", 0.1, "--record", 0.2, "--reverse", 0.3, "--write", 0.01,
        "--read", 0.02, "--reads", "state", "--ring", "--overlap", 2, "--json",
    )  # fmt: skip
    costs = Plan.from_json(json.loads(value)).costs
    assert code == 0
    assert (costs.advance, costs.write, costs.read, costs.reverse) == (0.1, 0.01, 0.02, 0.3)
    assert costs.recordings[0].seconds == pytest.approx(0.5)
    assert costs.window is not None
    assert costs.window.nbytes(3) == 5 * 10**6 + 500_000


def test_plan_takes_measured_costs(capsys, here):
    """The costs of an earlier plan can be planned with again."""
    _, value, _ = run(capsys, "plan", *STATED, "--budget", "1GiB", "--json")
    costs = here / "costs.json"
    costs.write_text(json.dumps(json.loads(value)["costs"]))
    code, again, _ = run(
        capsys, "plan", "--steps", 100, "--costs", costs, "--budget", "1GiB", "--json"
    )
    assert code == 0
    assert again == value


def test_schedule_prints_its_picture(capsys, here):
    """Any family that options can describe, as text, JSON and SVG."""
    code, text, _ = run(capsys, "schedule", "revolve", "--steps", 50, "--slots", 7)
    assert (code, text) == (0, schedule_text(revolve(50, 7)))
    code, value, _ = run(
        capsys, "schedule", "hrevolve", "--steps", 30, "--levels", 2, "3,2,2",
        "--output", "h.svg", "--json",
    )  # fmt: skip
    assert code == 0
    made = Schedule.from_json(json.loads(value)["schedule"])
    assert made == hrevolve(30, [(2, 0.0, 0.0), (3, 2.0, 2.0)])
    assert (here / "h.svg").read_text().startswith("<svg")


def test_schedule_of_several_sweeps(capsys, here):
    """What each sweep costs, and the picture of the second."""
    arguments = ("schedule", "repeated", "--steps", 100, "--slots", 10, "--sweeps", 3)
    code, text, _ = run(capsys, *arguments)
    assert code == 0
    assert text.startswith("sweep 1: 237 plain advances, 100 recorded\nsweep 2: 158 plain")
    code, value, _ = run(capsys, *arguments, "--json")
    assert [one["advances"] for one in json.loads(value)["sweeps"]] == [237, 158, 143]


@pytest.mark.timeout(20)
def test_a_schedule_too_long_for_a_picture(capsys, here):
    """Of 10^9 steps the figures come at once, and a drawing of them is refused."""
    code, text, _ = run(capsys, "schedule", "revolve", "--steps", 10**9, "--slots", 30)
    assert code == 0
    assert "9 878 900 592 plain" in text
    assert "The picture is left out" in text
    code, _, said = run(
        capsys, "schedule", "revolve", "--steps", 10**9, "--slots", 30, "--output", "s.svg"
    )
    assert (code, list(here.iterdir())) == (2, [])
    assert "too long to be drawn" in said


def test_curve_prints_and_draws(capsys, here):
    """Text, JSON and SVG of the same curve."""
    code, text, _ = run(capsys, "curve", *STATED, "--budget", "512MiB", "--output", "c.svg")
    assert code == 0
    assert "- your budget: 512.0 MiB" in text
    assert (here / "c.svg").read_text().startswith("<svg")
    code, value, _ = run(capsys, "curve", *STATED, "--points", 4, "--json")
    assert code == 0
    assert len(Curve.from_json(json.loads(value)).points) <= 4


def test_demo_is_the_main_job(capsys, here):
    """A gradient within a budget, bit for bit the stored one, a page and a JSON twin."""
    small = ["--shape", "40,60", "--steps", "80", "--budget", "1MiB"]
    code, text, _ = run(capsys, "demo", *small)
    assert code == 0
    assert "bit for bit" in text
    assert "Gradient of 80 steps within 1.0 MiB" in text
    page = here / "adjourn-demo.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, value, _ = run(capsys, "demo", *small, "--json", "--output", "other.html")
    assert code == 0
    report = Report.from_json(json.loads(value))
    assert report.same_bits is True
    assert report.record.peak_bytes <= 2**20
    (here / "run.json").write_text(value)
    code, text, _ = run(capsys, "report", "run.json")
    assert code == 0
    assert text.startswith(report.text())
    assert (here / "run.html").read_text() == (here / "other.html").read_text()


def test_demo_takes_models_and_positions_from_files(capsys, here):
    """A raw model with its shape, positions in plain text, another unit."""
    np.full((30, 40), 2500.0, "<f4").tofile(here / "model.f32")
    (here / "sources.txt").write_text("20 100\n20 200\n")
    (here / "receivers.txt").write_text("# depth, distance\n20, 50\n20, 150\n20, 250\n")
    code, value, _ = run(
        capsys, "demo", "--model", "model.f32", "--shape", "30,40", "--unit", "m/s", "--steps", 60,
        "--sources", "sources.txt", "--receivers", "receivers.txt", "--budget", "1MiB",
        "--spacing", "10,10", "--dtype", "float64", "--no-compare", "--json",
    )  # fmt: skip
    assert code == 0
    report = Report.from_json(json.loads(value))
    assert report.same_bits is None
    assert report.record.reverses == 60
    assert "float64" in report.title
    code, _, err = run(capsys, "demo", "--model", "model.f32", "--shape", "30,41")
    assert code == 2
    assert err.startswith("adjourn: model.f32 holds 1200 float32 values")


def test_demo_fails_if_the_gradient_differs(capsys, here, monkeypatch):
    """A gradient that is not the stored one ends with exit code 1, and the text says so."""
    calls = iter(range(100))
    real = Acoustic.gradient.fget
    monkeypatch.setattr(Acoustic, "gradient", property(lambda shot: real(shot) + next(calls)))
    code, text, _ = run(capsys, "demo", "--shape", "30,40", "--steps", 40, "--budget", "1MiB")
    assert code == 1
    assert "DIFFERS" in text


def test_report_plans_the_curve_if_asked(capsys, here):
    """A bare run record becomes a page; with --curve the picture of other budgets is added."""
    (here / "r.json").write_text(json.dumps(RECORD.to_json()))
    code, text, _ = run(capsys, "report", "r.json")
    assert code == 0
    assert text.startswith("Gradient of 100 steps within 40.0 MiB\n")
    assert "What another budget" not in (here / "r.html").read_text()
    code, value, _ = run(capsys, "report", "r.json", "--curve", "--json", "--output", "p.html")
    assert code == 0
    assert json.loads(value)["curve"]["steps"] == 100
    assert "What another budget" in (here / "p.html").read_text()


def test_doctor_names_what_every_extra_brings(capsys, here):
    """Versions, memory, speeds, and a line for each extra of the project."""
    code, value, _ = run(capsys, "doctor", "--json", "--directory", here)
    assert code == 0
    seen = json.loads(value)
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert set(project["project"]["optional-dependencies"]) <= set(seen["extras"])
    assert seen["copy_bytes_per_second"] > 0
    assert seen["disk"]["write"] > 0
    code, text, _ = run(capsys, "doctor", "--directory", here)
    assert code == 0
    assert max(len(line) for line in text.splitlines() if "/" not in line) <= 80
    assert not list(here.iterdir())


BAD = [
    (["plan", *STATED, "--budget", "many"], 2, "adjourn: budget='many' is not a size."),
    (["plan", *STATED, "--budget", "1MiB"], 2, "adjourn: budget='1MiB' (1.0 MiB) holds 0"),
    (["plan", "--steps", "3", "--budget", "1"], 2, "adjourn: the sizes of a step are not known."),
    (
        ["plan", "--steps", "0", *STATED[2:], "--budget", "1GiB"],
        2,
        "adjourn: steps=0 is too small.",
    ),
    (["plan", *STATED, "--budget", "1GiB", "--advance", "nan"], 2, "adjourn: seconds=nan is no"),
    (["plan", *STATED, "--budget", "1GiB", "--costs", "no"], 2, "adjourn: no does not exist."),
    (["curve", *STATED, "--points", "1"], 2, "adjourn: points=1 is too small."),
    (["curve", *STATED, "--output", "no/c.svg"], 2, "adjourn: no/c.svg cannot be written: no is"),
    (["curve", *STATED, "--output", "c.png"], 2, "adjourn: c.png cannot be drawn: pictures are"),
    (["schedule", "revolve", "--steps", "5", "--slots", "2", "--output=c"], 2, "adjourn: c can"),
    (
        ["plan", "--steps=9", "--state=2", "--tape=1", "--budget=9", "--overlap=2"],
        2,
        "adjourn: --overlap 2 is given without --ring",
    ),
    (["schedule", "revolve", "--steps", "5", "--slots", "0"], 2, "adjourn: slots=0 is too small."),
    (["schedule", "hrevolve", "--steps", "5", "--levels", "1,2"], 2, "adjourn: levels=[1.0, 2.0]"),
    (["report", "nothing.json"], 2, "adjourn: nothing.json does not exist."),
    (["demo", "--model", "nothing.npy"], 2, "adjourn: nothing.npy does not exist."),
    (["demo", "--output", "no/d.html"], 2, "adjourn: no/d.html cannot be written: no is not a"),
    (["demo", "--shape", "20.5,20"], 2, "adjourn: shape has 20.5, which is no whole number."),
    (["demo", "--shape", "40,40", "--spacing", "1,2,3"], 2, "adjourn: spacing has 3 numbers"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_message(capsys, here, arguments, code, words):
    """What cannot be used ends with exit code 2 and one message, no traceback."""
    seen, out, err = run(capsys, *arguments)
    assert seen == code
    assert err.startswith(words)
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


@pytest.mark.parametrize("text", ["not json", "[1]", '{"kind": "report", "schema": 1}'])
def test_a_damaged_report_is_named(capsys, here, text):
    """A file that is no report is an error of input."""
    (here / "x.json").write_text(text)
    code, _, err = run(capsys, "report", "x.json")
    assert code == 2
    assert err.startswith("adjourn: x.json ")


def test_unknown_options_are_usage_errors():
    """Argparse's own errors have the same exit code as other bad input."""
    for arguments in ([], ["nonsense"], ["plan", "--steps", "x"], ["demo", "--shape", "a,b"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2


def test_failures_are_told_from_bad_input(capsys, monkeypatch):
    """A run that fails ends with 1, an interrupt with 130; a fault of ours keeps its traceback."""

    def raising(error):
        def plan(*args):
            raise error

        monkeypatch.setattr(adjourn.planning, "plan", plan)
        return run(capsys, "plan", *STATED, "--budget", "1GiB")

    code, _, err = raising(ProblemFailed("step 3 failed."))
    assert (code, err) == (1, "adjourn: step 3 failed.\n")
    assert raising(KeyboardInterrupt())[0] == 130
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())


def test_the_console_script_and_a_closed_pipe():
    """`python -m adjourn.cli` works, and a reader that goes away is no error."""
    command = f"{sys.executable} -m adjourn.cli schedule revolve --steps 2000 --slots 9 --lines 900"
    seen = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert seen.returncode == 0
    assert seen.stdout.startswith("revolve: 2000 steps")
    assert seen.stderr == ""


def test_json_nested_without_end_and_missing_modules_are_met_with_a_message(tmp_path, capsys):
    """Nonsense files and problems end with exit code 2 and one message."""
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert main(["report", str(deep)]) == 2
    assert main(["resume", str(tmp_path), "--problem", "no_such_module:make"]) == 2
    assert "no_such_module" in capsys.readouterr().err
