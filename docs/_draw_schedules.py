"""Draw the pictures of the page "Which schedule?": ``python docs/_draw_schedules.py``."""

from __future__ import annotations

from pathlib import Path

from adjourn.reports import schedule_svg
from adjourn.schedules import (
    asynchronous,
    disk_revolve,
    hrevolve,
    mixed,
    multistage,
    online,
    periodic,
    repeated,
    revolve,
    segments,
    stages,
    store_all,
    uneven,
    window,
)

STEPS = 40
PICTURES = {
    "store_all": store_all(STEPS),
    "segments": segments(STEPS, 8),
    "revolve": revolve(STEPS, 5),
    "window": window(STEPS, 4, 3),
    "mixed": mixed(STEPS, 6),
    "multistage": multistage(STEPS, 2, 3),
    "hrevolve": hrevolve(STEPS, [(2,), (3, 2, 2)]),
    "disk_revolve": disk_revolve(STEPS, 2),
    "periodic": periodic(STEPS, 2, period=8),
    "asynchronous": asynchronous(STEPS, 2, write=8, read=8),
    "online": online(5).schedule(STEPS),
    "uneven": uneven([1 + 9 * (i % 10 == 0) for i in range(STEPS)], 5),
    "stages": stages(STEPS, 8, 2),
    "repeated": repeated(STEPS, 5).schedule(1),
}

if __name__ == "__main__":
    folder = Path(__file__).parent / "schedules"
    folder.mkdir(exist_ok=True)
    for name, schedule in PICTURES.items():
        (folder / f"{name}.svg").write_text(schedule_svg(schedule), encoding="utf-8")
