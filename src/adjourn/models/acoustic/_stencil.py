r"""The step itself: one blocked sweep of contiguous passes that allocates nothing.

The scheme is of order 2 in time and 8 in space. With the Laplacian :math:`L`, the damping
:math:`b = (1 - \eta)/(1 + \eta)`, :math:`\eta = \sigma\,dt/2`, and the gain
:math:`c = (v\,dt/h)^2/(1 + \eta)` it reads

.. math:: u_{n+1} = u_n + b\,(u_n - u_{n-1}) + c\,(L u_n + s_n).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...problem import Array
from ._grid import Grid

__all__ = ["CENTRE", "OUTER", "STEEPEST", "Block", "Levels", "Stencil"]

_WEIGHTS = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
CENTRE = -205 / 72
"""The stencil's weight at the centre."""
OUTER = _WEIGHTS[3]
"""The stencil's outermost weight: the sweep computes the Laplacian over this number."""
STEEPEST = -CENTRE + 2 * sum(abs(w) for w in _WEIGHTS)
"""The largest eigenvalue of minus the second difference, at the shortest wave."""

_BLOCK_BYTES = 1 << 18  # a block, its neighbours and the two scratch runs stay in cache


class Levels:
    """Two time levels of a field, swapped after each step."""

    def __init__(self, grid: Grid, dtype: np.dtype[np.generic]):
        run = grid.size + 2 * grid.halo
        self._runs = (np.zeros(run, dtype), np.zeros(run, dtype))
        inner = slice(grid.halo, grid.halo + grid.size)
        self._fields = (self._runs[0][inner], self._runs[1][inner])
        self.parity = 0

    @property
    def current(self) -> Array:
        """The newer level, flat."""
        return self._fields[self.parity]

    @property
    def previous(self) -> Array:
        """The older level, flat."""
        return self._fields[1 - self.parity]

    def swap(self) -> None:
        """Make the level just written over the older one the newer one."""
        self.parity = 1 - self.parity

    def clear(self) -> None:
        """Set both levels to zero."""
        for run in self._runs:
            run.fill(0)

    def ordered(self) -> Iterator[tuple[Array, Array]]:
        """Yield (whole run of the newer, field of the older) for parity 0, then 1."""
        yield self._runs[0], self._fields[1]
        yield self._runs[1], self._fields[0]


@dataclass(frozen=True, slots=True)
class Block:
    """The views that one block of the sweep works on.

    ``rings[g][k]`` holds the neighbours at distance ``k + 1`` along the axes of group ``g``.
    """

    cells: slice
    current: Array
    previous: Array
    rings: tuple[tuple[tuple[Array, ...], ...], ...]
    damping: Array
    gain: Array
    total: Array
    term: Array


class Stencil:
    """The coefficients of a step and the sweep that applies them.

    Parameters
    ----------
    grid : Grid
        The grid; axes of equal spacing share their passes.
    dtype : dtype
        The type of every field.

    Attributes
    ----------
    damping, gain : ndarray, flat
        b, and c times the stencil's outermost weight; zero gain in the zero cells, which
        therefore stay zero.
    """

    def __init__(self, grid: Grid, dtype: np.dtype[np.generic]):
        self._grid = grid
        spacings = list(dict.fromkeys(grid.spacing))
        scales = [(spacings[0] / spacing) ** 2 for spacing in spacings]
        self._groups = tuple(
            tuple(grid.strides[a] for a, s in enumerate(grid.spacing) if s == spacing)
            for spacing in spacings
        )
        self.centre = CENTRE * sum(
            scale * len(group) for scale, group in zip(scales, self._groups, strict=True)
        )
        self._start = np.array(self.centre / _WEIGHTS[0], dtype)
        self._scales = tuple(np.array(scale, dtype) for scale in scales[1:])
        self._ratios = tuple(
            np.array(_WEIGHTS[k] / _WEIGHTS[k + 1], dtype) for k in range(len(_WEIGHTS) - 1)
        )
        blocks = max(1, round(grid.size * dtype.itemsize / _BLOCK_BYTES))
        length = -(-grid.size // blocks)
        self._cells = [
            slice(start, min(start + length, grid.size)) for start in range(0, grid.size, length)
        ]
        self._scratch = (np.empty(length, dtype), np.empty(length, dtype))
        self.damping: Array = np.zeros(grid.size, dtype)
        self.gain: Array = np.zeros(grid.size, dtype)

    def bind(self, levels: Levels) -> tuple[list[Block], list[Block]]:
        """Return the blocks of a sweep over two levels, for either parity, made once."""
        even, odd = (self._blocks(run, older) for run, older in levels.ordered())
        return even, odd

    def _blocks(self, run: Array, older: Array) -> list[Block]:
        blocks: list[Block] = []
        for cells in self._cells:
            start, stop = cells.start + self._grid.halo, cells.stop + self._grid.halo
            rings = tuple(
                tuple(
                    tuple(
                        run[start + shift : stop + shift]
                        for stride in group
                        for shift in (-k * stride, k * stride)
                    )
                    for k in range(1, len(_WEIGHTS) + 1)
                )
                for group in self._groups
            )
            total, term = (s[: stop - start] for s in self._scratch)
            current, previous = run[start:stop], older[cells]
            damping, gain = self.damping[cells], self.gain[cells]
            blocks.append(Block(cells, current, previous, rings, damping, gain, total, term))
        return blocks

    def laplacian(self, block: Block) -> None:
        """Write the Laplacian over ``OUTER`` into the block's ``total``."""
        total, term = block.total, block.term
        np.multiply(block.current, self._start, total)
        self._sum_rings(block.rings[0], total)
        for rings, scale in zip(block.rings[1:], self._scales, strict=True):
            first, *others = rings[0]
            np.add(first, others[0], term)
            self._sum_rings((tuple(others[1:]), *rings[1:]), term)
            np.multiply(term, scale, term)
            np.add(total, term, total)

    def _sum_rings(self, rings: tuple[tuple[Array, ...], ...], out: Array) -> None:
        # Horner's rule over the distance: one multiplication a distance, no second run.
        for neighbour in rings[0]:
            np.add(out, neighbour, out)
        for ratio, ring in zip(self._ratios, rings[1:], strict=True):
            np.multiply(out, ratio, out)
            for neighbour in ring:
                np.add(out, neighbour, out)

    def update(self, block: Block) -> None:
        """Write the next level over the older one, the Laplacian being in ``total``."""
        previous, term = block.previous, block.term
        np.subtract(block.current, previous, previous)
        np.multiply(previous, block.damping, previous)
        np.add(previous, block.current, previous)
        np.multiply(block.total, block.gain, term)
        np.add(previous, term, previous)
