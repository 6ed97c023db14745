"""Compiles the test programs once a session; says why where a compiler is missing."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from adjourn.calltree import CallTree
from adjourn.tapenade import runtime_sources

PROGRAMS = Path(__file__).parent / "programs"
FLAGS = ["-O2", "-ffp-contract=off"]


@dataclass(frozen=True)
class Seen:
    """What a program printed, and what its profile wrote."""

    peak: int
    gradient: str
    tree: CallTree | None = None
    report: str = ""


class Builder:
    """Compiles and runs one of the programs with a set of calls split."""

    def __init__(self, folder, language):
        self.folder = folder
        self.language = language
        self.done = {}

    @staticmethod
    def run(*command):
        return run(*command)

    def compile(self, split, profile, *extra):
        name = "_".join(["prof" if profile else "plain", *sorted(split)])
        target = self.folder / f"{self.language}_{name}"
        macros = [f"-DSPLIT_{routine}=1" for routine in split]
        runtime = runtime_sources()
        objects = []
        sources = [PROGRAMS / "adstack.c", *(runtime if profile else [])]
        for source in sources:
            made = self.folder / f"{source.stem}.o"
            if not made.exists():
                run("gcc", *FLAGS, "-c", source, "-o", made)
            objects.append(made)
        if profile:
            macros += ["-DPROFILE", f"-I{runtime[0].parent}"]
        if self.language == "c":
            command = ["gcc", *FLAGS, *macros, PROGRAMS / "model.c", *objects, "-lm", "-lpthread"]
        else:
            command = [
                "gfortran",
                "-cpp",
                "-J",
                self.folder,
                *FLAGS,
                *macros,
                PROGRAMS / "model.F90",
                *objects,
            ]
            command.append("-lpthread")
        run(*command, *extra, "-o", target)
        return target

    def __call__(self, split=(), *, profile=False, rounds=1):
        key = (tuple(sorted(split)), profile, rounds)
        if key not in self.done:
            target = self.compile(split, profile)
            base = self.folder / f"{target.name}.tree"
            arguments = [target, str(rounds)]
            report = self.folder / f"{target.name}.txt"
            if profile:
                arguments.append(report)
            words = run(*arguments, env={"ADJOURN_TREE": str(base)}).split()
            seen = dict(zip(words[::2], words[1::2], strict=True))
            tree = text = None
            if profile:
                tree = CallTree.from_json(Path(f"{base}.0.json").read_text())
                text = report.read_text()
            self.done[key] = Seen(int(seen["peak"]), seen["gradient"], tree, text or "")
        return self.done[key]


def run(*command, env=None):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, env=env and {
            "PATH": "/usr/bin:/bin", **env
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session", params=["c", "fortran"])
def program(request, tmp_path_factory):
    """Return the program in either language."""
    for compiler in ["gcc"] + ["gfortran"] * (request.param == "fortran"):
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
    return Builder(tmp_path_factory.mktemp(request.param), request.param)
