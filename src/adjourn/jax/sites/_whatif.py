"""Any placement of a JAX program in context, without compiling anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._sizes import format_bytes
from ...running._progress import spinner
from .._marks import as_packages
from .._program import trace
from ._explain import SiteFigures, explained, figures_of
from ._incontext import Ways
from ._placing import Placer
from ._profile import as_drops, opened_up, profiled
from ._site_search import resolved

__all__ = ["WhatIf", "what_if"]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A placement in context; made by `what_if`; a value.

    Attributes
    ----------
    nbytes : int
        Most bytes held by value and gradient; one step's working memory comes on top.
    before : int
        The same with no site running again.
    at_peak : str
        The site that is being reversed then; empty at the turn, when all is kept at once.
    figures : tuple of SiteFigures
        What each site saves in the context of the others, and why.
    """

    nbytes: int
    before: int
    at_peak: str
    figures: tuple[SiteFigures, ...]

    def __str__(self) -> str:
        """Return the placement in lines of text."""
        head = (
            f"{format_bytes(self.nbytes)} in context, {format_bytes(self.before)} with no site "
            "running again"
        )
        return f"{head}\n{explained(self.figures)}"


def what_if(
    loss: Callable[..., Any],
    *args: Any,
    sites: str | Sequence[str],
    packages: Sequence[str] | str = (),
    slots: int | str = "all",
    window: int = 1,
    argnums: int | Sequence[int] = 0,
    checkpoints: str = "keep",
    progress: bool = True,
) -> WhatIf:
    """Return what a placement would hold in context, and what each site does there.

    Answers why a checkpoint saved nothing: what a site frees may be kept for others, its inputs
    may have to be kept instead, or the most may be held elsewhere. Costs one trace, a trace of
    the derivative of each distinct equation, and milliseconds for each site; nothing is
    compiled or run, so that seconds are guesses from the bytes that are moved.

    Parameters
    ----------
    loss : callable
        Pure and traceable.
    *args
        Inputs.
    sites : sequence of str
        Paths or names of what is to run again.
    packages, checkpoints, argnums, progress
        As in `adjourn.jax.plan`.
    slots, window
        What the loops of the program keep, as in `adjourn.jax.scan`.

    Raises
    ------
    BadValue
        A site is not in the program, or must not run again.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(x):
    ...     part = adjourn.jax.site(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), name="part")
    ...     return jnp.cos(part(part(x))).sum()
    >>> seen = adjourn.jax.what_if(loss, jnp.ones(1000), sites=["part"], progress=False)
    >>> seen.figures[0].path, seen.figures[0].why
    ('part()#0', 'what it frees is worth its second run')
    """
    names, drops = as_packages(packages), as_drops(checkpoints)
    with spinner("tracing the loss", enabled=progress) as shown:
        program = trace(loss, *args, packages=names)
        root = opened_up(program, args, argnums, drops=drops)
        placer = Placer(profiled(root, args, 0.0, shown.update))
        found = placer.allowed_sites(resolved(sites, program))
        ways = Ways(slots, window)
        held = placer.model.held(found, ways)
        before = placer.nbytes(frozenset(), ways)
        return WhatIf(held.peak, before, held.at_peak, figures_of(placer, found, ways))
