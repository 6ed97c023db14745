"""Whether a Devito gradient operator reads stored levels only."""

from __future__ import annotations

from typing import Any

__all__ = ["stored_levels_suffice"]


def stored_levels_suffice(checkpoint: Any, forward: Any, reverse: Any) -> bool:
    """Return whether the reverse of a step reads no more than a checkpoint of that step holds.

    True only where the generated code of Devito operators proves it: what the forward operator
    writes and the reverse operator reads are wavefields of the checkpoint, each at levels that
    `devito.DevitoCheckpoint` keeps.
    """
    objects = getattr(checkpoint, "objects", None)
    fop: Any = getattr(forward, "op", None)
    rop: Any = getattr(reverse, "op", None)
    offset = getattr(reverse, "start_offset", None)
    if not objects or offset is None or not hasattr(fop, "_dspace") or not hasattr(rop, "_dspace"):
        return False
    from ..devito import time_accesses  # noqa: PLC0415

    orders = {str(f.name): int(f.time_order) for f in objects}
    places = {_address(forward, str(f.name)) for f in fop.writes}
    shared = {str(f.name) for f in rop.reads if _address(reverse, str(f.name)) in places}
    if None in places or shared - set(orders):
        return False
    for name, access in time_accesses(rop).items():
        if name in shared:
            low, high = access.low + offset, access.high + offset
            if access.kind != "ring" or low < 0 or high > orders[name] - 1:
                return False
    return True


def _address(operator: Any, name: str) -> int | None:
    """Return where the data of an operator's argument begin; the same name may be other data."""
    try:
        return operator.args[name]._obj.data.value
    except (AttributeError, KeyError, TypeError):
        return None
