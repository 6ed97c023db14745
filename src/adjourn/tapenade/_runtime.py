"""Where the C runtime is."""

from __future__ import annotations

from pathlib import Path

__all__ = ["runtime_sources"]


def runtime_sources() -> tuple[Path, ...]:
    """Return the C files to compile and link in place of Tapenade's ``adProfile.c``.

    The folder also has ``adjourn_profile.h``. They need ``adStack_getCurrentStackSize()`` and
    POSIX threads (``-lpthread``).

    Examples
    --------
    >>> [path.name for path in runtime_sources()]
    ['adjourn_events.c', 'adjourn_tree.c', 'adjourn_write.c']
    """
    return tuple(sorted((Path(__file__).parent / "runtime").glob("*.c")))
