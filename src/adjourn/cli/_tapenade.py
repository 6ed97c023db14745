"""`adjourn tapenade`: the calls to take Tapenade's checkpoints from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadFile, BadValue
from ._place import add_loops, read_tree, with_loops
from ._shared import Commands, add_json, command, print_json, write_text

if TYPE_CHECKING:
    from ..calltree import CallTree, Placement
    from ..tapenade import ProfileReport

__all__ = ["add_parser"]


def add_parser(subparsers: Commands) -> None:
    """Add the command."""
    parser = command(
        subparsers,
        "tapenade",
        "propose -nocheckpoint lists from profiles of a Tapenade adjoint",
        "For example: adjourn tapenade tree.*.json --budget 1GiB",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="trees that adjourn's runtime wrote, or reports that Tapenade's printed; one a rank",
    )
    parser.add_argument("--budget", help='bytes of the stack, such as "1GiB"')
    parser.add_argument(
        "--by",
        choices=("routine", "site"),
        default="routine",
        help="decide for routines, as -nocheckpoint needs, or for sites, as $AD NOCHECKPOINT",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="two trees: every call checkpointed, and with a list applied",
    )
    parser.add_argument("--corrected", metavar="FILE", help="write the corrected tree of --compare")
    parser.add_argument(
        "--runtime", action="store_true", help="print the paths of the C files to link"
    )
    add_loops(parser)
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..tapenade import runtime_sources  # noqa: PLC0415

    if arguments.runtime:
        print("\n".join(map(str, runtime_sources())))
        return 0
    if arguments.compare:
        return _compare(arguments)
    if not arguments.files:
        raise BadValue("no file was given. Pass tree.*.json, or the profiler's reports.")
    if all(_text(path).lstrip().startswith("{") for path in arguments.files):
        return _propose(_tree(arguments), arguments)
    return _from_reports(arguments)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadFile(f"{path} does not exist. Pass a tree or a report.") from None
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} is no tree and no report: {error}.") from None


def _from_reports(arguments: argparse.Namespace) -> int:
    from ..tapenade import merge_reports, propose, read_report  # noqa: PLC0415

    reports: list[ProfileReport] = []
    for path in arguments.files:
        try:
            reports.append(read_report(_text(path)))
        except BadValue as error:
            raise BadValue(f"{path}: {error}") from None
    proposal = propose(merge_reports(reports), arguments.budget, by=arguments.by)
    if arguments.json:
        print_json(
            {
                "by": proposal.by,
                "split": [one.name for one in proposal.chosen],
                "said_seconds": proposal.seconds,
                "said_bytes": proposal.said_bytes,
                "external": sorted({entry.routine for entry in proposal.artefacts}),
                "warnings": list(proposal.warnings),
            }
        )
    else:
        print(proposal.text(), end="")
    return 0


def _tree(arguments: argparse.Namespace) -> CallTree:
    from ..tapenade import by_routine  # noqa: PLC0415

    tree = with_loops(read_tree(arguments.files), arguments.loop)
    return by_routine(tree) if arguments.by == "routine" else tree


def _propose(tree: CallTree, arguments: argparse.Namespace) -> int:
    from ..calltree import place  # noqa: PLC0415

    if arguments.budget is None:
        raise BadValue("no budget was given. Pass --budget BYTES, such as --budget 1GiB.")
    best = place(tree, arguments.budget, tied=True)
    if arguments.json:
        print_json(best.to_json())
    else:
        print(_proposed(tree, best, arguments))
    return 0


def _proposed(tree: CallTree, best: Placement, arguments: argparse.Namespace) -> str:
    from ..calltree import all_joint, compared, rank_once  # noqa: PLC0415
    from ..tapenade import directives, nocheckpoint  # noqa: PLC0415

    others = [rank_once(tree, arguments.budget), all_joint(tree, arguments.budget)]
    words = [best.text(), compared(best, others)]
    if arguments.by == "routine":
        words.append(nocheckpoint(best))
    else:
        words.append("\n".join(directives(tree, best)))
    return "\n\n".join(words)


def _compare(arguments: argparse.Namespace) -> int:
    from ..calltree import place  # noqa: PLC0415
    from ..tapenade import by_routine, compare, split_sites  # noqa: PLC0415

    before, after = (read_tree([path]) for path in arguments.compare)
    if arguments.by == "routine":
        before, after = by_routine(before), by_routine(after)
    made = compare(before, after)
    if arguments.corrected:
        write_text(arguments.corrected, json.dumps(made.corrected.to_json()))
    words = made.text()
    value = {
        "split": list(map(str, made.split)),
        "before": made.before,
        "predicted": made.predicted,
        "seen": made.seen,
    }
    if arguments.budget is not None:
        tree = with_loops(made.corrected, arguments.loop)
        best = place(tree, arguments.budget, tied=True)
        done = set(split_sites(best)) == set(map(str, made.split))
        words += f"\nnext list, with the costs corrected\n\n{_proposed(tree, best, arguments)}\n"
        words += "\nthe list stays as it is: done\n" if done else "\napply it and profile again\n"
        value |= {"next": list(split_sites(best)), "done": done}
    if arguments.json:
        print_json(value)
    else:
        print(words, end="")
    return 0
