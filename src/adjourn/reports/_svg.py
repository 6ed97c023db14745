"""Inline SVG: a canvas, axes, labels that keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log2, log10

from ._style import COLOURS

__all__ = ["Canvas", "Frame", "byte_ticks", "nice_ticks", "number", "time_unit"]


def number(value: float) -> str:
    """Return a coordinate with one decimal, the shortest way."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Frame:
    """The plotting area inside the margins, with linear or logarithmic scales."""

    def __init__(
        self,
        box: tuple[float, float, float, float],
        across: tuple[float, float],
        up: tuple[float, float],
        *,
        log_across: bool = False,
    ) -> None:
        self.left, self.top, self.right, self.bottom = box
        self.across = across
        self.up = up
        self.log_across = log_across

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        low, high = self.across
        if self.log_across:
            low, high, value = log2(max(low, 1)), log2(max(high, 2)), log2(max(value, 1))
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        low, high = self.up
        return self.bottom - (value - low) / ((high - low) or 1) * (self.bottom - self.top)


class Canvas:
    """An SVG in the making; ``width`` and ``height`` in CSS pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width = width
        self.height = height
        self.title = title
        self.parts: list[str] = []
        self.taken: list[tuple[float, float, float, float]] = []

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """Draw a rectangle of the class ``style``."""
        self.parts.append(
            f'<rect class="{style}" x="{number(x)}" y="{number(y)}" '
            f'width="{number(max(width, 0.5))}" height="{number(max(height, 0.5))}"/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """Draw a line of the class ``style``."""
        self.parts.append(
            f'<path class="{style}" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>'
        )

    def path(self, data: str, style: str, clip: str = "") -> None:
        """Draw a path of the class ``style``."""
        if data:
            clipped = f' clip-path="url(#{clip})"' if clip else ""
            self.parts.append(f'<path class="{style}" d="{data}"{clipped}/>')

    def clip(self, frame: Frame) -> str:
        """Return the name of a clip path that keeps to the inside of a frame."""
        name = f"aj-clip{self.width}"
        self.parts.append(
            f'<clipPath id="{name}"><rect x="{number(frame.left)}" y="{number(frame.top)}" '
            f'width="{number(frame.right - frame.left)}" '
            f'height="{number(frame.bottom - frame.top)}"/></clipPath>'
        )
        return name

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        """Draw a disc of the class ``style``."""
        self.parts.append(
            f'<circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'
        )

    def text(
        self, x: float, y: float, words: str, style: str = "aj-t", anchor: str = "start"
    ) -> None:
        """Write words with their baseline at ``y``."""
        self.parts.append(
            f'<text class="{style}" x="{number(x)}" y="{number(y)}" '
            f'text-anchor="{anchor}">{escape(words)}</text>'
        )

    def label(self, x: float, y: float, words: str, frame: Frame, style: str = "aj-t") -> None:
        """Write words beside a point, where no other label is."""
        wide, tall = (7.3 if style == "aj-b" else 6.4) * len(words), 13.0
        rows = (-8, 16, -24, 32, -40, 48, -56, 64, -72, 80, -88)
        for dx, dy in ((dx, dy) for dy in rows for dx in (10, -10)):
            left = x + dx if dx > 0 else x + dx - wide
            box = (left, y + dy - tall + 3, left + wide, y + dy + 3)
            inside = box[0] >= frame.left and box[2] <= frame.right + 8
            inside = inside and box[1] >= frame.top and box[3] <= frame.bottom
            if inside and not any(_meet(box, other) for other in self.taken):
                break
        else:
            dx, dy = 10, -8
            left = min(x + dx, frame.right - wide)
            box = (left, y + dy - tall + 3, left + wide, y + dy + 3)
        self.taken.append(box)
        self.text(left, y + dy, words, style)

    def legend(self, x: float, y: float, entries: Iterable[tuple[str, str]], right: float) -> float:
        """Write a row of swatches and names, wrapped; return the bottom."""
        at = x
        for style, words in entries:
            wide = 28 + 6.4 * len(words)
            if at > x and at + wide > right:
                at, y = x, y + 18
            if style.startswith("aj-fill"):
                self.rect(at, y - 8, 16, 9, style)
            else:
                self.line(at, y - 4, at + 16, y - 4, style)
            self.text(at + 21, y, words)
            at += wide + 12
        return y

    def across(self, frame: Frame, ticks: Sequence[tuple[float, str]], words: str) -> None:
        """Draw the horizontal axis."""
        for value, label in ticks:
            x = frame.x(value)
            self.line(x, frame.top, x, frame.bottom, "aj-grid")
            self.text(x, frame.bottom + 16, label, "aj-m", "middle")
        self.line(frame.left, frame.bottom, frame.right, frame.bottom, "aj-axis")
        middle = (frame.left + frame.right) / 2
        self.text(middle, frame.bottom + 33, words, "aj-m", "middle")

    def up(self, frame: Frame, ticks: Sequence[tuple[float, str]], words: str) -> None:
        """Draw the vertical axis, its name above it."""
        for value, label in ticks:
            y = frame.y(value)
            self.line(frame.left, y, frame.right, y, "aj-grid")
            self.text(frame.left - 6, y + 4, label, "aj-m", "end")
        self.text(4, frame.top - 12, words, "aj-m")

    def render(self, *, alone: bool = False) -> str:
        """Return the markup; ``alone`` puts the colours into the file itself."""
        style = f"<style>{COLOURS}</style>" if alone else ""
        back = '<rect class="aj-paper" width="100%" height="100%"/>' if alone else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'role="img" aria-label="{escape(self.title)}"><title>{escape(self.title)}</title>'
            f"{style}{back}{''.join(self.parts)}</svg>"
        )


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round values between two, at most ``most`` and a few."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def byte_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return powers of two between two sizes, with their names."""
    first, last = ceil(log2(max(low, 1))), floor(log2(max(high, 2)))
    stride = max(1, -(-(last - first + 1) // most))
    return [(2.0**k, short_size(2.0**k)) for k in range(first, last + 1) if k % stride == 0]


def short_size(nbytes: float) -> str:
    """Return a size without decimals that say nothing."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.3g} {unit}"


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit that suits a duration, as seconds and name."""
    for length, name in ((3600.0, "hours"), (60.0, "minutes"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= 2 * length:
            return length, name
    return 1e-6, "us"


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
