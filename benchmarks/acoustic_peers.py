"""One acoustic gradient at equal bytes: adjourn, pyrevolve, and the stored history.

Run with ``python benchmarks/acoustic_peers.py [--json FILE]`` where pyrevolve is installed. Each
has a problem of its own, so that none allocates for the others; bits are compared before times.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyrevolve
from _bench import interleave, table

from adjourn import measure, plan, run
from adjourn.models import Acoustic

SIZES = {"2-D 200 x 300": ((200, 300), 1000), "3-D 60^3": ((60, 60, 60), 300)}
SHARES = (0.04, 0.08, 0.18)


def make_shot(shape: tuple[int, ...], steps: int) -> Acoustic:
    """Return a shot over a two-layer model, with the data of another one."""
    start = np.full(shape, 2.0)
    true = start.copy()
    true[shape[0] // 2 :] = 2.5
    middle = [10.0 * n / 2 for n in shape[1:]]
    receivers = [(20.0, 10.0 * i, *middle[1:]) for i in range(0, shape[1], 10)]
    where = {"spacing": 10.0, "steps": steps, "source": (20.0, *middle), "receivers": receivers}
    return Acoustic(start, observed=Acoustic(true, **where).observe(), **where)


def with_pyrevolve(shot: Acoustic, slots: int) -> Callable[[], None]:
    """Return a gradient by pyrevolve: every step is run again just before its reverse."""

    class State(pyrevolve.Checkpoint):
        @property
        def dtype(self):
            return np.float32

        @property
        def size(self):
            return sum(a.size for a in shot.state(0))

        def get_data(self, timestep):
            return list(shot.state(timestep))

        get_data_location = get_data

    class Forward(pyrevolve.Operator):
        far = 0

        def apply(self, t_start, t_end):
            if t_end - t_start > 1:
                shot.advance(t_start, t_end - 1, replay=t_start < self.far)
            shot.record(t_end - 1, t_end, replay=t_start < self.far)
            self.far = max(self.far, t_end)

    class Backward(pyrevolve.Operator):
        def apply(self, t_start, t_end):
            if t_end == shot.steps:
                shot.turn()
            shot.reverse(t_start, t_end)

    def gradient() -> None:
        shot.reserve(1)
        shot.begin()
        revolver = pyrevolve.MemoryRevolver(State(), Forward(), Backward(), slots, shot.steps)
        revolver.apply_forward()
        revolver.apply_reverse()

    return gradient


def main() -> None:
    """Print, for each size and share of the history, medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=int, default=7)
    arguments = parser.parse_args()
    rows = []
    for name, (shape, steps) in SIZES.items():
        shot, other, third = (make_shot(shape, steps) for _ in range(3))
        costs = measure(shot)
        history = shot.window().nbytes(steps)
        whole = plan(steps, costs, history + costs.snapshot)
        run(shot, whole, progress=False)
        expected = shot.gradient.tobytes()
        for share in SHARES:
            budget = int(share * history)
            made = plan(steps, costs, budget)
            slots = (budget - costs.recordings[0].left) // costs.snapshot
            runs = {
                "adjourn": lambda made=made, shot=shot: run(shot, made, progress=False),
                "pyrevolve": with_pyrevolve(other, slots),
                "stored history": lambda whole=whole, shot=third: run(shot, whole, progress=False),
            }
            for gradient, own in zip(runs.values(), (shot, other, third), strict=True):
                gradient()
                if own.gradient.tobytes() != expected:
                    raise SystemExit("the gradients differ: no times are worth comparing")
            seen = interleave(runs, arguments.times)
            title = f"{name}, {steps} steps, {share:.0%} of the history ({made.reasons[0]})"
            table(title, seen, "pyrevolve")
            middle = {key: median(value) for key, value in seen.items()}
            rows.append({"size": name, "share": share, "budget": budget, **middle})
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
