"""`adjourn plan`: the fastest schedule within a budget, from stated costs."""

from __future__ import annotations

import argparse

from ._shared import UNIT, Commands, add_costs, add_json, command, costs_of, print_json

__all__ = ["add_parser"]


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "plan",
        "plan the fastest schedule within a budget, from stated costs",
        "For example: adjourn plan --steps 1000 --state 64MiB --tape 32MiB --budget 2GiB",
    )
    add_costs(parser, budget=True)
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..planning import plan  # noqa: PLC0415
    from ..reports import plan_text  # noqa: PLC0415

    costs, relative = costs_of(arguments)
    made = plan(arguments.steps, costs, arguments.budget, arguments.disk)
    if arguments.json:
        print_json(made.to_json())
    else:
        print(plan_text(made) + (UNIT if relative else ""), end="")
    return 0
