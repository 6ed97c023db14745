"""The discrete equation: coefficients, sources, receivers, one step forward and one back."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...errors import BadValue
from ...problem import Array
from ._grid import Grid
from ._points import Points
from ._stencil import OUTER, STEEPEST, Block, Levels, Stencil

__all__ = ["Field", "Scheme", "largest_dt"]


def largest_dt(grid: Grid, fastest: float) -> float:
    """Return the largest stable time step (s) for a velocity of ``fastest`` km/s."""
    steepness = sqrt(STEEPEST * sum(spacing**-2 for spacing in grid.spacing))
    return 2.0 / (1000.0 * fastest * steepness)


class Field:
    """A wavefield: two levels and the blocks in which a scheme sweeps over them."""

    def __init__(self, scheme: Scheme):
        self.levels = Levels(scheme.grid, scheme.dtype)
        self._blocks = scheme.stencil.bind(self.levels)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the next sweep."""
        return self._blocks[self.levels.parity]


class Scheme:
    """The discrete wave equation on one grid, for one time step and damping.

    Parameters
    ----------
    grid : Grid
        The grid.
    dt : float
        Time step, in s.
    fastest : float
        The velocity (km/s) that the damping layer is made for.
    receivers : Points
        Where waves are read.
    dtype : dtype
        The type of every field.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        dt: float,
        fastest: float,
        receivers: Points,
        dtype: np.dtype[np.generic],
    ):
        self.grid = grid
        self.dt = dt
        self.dtype = dtype
        self.receivers = receivers
        self.stencil = Stencil(grid, dtype)
        self._fastest = fastest
        eta = self._eta()
        self.stencil.damping[:] = ((1.0 - eta) / (1.0 + eta)).ravel()
        self._receiver_image: Array = (receivers.weight / OUTER).astype(dtype)
        self._receiver_gain: Array = np.zeros_like(receivers.weight)

    def set_source(self, source: Points, wavelet: Array, model: Array) -> None:
        """Excite waves at other points, in a model in km/s, with a wavelet (steps, sources)."""
        self.source = source
        self.wavelet = wavelet
        self.set_velocity(model)

    def set_velocity(self, model: Array) -> None:
        """Compute the gains for a model in km/s, of any float type.

        Raises
        ------
        BadValue
            The time step is unstable for it.
        """
        fastest = float(model.max())
        limit = largest_dt(self.grid, fastest)
        if self.dt > limit:
            raise BadValue(
                f"dt={self.dt:.3g} s is unstable: the fastest velocity is {fastest:.4g} km/s, "
                f"which allows {limit:.3g} s. Pass dt={0.95 * limit:.2g} or less."
            )
        cells_per_step = 1000.0 * self.dt / self.grid.spacing[0]
        courant = cells_per_step * self.grid.extend(model.astype(np.float64), 0.0)
        gain: Array = (courant**2 / (1.0 + self._eta())).ravel()
        self.stencil.gain[:] = OUTER * gain
        self.source_gain: Array = (gain[self.source.index] * self.source.weight).astype(self.dtype)
        self._receiver_gain[:] = gain[self.receivers.index] * self.receivers.weight

    def _eta(self) -> Array:
        return 0.5 * self.dt * self.grid.damping_rate(1000.0 * self._fastest)

    def forward(self, field: Field, step: int) -> None:
        """Take the field from ``step`` to the next, the source acting."""
        for block in field.blocks:
            self.stencil.laplacian(block)
            self.stencil.update(block)
        field.levels.swap()
        self.source.scatter(self.wavelet[step], self.source_gain, field.levels.current)

    def backward(self, adjoint: Field, wave: Array, image: Array) -> None:
        """Take the adjoint one step back and correlate it with the wave of that step."""
        for block in adjoint.blocks:
            self.stencil.laplacian(block)
            self.stencil.update(block)
            part = image[block.cells]
            np.multiply(block.total, wave[block.cells], block.total)
            np.add(part, block.total, part)
        adjoint.levels.swap()

    def inject(self, residual: Array, adjoint: Field, wave: Array, image: Array) -> None:
        """Add a row of the residual to the adjoint, and its part to the image."""
        self.receivers.scatter(residual, self._receiver_gain, adjoint.levels.current)
        self.receivers.scatter_product(residual, self._receiver_image, wave, image)

    def observe(self, field: Field, out: Array) -> None:
        """Read the field at the receivers."""
        self.receivers.gather(field.levels.current, out)
