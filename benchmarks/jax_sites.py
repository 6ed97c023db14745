"""Planned placements beside the four simple ones, on an ocean model and on a fluid solver.

Everything recorded, every site run again, every step run again, and the best single site: the
bytes and the processor seconds of each, and of the plan for no more bytes than the least of them.
Where that plan does not win over one of them in both, a plan for the bytes of that one is made.

Run: pip install veros==1.7.0
     python benchmarks/jax_sites.py veros [--steps 50] [--effort 3] [--rounds 5]
     pip install jax-cfd
     python benchmarks/jax_sites.py fluid [--size 128] [--steps 100]

Everything runs on one core (`--cores`), so that the threads of the compiler's small kernels,
which wait more than they work, are in no figure.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import process_time

import jax
from _bench import interleave, on_cores, table

import adjourn.jax
from adjourn.jax._choice import Choice, run_as
from adjourn.jax._pieces import Again
from adjourn.jax._program import trace
from adjourn.jax.sites._incontext import Ways
from adjourn.jax.sites._placing import Placer
from adjourn.jax.sites._profile import opened_up, profiled


def setting(options):
    """Return a loss, its arguments, and the packages whose calls are sites."""
    if options.model == "veros":
        from jax_veros import Case  # noqa: PLC0415

        case = Case("acc_basic", options.steps or 50, 200)
        return case.loss, case.args, ("veros",)
    from jax_fluid import setting as fluid  # noqa: PLC0415

    loss, start = fluid(options.size, options.steps or 100)
    return loss, (start,), ("jax_cfd",)


def simple(program, args):
    """Return the four placements by name."""
    placer = Placer(profiled(opened_up(program, args, 0, drops=False), args, 0.0, lambda _: None))
    single = min(placer.sites, key=lambda site: placer.nbytes(frozenset({site}), Ways()))
    return {
        "none": Choice("all"),
        f"all {len(placer.sites)} sites": Choice("all", again=Again(tuple(sorted(placer.sites)))),
        "every step": Choice("steps"),
        f"only {single}": Choice("all", again=Again((single,))),
    }


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", choices=["veros", "fluid"])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--effort", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args()
    on_cores(options.cores)
    loss, args, packages = setting(options)
    program = trace(loss, *args, packages=packages)
    runs, taken = {}, {}

    def add(name, function):
        compiled = jax.jit(jax.value_and_grad(function)).lower(*args).compile()
        taken[name] = compiled.memory_analysis().temp_size_in_bytes
        runs[name] = lambda: jax.block_until_ready(compiled(*args))
        print(f"  {name:60s} {taken[name] / 1e6:10.2f} MB", flush=True)

    def planned(budget):
        began = process_time()
        plan = adjourn.jax.plan(
            loss, *args, budget=budget, packages=packages, effort=options.effort, progress=False
        )
        print(f"planned in {process_time() - began:.0f} s of the processor: {plan}", flush=True)
        add(f"planned for {budget / 1e6:.2f} MB", plan.apply(loss))

    def won(name):
        """Return whether a plan takes no more of both than a simple placement."""
        return [
            plan
            for plan in runs
            if plan.startswith("planned")
            and taken[plan] <= taken[name]
            and median(seen[plan]) <= median(seen[name])
        ]

    print("compiled temporaries")
    for name, choice in simple(program, args).items():
        add(name, lambda *a, c=choice: run_as(c, program, jax.tree.leaves(a)))
    names = [*runs]
    planned(min(taken.values()))
    seen = interleave(runs, options.rounds)
    table("processor seconds of value and gradient", seen, "none")
    budgets = sorted({taken[name] for name in names if not won(name)} - {min(taken.values())})
    for budget in budgets:
        planned(budget)
    if budgets:
        seen = interleave(runs, options.rounds)
        table("processor seconds of value and gradient", seen, "none")
    for name in names:
        print(f"{name}: no fewer bytes and no less time than {won(name) or 'nothing planned'}")


if __name__ == "__main__":
    main()
