"""Progress of long work on a terminal; silent elsewhere, and without the rich extra."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol, cast

__all__ = ["Bar", "Spinner", "progress_bar", "spinner"]


class Spinner(Protocol):
    """Shows that something is at work."""

    def update(self, status: str) -> object:
        """Change the text shown."""
        ...


class _Silent:
    def update(self, status: str) -> None:
        """Show nothing."""


class Bar:
    """A progress bar over forward and reverse steps, weighted by their predicted seconds.

    Parameters
    ----------
    bar : rich.progress.Progress
        The bar.
    task : int
        Its task.
    forward, reverse : float
        Predicted seconds of a forward and of a reverse step.
    """

    def __init__(self, bar: Any, task: int, forward: float, reverse: float) -> None:
        self._bar = bar
        self._task = task
        self._forward = forward
        self._reverse = reverse

    def update(self, forward: int, reverse: int) -> None:
        """Show that so many forward and reverse steps were run."""
        done = forward * self._forward + reverse * self._reverse
        self._bar.update(self._task, completed=done)


def _shown(enabled: bool) -> bool:
    return enabled and sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def spinner(text: str, *, enabled: bool) -> Generator[Spinner]:
    """Show ``text`` with a spinner on a terminal while the block runs."""
    if not _shown(enabled):
        yield _Silent()
        return
    from rich.console import Console  # noqa: PLC0415  (an extra, imported when it is of use)

    with Console(stderr=True).status(text) as status:
        yield cast("Spinner", status)


@contextmanager
def progress_bar(
    text: str, total: float, forward: float, reverse: float, *, enabled: bool
) -> Generator[Bar | None]:
    """Show a bar of ``total`` predicted seconds on a terminal while the block runs."""
    if not _shown(enabled):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar, bar.add_task(text, total=total), forward, reverse)
