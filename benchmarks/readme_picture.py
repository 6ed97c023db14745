"""The README's picture: time of a gradient against memory, for adjourn, pyrevolve and store-all.

Run with ``python benchmarks/readme_picture.py`` where pyrevolve is installed (pip install
pyrevolve; it needs a C++ compiler). Writes docs/picture.svg, and the figures as
docs/measured/readme.md and readme.json. ``--draw`` draws the figures of the last run again.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

from adjourn import Curve, curve, measure, plan, run
from adjourn._sizes import format_bytes
from adjourn.models import Acoustic
from adjourn.reports._svg import Canvas, Frame, byte_ticks, nice_ticks, number
from adjourn.running import RunRecord

DOCS = Path(__file__).resolve().parents[1] / "docs"
SHAPE, STEPS = (200, 300), 1000
SHARES = (0.02, 0.04, 0.08, 0.16, 0.32)
WIDTH, HEIGHT = 900, 420


def measured(times: int) -> dict:
    """Run every program at every budget, interleaved, and return all figures."""
    import pyrevolve  # noqa: PLC0415
    from _bench import interleave  # noqa: PLC0415
    from acoustic_peers import make_shot, with_pyrevolve  # noqa: PLC0415

    shot = make_shot(SHAPE, STEPS)
    costs = measure(shot)
    history = shot.window().nbytes(STEPS)
    step, state = costs.recordings[0].left, costs.snapshot
    default = pyrevolve.crevolve.adjust(STEPS)
    runs: dict[str, Callable[[], None]] = {}
    shots: dict[str, Acoustic] = {}
    points: list[tuple[str, str, int]] = []
    records: dict[str, RunRecord] = {}

    def ours(name: str, budget: int) -> None:
        made = plan(STEPS, costs, budget)
        points.append((name, "adjourn" if budget < history else "store-all", made.peak_bytes))

        own = shots[name] = make_shot(SHAPE, STEPS)  # keeps its window from run to run

        def gradient() -> None:
            records[name] = run(own, made, progress=False)

        runs[name] = gradient

    def theirs(name: str, slots: int) -> None:
        points.append((name, "pyrevolve", slots * state + step))
        shots[name] = make_shot(SHAPE, STEPS)
        runs[name] = with_pyrevolve(shots[name], slots)

    ours("store-all", history + state)
    for share in SHARES:
        ours(f"adjourn, {share:.0%}", int(share * history))
        theirs(f"pyrevolve, {share:.0%}", (int(share * history) - step) // state)
    theirs("pyrevolve, default", default)
    for name, gradient in runs.items():
        gradient()
        if shots[name].gradient.tobytes() != shots["store-all"].gradient.tobytes():
            raise SystemExit(f"{name}: the gradient differs. No times are worth comparing.")
    seen = interleave(runs, times)
    base = median(seen["store-all"])
    return {
        "case": f"2-D acoustic, {SHAPE[0]} x {SHAPE[1]} cells, {STEPS} steps, float32",
        "history": history,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "times": times,
        "curve": curve(STEPS, costs, points=33).to_json(),
        "points": [
            {
                "name": name,
                "program": program,
                "nbytes": nbytes,
                "seconds": median(seen[name]),
                "ratio": median(seen[name]) / base,
                "low": min(seen[name]) / base,
                "high": max(seen[name]) / base,
                "predicted": None if name not in records else records[name].plan.seconds,
            }
            for name, program, nbytes in points
        ],
    }


def draw(found: dict) -> str:
    """Return the picture as an SVG file of its own, for light and dark."""
    made = Curve.from_json(found["curve"])
    points = found["points"]
    canvas = Canvas(WIDTH, HEIGHT, "Time of the gradient against the memory it may hold")
    ceiling = 1.12 * max(p["high"] for p in points)
    low = 0.75 * min(p["nbytes"] for p in points)
    high = 1.6 * max(p["nbytes"] for p in points)
    frame = Frame((58, 52, WIDTH - 20, HEIGHT - 46), (low, high), (0.8, ceiling), log_across=True)
    canvas.across(frame, byte_ticks(low, high, 9), "memory held for the gradient")
    ticks = [(t, f"{t:g}x") for t in nice_ticks(1.0, ceiling, 6)]
    canvas.up(frame, ticks, "time of the gradient, over that with the whole history stored")
    whole = made.store_all_seconds
    inside = [
        (p.budget, p.seconds / whole)
        for p in made.points
        if p.seconds / whole <= ceiling and p.budget >= low
    ]
    canvas.path(_line(frame, inside), "aj-best")
    for (x1, y1), (x2, y2) in pairwise((frame.x(a), frame.y(b)) for a, b in inside):
        for k in range(9):
            x, y = x1 + (x2 - x1) * k / 8, y1 + (y2 - y1) * k / 8
            canvas.taken.append((x - 1, y - 1, x + 1, y + 1))
    theirs = sorted((p["nbytes"], p["ratio"]) for p in points if p["program"] == "pyrevolve")
    canvas.path(_line(frame, theirs), "aj-f0")
    styles = {"adjourn": "aj-you", "pyrevolve": "aj-peer", "store-all": "aj-dot"}
    for point in points:
        x, style = frame.x(point["nbytes"]), styles[point["program"]]
        canvas.line(x, frame.y(point["low"]), x, frame.y(point["high"]), "aj-axis")
        canvas.dot(x, frame.y(point["ratio"]), 5, style)
    _words(canvas, frame, points)
    return canvas.render(alone=True)


def _words(canvas: Canvas, frame: Frame, points: list[dict]) -> None:
    said = {"pyrevolve, default": "pyrevolve's default", "store-all": "whole history stored"}
    said |= {"adjourn, 8%": "adjourn, measured", "pyrevolve, 8%": "pyrevolve, measured"}
    for point in points:
        x, y = frame.x(point["nbytes"]), frame.y(point["ratio"])
        for other in points:
            if other is not point:
                ox, oy = frame.x(other["nbytes"]), frame.y(other["ratio"])
                canvas.taken.append((ox - 8, oy - 8, ox + 8, oy + 8))
        if point["name"] in said:
            words = f"{said[point['name']]}: {point['ratio']:.2f}x"
            canvas.label(x, y, words, frame, "aj-b")
    canvas.legend(300, 16, [("aj-best", "adjourn's plan before the run, for every budget")], WIDTH)


def _line(frame: Frame, points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(frame.x(a))} {number(frame.y(b))}" for a, b in points)


def table(found: dict) -> str:
    """Return the figures as a table in Markdown."""
    case = f"{found['case']}; whole history {format_bytes(found['history'])}"
    lines = [
        f"{case}; median of {found['times']} with the range, {found['machine']}.",
        "",
        "| program | memory | time over store-all | range | seconds | predicted |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for p in sorted(found["points"], key=lambda p: (p["nbytes"], p["name"])):
        predicted = "" if p["predicted"] is None else f"{p['predicted']:.3f}"
        lines.append(
            f"| {p['name']} | {format_bytes(p['nbytes'])} | {p['ratio']:.2f} | "
            f"{p['low']:.2f} to {p['high']:.2f} | {p['seconds']:.3f} | {predicted} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure unless told to draw only; write picture and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--draw", action="store_true", help="draw the figures of the last run")
    arguments = parser.parse_args()
    kept = DOCS / "measured" / "readme.json"
    if arguments.draw:
        found = json.loads(kept.read_text())
    else:
        found = measured(arguments.times)
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(found, indent=1) + "\n")
    (DOCS / "picture.svg").write_text(draw(found) + "\n")
    (DOCS / "measured" / "readme.md").write_text(table(found))
    print(table(found))


if __name__ == "__main__":
    main()
