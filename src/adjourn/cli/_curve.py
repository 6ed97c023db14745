"""`adjourn curve`: time against budget, from stated costs."""

from __future__ import annotations

import argparse

from ._shared import (
    UNIT,
    Commands,
    add_costs,
    add_json,
    command,
    costs_of,
    print_json,
    require_svg,
    write_text,
)

__all__ = ["add_parser"]


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "curve",
        "show the time within every budget, from the least that works to the whole history",
        "For example: adjourn curve --steps 1000 --state 64MiB --tape 32MiB",
    )
    add_costs(parser, budget=False)
    parser.add_argument("--points", type=int, default=25, help="budgets to plan for (default: 25)")
    parser.add_argument("--output", metavar="FILE.svg", help="draw the curve as an SVG file")
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..planning import curve  # noqa: PLC0415
    from ..reports import curve_svg, curve_text  # noqa: PLC0415
    from ..running._progress import spinner  # noqa: PLC0415

    require_svg(arguments.output)
    costs, relative = costs_of(arguments)
    with spinner("planning the whole history", enabled=True) as shown:
        made = curve(
            arguments.steps,
            costs,
            arguments.budget,
            arguments.disk,
            points=arguments.points,
            progress=lambda done, of: shown.update(f"planning: {done} of {of} budgets"),
        )
    if arguments.json:
        print_json(made.to_json())
    else:
        print(curve_text(made) + (UNIT if relative else ""), end="")
    if arguments.output:
        path = write_text(arguments.output, curve_svg(made))
        if not arguments.json:
            print(f"\nDrawn in {path}")
    return 0
