"""What the circulation of an ocean model depends on: a Veros gradient within a budget of bytes.

Veros 1.7.0 as it comes from PyPI, two of its own setups, not a line of them changed. After a
spin-up, a transport (or a heat content) after some steps is differentiated by the initial
temperature of every cell. Which steps are kept, and which of the model's routines run again, is
chosen for the budget by `adjourn.jax.plan`.

Run: pip install 'adjourn[jax]' veros==1.7.0
     python examples/veros_adjoint.py --steps 50 --budget "160 MB" --output veros
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import adjourn.jax
from adjourn.reports import field_of

SETUPS = {"acc_basic": "ACCBasicSetup", "acc": "ACCSetup"}
State = Mapping[str, jax.Array]


@jax.custom_jvp
def flat_sqrt(x):
    """Return the square root, with derivative 0 at 0: where there is no turbulence, say."""
    return jnp.sqrt(x)


@flat_sqrt.defjvp
def _flat_sqrt_tangent(primals, tangents):
    root = jnp.sqrt(primals[0])
    inside = root > 0
    return root, jnp.where(inside, tangents[0] / (2 * jnp.where(inside, root, 1)), 0)


class FlatNumpy:
    """`jax.numpy` with `flat_sqrt`."""

    sqrt = staticmethod(flat_sqrt)

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)


def nothing(*_: Any, **__: Any) -> bool:
    """Do nothing, and be content."""
    return True


@contextmanager
def differentiable() -> Iterator[None]:
    """Let the model's routines be traced: no files, no checks of values, no infinite slopes."""
    from veros import restart  # noqa: PLC0415 - veros is set up before its parts are loaded
    from veros.core import isoneutral, numerics  # noqa: PLC0415

    with ExitStack() as stack:
        for name, module in sorted(sys.modules.items()):
            if name.startswith("veros.core.") and vars(module).get("npx") is jnp:
                stack.enter_context(mock.patch.object(module, "npx", FlatNumpy()))
        for module, routine in (
            (restart, "write_restart"),
            (isoneutral, "isoneutral_diag_streamfunction"),
            (numerics, "sanity_check"),
        ):
            stack.enter_context(mock.patch.object(module, routine, nothing))
        yield


def read_by(program: Any, wanted: list[bool]) -> list[bool]:
    """Return which inputs of a traced program some of its results are made of."""
    needed = {id(v) for v, here in zip(program.outvars, wanted, strict=True) if here}
    for eqn in reversed(program.eqns):
        results = [id(v) in needed for v in eqn.outvars]
        if any(results):
            reads = [True] * len(eqn.invars)
            if eqn.primitive.name in ("jit", "pjit"):
                reads = read_by(eqn.params["jaxpr"].jaxpr, results)
            needed.update(id(v) for v, here in zip(eqn.invars, reads, strict=True) if here)
    return [id(v) in needed for v in program.invars]


@dataclass(frozen=True)
class Ocean:
    """A Veros simulation as pure functions of its variables.

    Attributes
    ----------
    simulation : VerosSetup
        Set up, its diagnostics taken out.
    start : dict of arrays
        Every variable at the start.
    moving : tuple of str
        The variables that go on from step to step. The others are grids, masks and forcing,
        which a step leaves alone, or what each step makes anew before it reads it.
    """

    simulation: Any
    start: State
    moving: tuple[str, ...]

    @classmethod
    def of(cls, setup: str) -> Ocean:
        """Set up one of Veros' own models, in double precision."""
        from veros import runtime_settings  # noqa: PLC0415

        jax.config.update("jax_enable_x64", True)
        runtime_settings.update(
            backend="jax",
            linear_solver="scipy_jax",
            use_special_tdma=False,
            diskless_mode=True,
            loglevel="error",
        )
        simulation = getattr(import_module(f"veros.setups.{setup}.{setup}"), SETUPS[setup])()
        with differentiable():
            simulation.setup()
        simulation.state.diagnostics.clear()
        start = dict(simulation.state.variables.items())
        ocean = cls(simulation, start, ())
        changed: list[str] = []

        def probe(state: State) -> State:
            after = ocean.apply(simulation.step, state)
            changed[:] = [name for name in sorted(state) if after[name] is not state[name]]
            return after

        program = jax.make_jaxpr(probe)(start).jaxpr
        names = sorted(start)  # the order of the leaves of a dictionary
        live = {"temp", "salt", "u", "v", "tau"}
        while True:
            reads = read_by(program, [name in live for name in names])
            found = live | {n for n, here in zip(names, reads, strict=True) if here}
            found &= {*changed}
            if found == live:
                return cls(simulation, start, tuple(sorted(live)))
            live = found

    def apply(self, routine: Callable[[Any], None], state: State) -> State:
        """Return the variables as a routine of the model leaves them."""
        variables = self.simulation.state.variables
        with differentiable(), variables.unlock():
            variables.update(dict(state))
            try:
                routine(self.simulation.state)
                return dict(variables.items())
            finally:
                with variables.unlock():
                    variables.update(dict(self.start))

    def run(self, state: State, steps: int) -> State:
        """Return the variables after some steps; those that are made anew stay as they were."""

        def step(moving: State, _: None) -> tuple[State, None]:
            after = self.apply(self.simulation.step, {**state, **moving})
            return {name: after[name] for name in self.moving}, None

        first = {name: state[name] for name in self.moving}
        return {**state, **jax.lax.scan(step, first, None, steps)[0]}

    def warmed(self, state: State, change: jax.Array) -> State:
        """Return the variables with the temperature of every cell changed, shape (x, y, z), in K.

        Density and what else follows from temperature is computed anew.
        """
        from veros.core.numerics import calc_initial_conditions_kernel  # noqa: PLC0415

        wet = change * state["maskT"][2:-2, 2:-2]
        temp = state["temp"].at[2:-2, 2:-2].add(wet[..., None])
        return self.apply(
            lambda model: model.variables.update(calc_initial_conditions_kernel(model)),
            {**state, "temp": temp},
        )


