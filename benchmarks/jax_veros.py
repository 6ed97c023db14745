"""An ocean model nobody rewrote: Veros under a budget beside all values kept, and the bytes.

Run: pip install veros==1.7.0
     python benchmarks/jax_veros.py time [--steps 50] [--budget "160 MB"]
     python benchmarks/jax_veros.py long [--steps 200] [--budget "220 MB"]
     python benchmarks/jax_veros.py table [--steps 50]
     python benchmarks/jax_veros.py differences [--steps 10]

Everything runs on one core unless `--cores 0` asks for all: the model's kernels are small, and
threads that wait for each other would be in every figure. Seconds by the clock are printed too.

Each gradient takes one to two minutes to compile on a quiet machine; what keeps all values of 50
steps needs 5 GB. `--plan FILE` reads a plan that was made before, or keeps the one that is made.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import jax
import jax.numpy as jnp
import numpy as np
from _bench import interleave, on_cores, table

import adjourn.jax
from adjourn.jax._choice import Choice, run_as
from adjourn.jax._compat import bare
from adjourn.jax._pieces import Again
from adjourn.jax._program import trace
from adjourn.jax.sites._incontext import InContext, Ways
from adjourn.jax.sites._profile import opened_up

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from veros_adjoint import Ocean, transport

# Where nothing is timed: the same bytes, compiled three times faster and run at half the speed.
FAST = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


class Case:
    """The gradient of the transport, after a spin-up, by the initial temperature."""

    def __init__(self, setup: str, steps: int, spinup: int) -> None:
        self.ocean = ocean = Ocean.of(setup)
        start = jax.jit(ocean.run, static_argnums=1)(ocean.start, spinup)
        self.args = jnp.zeros(start["maskT"][2:-2, 2:-2].shape), start
        self.loss = lambda change, start: transport(ocean.run(ocean.warmed(start, change), steps))

    def plan(self, budget: str, path: Path | None, effort: int) -> adjourn.jax.Plan:
        if path is not None and path.exists():
            return adjourn.jax.Plan.from_json(json.loads(path.read_text()))
        began = process_time()
        plan = adjourn.jax.plan(
            self.loss, *self.args, budget=budget, packages=("veros",), effort=effort
        )
        print(f"planned in {process_time() - began:.0f} s of the processor")
        if path is not None:
            path.write_text(json.dumps(plan.to_json()))
        return plan

    def compiled(self, function, name, options=None):
        began = process_time()
        made = jax.jit(function).lower(*self.args).compile(options)
        nbytes = made.memory_analysis().temp_size_in_bytes
        took = process_time() - began
        print(f"  {name:36s} {nbytes / 1e6:9.1f} MB, compiled in {took:.0f} s", flush=True)
        return (lambda: jax.block_until_ready(made(*self.args))), nbytes


def against_all(case: Case, options: argparse.Namespace) -> None:
    """Time the planned gradient, the one that keeps all values, and the model itself."""
    plan = case.plan(options.budget, options.plan, options.effort)
    print(plan)
    print(plan.explain())
    print("compiled temporaries")
    runs = {}
    planned = jax.value_and_grad(plan.apply(case.loss))
    runs["model"], _ = case.compiled(case.loss, "model")
    runs["planned"], _ = case.compiled(planned, "planned")
    if options.what == "time":
        runs["all values"], _ = case.compiled(jax.value_and_grad(case.loss), "all values")
        value, wanted = runs["all values"]()
        same, found = runs["planned"]()
        off = float(jnp.abs(found - wanted).max() / jnp.abs(wanted).max())
        print(f"values differ by {abs(float(value - same)):.2g}, gradients by {off:.2g} of largest")
    seen = interleave(runs, options.rounds)
    table("processor seconds", seen, "all values" if options.what == "time" else "model")
    for name, run in runs.items():
        began = perf_counter()
        run()
        times = median(seen[name]) / median(seen["model"])
        print(f"{name}: {times:.1f} times the model; {perf_counter() - began:.2f} s by the clock")


def differences(case: Case, _: argparse.Namespace) -> None:
    """Compare the gradient with central differences along itself and along random changes."""
    change, start = case.args
    gradient, _ = case.compiled(jax.value_and_grad(case.loss), "all values", FAST)
    slope = gradient()[1]
    loss = jax.jit(case.loss).lower(change, start).compile(FAST)
    random = np.random.default_rng(0)
    wet = np.asarray(start["maskT"])[2:-2, 2:-2]
    along = {"the gradient": 100 * slope / jnp.linalg.norm(slope)}
    for number in (1, 2):
        along[f"random change {number}"] = jnp.asarray(random.standard_normal(wet.shape) * wet)
    for name, way in along.items():
        wanted = float(jnp.vdot(slope, way))
        scale = float(jnp.linalg.norm(slope) * jnp.linalg.norm(way))
        for size in (1e-2, 1e-3, 1e-4, 1e-5):
            found = float(loss(size * way, start) - loss(-size * way, start)) / (2 * size)
            off = abs(found - wanted)
            print(
                f"along {name}, {size:.0e}: {found:.9g} for {wanted:.9g}, off by "
                f"{off / abs(wanted):.1e}, {off / scale:.1e} of |gradient| |change|"
            )


def placements(case: Case, options: argparse.Namespace) -> None:
    """Predict the bytes of eight placements in context, and compile them."""
    program = trace(case.loss, *case.args, packages=("veros",))
    model = InContext(opened_up(program, case.args, 0, drops=False))
    kernels = [
        path
        for path, node in model.nodes.items()
        if node.kind == "jit" and path.startswith("scan#0/") and path.count("/") == 1
    ]
    one = [path for path in kernels if "isoneutral_diffusion_pre" in path]
    cases = [("all", []), ("all", one), ("all", kernels), ("steps", []), ("segments", [])]
    cases += [(8, []), (8, kernels), (4, kernels)]
    if options.plan is not None and options.plan.exists():
        chosen = case.plan("", options.plan, 0).choice
        cases.append((chosen.outer, list(chosen.sites)))
    print(f"{len(bare(program.closed).eqns)} equations, {len(model.nodes)} sites")
    for keep, sites in cases:
        began = process_time()
        held = model.held(sites, Ways(keep))
        took = process_time() - began
        choice = Choice(keep, again=Again(tuple(sorted(sites))))

        def function(*args, choice=choice):
            return run_as(choice, program, jax.tree.leaves(args))

        name = f"{keep}, {len(sites)} sites again"
        _, nbytes = case.compiled(jax.value_and_grad(function), name, FAST)
        print(
            f"{name:30s} predicted {held.peak / 1e6:7.1f} MB in {1000 * took:.0f} ms, compiled "
            f"{nbytes / 1e6:7.1f} MB: {(nbytes - held.peak) / 1e6:+.1f} MB, "
            f"{nbytes / held.peak - 1:+.1%}",
            flush=True,
        )


WHAT = {"time": against_all, "long": against_all, "table": placements, "differences": differences}
STEPS = {"time": 50, "long": 200, "table": 50, "differences": 10}
BUDGETS = {"time": "160 MB", "long": "220 MB"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=sorted(WHAT))
    parser.add_argument("--setup", default="acc_basic")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--spinup", type=int, default=200)
    parser.add_argument("--budget")
    parser.add_argument("--effort", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args()
    on_cores(options.cores)
    options.budget = options.budget or BUDGETS.get(options.what, "")
    case = Case(options.setup, options.steps or STEPS[options.what], options.spinup)
    WHAT[options.what](case, options)


if __name__ == "__main__":
    main()
