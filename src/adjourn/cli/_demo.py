"""`adjourn demo`: a gradient within a budget, compared bit for bit with the stored history."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import TYPE_CHECKING, Any

from ._machine import available_memory, cores, installed, processor
from ._shared import Commands, add_json, command, print_json, require_directory, write_text
from ._shot import add_shot, describe, make_shot

if TYPE_CHECKING:
    from ..models import Acoustic
    from ..planning import Costs, Plan
    from ..reports import Field
    from ..running import RunRecord

__all__ = ["add_parser"]

_BUDGET, _SHORT_BUDGET = "16 MiB", "2 MiB"


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "demo",
        "compute a full-waveform-inversion gradient within a budget and check it bit for bit",
        "Prints the plan, predicted and measured time and memory, and writes one HTML report.",
    )
    add_shot(parser)
    parser.add_argument("--budget", help=f'bytes, such as "64MiB" (default: {_BUDGET})')
    parser.add_argument("--disk", help="bytes of disk for further snapshots")
    parser.add_argument("--short", action="store_true", help="a smaller model, for a quick look")
    parser.add_argument(
        "--no-compare", action="store_true", help="leave out the run with the whole history stored"
    )
    parser.add_argument(
        "--output",
        default="adjourn-demo.html",
        metavar="FILE.html",
        help="where the report goes (default: adjourn-demo.html)",
    )
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..planning import curve, plan  # noqa: PLC0415
    from ..reports import Report, html_page  # noqa: PLC0415
    from ..running import measure, run  # noqa: PLC0415
    from ..running._progress import spinner  # noqa: PLC0415

    require_directory(arguments.output)
    budget = arguments.budget or (_SHORT_BUDGET if arguments.short else _BUDGET)
    with spinner("running the forward model for the data", enabled=True):
        shot, true = make_shot(arguments)
    costs = measure(shot, disk=arguments.disk is not None)
    made = plan(shot.steps, costs, budget, arguments.disk)
    record = run(shot, made)
    found = _outputs(shot)
    stored, same, why = _stored(arguments, shot, costs, found)
    with spinner("planning for other budgets", enabled=True):
        bought = curve(shot.steps, costs, budget, arguments.disk)
    report = Report(
        record=record,
        title=f"Gradient within {_said(made)}: {describe(shot)}, {shot.steps} steps",
        stored=stored,
        same_bits=same,
        curve=bought,
        fields=_fields(shot, true),
        about=_about(shot, why),
    )
    path = write_text(arguments.output, html_page(report))
    if arguments.json:
        print_json(report.to_json())
    else:
        print(report.text(), end="")
        if why:
            print(f"\n{why}")
        print(f"\nThe report, one file to open in a browser: {path}")
    within = made.budget is None or record.peak_bytes <= made.budget
    return 0 if same is not False and within else 1


def _outputs(shot: Acoustic) -> dict[str, bytes]:
    """Return the gradient and everything else the run leaves, as bytes."""
    found = {name: array.tobytes() for name, array in shot.carried().items()}
    return found | {"gradient": shot.gradient.tobytes()}


def _stored(
    arguments: argparse.Namespace, shot: Acoustic, costs: Costs, found: dict[str, bytes]
) -> tuple[RunRecord | None, bool | None, str]:
    """Run with the whole history stored; return the record, whether it agrees, or why not run."""
    from .._sizes import format_bytes  # noqa: PLC0415
    from ..planning import plan_schedule  # noqa: PLC0415
    from ..running import run  # noqa: PLC0415
    from ..schedules import store_all  # noqa: PLC0415

    if arguments.no_compare:
        return None, None, "Not compared with the stored history, as asked."
    made = plan_schedule(store_all(shot.steps), costs)
    free = available_memory()
    if free is not None and made.peak_bytes > 0.8 * free:
        needed, there = format_bytes(made.peak_bytes), format_bytes(free)
        why = f"it takes {needed}, and {there} of memory are free"
        return None, None, f"Not compared with the stored history: {why}."
    record = run(shot, made)
    other = _outputs(shot)
    return record, found == other, ""


def _fields(shot: Acoustic, true: Any) -> tuple[Field, ...]:
    """Return true model, start model and gradient, as sections through the middle."""
    from ..reports import field_of  # noqa: PLC0415

    middle = true.shape[2] // 2 if true.ndim == 3 else None
    where = "" if middle is None else f"Section at cell {middle} of the third axis."
    spacing = (shot.grid.spacing[0], shot.grid.spacing[1])

    def section(field: Any) -> Any:
        return field if middle is None else field[:, :, middle]

    return (
        field_of(
            section(true),
            spacing,
            name="True velocity",
            unit="km/s",
            note=f"What the data were observed on. {where}".strip(),
        ),
        field_of(
            section(shot.velocity),
            spacing,
            name="Start velocity",
            unit="km/s",
            note=f"The true velocity, smoothed: where the gradient is taken. {where}".strip(),
        ),
        field_of(
            section(shot.gradient),
            spacing,
            name="Gradient of the misfit",
            unit="misfit per km/s",
            ramp="signed",
            note="Red: a lower velocity there would fit the data better. Colours are "
            f"saturated at the 95th percentile. {where}".strip(),
        ),
    )


def _said(made: Plan) -> str:
    from .._sizes import format_bytes  # noqa: PLC0415

    return format_bytes(made.budget or 0)


def _about(shot: Acoustic, why: str) -> tuple[tuple[str, str], ...]:
    from time import strftime  # noqa: PLC0415

    from .. import __version__  # noqa: PLC0415

    versions = (
        f"adjourn {__version__}, Python {platform.python_version()}, NumPy {installed('numpy')}"
    )
    times = (
        "of the processor unless called wall time, and of one run each; a single run varies by "
        "some per cent, more on a busy machine"
    )
    said = [
        ("command", "adjourn " + " ".join(sys.argv[1:])),
        ("made", strftime("%Y-%m-%d %H:%M")),
        ("machine", f"{processor()}, {cores()} processors to use"),
        ("versions", versions),
        ("misfit", f"{shot.misfit:.6g}, half the sum of the squared residual"),
        ("time step", f"{1e3 * shot.dt:.4g} ms, {shot.dt * shot.steps:.4g} s in all"),
        ("times", times),
    ]
    if why:
        said.append(("comparison", why))
    return tuple(said)
