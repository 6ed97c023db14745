"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from ._shared import Commands, failure

__all__ = ["main"]

_COMMANDS = ("demo", "plan", "curve", "schedule", "report", "place", "tapenade", "resume", "doctor")

_EPILOG = """\
exit codes:
  0    done
  1    the gradient differs, a run failed, or what was held exceeded the budget
  2    bad input: an option, a value, a file, or a budget that cannot work
  130  interrupted
"""


class _Module(Protocol):
    def add_parser(self, subparsers: Commands) -> None: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.
    """
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.func(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("adjourn: interrupted; everything held was released.", file=sys.stderr)
        return 130
    except Exception as error:
        code = failure(error)
    return code


def _parser() -> argparse.ArgumentParser:
    from .. import __version__  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        prog="adjourn",
        description="Exact gradients of long simulations inside a memory budget stated in bytes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"adjourn {__version__}")
    subparsers = parser.add_subparsers(metavar="command", required=True)
    for name in _COMMANDS:
        module = cast("_Module", import_module(f"._{name}", __package__))
        module.add_parser(subparsers)
    return parser
