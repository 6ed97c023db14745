"""Words and tables of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from .._sizes import format_bytes, format_seconds

__all__ = ["WIDTH", "count", "listed", "plural", "ratio", "size", "span", "table", "titled"]

WIDTH = 80


def size(nbytes: float) -> str:
    """Return bytes as a short text."""
    return format_bytes(nbytes)


def span(seconds: float) -> str:
    """Return a duration as a short text."""
    return format_seconds(seconds)


def count(number: int) -> str:
    """Return an integer with a space every three digits from five digits on.

    Examples
    --------
    >>> count(1234), count(12345)
    ('1234', '12 345')
    """
    return str(number) if abs(number) < 10_000 else f"{number:,}".replace(",", " ")


def plural(number: int, word: str) -> str:
    """Return a number and a noun that agrees with it.

    Examples
    --------
    >>> plural(1, "step"), plural(20000, "step")
    ('1 step', '20 000 steps')
    """
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"


def ratio(measured: float | None, predicted: float | None) -> str:
    """Return the first over the second with two decimals; a dash where that says nothing."""
    if not predicted or measured is None:
        return "-"
    return f"{measured / predicted:.2f}"


def titled(title: str) -> list[str]:
    """Return a title, underlined."""
    lines = wrap(title, WIDTH)
    return [*lines, "=" * max(len(line) for line in lines)]


def listed(items: Iterable[str], mark: str = "- ") -> list[str]:
    """Return items as a list of wrapped paragraphs."""
    lines: list[str] = []
    for item in items:
        lines += wrap(item, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
    return lines


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table: the first column to the left and cut to fit, the others to the right."""
    body = [list(row) for row in rows]
    every = [list(head), *body]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]
    widths[0] = min(widths[0], WIDTH - sum(w + 2 for w in widths[1:]))
    lines: list[str] = []
    for row in every:
        first = row[0]
        if len(first) > widths[0]:
            first = first[: widths[0] - 1] + "…"
        cells = [
            first.ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [lines[0], rule, *lines[1:]]
