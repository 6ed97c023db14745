"""The acoustic wave equation with its exact discrete adjoint."""

from ._born import born
from ._problem import Acoustic
from ._synthetic import layered_model, smooth_model, synthetic
from ._wavelet import ricker

__all__ = ["Acoustic", "born", "layered_model", "ricker", "smooth_model", "synthetic"]
