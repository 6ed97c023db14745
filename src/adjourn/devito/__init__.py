"""Devito: gradients of a user's own operators within a budget of bytes.

Needs Devito and a C compiler. The user's forward and gradient operators stay as they are.
"""

from ._access import Access, time_accesses
from ._adjoint import Adjoint

__all__ = ["Access", "Adjoint", "time_accesses"]
