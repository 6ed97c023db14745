"""A placement in Tapenade's words: its option by routine, its directives by call."""

from __future__ import annotations

from ..calltree import Call, CallTree, Placement
from ..calltree._tree import distinct

__all__ = ["directives", "nocheckpoint", "split_sites"]


def split_sites(placement: Placement) -> tuple[str, ...]:
    """Return the names of the sites that a placement splits, each once, without their contexts."""
    names = (str(key).rsplit("/", maxsplit=1)[-1].partition("#")[0] for key in placement.split)
    return tuple(dict.fromkeys(names))


def nocheckpoint(placement: Placement) -> str:
    """Return the option for Tapenade's command line, of a tree that is named by routine.

    Examples
    --------
    >>> from adjourn.calltree import Leaf, place
    >>> tree = CallTree([Call("f", 2, 0, [Leaf(advance=1, seconds=3, left=2, peak=2)])])
    >>> nocheckpoint(place(tree, 4))
    '-nocheckpoint "f"'
    """
    return f'-nocheckpoint "{" ".join(split_sites(placement))}"'


def directives(tree: CallTree, placement: Placement) -> tuple[str, ...]:
    """Return where ``$AD NOCHECKPOINT`` belongs, one text a call."""
    calls = {str(item.site): item for item in distinct(tree.body) if isinstance(item, Call)}
    found: list[str] = []
    for name in split_sites(placement):
        call = calls[name]
        where = name if call.file is None else f"{call.file}:{call.line}"
        found.append(f"{where}: $AD NOCHECKPOINT before the call of {call.routine or name}")
    return tuple(found)
