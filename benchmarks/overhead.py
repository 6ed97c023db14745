"""adjourn's own time per action, and to generate 10^6 actions, beside pyrevolve.

Run with ``python benchmarks/overhead.py``; pyrevolve (pip install pyrevolve) is compared where
it is installed.
"""

from __future__ import annotations

import numpy as np
from _bench import interleave, table

from adjourn import check, revolve
from adjourn.running import Executor
from adjourn.tiers import RamPool, specs_of


class Idle:
    """A problem whose calls do nothing and whose state is one number."""

    reads = "tape"

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.views = (np.zeros(1),)

    def begin(self): ...

    def state(self, step):
        return self.views

    def advance(self, start, stop, *, replay):
        return stop

    record = advance

    def turn(self): ...

    def reverse(self, start, stop): ...


def execute(steps: int, slots: int) -> None:
    """Play Revolve on the idle problem."""
    problem = Idle(steps)
    pool = RamPool()
    pool.open(specs_of(problem.views), slots)
    Executor(problem, [pool]).play(revolve(steps, slots))


def pyrevolve_runs(steps: int, slots: int):
    """Return the same with pyrevolve, or None."""
    try:
        import pyrevolve  # noqa: PLC0415
    except ImportError:
        return None

    class Checkpoint(pyrevolve.Checkpoint):
        dtype = np.float64
        symbols = np.zeros(1)

        @property
        def size(self):
            return 1

        def save(self, ptr):
            ptr[:] = 0.0

        def load(self, ptr):
            pass

        def get_data(self, timestep):
            return [self.symbols]

        def get_data_location(self, timestep):
            return [self.symbols]

    class Operator(pyrevolve.Operator):
        def apply(self, **kwargs):
            pass

    def play():
        revolver = pyrevolve.Revolver(Checkpoint(), Operator(), Operator(), slots, steps)
        revolver.apply_forward()
        revolver.apply_reverse()

    return play


def main() -> None:
    """Print both tables."""
    steps, slots = 1000, 30
    actions = check(revolve(steps, slots)).actions
    runs = {"adjourn executor": lambda: execute(steps, slots)}
    theirs = pyrevolve_runs(steps, slots)
    if theirs is not None:
        runs["pyrevolve"] = theirs
    title = f"us per action: {steps} steps, {slots} snapshots, {actions} actions, 8 bytes a state"
    table(title, interleave(runs), "adjourn executor", unit=actions * 1e-6)

    big = revolve(150_000, 100)
    count = sum(1 for _ in big)

    def generate():
        for _ in big:
            pass

    seen = interleave({"adjourn revolve": generate}, times=3)
    table(f"us per action generated, {count} actions", seen, "adjourn revolve", unit=count * 1e-6)
    checked = interleave({"adjourn check": lambda: check(big)}, times=3)
    table("us per action checked", checked, "adjourn check", unit=count * 1e-6)


if __name__ == "__main__":
    main()
