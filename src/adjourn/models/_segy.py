"""Velocity models in SEG-Y, through segyio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadFile, MissingExtra
from ..problem import Array

__all__ = ["read_segy"]

_INLINE, _CROSSLINE = 189, 193  # bytes of the trace header (SEG-Y rev. 1)


def read_segy(file: Path) -> Array:
    """Return the model in a SEG-Y file, depth first.

    A trace is a column of the model. Where inline and crossline numbers span a whole rectangle
    the model is three-dimensional, of shape (depth, inlines, crosslines), whatever the order of
    the traces; otherwise it is two-dimensional, in the order of the traces.

    Raises
    ------
    MissingExtra
        segyio is not installed.
    BadFile
        The file is not SEG-Y that segyio can read.
    """
    try:
        import segyio  # type: ignore[import-untyped]  # noqa: PLC0415  (an optional extra)
    except ImportError:
        raise MissingExtra(
            f"{file} is SEG-Y, which needs segyio; it is not installed. "
            'Run: pip install "adjourn[segy]".'
        ) from None
    reader: Any = segyio
    try:
        with reader.open(str(file), ignore_geometry=True) as opened:
            traces: Array = np.array(opened.trace.raw[:], dtype=np.float32)
            lines: Array = np.array(opened.attributes(_INLINE)[:])
            crossings: Array = np.array(opened.attributes(_CROSSLINE)[:])
    except (RuntimeError, OSError, ValueError) as error:
        raise BadFile(
            f"{file} cannot be read as SEG-Y: {error}. Check that it was copied whole, and that "
            "all traces are of one length."
        ) from None
    if min(traces.shape) < 2:
        raise BadFile(
            f"{file} holds {traces.shape[0]} traces of {traces.shape[1]} samples. A model has two "
            "or more of both."
        )
    line, line_index = np.unique(lines, return_inverse=True)
    crossing, crossing_index = np.unique(crossings, return_inverse=True)
    places = line_index * len(crossing) + crossing_index
    if min(len(line), len(crossing)) < 2 or len(np.unique(places)) != len(places):
        return np.ascontiguousarray(traces.T)
    if len(places) != len(line) * len(crossing):
        raise BadFile(
            f"{file} holds {len(places)} traces on {len(line)} inlines and {len(crossing)} "
            f"crosslines, not {len(line) * len(crossing)}. Fill the gaps, or save the model as "
            ".npy."
        )
    volume = np.empty((len(line), len(crossing), traces.shape[1]), np.float32)
    volume[line_index, crossing_index] = traces
    return np.ascontiguousarray(np.moveaxis(volume, 2, 0))
