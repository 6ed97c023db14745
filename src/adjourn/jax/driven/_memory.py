"""Arrays of the device as arrays of main memory, to be read and written to."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import NotSupported
from ...problem import Array
from .._compat import jax, jnp

__all__ = [
    "Outputs",
    "address",
    "as_host",
    "on_one_device",
    "overwrite",
    "plain_dtype",
    "separate",
    "views",
]

Leaves = list[Any]


def views(leaves: Sequence[Any]) -> list[Array]:
    """Return the memory of arrays on a CPU itself, to be read and written to.

    Only for arrays that are ready and that nothing else refers to: JAX takes arrays not to
    change. The views hold their arrays; memory that a program takes over is its result's from
    then on. Unlike ``np.asarray``, they do not keep a program from taking it.
    """
    return [_view(leaf) for leaf in leaves]


def address(leaf: Any) -> int:
    """Return where an array lies; 0 for one without elements."""
    return int(leaf.unsafe_buffer_pointer()) if leaf.size else 0


def _view(leaf: Any) -> Array:
    dtype = plain_dtype(leaf.dtype)
    shape: tuple[int, ...] = leaf.shape
    if not leaf.size:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * (leaf.size * dtype.itemsize)).from_address(address(leaf))
    memory.owner = leaf
    flat: Array = np.frombuffer(memory, dtype)
    return flat.reshape(shape)


def plain_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a type of NumPy's own of the same size: that of float16's kin is an integer's."""
    made: np.dtype[Any] = np.dtype(dtype)
    return made if made.kind in "biufc" else np.dtype(f"u{made.itemsize}")


def on_one_device(leaves: Sequence[Any]) -> None:
    """Refuse arrays that are spread over devices.

    Raises
    ------
    NotSupported
        Says over how many.
    """
    most = max((len(leaf.devices()) for leaf in leaves), default=1)
    if most > 1:
        raise NotSupported(
            f"a loop was to be driven whose arrays are spread over {most} devices, and snapshots "
            "are taken of one device's memory. Gather the arrays on one device, or reverse the "
            "loop in one program: adjourn.jax.scan, or a plan."
        )


def as_host(leaf: Any) -> Array:
    """Return an array of main memory; on a CPU without a copy, and not to be written to."""
    return np.asarray(leaf).view(plain_dtype(leaf.dtype))


def overwrite(leaves: Leaves, arrays: Sequence[Array], in_place: bool) -> Leaves:
    """Return device arrays with the content of arrays of main memory, in place if that goes."""
    if in_place:
        for view, array in zip(views(leaves), arrays, strict=True):
            np.copyto(view, array)
        return leaves
    pairs = zip(leaves, arrays, strict=True)
    return [jnp.array(array.view(leaf.dtype), copy=True) for leaf, array in pairs]


def separate(leaves: Sequence[Any], others: Sequence[Any]) -> Leaves:
    """Return arrays that share memory with none of the others, copies where they did."""
    jax.block_until_ready(leaves)
    seen = {*map(address, others)} - {0}
    made: Leaves = []
    for leaf in leaves:
        made.append(jnp.array(leaf, copy=True) if address(leaf) in seen else leaf)
        seen |= {address(leaf)} - {0}
    return made


class Outputs:
    """What a run leaves, by name: lists of device arrays, shown in main memory when asked for.

    Zeros until they are put. What was shown may have been written to, so that it is read back
    before the next use.

    Parameters
    ----------
    shapes : mapping
        Abstract values of the arrays under each name.
    in_place : bool
        Whether the arrays put here are nobody else's and lie in main memory.
    """

    def __init__(self, shapes: Mapping[str, Sequence[Any]], in_place: bool) -> None:
        self._shapes = {name: list(kinds) for name, kinds in shapes.items()}
        self._in_place = in_place
        self._held: dict[str, Leaves] = {}
        self._arrays: dict[str, Array] = {}
        self._shown: set[str] = set()

    def clear(self) -> None:
        """Make everything zero."""
        self._held.clear()
        self._shown.clear()
        for array in self._arrays.values():
            array.fill(0)

    def put(self, name: str, leaves: Leaves) -> None:
        """Replace what is under a name."""
        self._held[name] = leaves
        self._shown.discard(name)

    def take(self, name: str) -> Leaves:
        """Return what is under a name, for a program that takes its memory: put follows."""
        leaves = self.get(name)
        self._held.pop(name)
        return leaves

    def get(self, name: str) -> Leaves:
        """Return what is under a name."""
        if name not in self._held:
            self._held[name] = [jnp.zeros(kind.shape, kind.dtype) for kind in self._shapes[name]]
        if name in self._shown:
            self._shown.discard(name)
            jax.block_until_ready(self._held[name])
            arrays = [self._arrays[f"{name}[{i}]"] for i in range(len(self._shapes[name]))]
            self._held[name] = overwrite(self._held[name], arrays, self._in_place)
        return self._held[name]

    def host(self, name: str) -> list[Array]:
        """Return copies of what is under a name, of its own types."""
        return [np.array(leaf) for leaf in self.get(name)]

    def show(self) -> Mapping[str, Array]:
        """Return arrays of main memory with all there is, to be read and written to.

        Costs a copy of everything, and a second one at the next use. The arrays stay the same.
        """
        for name, kinds in self._shapes.items():
            if not self._arrays.keys() >= {f"{name}[{i}]" for i in range(len(kinds))}:
                for i, kind in enumerate(kinds):
                    self._arrays[f"{name}[{i}]"] = np.zeros(kind.shape, plain_dtype(kind.dtype))
            if name in self._shown:
                continue
            held = self._held.get(name, [])
            jax.block_until_ready(held)
            here = views(held) if self._in_place else map(as_host, held)
            for i, array in enumerate(here):
                np.copyto(self._arrays[f"{name}[{i}]"], array)
            if not held:
                for i in range(len(kinds)):
                    self._arrays[f"{name}[{i}]"].fill(0)
            self._shown.add(name)
        return self._arrays
