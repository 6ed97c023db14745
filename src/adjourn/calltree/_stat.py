"""Figures that come in many samples: their mean, and enough of them for the spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import quantiles

__all__ = ["Slot", "Stat"]

_SAMPLES = 31  # kept of each figure
_MASK = (1 << 64) - 1


@dataclass(slots=True, eq=False)
class Stat:
    """The mean of one figure, and some samples of it, drawn evenly.

    A sample far above the others (the program was interrupted) counts as a middling one.
    """

    kept: list[int] = field(default_factory=list[int])
    count: int = 0
    total: int = 0
    middle: int = 0
    most: int = 0
    seed: int = 0

    def add(self, value: int) -> None:
        """Take a sample."""
        self.count += 1
        kept = self.kept
        if len(kept) < _SAMPLES:
            kept.append(value)
            if len(kept) == _SAMPLES:
                self.total = self._sum()
            return
        if value > self.most:
            value = self.middle
        self.total += value
        self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) & _MASK
        at = (self.seed >> 33) % self.count
        if at < _SAMPLES:
            kept[at] = value
        if not self.count & 255:
            self._look()

    def _look(self) -> None:
        ordered = sorted(self.kept)
        self.middle = ordered[len(ordered) // 2]
        self.most = 8 * ordered[3 * len(ordered) // 4] + 20_000

    def _sum(self) -> int:
        """Return the sum of the first samples, which are all kept."""
        self._look()
        return sum(self.middle if value > self.most else value for value in self.kept)

    def typical(self, overhead: int) -> float:
        """Return the mean in seconds, ``overhead`` nanoseconds taken off."""
        if not self.count:
            return 0.0
        total = self.total if len(self.kept) == _SAMPLES else self._sum()
        return max(0.0, total / self.count - overhead) * 1e-9

    @property
    def spread(self) -> float:
        if len(self.kept) < 4:
            return 0.0
        low, _, high = quantiles(self.kept, n=4)
        return (high - low) * 0.5e-9


@dataclass(slots=True, eq=False)
class Slot:
    """The times of one piece of a routine."""

    record: Stat = field(default_factory=Stat)
    reverse: Stat = field(default_factory=Stat)
