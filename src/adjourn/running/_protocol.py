"""Refusing objects that are no problem, by the name of what is missing."""

from __future__ import annotations

from ..errors import BadValue, WrongType

__all__ = ["require_problem"]

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
    steps = problem.steps if known_steps else 1  # type: ignore[attr-defined]
    if not isinstance(steps, int) or isinstance(steps, bool):
        raise WrongType(f"{kind}.steps is {steps!r}. Make it the number of steps, an int.")
    if steps < 1:
        raise BadValue(f"{kind}.steps is {steps}. A gradient needs 1 step or more.")
    if reads not in ("nothing", "state", "tape"):
        raise BadValue(f'{kind}.reads is {reads!r}. Make it "nothing", "state" or "tape".')
