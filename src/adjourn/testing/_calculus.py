"""Tests of derivatives: the dot-product test and the Taylor test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import ArrayLike

from .._sizes import as_count
from ..errors import BadValue
from ..problem import Array

__all__ = ["Taylor", "dot_product_test", "taylor_test"]


def dot_product_test(
    linear: Callable[[Array], ArrayLike],
    adjoint: Callable[[Array], ArrayLike],
    x: ArrayLike,
    y: ArrayLike,
) -> float:
    """Return how far ``adjoint`` is from the transpose of ``linear``, relative.

    Compares <linear(x), y> with <x, adjoint(y)>, summed in double precision. A correct pair
    in double precision gives some 1e-15, up to 1e-12 where many terms cancel. One run of each.

    Parameters
    ----------
    linear : callable
        Takes an array like ``x`` to one like ``y``; linear.
    adjoint : callable
        Takes an array like ``y`` to one like ``x``.
    x, y : array_like
        Where to compare; random numbers are best.

    Returns
    -------
    float
        The difference over the larger of the two products; 0 where both are 0.

    Raises
    ------
    BadValue
        A result's shape does not fit.

    Examples
    --------
    >>> matrix = np.arange(6.0).reshape(2, 3)
    >>> dot_product_test(lambda x: matrix @ x, lambda y: matrix.T @ y, np.ones(3), np.ones(2))
    0.0
    """
    x, y = np.asarray(x), np.asarray(y)
    forward = _inner(np.asarray(linear(x)), y, "linear(x)", "y")
    backward = _inner(np.asarray(adjoint(y)), x, "adjoint(y)", "x")
    largest = max(abs(forward), abs(backward))
    return abs(forward - backward) / largest if largest else 0.0


def _inner(left: Array, right: Array, left_name: str, right_name: str) -> float:
    if left.shape != right.shape:
        raise BadValue(
            f"{left_name} has shape {left.shape}, but {right_name} has {right.shape}. "
            "A linear map and its adjoint exchange the two shapes: check both functions."
        )
    return float(np.sum(left.astype(np.float64) * right.astype(np.float64)))


@dataclass(frozen=True, slots=True)
class Taylor:
    """What a Taylor test measured.

    Attributes
    ----------
    steps : tuple of float
        The step lengths h, each half of the one before.
    zeroth : tuple of float
        Slopes of abs(f(x + h d) - f(x)) from one h to the next; 1 for a smooth function.
    first : tuple of float
        Slopes of abs(f(x + h d) - f(x) - h <g, d>); 2 for the exact gradient g, 1 for a
        wrong one.
    """

    steps: tuple[float, ...]
    zeroth: tuple[float, ...]
    first: tuple[float, ...]

    def passed(self, tolerance: float = 0.02) -> bool:
        """Return whether every slope is 1 or 2 to within ``tolerance``."""
        return all(abs(slope - 1.0) <= tolerance for slope in self.zeroth) and all(
            abs(slope - 2.0) <= tolerance for slope in self.first
        )

    def __str__(self) -> str:
        zeroth = " ".join(f"{slope:.3f}" for slope in self.zeroth)
        first = " ".join(f"{slope:.3f}" for slope in self.first)
        return f"slopes of the difference: {zeroth}; with the gradient taken out: {first}"


def taylor_test(
    function: Callable[[Array], float],
    gradient: ArrayLike | Callable[[Array], ArrayLike],
    point: ArrayLike,
    direction: ArrayLike | None = None,
    *,
    step: float | None = None,
    halvings: int = 5,
    seed: int = 0,
) -> Taylor:
    """Measure whether ``gradient`` is the gradient of ``function`` at ``point``.

    Along a direction d the remainder f(x + h d) - f(x) - h <g, d> of the exact gradient falls
    with the square of h. The test takes ``halvings + 2`` runs of the function, and a few more
    to find a first step, at most 2% of the largest value, where 0.3% of the change is left
    when the gradient's part is taken out.

    Parameters
    ----------
    function : callable
        Takes an array to a float; must not keep or change it.
    gradient : array_like or callable
        The gradient at ``point``, or a function that returns it.
    point : array_like
        Where to test.
    direction : array_like, optional
        The direction; by default random, of the point's shape.
    step : float, optional
        The first step length, in units of ``direction``; by default searched for.
    halvings : int
        How often the step is halved.
    seed : int
        Of the random direction.

    Raises
    ------
    BadValue
        The gradient or direction has another shape than the point, or the function is flat
        along the direction, where no slope can be measured.

    Examples
    --------
    >>> taylor = taylor_test(lambda x: float(np.sum(np.exp(x))), np.exp, np.zeros(3))
    >>> taylor.passed()
    True
    """
    point = np.asarray(point)
    halvings = as_count(halvings, "halvings")
    slope = np.asarray(gradient(point) if callable(gradient) else gradient)
    if direction is None:
        direction = np.random.default_rng(seed).standard_normal(point.shape)
    along = np.asarray(direction)
    for name, array in (("gradient", slope), ("direction", along)):
        if array.shape != point.shape:
            raise BadValue(
                f"the {name} has shape {array.shape}; the point has {point.shape}. "
                "Both must have the same."
            )
    rate = float(np.sum(slope.astype(np.float64) * along.astype(np.float64)))
    base = float(function(point))

    def remainders(h: float) -> tuple[float, float]:
        change = float(function((point + h * along).astype(point.dtype, copy=False))) - base
        return abs(change), abs(change - h * rate)

    size, reach = (float(np.max(np.abs(a), initial=0.0)) or 1.0 for a in (point, along))
    start = 0.02 * size / reach
    first = _first_step(remainders, start) if step is None else float(step)
    steps = [first / 2**k for k in range(halvings + 1)]
    pairs = [remainders(h) for h in steps]
    if any(value == 0.0 for pair in pairs for value in pair):
        raise BadValue(
            "the function or its remainder does not change along the direction; no slope can be "
            "measured. Pass another direction, or a larger step (an exactly linear or quadratic "
            "function may have no remainder at all)."
        )
    zeroth, order = (
        tuple(log2(larger[k] / smaller[k]) for larger, smaller in pairwise(pairs)) for k in (0, 1)
    )
    return Taylor(tuple(steps), zeroth, order)


def _first_step(remainders: Callable[[float], tuple[float, float]], start: float) -> float:
    h = start
    for _ in range(24):
        with np.errstate(over="ignore", invalid="ignore"):
            change, left = remainders(h)
        if np.isfinite(change) and left <= 0.003 * change:
            return h
        h /= 2
    return start / 64  # a wrong gradient never gets there: measure its slopes here
