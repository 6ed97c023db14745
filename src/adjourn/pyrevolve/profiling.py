"""Times and counts of a run by section and action, as pyrevolve keeps them."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import Self

__all__ = ["Profiler", "Timer"]


class Timer:
    """Times a ``with`` block into a profiler; ``elapsed`` is in milliseconds afterwards."""

    def __init__(self, profiler: Profiler, section: str, action: str) -> None:
        self.profiler, self.section, self.action = profiler, section, action
        self.start = self.elapsed_secs = self.elapsed = 0.0

    def __enter__(self) -> Self:
        self.start = perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.elapsed_secs = perf_counter() - self.start
        self.elapsed = self.elapsed_secs * 1000
        self.profiler.increment(self.section, self.action, self.elapsed)


class Profiler:
    """Milliseconds and counts of every action.

    Attributes
    ----------
    timings, counts : dict of str to dict
        By section (``"forward"``, ``"reverse"``, ``"storage"``), then by action.
    """

    def __init__(self) -> None:
        self.timings: dict[str, dict[str, float]] = {}
        self.counts: dict[str, dict[str, int]] = {}

    def get_timer(self, section: str, action: str) -> Timer:
        """Return a context manager that times one action."""
        return Timer(self, section, action)

    def increment(self, section: str, action: str, elapsed: float) -> None:
        """Add one action of ``elapsed`` milliseconds."""
        try:
            self.timings[section][action] += elapsed
            self.counts[section][action] += 1
        except KeyError:
            self.timings.setdefault(section, {})[action] = elapsed
            self.counts.setdefault(section, {})[action] = 1

    def summary(self) -> str:
        """Return all times and counts as text."""
        rule = "****************"
        lines = [rule]
        for section, actions in self.timings.items():
            lines.append(f"In section {section}:")
            for action, elapsed in actions.items():
                count = self.counts[section][action]
                lines.append(f"\tAction {action}: {elapsed:f} ({count})")
        return "\n".join([*lines, rule])

    def get_dict(self) -> dict[str, str | int]:
        """Return times (as text) and counts in one flat dictionary."""
        result: dict[str, str | int] = {}
        for section, actions in self.timings.items():
            for action, elapsed in actions.items():
                result[f"{section}_{action}_timing"] = f"{elapsed:.2f}"
        for section, actions in self.counts.items():
            for action, count in actions.items():
                result[f"{section}_{action}_counts"] = count
        return result
