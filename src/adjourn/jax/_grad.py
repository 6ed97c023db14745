"""`value_and_grad`, `grad` and `vjp` under a plan or a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from ..errors import BadValue, WrongType
from ..running import Storage
from ._compat import jax, jnp
from ._plan import Plan
from ._planning import plan as make_plan
from ._planning import refuse_tracers
from .driven._drive import driven_value_and_grad

__all__ = ["grad", "value_and_grad", "vjp"]


def value_and_grad(
    loss: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    plan: Plan | None = None,
    budget: int | str | None = None,
    effort: int = 3,
    disk: int | str | None = None,
    directory: str | Path | None = None,
    storage: Storage | None = None,
) -> Callable[..., Any]:
    """Return value and gradient as `jax.value_and_grad` does, within a budget of bytes.

    With ``plan=`` the result is pure and traceable, for jit, vmap and all else; compiled as a
    whole, by your jit or its own, it needs what was planned. With ``budget=`` it is planned at
    the first call on inputs of given shapes and types, and compiled.

    With ``disk=`` or ``directory=`` besides, the time loop is driven from Python as by
    `adjourn.jax.drive`, and the budget is that of `adjourn.run`: main memory for snapshots and
    recorded steps. A call in a directory that holds a run of the same loss and arguments, which
    was killed, goes on with it.

    Parameters
    ----------
    loss, argnums, has_aux
        As in `jax.value_and_grad`.
    plan : Plan, optional
        From `adjourn.jax.plan` on the same loss and inputs of the same shapes.
    budget : int or str, optional
        Instead of a plan.
    effort : int
        Compilations at most, with a budget alone.
    disk, directory, storage
        As `adjourn.run` takes them.

    Raises
    ------
    WrongType
        Neither plan nor budget, or both; a disk or directory without a budget.
    BadValue
        When called: the program is not the one that was planned; says where it differs.
    NotSupported
        When called: a budget under a trace.
    BudgetTooSmall
        When called: nothing fits.
    """
    driven = disk is not None or directory is not None or storage is not None
    if driven and budget is not None and plan is None:
        return driven_value_and_grad(
            loss,
            argnums,
            has_aux,
            budget=budget,
            disk=disk,
            directory=directory,
            storage=storage,
        )
    if driven:
        raise WrongType(
            "disk=, directory= or storage= with a plan or without a budget. Pass budget= with "
            "them; the plan of a loop that is driven goes to adjourn.jax.drive."
        )
    if plan is not None and budget is None:
        return jax.jit(jax.value_and_grad(_checked(plan).apply(loss), argnums, has_aux))
    if plan is not None or budget is None:
        raise WrongType("pass either plan=, from adjourn.jax.plan, or budget=, a number of bytes.")
    allowed, known = budget, dict[Any, Any]()

    @wraps(loss)
    def run(*args: Any, **kwargs: Any) -> Any:
        refuse_tracers((args, kwargs), "value_and_grad")
        if kwargs:
            raise BadValue(
                f"{', '.join(kwargs)} passed by name: with budget= the inputs are planned on, by "
                "position. Pass them by position, or a plan."
            )
        leaves, structure = jax.tree.flatten(args)
        kinds = [(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]
        key = (structure, tuple(kinds))
        if key not in known:
            made = make_plan(
                loss, *args, budget=allowed, argnums=argnums, has_aux=has_aux, effort=effort
            )
            known[key] = value_and_grad(loss, argnums, has_aux, plan=made)
        return known[key](*args)

    return run


def grad(
    loss: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    plan: Plan | None = None,
    budget: int | str | None = None,
    effort: int = 3,
    disk: int | str | None = None,
    directory: str | Path | None = None,
    storage: Storage | None = None,
) -> Callable[..., Any]:
    """Return the gradient as `jax.grad` does, within a budget: see `value_and_grad`."""
    both = value_and_grad(
        loss,
        argnums,
        has_aux,
        plan=plan,
        budget=budget,
        effort=effort,
        disk=disk,
        directory=directory,
        storage=storage,
    )

    @wraps(loss)
    def run(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return run


def vjp(function: Callable[..., Any], *args: Any, plan: Plan, has_aux: bool = False) -> Any:
    """Return value and pullback as `jax.vjp` does, the loops reversed as planned."""
    return jax.vjp(_checked(plan).apply(function), *args, has_aux=has_aux)


def _checked(plan: Plan) -> Plan:
    if not isinstance(plan, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"plan={plan!r} is of type {type(plan).__name__}. Pass a plan from adjourn.jax.plan, "
            "or Plan.from_json of a saved one."
        )
    return plan
