"""``adjourn resume`` and ``adjourn clean``: runs that ended before their time."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from .._sizes import format_bytes, format_seconds
from ..errors import BadValue
from ..running import StaleRun, clean, find_runs, resume

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add both commands to an argparse parser's subparsers."""
    one = subparsers.add_parser(
        "resume",
        help="go on with a run that was begun with directory=",
        description="Go on with a run that ended before its time, from its directory.",
    )
    one.add_argument("directory", help="the directory that the run was given")
    one.add_argument(
        "--problem",
        required=True,
        metavar="WHERE:NAME",
        help="the function that makes the problem: package.module:name or path/to/file.py:name",
    )
    one.add_argument(
        "--output",
        metavar="FILE.npz",
        help="write what the problem carries (gradient, outputs) to this file",
    )
    one.set_defaults(func=_resume)
    two = subparsers.add_parser(
        "clean",
        help="list unfinished runs, or remove them",
        description="List the unfinished runs in a directory and in those directly under it.",
    )
    two.add_argument("directory", help="where to look")
    two.add_argument(
        "--remove", action="store_true", help="remove the files of those that nobody runs"
    )
    two.set_defaults(func=_clean)


def _resume(args: argparse.Namespace) -> int:
    problem = _load(args.problem)()
    if args.output is not None and not callable(getattr(problem, "carried", None)):
        raise BadValue(f"--output={args.output} was asked for; the problem has no carried().")
    began = time.perf_counter()
    record = resume(args.directory, problem)
    for told in record.fallbacks:
        print(told)
    steps = f"{record.forward_steps} forward and {record.reverses} reverse steps"
    print(f"finished: {steps} in {format_seconds(time.perf_counter() - began)}")
    if args.output is not None:
        import numpy as np  # noqa: PLC0415

        np.savez(args.output, **problem.carried())
        print(f"written: {args.output}")
    return 0


def _clean(args: argparse.Namespace) -> int:
    found = find_runs(args.directory)
    removed = {run.path for run in clean(args.directory)} if args.remove else set[str]()
    for run in found:
        print(_line(run, removed=run.path in removed))
    if not found:
        print(f"no unfinished run in {args.directory}")
    elif not args.remove and any(run.running is None for run in found):
        begun = any(run.running is None and run.steps is not None for run in found)
        go_on = "to go on: adjourn resume DIRECTORY; " if begun else ""
        print(f"{go_on}to remove them: adjourn clean --remove")
    return 0


def _line(run: StaleRun, *, removed: bool) -> str:
    if run.running is not None:
        state = f"running, {run.running}"
    else:
        age = format_seconds(max(time.time() - run.modified, 0.0))
        state = "removed" if removed else f"stopped {age} ago"
    where = "" if run.step is None else f" at step {run.step} of {run.steps}"
    size = format_bytes(run.nbytes)
    if run.steps is None and run.phase == "not begun":
        return f"{run.path}: ended before its first step, {size} on disk, {state}"
    return f"{run.path}: {run.problem}, {run.phase}{where}, {size} on disk, {state}"


def _load(where: str) -> Any:
    """Return what ``module:name`` or ``file.py:name`` names."""
    module, colon, name = where.rpartition(":")
    if not colon or not module or not name:
        raise BadValue(
            f"--problem={where} names no function. "
            "Pass package.module:name or path/to/file.py:name."
        )
    if module.endswith(".py"):
        path = Path(module).resolve()
        spec = spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise BadValue(f"--problem={where}: there is no file {module}.")
        loaded = module_from_spec(spec)
        sys.modules.setdefault(path.stem, loaded)
        spec.loader.exec_module(loaded)
    else:
        if "" not in sys.path:
            sys.path.insert(0, "")
        try:
            loaded = import_module(module)
        except ModuleNotFoundError as error:
            raise BadValue(f"--problem={where}: {error}. Pass MODULE:FUNCTION or a path.") from None
    found = getattr(loaded, name, None)
    if not callable(found):
        raise BadValue(f"--problem={where}: {module} has no function {name}.")
    return found
