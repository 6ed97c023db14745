"""`drive`: a loss whose time loop runs from Python, through main memory and disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

from ...errors import BadValue
from ...planning import Plan
from ...running import RunRecord, Storage, find_runs, resume, run
from ...schedules import Schedule
from .._compat import jax, jnp
from ._loss_problem import CompiledLoss, LossProblem, compile_loss, refuse_traced

__all__ = ["Driven", "drive", "driven_value_and_grad"]

Place = str | Path | None


@dataclass(frozen=True, slots=True)
class Driven:
    """What `drive` returns.

    Attributes
    ----------
    value : array
        The loss.
    aux : pytree
        What it returns besides, with ``has_aux``.
    gradient : pytree
        As `jax.value_and_grad` returns it.
    record : RunRecord
        Predicted and measured time and bytes; its fallbacks name other loops of the loss.
    """

    value: Any
    aux: Any
    gradient: Any
    record: RunRecord


def drive(
    loss: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    budget: int | str | None = None,
    disk: int | str | None = None,
    directory: Place = None,
    plan: Plan | Schedule | None = None,
    storage: Storage | None = None,
    progress: bool = True,
) -> Driven:
    """Compute value and gradient of a loss, its time loop driven from Python.

    The loss is traced and taken apart at its longest `jax.lax.scan`, as `LossProblem` says, and
    run within a budget of main memory and disk as `adjourn.run` does: the gradient has the same
    bits whatever they are. A call in a directory that holds a run of the same loss and
    arguments goes on with it: a script that was killed is started again as it is.

    Each call of a compiled program takes 10 us or more, by the leaves of the carry, over the
    loop in one program. It is the way to more states than the device holds, and takes real
    arrays only: what fits the device is the business of `adjourn.jax.value_and_grad` with a
    plan, or a budget alone.

    Parameters
    ----------
    loss, *args, argnums, has_aux
        As `jax.value_and_grad` and what it returns take them.
    budget, disk, directory, storage, progress
        As `adjourn.run` takes them.
    plan : Plan or Schedule, optional
        Instead of a budget: ``record.plan`` of an earlier run with arguments of the same
        shapes, or a schedule.

    Raises
    ------
    NotSupported
        The loss has no such loop, the call is under a trace, or an argument is spread over
        several devices.
    WrongType
        The loss is no real scalar, or an argument to differentiate by is none of real or
        complex numbers.
    BudgetTooSmall
        No schedule fits.
    WrongLedger
        The directory holds a run of another loss or other arguments.
    BadValue, DiskFull, CorruptSnapshot, DirectoryBusy
        As for `adjourn.run`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(rate, u):
    ...     last, _ = jax.lax.scan(lambda u, _: (u - 0.1 * rate * jnp.sin(u), None), u, None, 50)
    ...     return jnp.sum(last**2)
    >>> driven = adjourn.jax.drive(loss, 0.5, jnp.ones(8), budget=1024, progress=False)
    >>> print(driven.gradient.round(3))
    -0.6
    """
    refuse_traced(args, "adjourn.jax.drive")
    if budget is None and plan is None and not _unfinished(directory):
        raise BadValue('neither a plan nor a budget is given. Pass budget="2 GiB", or a plan.')
    problem = LossProblem(loss, *args, argnums=argnums, has_aux=has_aux)
    return _driven(problem, budget, disk, directory, plan, storage, progress)


def driven_value_and_grad(
    loss: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    *,
    budget: int | str,
    disk: int | str | None,
    directory: Place,
    storage: Storage | None,
) -> Callable[..., Any]:
    """Return `value_and_grad` of a loss that is driven: planned once for each shape."""
    known: dict[Any, tuple[CompiledLoss, Plan | None]] = {}

    @wraps(loss)
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse_traced((args, kwargs), "value_and_grad with disk= or directory=")
        if kwargs:
            raise BadValue(
                f"{', '.join(kwargs)} passed by name: the inputs of a loop that is driven are "
                "passed by position. Pass them so."
            )
        leaves, structure = jax.tree.flatten(args)
        kinds = [(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]
        key = (structure, tuple(kinds))
        made, plan = known.get(key) or (compile_loss(loss, args, argnums, has_aux), None)
        begun = _unfinished(directory)
        limits = (budget, disk) if plan is None else (None, None)
        problem = LossProblem.of(made, args)
        done = _driven(problem, *limits, directory, plan, storage, progress=True)
        known[key] = made, plan if begun else done.record.plan
        return ((done.value, done.aux) if has_aux else done.value), done.gradient

    return call


def _driven(
    problem: LossProblem,
    budget: int | str | None,
    disk: int | str | None,
    directory: Place,
    plan: Plan | Schedule | None,
    storage: Storage | None,
    progress: bool,
) -> Driven:
    if directory is not None and _unfinished(directory):
        record = resume(directory, problem, storage=storage, progress=progress)
    else:
        record = run(
            problem,
            plan,
            budget=budget,
            disk=disk,
            directory=directory,
            storage=storage,
            progress=progress,
        )
    record = replace(record, fallbacks=(*record.fallbacks, *problem.told))
    return Driven(problem.value, problem.aux, problem.gradient, record)


def _unfinished(directory: Place) -> bool:
    """Return whether a directory itself holds a run that was begun and not finished."""
    if directory is None or not Path(directory).is_dir():
        return False
    place = Path(directory)
    return any(Path(found.path) == place and found.steps is not None for found in find_runs(place))
