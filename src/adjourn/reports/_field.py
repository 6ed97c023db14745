"""Arrays as images with a scale and units: PNG written by zlib and struct alone."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadValue
from ._svg import Canvas, Frame, nice_ticks, number

__all__ = ["Field", "draw_field", "field_of", "png"]

_WIDEST = 640  # pixels of an image: more than a page shows
_RAMPS = {
    # viridis, sampled at nine places
    "speed": [(68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141),
              (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37)],
    # Brewer's red-blue, symmetric about white
    "signed": [(5, 48, 97), (33, 102, 172), (67, 147, 195), (146, 197, 222), (247, 247, 247),
               (244, 165, 130), (214, 96, 77), (178, 24, 43), (103, 0, 31)],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A section through a field, ready to be shown.

    Attributes
    ----------
    name : str
        What it is.
    unit : str
        The unit of its values.
    low, high : float
        The values at the two ends of the colour scale.
    across, down : float
        Its extent in m.
    ramp : {"speed", "signed"}
        The colours.
    image : bytes
        A PNG file.
    note : str
        What else to know: a slice, a saturated scale.
    """

    name: str
    unit: str
    low: float
    high: float
    across: float
    down: float
    ramp: Literal["speed", "signed"]
    image: bytes
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the field as a JSON value, the image in base 64."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return values | {"image": b64encode(self.image).decode()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Field:
        """Return the field that `to_json` wrote."""
        values = dict(value)
        values["image"] = b64decode(values["image"])
        return cls(**values)


def field_of(
    values: ArrayLike,
    spacing: tuple[float, float],
    *,
    name: str,
    unit: str,
    ramp: Literal["speed", "signed"] = "speed",
    note: str = "",
) -> Field:
    """Return a picture of a section: depth down, distance across.

    Parameters
    ----------
    values : array_like, shape (depth, distance)
        The values.
    spacing : (float, float)
        Distance between cells down and across, in m.
    name, unit, note : str
        What it is, its unit, what else to know.
    ramp : {"speed", "signed"}
        Colours from the least to the largest value, or symmetric about 0; signed colours are
        saturated where 95 percent of the magnitudes are smaller.

    Raises
    ------
    BadValue
        Not two axes, or nothing finite.
    """
    array: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise BadValue(
            f"{name} of shape {array.shape} cannot be shown. Pass two axes of finite values."
        )
    across, down = array.shape[1] * spacing[1], array.shape[0] * spacing[0]
    stride = -(-max(array.shape) // _WIDEST)
    shown = array[::stride, ::stride]
    if ramp == "signed":
        size = np.abs(array)
        high = float(np.quantile(size, 0.95)) or float(size.max()) or 1.0
        low = -high
        note = " ".join(filter(None, [note, f"Largest magnitude {size.max():.3g} {unit}."]))
    else:
        low, high = float(array.min()), float(array.max())
    scaled = (shown - low) / ((high - low) or 1.0)
    levels = np.clip(np.rint(scaled * 255), 0, 255).astype(np.uint8)
    return Field(name, unit, low, high, across, down, ramp, png(levels, _palette(ramp)), note)


def png(levels: NDArray[np.uint8], palette: bytes) -> bytes:
    """Return a PNG file of palette indices, shape (height, width); 768 bytes of palette."""
    height, width = levels.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = levels
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def draw_field(field: Field, width: int = 520) -> Canvas:
    """Draw a field with its axes in km and its scale of colours."""
    canvas = Canvas(width, 0, field.name)
    left, right, top = 48, width - 16, 52
    tall = (right - left) * field.down / field.across
    tall = min(max(tall, 110), 1.1 * width)
    canvas.height = int(top + tall + 92)
    frame = Frame((left, top, right, top + tall), (0, field.across), (field.down, 0))
    canvas.text(4, 16, f"{field.name}, in {field.unit}", "aj-b")
    data = b64encode(field.image).decode()
    canvas.parts.append(
        f'<image x="{left}" y="{top}" width="{right - left}" height="{number(tall)}" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>'
    )
    for metres in nice_ticks(0, field.across, 5):
        x = frame.x(metres)
        canvas.line(x, frame.bottom, x, frame.bottom + 4, "aj-axis")
        canvas.text(x, frame.bottom + 17, f"{metres / 1000:g}", "aj-m", "middle")
    for metres in nice_ticks(0, field.down, 4):
        y = frame.y(metres)
        canvas.line(left - 4, y, left, y, "aj-axis")
        canvas.text(left - 7, y + 4, f"{metres / 1000:g}", "aj-m", "end")
    canvas.text(4, top - 14, "depth, km", "aj-m")
    canvas.text(right, frame.bottom + 34, "distance, km", "aj-m", "end")
    _scale(canvas, field, left, right - 110, frame.bottom + 46)
    return canvas


def _scale(canvas: Canvas, field: Field, left: float, right: float, y: float) -> None:
    ramp = png(np.arange(256, dtype=np.uint8).reshape(1, 256), _palette(field.ramp))
    data = b64encode(ramp).decode()
    canvas.parts.append(
        f'<image x="{number(left)}" y="{number(y)}" width="{number(right - left)}" height="10" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>'
    )
    middle = (field.low + field.high) / 2
    for value in (field.low, middle, field.high):
        x = left + (value - field.low) / ((field.high - field.low) or 1) * (right - left)
        canvas.text(x, y + 25, f"{value:.3g}", "aj-m", "middle")


def _palette(ramp: str) -> bytes:
    anchors = np.array(_RAMPS[ramp], dtype=np.float64)
    at = np.linspace(0, len(anchors) - 1, 256)
    places = np.arange(len(anchors))
    channels = [np.interp(at, places, anchors[:, c]) for c in range(3)]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8).tobytes()
