"""JAX programs: gradients within a memory budget. Needs ``adjourn[jax]``."""

from __future__ import annotations

from ..errors import MissingExtra

try:
    import jax as _  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "adjourn.jax needs JAX, which is not installed here. Run: pip install 'adjourn[jax]'"
    ) from error

from ._checkpoint import checkpoint
from ._scan import scan
from ._step import StepProblem

__all__ = ["StepProblem", "checkpoint", "scan"]
