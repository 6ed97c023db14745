"""The promise of same bits, put to the test on a user's problem."""

from __future__ import annotations

from collections.abc import Iterable

from .._sizes import as_bytes, format_bytes
from ..errors import BadValue, BudgetTooSmall, LawBroken
from ..planning import Costs, plan
from ..problem import Problem
from ..running import RunRecord, measure, run
from ._driver import Driver, Outputs, differing

__all__ = ["bitwise_test"]

_SIZES = 5


def bitwise_test(
    problem: Problem,
    budgets: Iterable[int | str] | None = None,
    *,
    outputs: Outputs | None = None,
    costs: Costs | None = None,
) -> tuple[RunRecord, ...]:
    """Check that the gradient has the same bits whatever the budget.

    The reference is played by hand, with the whole history stored and without plan or tiers;
    each budget then goes through `adjourn.run`. It takes one run for each budget and two more,
    and the memory of the whole history.

    Parameters
    ----------
    problem : Problem
        The problem, its data set. Afterwards it holds the gradient of the last run.
    budgets : iterable of int or str, optional
        Budgets in bytes; by default five from the least that works to the whole history.
    outputs : callable, optional
        Takes the problem to a dict of its outputs; by default what ``carried()`` returns.
    costs : Costs, optional
        Measured before; otherwise the problem is measured once.

    Returns
    -------
    tuple of RunRecord
        The record of each run, in the order of the budgets.

    Raises
    ------
    LawBroken
        A gradient differs; the message names budget, plan and array. `check_laws` and
        `reproducible` tell why.
    BadValue
        No budgets, or no outputs to compare.
    BudgetTooSmall
        A budget given is too small for any plan.
    """
    driver = Driver(problem, outputs)
    reference = driver.gradient()
    costs = measure(problem, progress=False) if costs is None else costs
    chosen = _sizes(driver, costs) if budgets is None else [as_bytes(b) for b in budgets]
    if not chosen:
        raise BadValue("budgets is empty: nothing was tested. Pass one budget or more.")
    records: list[RunRecord] = []
    for budget in chosen:
        made = plan(driver.steps, costs, budget)
        records.append(run(problem, made, progress=False))
        difference = differing(reference, driver.outputs())
        if difference is not None:
            raise LawBroken(
                "same bits",
                f"within {format_bytes(budget)}, by {made.family}, {difference}, compared with "
                "the stored history. Run check_laws and reproducible on a small instance to see "
                "why.",
            )
    return tuple(records)


def _sizes(driver: Driver, costs: Costs) -> list[int]:
    """Return budgets from the least that works to the whole history, evenly by ratio."""
    try:
        plan(driver.steps, costs, 0)
    except BudgetTooSmall as error:
        least = error.least or 1
    else:
        return [0]
    per_step = max((recording.left for recording in costs.recordings), default=0)
    window = costs.window
    whole = window.nbytes(driver.steps) if window is not None else driver.steps * per_step
    whole = max(whole + costs.standing + costs.snapshot, least)
    ratio = whole / least
    return [round(least * ratio ** (k / (_SIZES - 1))) for k in range(_SIZES)]
