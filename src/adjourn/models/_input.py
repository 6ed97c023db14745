"""Velocity models and positions from files: raw float32, NumPy and SEG-Y, plain tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from os import PathLike
from pathlib import Path
from typing import Literal, cast

import numpy as np

from .._sizes import as_count
from ..errors import BadFile, BadValue
from ..problem import Array
from ._segy import read_segy

__all__ = ["read_positions", "read_velocity"]

_FASTEST = 20.0  # km/s: no rock is faster, and no rock is as slow as 20 m/s
_RAW = np.dtype("<f4")


def read_velocity(
    path: str | PathLike[str],
    *,
    shape: Sequence[int] | None = None,
    unit: Literal["km/s", "m/s"] = "km/s",
    depth_axis: int = 0,
) -> Array:
    """Return the velocity model in a file, in km/s, depth first.

    The kind of file goes by its name: ``.npy`` (NumPy), ``.sgy`` or ``.segy`` (SEG-Y, through
    the ``segy`` extra), anything else is raw little-endian float32. The file is read whole.

    Parameters
    ----------
    path : path
        The file.
    shape : sequence of int, optional
        Cells along each axis, as they lie in the file, slowest first. Raw files need it; for
        the others it is compared.
    unit : {"km/s", "m/s"}
        The unit in the file.
    depth_axis : int
        Which axis of the file is depth. It becomes the first; the others keep their order. In
        SEG-Y depth always runs along the trace, and this is ignored.

    Returns
    -------
    ndarray of float32 or float64, shape (depth, position) or (depth, position, position)
        The velocity in km/s.

    Raises
    ------
    BadFile
        The file is missing, or does not hold what its name or ``shape`` says.
    BadValue
        A wrong shape or unit.
    MissingExtra
        SEG-Y without segyio.
    """
    file = _existing(path)
    cells = None if shape is None else tuple(as_count(n, "shape", least=2) for n in shape)
    if cells is not None and len(cells) not in (2, 3):
        raise BadValue(f"shape={cells} has {len(cells)} axes. Pass two or three.")
    if unit not in ("km/s", "m/s"):
        raise BadValue(f'unit={unit!r} is unknown. Pass "km/s" or "m/s".')
    kind = file.suffix.lower()
    if kind in (".sgy", ".segy"):
        model = read_segy(file)
        _agree(file, model.shape, cells)
    else:
        model = _numpy(file, cells) if kind == ".npy" else _raw(file, cells)
        if not -model.ndim <= depth_axis < model.ndim:
            raise BadValue(
                f"depth_axis={depth_axis}; the model has axes 0 to {model.ndim - 1}. "
                "Pass one of them."
            )
        model = np.moveaxis(model, depth_axis, 0)
    return np.ascontiguousarray(_in_km_per_s(file, model, unit))


def read_positions(path: str | PathLike[str], dimensions: int) -> Array:
    """Return the positions in a file, in m: one row a source or receiver.

    A ``.npy`` file holds an array of shape (count, dimensions). Any other file is a table in
    plain text: numbers separated by blanks or commas, one position a line, in the order of the
    model's axes (depth first); ``#`` begins a comment.

    Parameters
    ----------
    path : path
        The file.
    dimensions : int
        Numbers in a row: 2 or 3.

    Returns
    -------
    ndarray of float64, shape (count, dimensions)
        Distances from the model's first cell, in m.

    Raises
    ------
    BadFile
        The file is missing, empty, or a line does not hold so many finite numbers.
    """
    file = _existing(path)
    if file.suffix.lower() == ".npy":
        table = _load(file)
        if table.ndim != 2 or table.shape[1] != dimensions or not len(table):
            raise BadFile(
                f"{file} holds an array of shape {table.shape}; positions in {dimensions} "
                f"dimensions need (count, {dimensions}). Save one row a position."
            )
        positions: Array = table.astype(np.float64)
    else:
        positions = np.array(_rows(file, dimensions))
    if not np.isfinite(positions).all():
        row = int(np.argmin(np.isfinite(positions).all(axis=1)))
        raise BadFile(f"{file}: position {row} is not finite. Every distance is a number of m.")
    return positions


def _rows(file: Path, dimensions: int) -> list[list[float]]:
    rows: list[list[float]] = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise BadFile(
            f"{file} is not a text file. Write one position a line, or save a .npy file."
        ) from None
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise BadFile(
                f"{file}, line {number}: {line.strip()!r} is not a row of numbers. Write "
                f"{dimensions} distances in m, depth first; begin comments with #."
            ) from None
        if len(row) != dimensions:
            raise BadFile(
                f"{file}, line {number} has {len(row)} numbers; the model has {dimensions} "
                f"axes. Write {dimensions} distances in m, depth first."
            )
        rows.append(row)
    if not rows:
        raise BadFile(f"{file} holds no position. Write one a line.")
    return rows


def _existing(path: str | PathLike[str]) -> Path:
    file = Path(path)
    if not file.is_file():
        state = "is not a file" if file.exists() else "does not exist"
        raise BadFile(f"{file} {state}. Pass the path of a file.")
    return file


def _raw(file: Path, shape: tuple[int, ...] | None) -> Array:
    size = file.stat().st_size
    if size == 0 or size % _RAW.itemsize:
        raise BadFile(
            f"{file} has {size} bytes, which are no whole float32 values. Pass a file of raw "
            "little-endian float32, or one named .npy, .sgy or .segy."
        )
    count = size // _RAW.itemsize
    if shape is None:
        raise BadValue(
            f"{file} is raw: {count} float32 values of unknown shape. Pass shape=, its axes "
            "slowest first."
        )
    if prod(shape) != count:
        raise BadFile(
            f"{file} holds {count} float32 values; shape={shape} needs {prod(shape)}."
            f"{_hint(count, shape)} Pass the shape the file was written with."
        )
    model: Array = np.fromfile(file, _RAW).reshape(shape)
    if not _plausible(model) and _plausible(model.byteswap()):
        raise BadFile(
            f"{file} is big-endian; raw models are little-endian. Convert it once: "
            "np.fromfile(path, '>f4').astype('<f4').tofile(new_path)."
        )
    return model.astype(np.float32)


def _hint(count: int, shape: tuple[int, ...]) -> str:
    fits = [
        tuple(count // (prod(shape) // n) if axis == index else m for index, m in enumerate(shape))
        for axis, n in enumerate(shape)
        if count % (prod(shape) // n) == 0
    ]
    return f" {fits[0]} would fit." if fits else ""


def _plausible(model: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(model).all() and (model > 1e-3).all() and (model < 1e5).all())


def _numpy(file: Path, shape: tuple[int, ...] | None) -> Array:
    model = _load(file)
    if model.ndim not in (2, 3) or min(model.shape) < 2:
        raise BadFile(
            f"{file} holds an array of shape {model.shape}. A model has two or three axes of "
            "two cells or more."
        )
    _agree(file, model.shape, shape)
    return model.astype(np.float64 if model.dtype.itemsize > 4 else np.float32)


def _load(file: Path) -> Array:
    try:
        loaded: object = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise BadFile(f"{file} is not a NumPy array: {error}. Save it with np.save.") from None
    array = cast("Array", loaded)
    if not isinstance(loaded, np.ndarray) or array.dtype.kind not in "fiu":
        raise BadFile(f"{file} does not hold one array of real numbers. Save it with np.save.")
    return array


def _agree(file: Path, found: tuple[int, ...], shape: tuple[int, ...] | None) -> None:
    if shape is not None and shape != found:
        raise BadFile(
            f"{file} has shape {found}; shape={shape} was asked for. Leave shape out: this kind "
            "of file knows its own."
        )


def _in_km_per_s(file: Path, model: Array, unit: str) -> Array:
    finite = np.isfinite(model)
    if not finite.all():
        count = int(model.size - finite.sum())
        raise BadFile(
            f"{file} has {count} values that are not finite. Fill the gaps of the model first."
        )
    low, high = float(model.min()), float(model.max())
    if low <= 0:
        raise BadFile(
            f"{file} reaches from {low:g} to {high:g} {unit}; velocities are above 0. Fill the "
            "gaps of the model first, or check its shape and byte order."
        )
    if unit == "km/s" and high > _FASTEST:
        raise BadValue(
            f'unit="km/s", and {file} reaches from {low:g} to {high:g}: that looks like m/s. '
            'Pass unit="m/s".'
        )
    if unit == "m/s" and high <= _FASTEST:
        raise BadValue(
            f'unit="m/s", and {file} reaches from {low:g} to {high:g}: that looks like km/s. '
            'Pass unit="km/s".'
        )
    if unit == "m/s" and high > 1000.0 * _FASTEST:
        raise BadFile(
            f"{file} reaches from {low:g} to {high:g} m/s; no rock is so fast. Check the file's "
            "kind and byte order."
        )
    return model / model.dtype.type(1000) if unit == "m/s" else model
