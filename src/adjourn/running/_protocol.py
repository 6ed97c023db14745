"""Refusing objects that are no problem, by the name of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..errors import BadValue, LawBroken, WrongType
from ..problem import Array, Problem, Window

__all__ = ["live_state", "require_problem", "window_of"]

_METHODS = ("begin", "state", "advance", "record", "turn", "reverse")


def require_problem(problem: object, *, known_steps: bool = True) -> None:
    """Check that an object has what the protocol asks for.

    Raises
    ------
    WrongType
        A method or attribute is missing, or ``steps`` is not an integer.
    BadValue
        ``steps`` or ``reads`` has no meaning.
    """
    kind = type(problem).__name__
    missing = [name for name in _METHODS if not callable(getattr(problem, name, None))]
    attributes = ("steps", "reads") if known_steps else ("reads",)
    missing += [name for name in attributes if not hasattr(problem, name)]
    if missing:
        raise WrongType(
            f"problem={kind} has no {', '.join(missing)}. Give it the methods of "
            "adjourn.Problem; a Devito or JAX user passes what adjourn.devito or adjourn.jax makes."
        )
    reads = problem.reads  # type: ignore[attr-defined]
    steps: Any = problem.steps if known_steps else 1  # type: ignore[attr-defined]
    if isinstance(steps, bool) or not hasattr(cast("object", steps), "__index__"):
        raise WrongType(f"{kind}.steps is {steps!r}. Make it the number of steps, an int.")
    if steps < 1:
        raise BadValue(f"{kind}.steps is {steps}. A gradient needs 1 step or more.")
    if reads not in ("nothing", "state", "tape"):
        raise BadValue(f'{kind}.reads is {reads!r}. Make it "nothing", "state" or "tape".')


def window_of(problem: object) -> Window | None:
    """Return what a problem says of its window; None if it has none.

    Raises
    ------
    LawBroken
        ``window()`` returned something else than a Window.
    """
    method = getattr(problem, "window", None)
    if method is None:
        return None
    frame = method()
    if not isinstance(frame, Window):
        raise LawBroken(
            "window",
            f"{type(problem).__name__}.window() returned {frame!r}. Return an adjourn.Window, or "
            "leave the method out if recording takes no bytes.",
        )
    return frame


def live_state(problem: Problem, step: int) -> Sequence[Array]:
    """Return ``problem.state(step)`` after checking that a load could restart the model from it.

    Raises
    ------
    LawBroken
        It is no sequence of writeable NumPy arrays of plain numbers, is empty, or is a copy: what
        a load writes would then be lost, and the gradient wrong.
    """
    name = f"{type(problem).__name__}.state({step})"
    arrays = cast("object", problem.state(step))
    if isinstance(arrays, np.ndarray) or not isinstance(arrays, Sequence):
        raise LawBroken("state", f"{name} is no sequence of arrays. Return a list of views.")
    seen = cast("Sequence[object]", arrays)
    if not seen:
        raise LawBroken("state", f"{name} is empty. Return what restarts the model.")
    again = cast("Sequence[Any]", problem.state(step))
    for number, (one, other) in enumerate(zip(seen, again, strict=True)):
        which = f"array {number} of {name}"
        array = cast("Array", one)
        if not isinstance(one, np.ndarray) or array.dtype.hasobject:
            raise LawBroken("state", f"{which} is no NumPy array of numbers. Return such views.")
        if not array.flags.writeable:
            raise LawBroken("state", f"{which} is read-only. Return a view that can be written.")
        if array.size and not np.shares_memory(array, other):
            raise LawBroken(
                "state",
                f"{which} is a copy: what a load writes into it would be lost. Return a view of "
                "the array that the model steps.",
            )
    return cast("Sequence[Array]", seen)
