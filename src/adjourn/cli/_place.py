"""`adjourn place`: which calls to record and which to run again, within a budget."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadFile, BadValue
from ._shared import Commands, add_json, command, print_json, write_text

if TYPE_CHECKING:
    from ..calltree import CallTree

__all__ = ["add_loops", "add_parser", "read_tree", "with_loops"]


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "place",
        "decide which calls of a measured call tree to checkpoint, within a budget",
        "For example: adjourn place tree.json --budget 1GiB",
    )
    parser.add_argument("tree", metavar="TREE.json", help="a call tree; several ranks' are merged")
    parser.add_argument("more", metavar="TREE.json", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--budget", help='bytes, such as "2GiB"')
    parser.add_argument(
        "--curve", action="store_true", help="show the time within every budget, with baselines"
    )
    parser.add_argument(
        "--what-if",
        metavar="SITE=split,...",
        help="show the time and peak of this placement; other calls are joint",
    )
    parser.add_argument(
        "--tied", action="store_true", help="one decision for all contexts of a site"
    )
    parser.add_argument(
        "--given", metavar="SITE=joint,...", help="modes that are settled before the search"
    )
    parser.add_argument("--speedscope", metavar="FILE", help="write a profile for speedscope.app")
    parser.add_argument("--output", metavar="FILE", help="write the placement as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures")
    parser.add_argument("--show-tree", action="store_true", help="print the tree itself")
    add_loops(parser)
    add_json(parser)
    parser.set_defaults(func=_run)


def add_loops(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which repeats are loops with snapshots between iterations."""
    parser.add_argument(
        "--loop",
        action="append",
        default=[],
        metavar="SITE=BYTES",
        help="the repeat that calls SITE is a loop whose state takes so many bytes",
    )


def with_loops(tree: CallTree, loops: list[str]) -> CallTree:
    """Return the tree with repeats turned into loops."""
    from .._sizes import as_bytes  # noqa: PLC0415

    for words in loops:
        site, equals, size = words.rpartition("=")
        if not equals:
            raise BadValue(
                f"--loop {words} has no size. Write --loop SITE=BYTES, such as step=8MB."
            )
        tree = tree.with_loop(_named(tree, site), snapshot=as_bytes(size, "loop"))
    return tree


def read_tree(paths: list[str]) -> CallTree:
    """Return the tree in a file, or those of several ranks merged."""
    from ..calltree import CallTree, merge  # noqa: PLC0415

    trees: list[CallTree] = []
    for path in paths:
        try:
            text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise BadFile(f"{path} does not exist. Pass the path of a call tree.") from None
        except (IsADirectoryError, UnicodeDecodeError) as error:
            raise BadFile(f"{path} is not a call tree: {error}. Pass a JSON file.") from None
        try:
            trees.append(CallTree.from_json(text))
        except BadValue as error:
            raise BadValue(f"{path}: {error}") from None
    return merge(trees)


def _named(tree: CallTree, site: str) -> int | str:
    numbers = {str(one): one for one in tree.sites}
    return numbers.get(site, site)


def _modes(text: str | None, option: str) -> dict[int | str, str]:
    modes: dict[int | str, str] = {}
    for words in filter(None, (text or "").split(",")):
        site, equals, mode = words.rpartition("=")
        if not equals:
            raise BadValue(f"{option} {words} names no mode. Write SITE=split or SITE=joint.")
        modes[site.strip()] = mode.strip()
    return modes


def _run(arguments: argparse.Namespace) -> int:
    from ..calltree import (  # noqa: PLC0415
        BASELINES,
        curve,
        curve_text,
        place,
        placement_report,
        speedscope,
        what_if,
    )

    tree = with_loops(read_tree([arguments.tree, *arguments.more]), arguments.loop)
    if arguments.show_tree:
        print(tree.text())
    given = _modes(arguments.given, "--given")
    if arguments.what_if is not None:
        modes = _modes(arguments.what_if, "--what-if")
        placement = what_if(tree, modes, arguments.budget)  # type: ignore[arg-type]
    elif arguments.budget is not None:
        placement = place(tree, arguments.budget, modes=given or None, tied=arguments.tied)  # type: ignore[arg-type]
    elif arguments.curve:
        made = curve(tree, modes=given or None)  # type: ignore[arg-type]
        if arguments.json:
            print_json({"points": [list(point) for point in made.points]})
        else:
            print(curve_text(made))
        return 0
    elif arguments.show_tree:
        return 0
    else:
        raise BadValue("nothing to do. Pass --budget BYTES, --curve or --what-if SITE=split,...")
    if arguments.speedscope:
        write_text(arguments.speedscope, json.dumps(speedscope(tree, placement.modes)))
    if arguments.output:
        write_text(arguments.output, json.dumps(placement.to_json(), indent=2))
    if arguments.json:
        print_json(placement.to_json())
    if arguments.json and not arguments.html:
        return 0
    others = []
    if arguments.budget is not None and arguments.what_if is None:
        others = [method(tree, arguments.budget) for method in BASELINES.values()]
    whole = curve(tree) if arguments.curve or arguments.html else None
    if arguments.html:
        from ..reports import tree_page  # noqa: PLC0415

        write_text(arguments.html, tree_page(tree, placement, others, whole))
    if not arguments.json:
        print(placement_report(tree, placement, others, whole if arguments.curve else None), end="")
    return 0 if placement.fits else 1
