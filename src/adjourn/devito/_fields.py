"""Where the time levels of the forward wavefields lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..problem import Array
from ._calls import Call, levels_shape

__all__ = ["Field", "Line", "Plain", "Ring", "Sampled"]

_ALIGNMENT = 4096
Binds = Sequence[tuple[Call, str]]


class Field(Protocol):
    """Something the forward operator writes and either operator reads back."""

    name: str
    step_bytes: int
    fixed_bytes: int
    bare_levels: int
    """Levels a run that stores nothing would hold: room to advance in that is not counted."""

    def reserve(self, steps: int) -> None:
        """Make room for so many recorded steps."""
        ...

    def begin(self, time: int, /) -> None:
        """Put the initial levels in, live at ``time``."""
        ...

    def live(self, time: int, /) -> Sequence[Array]:
        """Return the levels that restart the model at ``time``, oldest first."""
        ...

    def front(self, time: int, /) -> Sequence[Array]:
        """Return where `live` will lie once the window begins at ``time``."""
        ...

    def move(self, time: int, live: int, /) -> None:
        """Let the window begin at ``time``, what is held up to the live state moved along."""
        ...

    def settle(self, time: int, /) -> None:
        """Let the window begin at ``time``; its front holds the live levels already."""
        ...

    def bind(self) -> None:
        """Tell the calls where the levels are; again after their arguments were prepared."""
        ...

    def close(self) -> None:
        """Release the memory."""
        ...


def _aligned(nbytes: int) -> Array:
    """Return zeroed bytes that begin on a page, all of them touched."""
    raw = np.zeros(nbytes + _ALIGNMENT, dtype=np.uint8)
    raw[::_ALIGNMENT] = 0
    skip = -raw.ctypes.data % _ALIGNMENT
    return raw[skip : skip + nbytes]


def _shift(levels: Array, start: int, count: int) -> None:
    """Move ``count`` levels from ``start`` to the beginning."""
    if start:
        # the ranges may overlap, and NumPy would take a temporary for them as a whole; one
        # level at a time, lowest first, needs none
        for index in range(count):
            levels[index] = levels[start + index]


class Line:
    """A wavefield compiled with ``save=nt``, of which only a window exists.

    The compiled code indexes it by absolute time. Its base address is set so that the window's
    levels are where the code looks for them; nothing outside the window is ever touched. One
    executable therefore serves every window length, full storage included.

    A level keeps its place in the window, so that halos, which operators do not write, stay as
    they were.

    Parameters
    ----------
    function : TimeFunction
        The user's symbol. Its data are read once if they are allocated, never written.
    low, high : int
        Live levels at time t are t + low to t + high - 1.
    bare : int
        Levels that one forward step touches. A run that stores nothing holds so many; they are
        allocated beyond the window, not counted, and give plain advances room.
    factor : int
        Steps of time, hence levels, in one recorded step.
    binds : sequence of (Call, str)
        The calls whose base address is to follow, with the wavefield's name in each.
    """

    def __init__(
        self, function: Any, low: int, high: int, *, bare: int, factor: int, binds: Binds
    ) -> None:
        self.name = str(function.name)
        self._shape = levels_shape(function)
        self._dtype = np.dtype(function.dtype)
        self._low, self._high = low, high
        self._overlap = high - low
        self._binds = binds
        self._data = None if function._data is None else np.asarray(function._data)
        self._level_bytes = int(np.prod(self._shape)) * self._dtype.itemsize
        self._factor = factor
        self.bare_levels = bare
        self.step_bytes = factor * self._level_bytes
        self.fixed_bytes = self._overlap * self._level_bytes
        self._levels: Array = np.empty((0, *self._shape), self._dtype)
        self._first = 0

    def reserve(self, steps: int) -> None:
        count = steps * self._factor + self._overlap + self.bare_levels
        if len(self._levels) != count:
            self._levels = np.empty((0, *self._shape), self._dtype)  # free before allocating
            flat = _aligned(count * self._level_bytes)
            self._levels = flat.view(self._dtype).reshape(count, *self._shape)

    def begin(self, time: int, /) -> None:
        self.settle(time)
        for level, view in zip(self._range(time), self.live(time), strict=True):
            view[...] = 0 if self._data is None else self._data[level]

    def live(self, time: int, /) -> Sequence[Array]:
        return [self._levels[level - self._first] for level in self._range(time)]

    def front(self, _time: int, /) -> Sequence[Array]:
        return list(self._levels[: self._overlap])

    def move(self, time: int, live: int, /) -> None:
        _shift(self._levels, time + self._low - self._first, live - time + self._overlap)
        self.settle(time)

    def settle(self, time: int, /) -> None:
        self._first = time + self._low
        self.bind()

    def bind(self) -> None:
        base = self._levels.ctypes.data - self._first * self._level_bytes
        for call, name in self._binds:
            call.bind(name, base)

    def close(self) -> None:
        self._levels = np.empty((0, *self._shape), self._dtype)

    def _range(self, time: int, /) -> range:
        return range(time + self._low, time + self._high)


class Sampled:
    """A history that is written every ``factor`` steps and read by the gradient only.

    One recorded step of the problem is ``factor`` steps of time and writes at most one level.
    """

    def __init__(self, function: Any, factor: int, binds: Binds) -> None:
        self.name = str(function.name)
        self._shape = levels_shape(function)
        self._dtype = np.dtype(function.dtype)
        self._factor = factor
        self._first = 0
        self._binds = binds
        self.step_bytes = int(np.prod(self._shape)) * self._dtype.itemsize
        self.fixed_bytes = self.bare_levels = 0
        self._levels: Array = np.empty((0, *self._shape), self._dtype)

    def reserve(self, steps: int) -> None:
        if len(self._levels) != steps:
            self._levels = np.empty((0, *self._shape), self._dtype)
            flat = _aligned(steps * self.step_bytes)
            self._levels = flat.view(self._dtype).reshape(steps, *self._shape)

    def begin(self, time: int, /) -> None:
        self.settle(time)

    def live(self, _time: int, /) -> Sequence[Array]:
        return []

    def front(self, _time: int, /) -> Sequence[Array]:
        return []

    def move(self, time: int, live: int, /) -> None:
        first = -(-time // self._factor)
        _shift(self._levels, first - self._first, -(-live // self._factor) - first)
        self.settle(time)

    def settle(self, time: int, /) -> None:
        self._first = -(-time // self._factor)
        self.bind()

    def bind(self) -> None:
        base = self._levels.ctypes.data - self._first * self.step_bytes
        for call, name in self._binds:
            call.bind(name, base)

    def close(self) -> None:
        self._levels = np.empty((0, *self._shape), self._dtype)


class Ring:
    """A wavefield whose time levels are compiled as a ring; it lives in the user's own data.

    Levels beyond those that a step touches exist for the sake of the gradient: they count as
    bytes of the window, which has no length of its own.
    """

    def __init__(self, name: str, data: Array, low: int, high: int, begin: int) -> None:
        self.name = name
        self._levels = np.asarray(data)
        spare = len(self._levels) - (high - low + 1)
        self.step_bytes = self.bare_levels = 0
        self.fixed_bytes = max(0, spare) * self._levels[0].nbytes
        self._low, self._high = low, high
        initial = [level.copy() for level in self.live(begin)]
        self._initial = initial if any(level.any() for level in initial) else None

    def reserve(self, steps: int) -> None:
        pass

    def begin(self, time: int, /) -> None:
        self._levels[...] = 0
        if self._initial is not None:
            for view, level in zip(self.live(time), self._initial, strict=True):
                view[...] = level

    def live(self, time: int, /) -> Sequence[Array]:
        length = len(self._levels)
        return [self._levels[t % length] for t in range(time + self._low, time + self._high)]

    def front(self, time: int, /) -> Sequence[Array]:
        return self.live(time)

    def move(self, time: int, live: int, /) -> None:
        pass

    def settle(self, time: int, /) -> None:
        pass

    def bind(self) -> None:
        pass

    def close(self) -> None:
        pass


class Plain:
    """A Function without time that the forward operator writes and reads back."""

    def __init__(self, name: str, data: Array) -> None:
        self.name = name
        self.step_bytes = self.fixed_bytes = self.bare_levels = 0
        self._data = np.asarray(data)
        self._initial = self._data.copy() if self._data.any() else None

    def reserve(self, steps: int) -> None:
        pass

    def begin(self, _time: int, /) -> None:
        self._data[...] = 0 if self._initial is None else self._initial

    def live(self, _time: int, /) -> Sequence[Array]:
        return [self._data]

    def front(self, _time: int, /) -> Sequence[Array]:
        return [self._data]

    def move(self, time: int, live: int, /) -> None:
        pass

    def settle(self, time: int, /) -> None:
        pass

    def bind(self) -> None:
        pass

    def close(self) -> None:
        pass
