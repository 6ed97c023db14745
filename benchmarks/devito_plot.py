"""Time against memory of one Devito gradient: predicted for every budget, and measured.

    python benchmarks/devito_plot.py 100x100 --out devito.svg

Measures the stored history, adjourn at several budgets, and pyrevolve at the same bytes where it
is installed, each beside a stored-history run of the same round, and draws them on the predicted
curve. Cases are those of ``devito_table.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from devito_table import case, run

from adjourn.planning import curve
from adjourn.reports import Mark, curve_svg


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", nargs="?", default="100x100")
    parser.add_argument("--shares", default="0.02,0.04,0.08,0.18,0.4,1.1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("devito.svg"))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options = parser.parse_args()
    steps = case(options.case, options.data)[2]
    marks: list[Mark] = []
    costs = None
    for share in map(float, options.shares.split(",")):
        seen = run(options.case, share, options.rounds, options.data)
        costs = costs or seen["costs"]
        for name, style in (("adjourn", "you"), ("drop-in", "peer2"), ("pyrevolve", "peer")):
            if name in seen["seconds"]:
                ratio = median(seen["seconds"][name]) / seen["warm"]
                marks.append(Mark(name, seen["budget"], ratio, style))
                print(f"{100 * share:5.1f}% of the history  {name:10s} {ratio:6.2f} of stored")
    options.out.write_text(curve_svg(curve(steps, costs), marks))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
