"""The linearised forward model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import BadValue
from ...problem import Array
from ._problem import Acoustic
from ._scheme import Field

__all__ = ["born"]


def born(problem: Acoustic, perturbation: ArrayLike) -> Array:
    """Return the first-order change of the traces for a change of velocity.

    The exact derivative of the discrete forward model; `Acoustic.gradient` is its transpose
    applied to the residual. It takes about two forward runs and four levels of its own,
    stores no history, and does not touch the problem.

    Parameters
    ----------
    problem : Acoustic
        The problem, at whose velocity the model is linearised.
    perturbation : array_like, of the model's shape
        Change of velocity, in km/s.

    Returns
    -------
    ndarray, shape (steps, receivers)
        The change of the traces.
    """
    change: Array = np.array(perturbation, dtype=np.float64)
    if change.shape != problem.grid.shape:
        raise BadValue(
            f"perturbation has shape {change.shape}; the model has {problem.grid.shape}. "
            "Pass a change of velocity of the model's shape."
        )
    scheme, stencil = problem.scheme, problem.scheme.stencil
    grid, source = scheme.grid, scheme.source
    # The gain goes with the square of the velocity: its relative change is twice as large.
    relative = grid.extend(2.0 * change / problem.velocity.astype(np.float64), 0.0)
    relative = relative.astype(scheme.dtype).ravel()
    source_gain = scheme.source_gain * relative[source.index]
    wave, scattered = Field(scheme), Field(scheme)
    traces = np.zeros_like(problem.traces)
    for step in range(problem.steps):
        for block in scattered.blocks:
            stencil.laplacian(block)
            stencil.update(block)
        scattered.levels.swap()
        for block in wave.blocks:
            stencil.laplacian(block)
            stencil.update(block)
            # update() has left gain * Laplacian in ``term``: the new wave's own increment.
            np.multiply(block.term, relative[block.cells], block.term)
            new = scattered.levels.current[block.cells]
            np.add(new, block.term, new)
        wave.levels.swap()
        signal = scheme.wavelet[step]
        source.scatter(signal, scheme.source_gain, wave.levels.current)
        source.scatter(signal, source_gain, scattered.levels.current)
        scheme.observe(scattered, traces[step])
    return traces
