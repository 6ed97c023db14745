"""The call tree: baselines against the optimum, the ocean-shaped tree, the compiled programs.

Run all parts, or name some: random, dino, programs, recorder.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time

from _dino import BUDGET, STEPS, dino_tree

from adjourn.calltree import BASELINES, Call, CallTree, Leaf, Recorder, curve, place, what_if
from adjourn.errors import BudgetTooSmall
from adjourn.tapenade import by_routine, runtime_sources

PROGRAMS = Path(__file__).resolve().parents[1] / "tests" / "tapenade" / "programs"
FLAGS = ["-O2", "-ffp-contract=off"]


def random_tree(rng: random.Random) -> CallTree:
    """Return a tree of 5 to 12 sites."""
    sites = iter(range(rng.randint(5, 12)))

    def leaf() -> Leaf:
        primal, left = rng.randint(1, 10), rng.randint(0, 20)
        return Leaf(primal, primal + rng.randint(1, 20), left, left + rng.randint(0, 4))

    def body(depth: int) -> list[Leaf | Call]:
        made: list[Leaf | Call] = [leaf()]
        while len(made) < 4:
            site = next(sites, None) if rng.random() < 0.75 else None
            if site is None:
                break
            inner = body(depth - 1) if depth else [leaf(), leaf()]
            made.append(Call(site, rng.randint(1, 8), rng.randint(0, 1), inner))
            if rng.random() < 0.3:
                made.append(leaf())
        return made

    items = body(3)
    for site in sites:
        items.append(Call(site, rng.randint(1, 8), rng.randint(0, 1), [leaf(), leaf()]))
    return CallTree(items)


def random_trees(count: int = 500, budgets: int = 20) -> None:
    """Print how often each baseline exceeds the budget, and what it leaves on the table."""
    rng = random.Random(2024)
    over: dict[str, int] = dict.fromkeys(BASELINES, 0)
    worst_peak: dict[str, float] = dict.fromkeys(BASELINES, 1.0)
    gaps: dict[str, list[float]] = {name: [] for name in BASELINES}
    asked = 0
    for _ in range(count):
        tree = random_tree(rng)
        joint = what_if(tree, {})
        low = curve(tree).points[0][0]
        high = BASELINES["all_split"](tree, 0).peak_bytes
        for number in range(budgets):
            budget = low + (max(high, low + 1) - low) * number // (budgets - 1)
            best = place(tree, budget)
            asked += 1
            for name, method in BASELINES.items():
                one = method(tree, budget)
                if not one.fits:
                    over[name] += 1
                    worst_peak[name] = max(worst_peak[name], one.peak_bytes / budget)
                else:
                    whole = joint.seconds - best.seconds
                    gaps[name].append((one.seconds - best.seconds) / whole if whole > 0 else 0.0)
    print(f"\n{count} random trees, {budgets} budgets each ({asked} questions)")
    print("gap: part of the recomputation that the optimum saves and this method does not")
    print(
        f"  {'':14}{'over budget':>12}{'worst peak':>12}{'optimal':>9}{'mean gap':>10}{'worst':>8}"
    )
    for name, values in gaps.items():
        hit = sum(value <= 0 for value in values) / max(1, len(values))
        print(
            f"  {name:14}{over[name] / asked:>12.1%}{worst_peak[name]:>11.2f}x{hit:>9.1%}"
            f"{mean(values or [0]):>10.1%}{max(values or [0]):>8.1%}"
        )


def dino() -> None:
    """Print the optimum of the ocean-shaped tree beside what is done today."""
    tree = dino_tree()
    print(f"\nocean-shaped tree: {len(tree.sites)} sites, {STEPS} steps, {BUDGET} bytes")
    print(
        f"  {'':28}{'seconds':>10}{'x primal':>10}{'over best':>11}{'peak MB':>9}{'planned in':>12}"
    )
    began = process_time()
    best = place(tree, BUDGET)
    rows = [("optimum", best, process_time() - began)]
    began = process_time()
    rows.append(
        ("optimum, one mode a site", place(tree, BUDGET, tied=True), process_time() - began)
    )
    for name in ("rank_once", "revolve_only", "all_joint"):
        began = process_time()
        rows.append((name, BASELINES[name](tree, BUDGET), process_time() - began))
    for name, one, spent in rows:
        print(
            f"  {name:28}{one.seconds:>10.1f}{one.seconds / one.primal:>10.2f}"
            f"{one.seconds / best.seconds:>11.3f}{one.peak_bytes / 1e6:>9.1f}{spent:>10.2f} s"
        )
    print(f"  the optimum is at most {best.gap:.2%} above a proven lower bound")


def build(folder: Path, language: str, split: tuple[str, ...], *, profile: bool) -> Path:
    """Compile one of the programs and return its path."""
    target = folder / "_".join([language, "prof" if profile else "plain", *split])
    runtime = runtime_sources() if profile else ()
    for source in (PROGRAMS / "adstack.c", *runtime):
        made = folder / f"{source.stem}.o"
        if not made.exists():
            subprocess.run(["gcc", *FLAGS, "-c", source, "-o", made], check=True)
    objects = [folder / f"{source.stem}.o" for source in (PROGRAMS / "adstack.c", *runtime)]
    macros = [f"-DSPLIT_{routine}=1" for routine in split]
    if profile:
        macros += ["-DPROFILE", f"-I{runtime[0].parent}"]
    compiler = ["gcc"] if language == "c" else ["gfortran", "-cpp", "-J", folder]
    source = PROGRAMS / ("model.c" if language == "c" else "model.F90")
    command = [*compiler, *FLAGS, *macros, source, *objects, "-lm", "-lpthread", "-o", target]
    subprocess.run(command, check=True)
    return target


def seen_by(target: Path, rounds: int, tree: str = "/dev/null") -> dict[str, str]:
    """Run a program and return what it prints."""
    words = subprocess.run(
        [target, str(rounds)],
        env={**os.environ, "ADJOURN_TREE": tree},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def programs() -> None:
    """Print predicted and measured time and peak of ten placements of each program."""
    for language, compiler in (("c", "gcc"), ("fortran", "gfortran")):
        if shutil.which(compiler) is None or shutil.which("gcc") is None:
            print(f"\n{language}: {compiler} is not installed")
            continue
        with tempfile.TemporaryDirectory() as name:
            one_program(Path(name), language)


def one_program(folder: Path, language: str) -> None:
    """Measure one program: placements interleaved, median of seven."""
    profiled = build(folder, language, (), profile=True)
    base = str(folder / "tree")
    seen_by(profiled, 25, base)
    tree = by_routine(CallTree.from_json(Path(f"{base}.0.json").read_text()))
    routines = [site for site in tree.sites if site != "solve"]
    rng = random.Random(1)
    lists: list[tuple[str, ...]] = [(), tuple(routines)]  # type: ignore[list-item]
    while len(lists) < 9:
        some = tuple(str(site) for site in routines if rng.random() < 0.5)
        if some not in lists:
            lists.append(some)
    budget = int(what_if(tree, {}).peak_bytes * 1.2)
    best = tuple(str(key) for key in place(tree, budget, tied=True).split)
    lists = [*(some for some in lists if set(some) != set(best)), best]
    targets = [build(folder, language, some, profile=False) for some in lists]
    rounds = 7
    times: list[list[float]] = [[] for _ in lists]
    with_profile: list[float] = []
    peaks = [0] * len(lists)
    bits = set()
    for _ in range(7):
        for number, target in enumerate(targets):
            seen = seen_by(target, rounds)
            times[number].append(float(seen["fastest"]))
            peaks[number] = int(seen["peak"])
            bits.add(seen["gradient"])
        with_profile.append(float(seen_by(profiled, rounds, base)["fastest"]))
    print(f"\n{language} program, {len(lists)} placements; * the optimum within {budget} bytes")
    print(f"  {'predicted':>11}{'measured':>11}{'ratio':>8}{'peak':>10}{'said':>10}  split")
    worst = 0.0
    for some, spent, peak in zip(lists, times, peaks, strict=True):
        said = what_if(tree, dict.fromkeys(some, "split"))
        ratio = median(spent) / said.seconds
        worst = max(worst, abs(ratio - 1))
        mark = "*" if some == best else " "
        same = "" if peak == said.peak_bytes else "  DIFFERS"
        print(
            f"{mark} {said.seconds * 1e3:>8.2f} ms{median(spent) * 1e3:>8.2f} ms{ratio:>8.3f}"
            f"{peak:>10}{said.peak_bytes:>10}{same}  {' '.join(some) or 'nothing'}"
        )
    within = [
        (median(spent), some)
        for some, spent, peak in zip(lists, times, peaks, strict=True)
        if peak <= budget
    ]
    overhead = median(with_profile) / median(times[lists.index(())]) - 1
    print(
        f"  worst time error {worst:.1%}; gradients {'the same bits' if len(bits) == 1 else bits}"
    )
    print(
        f"  fastest within the budget: {'the optimum' if min(within)[1] == best else min(within)}"
    )
    print(f"  profiler overhead {overhead:.1%}")


def recorder() -> None:
    """Print what an event costs."""
    print(f"\nrecorder: {Recorder.overhead()} ns an event")
    made = Recorder()
    calls = 30_000
    began = perf_counter()
    for _ in range(calls):
        made.snapshot("a", 0)
        made.begin_advance("a", 8)
        made.end_advance("a", 8)
        made.turn("root", 8)
        made.read("a", 8)
        made.begin_reverse("a", 0)
        made.turn("a", 4)
        made.end_reverse("a", 0)
    spent = (perf_counter() - began) / (8 * calls)
    print(f"  {spent * 1e9:.0f} ns an event with folding, which the clock of the tree does not see")


PARTS = {"random": random_trees, "dino": dino, "programs": programs, "recorder": recorder}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        try:
            PARTS[name]()
        except BudgetTooSmall as error:
            print(error)


if __name__ == "__main__":
    main()
