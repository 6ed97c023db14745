"""One Devito Operator with its arguments prepared once, called on ranges of time."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int
from typing import Any

import numpy as np

from ..errors import BadValue, NotSupported
from ..problem import Array
from ._api import configuration, switchconfig

__all__ = ["Call", "levels_shape", "placeholder"]


def levels_shape(function: Any) -> tuple[int, ...]:
    """Return the shape of one time level of a TimeFunction as it lies in memory."""
    return tuple(int(extent) for extent in function.shape_allocated[1:])


def placeholder(function: Any, levels: int) -> Array:
    """Return an array that has the shape of ``levels`` time levels and takes no memory.

    It stands for a wavefield while the arguments are prepared: Devito looks at its shape only.
    """
    shape = (levels, *levels_shape(function))
    return np.broadcast_to(np.zeros((), dtype=function.dtype), shape)


class Call:
    """An Operator bound to its arguments: ``run(first, last)`` costs one C call.

    Parameters
    ----------
    op : devito.Operator
        The user's operator, compiled here if it was not before.
    arguments : mapping
        What ``op.apply`` would be given. Values are bound now: later changes in place are
        seen, other objects are not.
    hidden : mapping of str to Array
        Placeholders for the wavefields whose memory is bound later by `bind`.
    """

    def __init__(self, op: Any, arguments: Mapping[str, Any], hidden: Mapping[str, Array]) -> None:
        self.op = op
        self.name = str(op.name)
        self._given = dict(arguments)
        self._hidden = dict(hidden)
        self._function = op.cfunction
        self.prepare()

    def prepare(self) -> None:
        """Ask Devito for the arguments; repeated only where it scatters data over ranks."""
        args = _arguments(self.op, {**self._given, **self._hidden})
        names = [str(p.name) for p in self.op.parameters]
        self.first, self.last = int(args["time_m"]), int(args["time_M"])
        self.time_size = int(args["time_size"]) if args.get("time_size") is not None else None
        self._args = args
        self.comm: Any = None
        if configuration["mpi"] and args.comm is not None and args.comm.size > 1:
            self.comm = args.comm
        self._values: list[Any] = [args[name] for name in names]
        self._low, self._high = c_int(self.first), c_int(self.last)
        self._values[names.index("time_m")] = self._low
        self._values[names.index("time_M")] = self._high

    def number(self, name: str) -> int:
        """Return an integer argument."""
        return int(self._args[name])

    def array(self, name: str) -> Array:
        """Return the array bound to a parameter."""
        return self._args[name]._obj.underlying_array

    def address(self, name: str) -> int:
        """Return where the data of a parameter begin; 0 if it has none."""
        return self._args[name]._obj.data.value or 0

    def bind(self, name: str, address: int) -> None:
        """Let the data of a parameter begin at ``address``; negative values wrap."""
        self._args[name]._obj.data = address % 2**64

    def takes(self, name: str) -> bool:
        """Return whether the operator has a parameter of that name with data."""
        return hasattr(self._args.get(name), "_obj") and name != "timers"

    def run(self, first: int, last: int) -> None:
        """Run the time steps ``first`` to ``last``, both included, in one C call.

        Raises
        ------
        devito.exceptions.ExecutionError
            The compiled code returned an error; a note names the operator and the steps.
        """
        self._low.value = first
        self._high.value = last
        code = self._function(*self._values)
        if code:
            try:
                self.op._postprocess_errors(code, comm=self._args.comm)
            except Exception as error:
                error.add_note(f"Operator {self.name!r} failed in time steps {first} to {last}.")
                raise

    def gather(self) -> None:
        """Give results back to the user's objects; does nothing unless MPI spread them."""
        self.op._postprocess_arguments(self._args, **self._given)


def _arguments(op: Any, values: dict[str, Any]) -> Any:
    unknown = sorted(set(values) - set(op._known_arguments))
    if unknown:
        raise BadValue(
            f"arguments {', '.join(unknown)} were given for operator {op.name!r}, which has no "
            f"such parameter. Its parameters are: {', '.join(sorted(op._known_arguments))}."
        )
    # the autotuner would run the operator on the placeholders
    with switchconfig(autotuning="off"):
        args = op.arguments(**values)
    for name in ("time_m", "time_M"):
        if name not in args:
            raise NotSupported(
                f"operator {op.name!r} has no argument {name}: it does not step through time. "
                "Pass operators whose loop runs over the grid's time dimension."
            )
    return args
