"""Bytes and counts parsed once at the door, and printed the same way everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import index

from .errors import BadValue, WrongType

__all__ = ["as_bytes", "as_count", "format_bytes", "format_seconds", "shortened", "signed"]

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")
_LARGEST = 2**62


def as_bytes(value: int | str, name: str = "budget") -> int:
    """Return a number of bytes from an int or a text such as ``"2 GiB"`` or ``"512MB"``.

    Parameters
    ----------
    value : int or str
        Bytes, or a number with a unit: B, kB, MB, GB, TB (powers of 1000) or
        KiB, MiB, GiB, TiB (powers of 1024). Case does not matter.
    name : str
        The argument's name, for the error.

    Raises
    ------
    WrongType
        Neither an integer nor a text.
    BadValue
        Negative, not a size, or absurdly large (2**62 bytes and more).

    Examples
    --------
    >>> as_bytes("2 GiB")
    2147483648
    >>> as_bytes("512MB"), as_bytes(17)
    (512000000, 17)
    """
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            raise BadValue(
                f"{name}={value!r} is not a size. Write a number and a unit, "
                f'such as {name}="2 GiB" or "512MB", or an integer of bytes.'
            )
        number = match[1]
        nbytes = int(number) * unit if number.isdigit() else round(float(number) * unit)
    else:
        nbytes = _integer(value, name, 'an integer of bytes or a text such as "2 GiB"')
    if nbytes < 0:
        raise BadValue(f"{name}={shortened(value)} is negative. Pass 0 bytes or more.")
    if nbytes >= _LARGEST:
        raise BadValue(f"{name}={shortened(value)} is more than any machine holds. Check the unit.")
    return nbytes


def as_count(value: int, name: str, least: int = 1, most: int = 10**12) -> int:
    """Return ``value`` as an int of at least ``least``, or say what is wrong with it.

    Raises
    ------
    WrongType
        Not an integer (bools and floats are refused).
    BadValue
        Below ``least`` or above ``most``.

    Examples
    --------
    >>> as_count(3, "slots")
    3
    """
    count = _integer(value, name, "an integer")
    if count < least:
        raise BadValue(f"{name}={shortened(count)} is too small. Pass {name}={least} or more.")
    if count > most:
        raise BadValue(f"{name}={shortened(count)} is too large. Pass {name}={most} or less.")
    return count


def _integer(value: object, name: str, wanted: str) -> int:
    if isinstance(value, bool):
        raise WrongType(f"{name}={value!r} is a bool. Pass {wanted}.")
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WrongType(
            f"{name}={value!r} is of type {type(value).__name__}. Pass {wanted}."
        ) from None


def shortened(value: object, most: int = 60) -> str:
    """Return a value as text for an error: what nobody would read to its end is cut.

    Examples
    --------
    >>> shortened(10**400)
    '10000000000000000000000000000000000000000000000000000000000... (401 characters)'
    """
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return f"a {type(value).__name__} of many digits"
    return text if len(text) <= most else f"{text[: most - 1]}... ({len(text)} characters)"


def format_bytes(nbytes: int | float) -> str:
    """Return bytes as a short text with a binary unit.

    Examples
    --------
    >>> format_bytes(33554432), format_bytes(17)
    ('32.0 MiB', '17 B')
    """
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Return a duration as a short text with a fitting unit.

    Examples
    --------
    >>> format_seconds(0.0021), format_seconds(75.0)
    ('2.10 ms', '1 min 15 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def signed(value: float, text: Callable[[float], str]) -> str:
    """Return a change as a text with its sign.

    Examples
    --------
    >>> signed(-2048, format_bytes), signed(0.5, format_seconds)
    ('-2.0 KiB', '+500.00 ms')
    """
    return ("+" if value > 0 else "-" if value < 0 else "") + text(abs(value))
