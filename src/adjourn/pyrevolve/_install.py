"""Taking pyrevolve's place for packages that import it."""

from __future__ import annotations

import sys

from ..errors import NotSupported

__all__ = ["install"]

_PARTS = ("compression", "crevolve", "profiling", "schedulers", "storage")


def install() -> None:
    """Make ``import pyrevolve`` give `adjourn.pyrevolve`, in this process.

    Call it before anything imports pyrevolve or Devito. Calling it again does nothing.

    Raises
    ------
    NotSupported
        Devito or pyrevolve was imported already.

    Examples
    --------
    >>> import adjourn.pyrevolve
    >>> adjourn.pyrevolve.install()
    >>> import pyrevolve
    >>> pyrevolve is adjourn.pyrevolve
    True
    """
    package = __name__.rpartition(".")[0]
    ours = sys.modules[package]
    if sys.modules.get("pyrevolve") is ours:
        return
    for name in ("devito", "pyrevolve"):
        if name in sys.modules:
            raise NotSupported(
                f"adjourn.pyrevolve.install() was called after {name} was imported, which is too "
                f"late to take pyrevolve's place. Call it before the first import of {name}."
            )
    sys.modules["pyrevolve"] = ours
    for part in _PARTS:
        sys.modules[f"pyrevolve.{part}"] = sys.modules[f"{package}.{part}"]
