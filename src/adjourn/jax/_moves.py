"""The online placement of snapshots as a table for a compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..optimum import repetitions
from ..schedules import Online
from ._compat import jnp

__all__ = ["Moves", "moves"]

_MOST = 4096  # rows; they reach 10^5 steps for 100 slots, 10^6 for 5
_FAR = 2**20  # steps that are enough
_NEVER = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Moves:
    """Where an online run keeps snapshots; made by `moves`.

    Row k keeps the state at ``steps[k]`` and gives up the snapshot at position ``given_up[k]``
    of the stack, or none for 0. After the last row the second half is gone through again with
    all steps doubled, and so on: the placement is nearly the same at every scale.

    Attributes
    ----------
    steps, given_up : arrays of int32
        The rows.
    half : int
        The row that follows the last, at the doubled scale.
    most : int
        The most repetitions of a gap that Revolve reverses, as far as the rows reach.
    """

    steps: Any
    given_up: Any
    half: int
    most: int

    def due(self, row: Any, scale: Any) -> Any:
        """Return the step of a row, the steps being doubled ``scale`` times."""
        if self.half == 0:
            return jnp.where(row == 0, 0, jnp.int32(_NEVER))
        far = jnp.asarray(self.steps)[row].astype(jnp.uint32) << scale.astype(jnp.uint32)
        return jnp.minimum(far, jnp.uint32(_NEVER)).astype(jnp.int32)

    def after(self, row: Any, scale: Any) -> tuple[Any, Any]:
        """Return the row and the scale that follow."""
        if self.half == 0:
            return jnp.int32(1), scale
        end = row + 1 == len(self.steps)
        return jnp.where(end, self.half, row + 1), scale + end.astype(jnp.int32)


@lru_cache(maxsize=64)
def moves(slots: int) -> Moves:
    """Return the placement of ``adjourn.online(slots)``, exact as far as the table reaches.

    That is some 10^5 steps; takes 1 to 100 ms for up to 30 slots and a second for 300, once.
    """
    steps, given_up, kept = [0], [0], [0]
    most = 2
    for step, index in Online(slots).moves():
        steps.append(step)
        given_up.append(index)
        kept.append(step)
        if index:
            kept.pop(index)
        below = index - 1 if index else len(kept) - 2
        most = max(most, _repeats(kept, below, slots), _repeats(kept, len(kept) - 2, slots))
        if step > _FAR or len(steps) >= max(_MOST, 8 * slots):
            break
    half = int(np.searchsorted(np.array(steps) * 2, steps[-1], side="right"))
    half = half if len(steps) > 1 else 0
    return Moves(np.array(steps, np.int32), np.array(given_up, np.int32), half, most)


def _repeats(kept: list[int], gap: int, slots: int) -> int:
    """Return the repetitions of the gap above a snapshot; with one slot there is no choice."""
    free = slots - gap
    return repetitions(kept[gap + 1] - kept[gap], free) if gap >= 0 and free > 1 else 0
