"""The parts of a report as HTML: one file, no network, no scripts, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from ._style import PAGE
from ._svg import Canvas

__all__ = [
    "NARROW",
    "WIDE",
    "bullets",
    "cards_of",
    "definitions",
    "figure",
    "page",
    "section",
    "sentence",
    "table",
]

WIDE, NARROW = 1000, 400


def page(title: str, sections: Iterable[str]) -> str:
    """Return a whole file of sections."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{PAGE}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def section(title: str, body: str) -> str:
    """Return a section; nothing if it would be empty."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def cards_of(cards: Iterable[tuple[str, str, str]]) -> str:
    """Return figures to see at once: what, how much, and a remark."""
    items = "".join(
        f'<div class="card"><span>{escape(name)}</span><b>{escape(figure)}</b>'
        f"<span>{escape(more)}</span></div>"
        for name, figure, more in cards
    )
    return f'<div class="cards">{items}</div>'


def figure(draw: Callable[[int], Canvas], caption: str) -> str:
    """Return a picture, drawn for wide and for narrow windows, with its caption."""
    wide, narrow = draw(WIDE).render(), draw(NARROW).render()
    return (
        f'<figure><div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that scrolls sideways where it is too wide."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'


def bullets(items: Iterable[str]) -> str:
    """Return sentences as a list; nothing if there are none."""
    inside = "".join(f"<li>{escape(sentence(item))}</li>" for item in items)
    return f"<ul>{inside}</ul>" if inside else ""


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return terms and what they are."""
    inside = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs)
    return f"<dl>{inside}</dl>" if inside else ""


def sentence(words: str) -> str:
    """Return words as a sentence; a number or a name at the front stays as it is."""
    ended = words if words.endswith((".", "?", "!")) else words + "."
    return ended[0].upper() + ended[1:] if not words[0].isupper() else ended
