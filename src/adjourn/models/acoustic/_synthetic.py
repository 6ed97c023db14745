"""Velocity models made up for demonstrations, and data observed on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..._sizes import as_count
from ...errors import BadValue
from ...problem import Array
from ._problem import Acoustic

__all__ = ["layered_model", "smooth_model", "synthetic"]


def layered_model(shape: Sequence[int]) -> Array:
    """Return a velocity model (km/s) of four layers with a fast, round anomaly.

    Parameters
    ----------
    shape : sequence of int
        Cells along each axis, depth first.

    Returns
    -------
    ndarray of float64
        Velocities from 1.5 to 3.5 km/s.

    Examples
    --------
    >>> model = layered_model((60, 80))
    >>> float(model.min()), float(model.max())
    (1.5, 3.5)
    """
    if len(shape) not in (2, 3):
        raise BadValue(f"shape={tuple(shape)} has {len(shape)} axes. Pass two or three.")
    cells = [as_count(n, "shape", least=8) for n in shape]
    axes = np.meshgrid(*((np.arange(n) + 0.5) / n for n in cells), indexing="ij")
    depth, *lateral = axes
    dip = depth + 0.06 * np.sin(2 * np.pi * lateral[0])
    model = np.select([dip < 0.2, dip < 0.45, dip < 0.75], [1.5, 2.0, 2.5], 3.0)
    # Round in metres, not in fractions: measure in units of the shortest axis.
    scale = [n / min(cells) for n in cells]
    centre = [0.55] + [0.5] * len(lateral)
    away = sum(
        ((axis - middle) * factor) ** 2
        for axis, middle, factor in zip(axes, centre, scale, strict=True)
    )
    model[away < 0.12**2] = 3.5
    return model


def smooth_model(velocity: ArrayLike, cells: int = 8) -> Array:
    """Return the model smoothed as a start for an inversion.

    Slowness is averaged over boxes of ``2 * cells + 1`` cells three times along each axis, so
    that travel times stay; the edge values are carried outwards.

    Parameters
    ----------
    velocity : array_like
        Wave speed, in any unit.
    cells : int
        Half the width of the box.

    Returns
    -------
    ndarray of float64, of the model's shape
        The smooth model, in the unit of ``velocity``.
    """
    cells = as_count(cells, "cells", least=0)
    slowness: Array = 1.0 / np.asarray(velocity, dtype=np.float64)
    width = 2 * cells + 1
    for axis in range(slowness.ndim):
        along = np.moveaxis(slowness, axis, 0)
        for _ in range(3):
            ends = [(cells + 1, cells)] + [(0, 0)] * (slowness.ndim - 1)
            sums = np.cumsum(np.pad(along, ends, mode="edge"), axis=0)
            along = (sums[width:] - sums[:-width]) / width
        slowness = np.moveaxis(along, 0, axis)
    return np.ascontiguousarray(1.0 / slowness)


def synthetic(
    velocity: ArrayLike | None = None,
    *,
    shape: Sequence[int] = (101, 151),
    spacing: float = 10.0,
    steps: int = 400,
    frequency: float = 10.0,
    receivers: int | None = None,
    smoothing: int = 8,
    absorbing: int = 20,
    dtype: DTypeLike = np.float32,
) -> Acoustic:
    """Return a shot at a smooth start model, with data observed on the true one.

    One source lies in the middle, receivers in a line along the second axis, all two cells
    below the top. It costs one forward run for the data.

    Parameters
    ----------
    velocity : array_like, optional
        The true model in km/s, depth first; by default ``layered_model(shape)``.
    shape : sequence of int
        Cells of the made-up model.
    spacing : float
        Distance between cells, in m.
    steps : int
        Number of time steps.
    frequency : float
        Peak frequency of the source, in Hz.
    receivers : int, optional
        Number of receivers; by default one every second cell.
    smoothing : int
        Cells by which the start model is smoothed.
    absorbing : int
        Cells of the damping layer on each side.
    dtype : dtype
        ``float32`` or ``float64``.

    Examples
    --------
    >>> shot = synthetic(shape=(40, 50), steps=60)
    >>> shot.steps, shot.reads
    (60, 'state')
    """
    true = layered_model(shape) if velocity is None else np.asarray(velocity, dtype=np.float64)
    extent = [(n - 1) * spacing for n in true.shape]
    top = min(2 * spacing, extent[0])
    middle = [0.5 * reach for reach in extent[2:]]
    count = -(-true.shape[1] // 2) if receivers is None else as_count(receivers, "receivers")
    line = [extent[1] * (i / max(1, count - 1)) for i in range(count)]
    shot = Acoustic(
        true,
        spacing=spacing,
        steps=steps,
        source=[top, 0.5 * extent[1], *middle],
        receivers=[[top, place, *middle] for place in line],
        frequency=frequency,
        absorbing=absorbing,
        dtype=dtype,
    )
    shot.set_observed(shot.observe())
    shot.set_velocity(smooth_model(true, smoothing))
    return shot
