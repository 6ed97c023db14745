"""`adjourn schedule`: the picture of a schedule of any family."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from ..errors import BadValue
from ._shared import (
    Commands,
    Parser,
    add_json,
    command,
    numbers,
    print_json,
    require_svg,
    write_text,
)

if TYPE_CHECKING:
    from ..schedules import Counts, Repeated, Schedule

__all__ = ["add_parser"]

_CONVERT: dict[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "str": str,
    "Sequence[float]": numbers,
}
_CONVERTED = tuple(_CONVERT)


def add_parser(subparsers: Commands) -> None:
    """Add the command, with one sub-command for each family that options can describe."""
    parser = command(
        subparsers,
        "schedule",
        "show a schedule of any family as a picture",
        "For example: adjourn schedule revolve --steps 50 --slots 7",
    )
    families = parser.add_subparsers(metavar="family", required=True)
    for name, maker in _makers().items():
        words = (maker.__doc__ or "").split("\n", maxsplit=1)[0]
        words = words.replace("`", "").replace(" [1]_", "").rstrip(".")
        family = command(families, name, words.removeprefix("Return ") or name)
        for parameter in signature(maker).parameters.values():
            _add(family, parameter)
        family.add_argument("--lines", type=int, default=32, help="lines at most (default: 32)")
        family.add_argument("--output", metavar="FILE.svg", help="draw it as an SVG file")
        add_json(family)
        family.set_defaults(func=_run, maker=maker)


def _run(arguments: argparse.Namespace) -> int:
    from ..reports import schedule_svg, schedule_text  # noqa: PLC0415
    from ..schedules import Repeated  # noqa: PLC0415

    require_svg(arguments.output)
    maker: Callable[..., Schedule | Repeated] = arguments.maker
    given = {name: getattr(arguments, name) for name in signature(maker).parameters}
    if given.get("levels"):
        given["levels"] = [_level(figures) for figures in given["levels"]]
    made = maker(**{name: value for name, value in given.items() if value is not None})
    sweeps: list[Counts] = []
    if isinstance(made, Repeated):  # the picture is that of a second sweep
        sweeps = [made.counts(sweep) for sweep in range(made.sweeps)]
        schedule = made.schedule(min(1, made.sweeps - 1))
    else:
        schedule = made
    if arguments.json:
        value: dict[str, Any] = {
            "schedule": schedule.to_json(),
            "counts": _figures(schedule.counts),
        }
        if sweeps:
            value["sweeps"] = [_figures(counts) for counts in sweeps]
        print_json({"schema": 1, **value})
    else:
        for number, counts in enumerate(sweeps, 1):
            print(f"sweep {number}: {counts.advances} plain advances, {counts.records} recorded")
        print(schedule_text(schedule, lines=arguments.lines), end="")
    if arguments.output:
        picture = schedule_svg(schedule)
        if not picture:
            raise BadValue(
                f"a schedule of {schedule.steps} steps is too long to be drawn. Draw one of fewer "
                "steps; the figures above hold for this one."
            )
        path = write_text(arguments.output, picture)
        if not arguments.json:
            print(f"\nDrawn in {path}")
    return 0


def _figures(counts: Counts) -> dict[str, Any]:
    return {name: getattr(counts, name) for name in counts.__slots__}


def _level(figures: list[float]) -> list[float]:
    """Return slots, seconds to write, seconds to read; a level of slots alone is free."""
    if len(figures) not in (1, 3) or figures[0] != int(figures[0]):
        raise BadValue(
            f"levels={figures} is no level. Pass SLOTS, or SLOTS,WRITE,READ, such as --levels 10 "
            "10,2,2."
        )
    return [int(figures[0]), *(figures[1:] or [0.0, 0.0])]


def _makers() -> dict[str, Callable[..., Schedule]]:
    """Return the functions that make a schedule out of counts and words."""
    from .. import schedules  # noqa: PLC0415

    found: dict[str, Callable[..., Any]] = {}
    for name in schedules.__all__:
        maker = getattr(schedules, name)
        if name.islower() and callable(maker) and name != "schedule_from_json":
            parameters = signature(maker).parameters
            if {"steps", "costs"} & set(parameters) and all(_plain(p) for p in parameters.values()):
                found[name] = maker
    return found


def _plain(parameter: Parameter) -> bool:
    kind = str(parameter.annotation)
    return parameter.name == "levels" or kind.startswith(_CONVERTED) or kind.startswith("Literal")


def _add(parser: Parser, parameter: Parameter) -> None:
    kind = str(parameter.annotation)
    needed = parameter.default is Parameter.empty
    words = "" if needed or parameter.default is None else f"(default: {parameter.default})"
    option = "--" + parameter.name.replace("_", "-")
    if parameter.name == "levels":
        parser.add_argument(
            option,
            type=numbers,
            nargs="+",
            required=needed,
            metavar="SLOTS[,WRITE,READ]",
            help="each level's slots and the time to write and to read a snapshot there",
        )
        return
    convert = next((c for name, c in _CONVERT.items() if kind.startswith(name)), str)
    parser.add_argument(option, type=convert, required=needed, default=None, help=words)
