"""Checks of the acoustic problem's arguments, each with an error that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ...errors import BadValue
from ...problem import Array

__all__ = ["float_type", "positive", "spacings", "velocity_model"]

_FASTEST = 20.0  # km/s; above it the model is surely in m/s


def float_type(dtype: DTypeLike) -> np.dtype[np.generic]:
    """Return float32 or float64 as a dtype."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise BadValue(f"dtype={kind} is not supported. Pass float32 or float64.")
    return kind


def positive(value: float, name: str, unit: str) -> float:
    """Return a finite number above zero."""
    number = float(value)
    if not (isfinite(number) and number > 0):
        raise BadValue(f"{name}={value!r} is not a positive number. Pass {name} in {unit}.")
    return number


def spacings(spacing: float | Sequence[float], dimensions: int) -> tuple[float, ...]:
    """Return one spacing an axis."""
    values = np.atleast_1d(np.asarray(spacing, dtype=np.float64)).tolist()
    if len(values) == 1:
        values = values * dimensions
    if len(values) != dimensions:
        raise BadValue(
            f"spacing={spacing!r} has {len(values)} values; the model has {dimensions} axes. "
            "Pass one number, or one for each axis, in m."
        )
    return tuple(positive(value, "spacing", "m") for value in values)


def velocity_model(velocity: ArrayLike) -> Array:
    """Return the model in float64, its shape and unit being plausible."""
    model: Array = np.array(velocity, dtype=np.float64)
    if model.ndim not in (2, 3) or min(model.shape) < 2:
        raise BadValue(
            f"velocity has shape {model.shape}. Pass an array of two or three axes with two "
            "cells or more along each."
        )
    low, high = float(model.min()), float(model.max())
    if not (isfinite(low) and isfinite(high) and low > 0):
        raise BadValue(
            f"velocity reaches from {low:g} to {high:g} km/s; every cell must be finite and "
            "above 0. Fill the gaps of the model first."
        )
    if high > _FASTEST:
        raise BadValue(
            f"velocity reaches {high:g} km/s, faster than any rock; it looks like m/s. "
            "Pass velocity / 1000."
        )
    return model
