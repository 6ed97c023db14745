"""Random small programs with loops: their structure from one seed, their steps from another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

import adjourn.jax

SIZE = 3


@jax.custom_vjp
def own(v):
    """Return the sine, with a backward rule that is not its derivative."""
    return jnp.sin(v)


own.defvjp(lambda v: (jnp.sin(v), v), lambda v, ct: (0.9 * ct * jnp.cos(v),))

OPS = (
    jnp.sin,
    jnp.tanh,
    own,
    lambda v: v / (1 + v**2),
    lambda v: jnp.where(v > 0, v, 0.5 * v),
    lambda v: jnp.roll(v, 1) * jnp.cos(v),
)


@dataclass(frozen=True)
class Structure:
    """What a program is made of.

    Attributes
    ----------
    kind : {"scan", "while"}
        The outer loop.
    inner : {"", "scan", "while"}
        A loop in each of its steps.
    slots : int or str
        Carries of the outer loop.
    window, length : int
        Of the outer loop, if it is a scan; the length bounds a while loop.
    reverse, inputs, outputs, keyed, mixed : bool
        Whether a scan runs from the end, has xs, has ys; whether there is a key in the carry,
        and a leaf of single precision.
    """

    kind: str
    inner: str
    slots: int | str
    window: int
    length: int
    reverse: bool
    inputs: bool
    outputs: bool
    keyed: bool
    mixed: bool

    @classmethod
    def random(cls, seed):
        rng = np.random.default_rng(seed)
        kind = ("scan", "while")[seed % 2]
        slots = int(rng.integers(1, 6))
        if kind == "scan" and seed % 10 == 4:
            slots = str(rng.choice(["steps", "segments"]))
        flags = (bool(flag) for flag in rng.integers(0, 2, 4))
        inner = ("", "scan", "while")[seed % 3]
        window = int(rng.integers(1, 4)) if isinstance(slots, int) else 1
        length = int(rng.integers(1, 13))
        reverse, inputs, outputs, mixed = flags
        keyed = seed % 12 == 5  # slow to compile
        return cls(kind, inner, slots, window, length, reverse, inputs, outputs, keyed, mixed)

    @property
    def plain(self):
        """The same program as JAX differentiates it."""
        return replace(self, slots=0)


def bounded(going, body, carry, most):
    """Loop at most so often, in a way that JAX can reverse."""

    def step(carry, _):
        new = body(carry)
        return jax.tree.map(lambda a, b: jnp.where(going(carry), a, b), new, carry), None

    return jax.lax.scan(step, carry, None, most)[0]


def loss(structure, floats, ints):
    """Return the loss of a program: its steps are chosen by numbers, its loops by the structure."""
    ours, length = structure.slots != 0, structure.length

    def relax(v):
        """Return what a loop within a step makes of a vector."""

        def settle(w, _=None):
            return 0.5 * jnp.sin(w + v) + floats["b"], None

        if structure.inner == "scan":
            run = adjourn.jax.scan if ours else jax.lax.scan
            how = {"slots": 2} if ours else {}
            return run(settle, v, None, 4, **how)[0]

        def going(now):
            return now[1] < ints["turns"]

        def body(now):
            return settle(now[0])[0], now[1] + 1

        if ours:
            return adjourn.jax.while_loop(going, body, (v, 0), slots=2)[0]
        return bounded(going, body, (v, 0), 5)[0]

    def step(carry, x):
        u, total, count, key, half = carry
        v = floats["a"] @ u + floats["b"] + (0.0 if x is None else x)
        if structure.keyed:
            key, use = jax.random.split(key)
            v = v + 0.1 * jax.random.uniform(use, v.shape)
        for code in ints["codes"]:
            v = jax.lax.switch(code, OPS, v)
        v = relax(v) if structure.inner else v
        v = jax.lax.cond(count % 3 == ints["phase"], lambda v: v * floats["b"], lambda v: v, v)
        half = half * jnp.float32(0.9) if structure.mixed else half
        y = {"y": v[0] * u[-1], "n": count} if structure.outputs else None
        return (v, total + jnp.sum(v * u) * half, count + 1, key, half), y

    start = (floats["u"], jnp.zeros(()), jnp.int32(0), jax.random.key(1), jnp.float32(0.5))
    if structure.kind == "scan":
        xs = floats["xs"][:length] if structure.inputs else None
        run, how = jax.lax.scan, {}
        if ours:
            run, how = adjourn.jax.scan, {"slots": structure.slots, "window": structure.window}
        (u, total, count, _, half), ys = run(step, start, xs, length, structure.reverse, **how)
    else:

        def going(carry):
            return (carry[2] < ints["stop"]) & (jnp.sum(carry[0] ** 2) < 50.0)

        def body(carry):
            return step(carry, floats["xs"][carry[2]] if structure.inputs else None)[0]

        ys = None
        if ours:
            last = adjourn.jax.while_loop(going, body, start, slots=structure.slots)
        else:
            last = bounded(going, body, start, 12)
        u, total, count, _, half = last
    value = jnp.sum(u * floats["b"]) + total + half * count
    return value if ys is None else value + jnp.sum(ys["y"] ** 2 * (1 + ys["n"]))


def numbers(seed):
    """Return what chooses the steps of a program, and what it is differentiated by."""
    rng = np.random.default_rng(seed)
    floats = {
        "a": rng.standard_normal((SIZE, SIZE)) / 2,
        "b": rng.standard_normal(SIZE),
        "u": rng.standard_normal(SIZE),
        "xs": rng.standard_normal((12, SIZE)),
    }
    ints = {
        "codes": rng.integers(0, len(OPS), 2).astype(np.int32),
        "phase": np.int32(rng.integers(0, 3)),
        "turns": np.int32(rng.integers(0, 6)),
        "stop": np.int32(rng.integers(0, 13)),
    }
    return floats, ints
