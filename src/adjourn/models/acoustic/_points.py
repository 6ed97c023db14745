"""Points between cells: sources and receivers with their interpolation and its transpose."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ...errors import BadValue
from ...problem import Array
from ._grid import Grid

__all__ = ["Points"]


class Points:
    """Multilinear interpolation of a field at points, and its exact transpose.

    Parameters
    ----------
    grid : Grid
        Where the field lies.
    positions : array_like, shape (count, dimensions) or (dimensions,)
        Distances from the model's first cell, in m.
    name : str
        The argument's name, for the error.
    dtype : dtype
        The field's type.

    Attributes
    ----------
    index : ndarray of int, shape (2**dimensions, count)
        The flat index of each cell that a point reads.
    weight : ndarray of float, shape (2**dimensions, count)
        The weight of that cell.
    """

    def __init__(self, grid: Grid, positions: ArrayLike, name: str, dtype: np.dtype[np.generic]):
        places = _checked(grid, positions, name) / np.array(grid.spacing)
        last = np.array(grid.shape) - 2
        corner = np.clip(np.floor(places).astype(np.intp), 0, last)
        share = places - corner
        share[np.abs(share) < 1e-9] = 0.0
        share[np.abs(share - 1.0) < 1e-9] = 1.0
        strides = np.array(grid.strides)
        index: list[Array] = []
        weight: list[Array] = []
        for offset in product((0, 1), repeat=len(grid.shape)):
            upper = np.array(offset, dtype=bool)
            index.append((corner + grid.layer + upper) @ strides)
            weight.append(np.prod(np.where(upper, share, 1.0 - share), axis=1))
        self.count = len(places)
        self.index: Array = np.array(index)
        self.weight: Array = np.array(weight).astype(dtype)
        self._flat = self.index.ravel()
        self._values = np.empty_like(self.weight)

    def gather(self, field: Array, out: Array) -> None:
        """Write the field's value at each point into ``out``, shape (count,)."""
        np.take(field, self.index, out=self._values, mode="clip")
        np.multiply(self._values, self.weight, self._values)
        np.add.reduce(self._values, axis=0, out=out)

    def scatter(self, values: Array, gain: Array, field: Array) -> None:
        """Add ``values``, shape (count,), times ``gain``, shape of `weight`, to the field."""
        np.multiply(gain, values, self._values)
        np.add.at(field, self._flat, self._values.reshape(-1))

    def scatter_product(self, values: Array, gain: Array, other: Array, field: Array) -> None:
        """Add ``values`` times ``gain`` times the other field's cells to the field."""
        np.take(other, self.index, out=self._values, mode="clip")
        np.multiply(self._values, gain, self._values)
        np.multiply(self._values, values, self._values)
        np.add.at(field, self._flat, self._values.reshape(-1))


def _checked(grid: Grid, positions: ArrayLike, name: str) -> Array:
    dimensions = len(grid.shape)
    places = np.array(positions, dtype=np.float64, ndmin=2)
    if places.ndim != 2 or places.shape[1] != dimensions or len(places) == 0:
        raise BadValue(
            f"{name} has shape {np.shape(positions)}; the model has {dimensions} axes. "
            f"Pass one or more rows of {dimensions} distances in m."
        )
    extent = (np.array(grid.shape) - 1) * np.array(grid.spacing)
    slack = 1e-9 * np.array(grid.spacing)
    inside = np.all((places >= -slack) & (places <= extent + slack), axis=1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise BadValue(
            f"{name}[{row}] lies at {places[row].tolist()} m; the model reaches from 0 to "
            f"{extent.tolist()} m. Place every point inside the model."
        )
    return np.clip(places, 0.0, extent)
