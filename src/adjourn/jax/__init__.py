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
from ._grad import grad, value_and_grad, vjp
from ._marks import site
from ._plan import Plan
from ._planning import curve, plan
from ._scan import scan
from ._while import while_loop
from .driven._drive import Driven, drive
from .driven._loss_problem import LossProblem
from .driven._step import StepProblem
from .sites._explain import SiteFigures
from .sites._profile import profile
from .sites._whatif import WhatIf, what_if

__all__ = [
    "Driven",
    "LossProblem",
    "Plan",
    "SiteFigures",
    "StepProblem",
    "WhatIf",
    "checkpoint",
    "curve",
    "drive",
    "grad",
    "plan",
    "profile",
    "scan",
    "site",
    "value_and_grad",
    "vjp",
    "what_if",
    "while_loop",
]
