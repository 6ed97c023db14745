"""A call tree of the shape of an ocean model's adjoint: MITgcm's DINO set-up under Tapenade.

Published figures: 1440 steps; 156 sites of 116 routines; adjoint 809 s with every call joint, of
which 363 s are checkpointing; 98 snapshots of the time loop in 880 of 923 MB; five routines are
called for each of 36 levels, and their snapshots exceed their tapes. Gains by routine: timestep
75 s and -31.1 MB, forward_step 71 s, grad_sigma 37 s, mom_vecinv 22 s and -0.2 MB, calc_phi_hyd
21 s and -8.6 MB, thermodynamics 18 s, do_oceanic_phys 17 s and +28.9 MB, integrate_for_w 13 s,
dynamics 12 s and +9.3 MB, salt_integrate 9 s, temp_integrate 8 s and +1.9 MB, exchanges 5 s and
-1.1 MB; 143 further sites and the
external solver share 55 s. What is not published (the nesting of the small routines,
their bytes) is drawn at random from a fixed seed.
"""

from __future__ import annotations

import random

from adjourn.calltree import Call, CallTree, Leaf, Loop, Repeat

STEPS = 1440
LEVELS = 36
SNAPSHOT = 880_000_000 // 98
BUDGET = 923_000_000


def dino_tree(steps: int = STEPS) -> CallTree:
    """Return the tree; its seconds are those of the whole run."""
    rng = random.Random(156)
    count = [0]

    def leaf(milliseconds: float, left: int, transient: int = 0) -> Leaf:
        primal = milliseconds * 1e-3
        return Leaf(primal, primal * rng.uniform(5.4, 6.2), left, left + transient)

    def call(site: str, snapshot: float, body: list[object], copy: float = 0.02) -> Call:
        nbytes = int(snapshot * 1e6)
        seconds = copy * 1e-3 + nbytes * 1.25e-9  # written and read through the stack
        return Call(site, nbytes, seconds, body, keep=False)  # type: ignore[arg-type]

    def small(depth: int) -> Call:
        """Return one of the 143 sites that matter little, with some below it."""
        count[0] += 1
        site = f"small_{count[0]:03d}"
        body: list[object] = [leaf(rng.uniform(0.01, 0.09), int(rng.uniform(1e3, 2.5e5)))]
        if depth:
            body += [small(depth - 1) for _ in range(rng.randint(1, 2)) if count[0] < 143]
        return call(site, rng.uniform(0.01, 0.3), body, 0.01)

    def group(size: int) -> list[object]:
        target = min(143, count[0] + size)
        found: list[object] = []
        while count[0] < target:
            found.append(small(rng.randint(0, 2)))
        return found

    def level(site: str, milliseconds: float, snapshot: float, tape: float) -> Call:
        return call(site, snapshot, [leaf(milliseconds, int(tape * 1e6))], 0.0)

    physics = call(
        "do_oceanic_phys",
        4.3,
        [
            leaf(0.8, 2_000_000),
            Repeat(LEVELS, (level("grad_sigma", 0.06, 0.52, 0.52), leaf(0.005, 40_000))),
            *group(40),
            leaf(0.7, 4_000_000, 500_000),
        ],
    )
    dynamics = call(
        "dynamics",
        3.4,
        [
            leaf(0.2, 1_000_000),
            Repeat(
                LEVELS,
                (
                    level("calc_phi_hyd", 0.02, 0.30, 0.06),
                    level("mom_vecinv", 0.06, 0.285, 0.28),
                    level("timestep", 0.02, 1.14, 0.28),
                ),
            ),
            *group(30),
        ],
    )
    tracers = call(
        "thermodynamics",
        3.1,
        [
            call("temp_integrate", 1.6, [leaf(3.2, 3_000_000), *group(15)]),
            call("salt_integrate", 1.6, [leaf(3.8, 1_600_000), *group(15)]),
            leaf(0.5, 100_000),
        ],
    )
    solver = Call("cg2d", 300_000, 4e-4, [Leaf(0.012, 0.030, 0, 0)], external=True, keep=False)
    step = call(
        "forward_step",
        7.85,
        [
            leaf(0.5, 300_000),
            physics,
            tracers,
            dynamics,
            Repeat(LEVELS, (level("integrate_for_w", 0.05, 0.16, 0.16),)),
            solver,
            call("do_fields_blocking_exchanges", 1.6, [leaf(1.4, 900_000)]),
            *group(143),
            leaf(0.4, 200_000),
        ],
    )
    return CallTree(
        [
            leaf(50.0, 1_000_000),
            Loop(steps, SNAPSHOT, 4e-3, 4e-3, (leaf(0.05, 8), step), name="main_do_loop"),
            leaf(20.0, 100_000),
        ],
        note="shaped like MITgcm's DINO",
    )
