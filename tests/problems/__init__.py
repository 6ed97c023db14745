"""Small problems for the tests: three good ones, one per kind of reading, and broken ones."""

from __future__ import annotations

from .leapfrog import Leapfrog
from .linear import Advection
from .nonlinear import Reaction

__all__ = ["Advection", "Leapfrog", "Reaction"]
