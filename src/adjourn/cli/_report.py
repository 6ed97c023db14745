"""`adjourn report`: the text and the page of a run that was saved as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import BadFile
from ._shared import (
    Commands,
    add_json,
    command,
    print_json,
    read_json,
    require_directory,
    write_text,
)

__all__ = ["add_parser"]


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "report",
        "show a run that was saved as JSON, as text and as one HTML file",
        "RUN.json is what `adjourn demo --json` or RunRecord.to_json() wrote.",
    )
    parser.add_argument("run_file", metavar="RUN.json", help="a run or a report; - for stdin")
    parser.add_argument("--output", metavar="FILE.html", help="default: RUN.html")
    parser.add_argument(
        "--curve",
        action="store_true",
        help="plan for other budgets too, and draw time against memory",
    )
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from dataclasses import replace  # noqa: PLC0415

    from ..planning import curve  # noqa: PLC0415
    from ..reports import Report, html_page  # noqa: PLC0415

    require_directory(arguments.output)
    value = read_json(arguments.run_file)
    try:
        report = Report.from_json(value)
    except (KeyError, TypeError) as error:
        raise BadFile(
            f"{arguments.run_file} is damaged: {error}. Pass what `adjourn demo --json` or "
            "RunRecord.to_json() wrote."
        ) from None
    if arguments.curve and report.curve is None:
        plan = report.record.plan
        made = curve(plan.steps, plan.costs, plan.budget, plan.disk)
        report = replace(report, curve=made)
    if arguments.json:
        print_json(report.to_json())
    else:
        print(report.text(), end="")
    name = arguments.output
    if name is None and arguments.run_file != "-":
        name = str(Path(arguments.run_file).with_suffix(".html"))
    if name is not None:
        path = write_text(name, html_page(report))
        if not arguments.json:
            print(f"\nThe page: {path}")
    return 0 if report.same_bits is not False else 1