def transport(state: State) -> jax.Array:
    """Return the volume transport of the circumpolar current, in Sv (10^6 m^3/s)."""
    area = state["dyt"][2:-2, None] * state["dzt"] * state["maskU"][2, 2:-2]
    south = state["yt"][2:-2, None] < -20
    return jnp.sum(state["u"][2, 2:-2, :, state["tau"]] * area * south) / 1e6


def heat(state: State) -> jax.Array:
    """Return the heat content north of 20 degrees north, in ZJ (10^21 J), above 0 degrees C."""
    volume = state["area_t"][2:-2, 2:-2, None] * state["dzt"] * state["maskT"][2:-2, 2:-2]
    north = state["yt"][2:-2, None] > 20
    return jnp.sum(state["temp"][2:-2, 2:-2, :, state["tau"]] * volume * north) * 4.1e6 / 1e21


QUANTITIES = {"transport": (transport, "Sv"), "heat": (heat, "ZJ")}


def chart(
    values: np.ndarray, longitude: np.ndarray, latitude: np.ndarray, name: str, unit: str
) -> str:
    """Return a map as SVG: values of shape (x, y), red where positive, blue where negative."""
    field = field_of(np.asarray(values).T[::-1], (1.0, 1.0), name=name, unit=unit, ramp="signed")
    size, left, top = 12, 48, 34
    width, height = size * values.shape[0], size * values.shape[1]
    image = base64.b64encode(field.image).decode()
    frame = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    axes = [
        f'<text x="{left - 6}" y="{top + height - (at + 0.2) * size:g}" '
        f'text-anchor="end">{latitude[at]:g}</text>'
        for at in range(0, len(latitude), 10)
    ] + [
        f'<text x="{left + (at + 0.5) * size:g}" y="{top + height + 16}" '
        f'text-anchor="middle">{longitude[at]:g}</text>'
        for at in range(0, len(longitude), 10)
    ]
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{top + height + 54}"
 font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{left}" y="20">{name}</text>
<image {frame} preserveAspectRatio="none" style="image-rendering:pixelated"
 href="data:image/png;base64,{image}"/>
<rect {frame} fill="none" stroke="#444"/>
{"".join(axes)}
<text x="{left}" y="{top + height + 40}">red: more, blue: less; full colour {field.high:.2g} {unit},
degrees east and north</text>
</svg>
"""


def seconds(run: Callable[[], Any], times: int = 3) -> float:
    """Return the least processor seconds of a run that was compiled before."""
    jax.block_until_ready(run())
    found: list[float] = []
    for _ in range(times):
        began = process_time()
        jax.block_until_ready(run())
        found.append(process_time() - began)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--setup", choices=sorted(SETUPS), default="acc_basic")
    parser.add_argument("--quantity", choices=sorted(QUANTITIES), default="transport")
    parser.add_argument("--steps", type=int, default=50, help="of half a day")
    parser.add_argument("--spinup", type=int, default=200, help="steps before the start")
    parser.add_argument("--budget", default="160 MB")
    parser.add_argument("--output", type=Path, default=Path("veros"))
    options = parser.parse_args()
    quantity, unit = QUANTITIES[options.quantity]

    ocean = Ocean.of(options.setup)
    start = jax.jit(ocean.run, static_argnums=1)(ocean.start, options.spinup)

    def loss(change: jax.Array, start: State) -> jax.Array:
        return quantity(ocean.run(ocean.warmed(start, change), options.steps))

    change = jnp.zeros(start["maskT"][2:-2, 2:-2].shape)
    plan = adjourn.jax.plan(loss, change, start, budget=options.budget, packages=("veros",))
    print(plan)
    print(plan.explain())

    gradient = adjourn.jax.value_and_grad(loss, plan=plan)
    value, slope = gradient(change, start)
    model = jax.jit(loss)
    forward = seconds(lambda: model(change, start))
    both = seconds(lambda: gradient(change, start))
    print(f"{options.quantity} after {options.steps} steps: {value:.6g} {unit}")
    print(f"model {forward:.2f} s, value and gradient {both:.2f} s: {both / forward:.1f} times")

    options.output.mkdir(parents=True, exist_ok=True)
    column = np.asarray(slope).sum(axis=2)  # all of a column warmed by 1 K
    picture = chart(
        column,
        np.asarray(start["xt"])[2:-2],
        np.asarray(start["yt"])[2:-2],
        f"{options.quantity} after {options.steps} steps, by the temperature of a column",
        f"{unit}/K",
    )
    (options.output / "map.svg").write_text(picture)
    np.save(options.output / "gradient.npy", np.asarray(slope))
    print(f"map and gradient in {options.output}/")


if __name__ == "__main__":
    main()
