"""The independent checker: an abstract machine that plays any schedule, action by action.

It knows nothing of how a schedule was made. It knows what is live, what is held and what is
recorded, and refuses the first action that breaks a rule.
"""

from ._check import Sweeps, check, check_sweeps
from ._machine import Check

__all__ = ["Check", "Sweeps", "check", "check_sweeps"]
