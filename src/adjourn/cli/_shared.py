"""What the commands share: options for sizes and costs, output, errors."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import AdjournError, BadFile, BadValue, BudgetTooSmall, MissingExtra, WrongType

if TYPE_CHECKING:
    from ..planning import Costs

__all__ = [
    "UNIT",
    "Commands",
    "Parser",
    "add_costs",
    "add_json",
    "command",
    "costs_of",
    "failure",
    "numbers",
    "print_json",
    "read_json",
    "require_directory",
    "require_svg",
    "write_text",
]

Parser: TypeAlias = argparse.ArgumentParser
Commands: TypeAlias = Any  # what add_subparsers() returns: argparse has no public name for it

UNIT = "\nNo --advance was given: 1 s stands for the time of one forward step.\n"
_BAD_INPUT = (BadValue, WrongType, BadFile, BudgetTooSmall, MissingExtra)


def command(subparsers: Commands, name: str, words: str, details: str = "") -> Parser:
    """Return the parser of one command."""
    return subparsers.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.{' ' if details else ''}{details}",
        allow_abbrev=False,
    )


def failure(error: BaseException) -> int:
    """Print an error of adjourn or of the system as one message; return the exit code.

    Anything else is a fault of adjourn and keeps its traceback.
    """
    if isinstance(error, _BAD_INPUT):
        code = 2
    elif isinstance(error, AdjournError | OSError | MemoryError):
        code = 1
    else:
        raise error
    cause = error.__cause__
    because = f" ({type(cause).__name__}: {cause})" if cause is not None else ""
    words = str(error) or type(error).__name__
    print(f"adjourn: {words}{because}", file=sys.stderr)
    return code


def add_json(parser: Parser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(value: dict[str, Any]) -> None:
    """Print a JSON value."""
    print(json.dumps(value, indent=2))


def read_json(path: str) -> dict[str, Any]:
    """Return the JSON object in a file; ``-`` reads standard input.

    Raises
    ------
    BadFile
        The file is missing or does not hold a JSON object.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        value = json.loads(text)
    except FileNotFoundError:
        raise BadFile(f"{path} does not exist. Pass the path of a JSON file, or -.") from None
    except (IsADirectoryError, ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not a JSON file: {error}. Pass what --json wrote.") from None
    if not isinstance(value, dict):
        raise BadFile(f"{path} does not hold a JSON object. Pass what --json wrote.")
    return value  # pyright: ignore[reportUnknownVariableType]


def write_text(path: str, text: str) -> str:
    """Write a file and return its full path.

    Raises
    ------
    BadFile
        The directory does not exist, or the path is a directory.
    """
    file = Path(path)
    try:
        file.write_text(text, encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise BadFile(
            f"{path} cannot be written: {error.strerror}. Pass a path in a directory that exists."
        ) from None
    return str(file.resolve())


def require_directory(path: str | None) -> None:
    """Refuse a path whose directory does not exist, before any work is done.

    Raises
    ------
    BadFile
        There is no such directory.
    """
    if path is not None and not Path(path).parent.is_dir():
        raise BadFile(
            f"{path} cannot be written: {Path(path).parent} is not a directory. Pass a path in a "
            "directory that exists."
        )


def require_svg(path: str | None) -> None:
    """Refuse, before any work, a path that is no name of an SVG file in a directory that exists.

    Raises
    ------
    BadFile
        There is no such directory, or the name ends otherwise.
    """
    require_directory(path)
    if path is not None and Path(path).suffix.lower() != ".svg":
        raise BadFile(
            f"{path} cannot be drawn: pictures are SVG files. Pass a name that ends in .svg, and "
            "convert the file where another kind is needed."
        )


def numbers(text: str) -> list[float]:
    """Return numbers separated by commas; for argparse."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers. Separate numbers by commas, such as 221,601"
        ) from None


def add_costs(parser: Parser, *, budget: bool) -> None:
    """Add the options that say what a step costs, and the budget."""
    parser.add_argument("--steps", type=int, required=True, help="number of steps")
    parser.add_argument("--budget", required=budget, help='bytes, such as "2GiB"')
    sizes = parser.add_argument_group("bytes, such as 64MiB, 512kB or 1000")
    sizes.add_argument("--state", help="of a snapshot: what restarts the model")
    sizes.add_argument("--tape", help="left by recording a step: what its reverse reads")
    sizes.add_argument("--peak", help="held while recording or reversing a step; --tape or more")
    sizes.add_argument("--disk", help="of disk for further snapshots")
    times = parser.add_argument_group(
        "seconds",
        "Without --advance, 1 s stands for the time of one forward step.",
    )
    times.add_argument("--advance", type=float, help="to run a step without recording")
    times.add_argument("--record", type=float, help="to run it recording; --advance by default")
    times.add_argument(
        "--reverse", type=float, help="to reverse it; 1.5 times --advance by default"
    )
    times.add_argument("--write", type=float, default=0.0, help="to save a snapshot in memory")
    times.add_argument("--read", type=float, default=0.0, help="to load a snapshot from memory")
    times.add_argument("--disk-write", type=float, help="to save a snapshot on disk")
    times.add_argument("--disk-read", type=float, help="to load a snapshot from disk")
    kind = parser.add_argument_group("the kind of problem")
    kind.add_argument(
        "--reads",
        choices=("nothing", "state", "tape"),
        default="tape",
        help="what the reverse of a step reads (default: tape)",
    )
    kind.add_argument(
        "--ring",
        action="store_true",
        help="recorded steps lie in one buffer that any advance overwrites, as Devito's do",
    )
    kind.add_argument(
        "--overlap",
        type=int,
        default=0,
        metavar="LEVELS",
        help="further levels of the ring that a reverse needs",
    )
    kind.add_argument("--costs", metavar="FILE", help="JSON of measured costs instead of all this")


def costs_of(arguments: argparse.Namespace) -> tuple[Costs, bool]:
    """Return the costs that the options state, and whether times are in forward steps."""
    from .._sizes import as_bytes, as_count  # noqa: PLC0415
    from ..planning import Costs, Recording  # noqa: PLC0415
    from ..problem import Window  # noqa: PLC0415

    if arguments.costs is not None:
        value = read_json(arguments.costs)
        try:
            return Costs.from_json(value), False
        except (KeyError, TypeError):
            raise BadFile(
                f"{arguments.costs} does not hold costs. Pass what Costs.to_json() returned, or "
                "the costs of a plan."
            ) from None
    if arguments.state is None or (arguments.tape is None and arguments.reads != "nothing"):
        raise BadValue(
            "the sizes of a step are not known. Pass --state and --tape, such as --state 64MiB "
            "--tape 32MiB, or --costs FILE."
        )
    state = as_bytes(arguments.state, "state")
    tape = as_bytes(arguments.tape or 0, "tape")
    peak = tape if arguments.peak is None else as_bytes(arguments.peak, "peak")
    relative = arguments.advance is None
    advance = 1.0 if relative else arguments.advance
    record = advance if arguments.record is None else arguments.record
    reverse = 1.5 * advance if arguments.reverse is None else arguments.reverse
    window = None
    if arguments.overlap and not arguments.ring:
        raise BadValue(
            f"--overlap {arguments.overlap} is given without --ring, and only a ring has levels "
            "to overlap. Pass --ring too, or leave --overlap out."
        )
    if arguments.ring:
        after = as_count(arguments.overlap, "overlap", least=0)
        window = Window(tape, after=after, transient_bytes=max(peak - tape, 0))
    costs = Costs(
        advance=advance,
        recordings=[Recording(record + reverse, tape, peak)],
        snapshot=state,
        write=arguments.write,
        read=arguments.read,
        reverse=reverse,
        reads=arguments.reads,
        window=window,
        disk_write=arguments.disk_write,
        disk_read=arguments.disk_read,
        disk_snapshot=state,
    )
    return costs, relative
