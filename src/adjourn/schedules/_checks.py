"""What is asked of every schedule's parameters: costs that are numbers, tables that fit."""

from __future__ import annotations

from .._sizes import as_count, format_bytes, shortened
from ..errors import BadValue, WrongType

__all__ = ["as_cost", "keep_counts", "refuse_unplannable"]

_DEAREST = 1e100  # sums over any number of steps stay finite
_MOST_BYTES = 2**30
_MOST_WORK = 10**11  # about two minutes


def as_cost(value: float, name: str, *, zero: bool = True) -> float:
    """Return ``value`` as a finite float of at least 0, or say what is wrong with it.

    Raises
    ------
    WrongType
        Not a number (bools are refused).
    BadValue
        Negative, above 10^100, not a number; or 0 where ``zero`` is false.
    """
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise WrongType(
            f"{name}={value!r} is of type {type(value).__name__}. Pass a number such as {name}=1.0."
        )
    try:
        cost = float(value)
    except (OverflowError, TypeError, ValueError):  # 10**400, an array of several numbers
        cost = -1.0
    if not 0 <= cost <= _DEAREST or (cost == 0 and not zero):
        least = "0 or more" if zero else "more than 0"
        raise BadValue(
            f"{name}={shortened(value)} is not a cost. Pass a number, {least} and at most "
            f"{_DEAREST:g}."
        )
    return cost


def keep_counts(schedule: object, **names: str) -> None:
    """Replace fields of a frozen schedule by checked integers of 1 or more.

    ``names`` gives for each field the name of the argument, for the error.
    """
    for field, name in names.items():
        object.__setattr__(schedule, field, as_count(getattr(schedule, field), name))


def refuse_unplannable(what: str, cells: int, work: int, instead: str) -> None:
    """Refuse, before any work, what would not fit in memory or take minutes to plan.

    Parameters
    ----------
    what : str
        The call as the user wrote it.
    cells : int
        Numbers of 8 bytes that its tables hold.
    work : int
        Elementary operations, about 10**9 a second.
    instead : str
        What to do instead, a sentence.

    Raises
    ------
    BadValue
        More than 1 GiB of tables or 10**11 operations.
    """
    if 8 * cells > _MOST_BYTES:
        raise BadValue(
            f"{what} needs tables of {format_bytes(8 * cells)} to plan, "
            f"more than {format_bytes(_MOST_BYTES)}. {instead}"
        )
    if work > _MOST_WORK:
        raise BadValue(
            f"{what} needs {work:.0e} operations to plan, more than {_MOST_WORK:.0e}. {instead}"
        )
