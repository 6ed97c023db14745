"""The grid: a model, the absorbing layer around it, and where both lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ...problem import Array

__all__ = ["REACH", "Grid"]

REACH = 4
"""Cells that the stencil of space order 8 reaches to each side."""

_REFLECTION = 1e-2  # amplitude left after the way through the layer and back


@dataclass(frozen=True, slots=True)
class Grid:
    """A regular grid of cells with an absorbing layer on every side.

    In memory a field is one flat run of numbers, axis 0 slowest. Every axis but the first is
    followed by four cells that stay zero, and four planes of zeros lie before and after the
    whole: a shift of the flat run by a stencil offset then never leaves the field, and every
    operation on it is one pass over contiguous memory.

    Parameters
    ----------
    shape : tuple of int
        Cells of the model along each axis.
    spacing : tuple of float
        Distance between cells along each axis, in m.
    layer : int
        Cells of the absorbing layer on each side.
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    layer: int

    @property
    def padded(self) -> tuple[int, ...]:
        """Cells with the layer and, after the first axis, the zero cells."""
        first, *rest = (n + 2 * self.layer for n in self.shape)
        return (first, *(n + REACH for n in rest))

    @property
    def size(self) -> int:
        """Cells of one field in memory, without the planes before and after."""
        return prod(self.padded)

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance in the flat run between neighbours along each axis."""
        padded = self.padded
        return tuple(prod(padded[axis + 1 :]) for axis in range(len(padded)))

    @property
    def halo(self) -> int:
        """Cells of the planes of zeros before, and after, the flat run."""
        return REACH * self.strides[0]

    @property
    def model(self) -> tuple[slice, ...]:
        """Where the model lies in a field of shape ``padded``."""
        return tuple(slice(self.layer, self.layer + n) for n in self.shape)

    def extend(self, model: Array, fill: float) -> Array:
        """Return the model carried outwards through the layer, ``fill`` in the zero cells."""
        inner = np.pad(model, self.layer, mode="edge")
        field = np.full(self.padded, fill)
        field[tuple(slice(n) for n in inner.shape)] = inner
        return field

    def fold(self, field: Array) -> Array:
        """Return the transpose of `extend`: the layer summed onto the model's edge cells."""
        folded = field[tuple(slice(n + 2 * self.layer) for n in self.shape)]
        for axis, extent in enumerate(self.shape):
            columns = np.moveaxis(folded, axis, 0)
            inner = columns[self.layer : self.layer + extent].copy()
            inner[0] += columns[: self.layer].sum(axis=0)
            inner[-1] += columns[self.layer + extent :].sum(axis=0)
            folded = np.moveaxis(inner, 0, axis)
        return np.ascontiguousarray(folded)

    def damping_rate(self, velocity: float) -> Array:
        """Return the damping rate of the absorbing layer, in 1/s, in a field of shape ``padded``.

        It grows with the square of the depth in the layer; a wave of ``velocity`` (m/s) comes
        back from the outer edge with a hundredth of its amplitude. Stronger damping would
        reflect more at the layer's inner edge than it saves.
        """
        rate = np.zeros(self.padded)
        if self.layer == 0:
            return rate
        for axis, (extent, spacing) in enumerate(zip(self.shape, self.spacing, strict=True)):
            width = self.layer * spacing
            peak = 3.0 * velocity * np.log(1.0 / _REFLECTION) / width
            index = np.arange(self.padded[axis])
            below, above = self.layer - index, index - (self.layer + extent - 1)
            depth = np.clip(np.maximum(below, above), 0, self.layer) / self.layer
            along = [1] * len(self.shape)
            along[axis] = -1
            rate += (peak * depth**2).reshape(along)
        return rate
