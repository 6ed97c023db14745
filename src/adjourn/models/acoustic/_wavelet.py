"""Source wavelets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import BadValue
from ...problem import Array
from ._grid import Grid

__all__ = ["ricker", "time_function"]


def ricker(steps: int, dt: float, frequency: float) -> Array:
    """Return a Ricker wavelet of unit amplitude, sampled once a step.

    The wavelet is the second derivative of a Gaussian, delayed by ``1.2 / frequency`` so that
    it starts from rest. Samples below 1e-12 are set to zero: they are far under the rounding
    of any field they would enter, and their denormal tail would slow the arithmetic down.

    Parameters
    ----------
    steps : int
        Number of samples.
    dt : float
        Time between samples, in s.
    frequency : float
        Peak frequency, in Hz.

    Returns
    -------
    ndarray of float64, shape (steps,)
        The wavelet at times 0, dt, 2 dt, ...

    Examples
    --------
    >>> float(ricker(3, dt=0.12, frequency=10.0)[1])
    1.0
    """
    phase = (np.pi * frequency * (np.arange(steps) * dt - 1.2 / frequency)) ** 2
    wavelet = (1.0 - 2.0 * phase) * np.exp(-phase)
    wavelet[np.abs(wavelet) < 1e-12] = 0.0
    return wavelet


def time_function(
    wavelet: ArrayLike | None,
    grid: Grid,
    *,
    steps: int,
    sources: int,
    dt: float,
    frequency: float,
    slowest: float,
    dtype: np.dtype[np.generic],
) -> Array:
    """Return the wavelet of each source, shape (steps, sources): given, or Ricker's.

    Raises
    ------
    BadValue
        The wavelet has another shape, or the grid cannot carry the frequency.
    """
    if wavelet is None:
        shortest = 1000.0 * slowest / (2.5 * frequency)
        coarsest = max(grid.spacing)
        if shortest < 2.0 * coarsest:
            raise BadValue(
                f"frequency={frequency:g} Hz makes waves of {shortest:.3g} m; "
                f"cells of {coarsest:g} m carry {2 * coarsest:g} m or longer. Pass "
                f"frequency={frequency * shortest / (2 * coarsest):.2g} or less."
            )
        wavelet = ricker(steps, dt, frequency)
    series: Array = np.array(wavelet, dtype=dtype)
    if series.ndim == 1:
        series = series[:, np.newaxis]
    if series.ndim != 2 or series.shape[0] != steps or series.shape[1] not in (1, sources):
        raise BadValue(
            f"wavelet has shape {np.shape(wavelet)}; {steps} steps of {sources} sources need "
            f"({steps},) or ({steps}, {sources}). Sample it once a step."
        )
    if not np.isfinite(series).all():
        raise BadValue("wavelet holds values that are not finite. Repair it.")
    return np.ascontiguousarray(np.broadcast_to(series, (steps, sources)))
