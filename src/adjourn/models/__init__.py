"""Small built-in physics, written on the public protocol as a user's own code would be."""

from ._input import read_positions, read_velocity
from .acoustic import Acoustic, layered_model, smooth_model, synthetic

__all__ = [
    "Acoustic",
    "layered_model",
    "read_positions",
    "read_velocity",
    "smooth_model",
    "synthetic",
]
