"""The parts of Devito used here, in one place; Devito has no type stubs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..errors import MissingExtra

__all__ = ["BACKWARD", "Buffer", "Operator", "configuration", "nodes", "switchconfig"]

try:
    _devito: Any = import_module("devito")
    _ir: Any = import_module("devito.ir")
    _iet: Any = import_module("devito.ir.iet")
except ImportError as error:
    raise MissingExtra(
        f"adjourn.devito was imported; Devito is not there ({error}). "
        "Install it with: pip install 'adjourn[devito]', and a C compiler."
    ) from error

Operator: Any = _devito.Operator
Buffer: Any = _devito.Buffer
configuration: Any = _devito.configuration
switchconfig: Any = _devito.switchconfig
BACKWARD: Any = _ir.Backward


def nodes(tree: Any, kind: str) -> Iterable[Any]:
    """Return the nodes of one kind in a tree of generated code, outermost first."""
    return _iet.FindNodes(getattr(_iet, kind)).visit(tree)
