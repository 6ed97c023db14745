"""Planning a JAX gradient on real inputs: trace, model, compile, compare, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._sizes import as_bytes, as_count
from ..errors import BadValue, NotSupported
from ..running._progress import spinner
from ._compat import constants, jax
from ._marks import as_packages
from ._plan import Plan
from ._program import trace
from ._search import Search
from .sites._profile import as_drops
from .sites._site_search import SiteSearch

_SECONDS = 5.0  # for timing the sites, for each compilation that is allowed

__all__ = ["curve", "plan", "refuse_tracers"]


def plan(
    loss: Callable[..., Any],
    *args: Any,
    budget: int | str,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    effort: int = 3,
    known: Plan | None = None,
    progress: bool = True,
    packages: Sequence[str] | str = (),
    sites: str | Sequence[str] | None = None,
    checkpoints: str = "keep",
) -> Plan:
    """Choose what the loops of ``loss`` keep, so that its gradient fits the budget.

    The loss is traced on real inputs, its scans and while loops are found wherever they lie, and
    for each way to reverse them the bytes are predicted from the traced gradient. The most
    promising are compiled, the compiler's temporary bytes compared with the budget and the model
    corrected; those that fit are run and the fastest is taken. Costs ``effort`` compilations,
    which may take a minute each for large models, and two or more runs of each gradient that
    fits. With while loops that are differentiated, one compilation and run of the loss more, to
    count their steps.

    With ``packages=`` or ``sites=`` the call tree is chosen too: which calls within a step run
    again in its backward pass, out of the compiler's sight. Each placement is one way to record
    a step, and is combined with every number of snapshots and every window, so that both
    compete for the same bytes; the tree programme gives starts, the bytes in context decide.
    Costs 5 s of timing compiled pieces for each compilation, at most 15 s for each search of
    placements, and as many compilations more as there are baselines that fit and may be as
    fast: none, every step, all sites, the best single site.

    Parameters
    ----------
    loss : callable
        Pure and traceable; returns a real scalar, or with ``has_aux`` a pair.
    *args
        Concrete inputs, as the gradient will get them.
    budget : int or str
        Bytes for all temporary values of value and gradient, as the compiler counts them:
        beyond arguments and results.
    argnums, has_aux
        As in `jax.value_and_grad`.
    effort : int
        Compilations of gradients at most, and up to two more where none of them fits; 0 trusts
        the model, compiles and runs nothing.
    known : Plan, optional
        A plan of the same program: what was compiled and run for it is not done again, and is a
        candidate. With plans for growing budgets passed on, measured time never rises, as in
        `curve`; two calls that know nothing of each other measure apart.
    progress : bool
        Show on a terminal what is going on.
    packages : sequence of str
        Python packages whose calls are sites, such as ``("veros",)``.
    sites : "auto" or sequence of str, optional
        ``"auto"`` chooses among nested jits, loops, branches, and what `site` marked: as by
        default with packages. A list of paths or names: these run again and no others.
    checkpoints : {"keep", "decide"}
        Whether the user's own `jax.checkpoint` stay, or are sites as others.

    Raises
    ------
    BudgetTooSmall
        Nothing that was tried fits; says what the least would be.
    BadValue
        A site is not in the program, or must not run again.
    NotSupported
        Called under a trace: there are no real inputs then.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(u):
    ...     last, _ = jax.lax.scan(lambda u, _: (jnp.sin(u) + u, None), u, None, 500)
    ...     return last.sum()
    >>> plan = adjourn.jax.plan(loss, jnp.ones(1000), budget="512 KiB", progress=False)
    >>> plan.compiled_bytes <= 512 * 1024
    True
    >>> value, gradient = adjourn.jax.value_and_grad(loss, plan=plan)(jnp.ones(1000))
    """
    allowed = as_bytes(budget)
    compiles = as_count(effort, "effort", least=0)
    refuse_tracers(args, "adjourn.jax.plan")
    with spinner("tracing the loss", enabled=progress) as shown:
        names = as_packages(packages)
        program = trace(loss, *args, packages=names)
        refuse_tracers(constants(program.closed), "adjourn.jax.plan")
        search = Search(program, args, (argnums, has_aux), shown)
        if names or sites is not None or as_drops(checkpoints):
            search = SiteSearch(
                *(program, args, (argnums, has_aux), shown),
                packages=names,
                sites=None if sites in (None, "auto") else sites,
                drops=as_drops(checkpoints),
                seconds=_SECONDS * compiles,
            )
        if known is not None:
            reason = known.fingerprint.difference(program.fingerprint)
            if reason is not None:
                raise BadValue(
                    f"known= is the plan of another program: {reason}. Leave it out, or pass a "
                    "plan of this loss on inputs of these shapes."
                )
            search.learn(known)
        return search.best(allowed, compiles)


def curve(
    loss: Callable[..., Any],
    *args: Any,
    budgets: Sequence[int | str],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    effort: int = 3,
    progress: bool = True,
) -> tuple[Plan, ...]:
    """Plan for several budgets together: time against memory.

    What is measured for one budget is a finalist for every larger one, so that the planned time
    never rises with the budget. What was compiled once is not compiled again.

    Parameters
    ----------
    loss, *args, argnums, has_aux, progress
        As in `plan`.
    budgets : sequence of int or str
        Bytes, in any order.
    effort : int
        Compilations at most for each budget, 1 or more.

    Returns
    -------
    tuple of Plan
        One for each budget, in the order given.

    Raises
    ------
    BudgetTooSmall
        A budget holds nothing that was tried; says what the least would be.
    NotSupported
        Called under a trace.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(u):
    ...     last, _ = jax.lax.scan(lambda u, _: (jnp.sin(u) + u, None), u, None, 200)
    ...     return last.sum()
    >>> sizes = ("64 KiB", "512 KiB")
    >>> small, large = adjourn.jax.curve(
    ...     loss, jnp.ones(1000), budgets=sizes, effort=1, progress=False
    ... )
    >>> small.seconds >= large.seconds
    True
    """
    allowed = [as_bytes(budget) for budget in budgets]
    compiles = as_count(effort, "effort")
    refuse_tracers(args, "adjourn.jax.curve")
    with spinner("tracing the loss", enabled=progress) as shown:
        program = trace(loss, *args)
        refuse_tracers(constants(program.closed), "adjourn.jax.curve")
        search = Search(program, args, (argnums, has_aux), shown)
        made = {budget: search.best(budget, compiles) for budget in sorted({*allowed})}
    return tuple(made[budget] for budget in allowed)


def refuse_tracers(args: Any, what: str) -> None:
    """Refuse to plan under a trace, whether it gives arguments or what the loss closes over."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)):
        raise NotSupported(
            f"{what} was called with a budget under a trace (jit, vmap, grad or scan), where "
            "there are no real inputs to plan on. Call adjourn.jax.plan on real inputs first, "
            "and pass plan= here."
        )
