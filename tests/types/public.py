"""The types of the public API, checked by pyright; never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import adjourn
import adjourn.jax
from adjourn import Check, Costs, Curve, Plan, Problem, Recording, RunRecord, Schedule
from adjourn.calltree import CallTree
from adjourn.models import Acoustic


def schedules() -> None:
    """Ask schedules for what they state."""
    schedule = adjourn.revolve(10, 3)
    assert_type(schedule.advances, int)
    assert_type(schedule.limits, tuple[int, ...])
    some: Schedule = adjourn.segments(10, 4)
    assert_type(some.cost(), float)
    assert_type(adjourn.check(some), Check)


def plans(problem: Problem) -> None:
    """Measure, plan, run: each a value of its own type."""
    costs = adjourn.measure(problem)
    assert_type(costs, Costs)
    plan = adjourn.plan(problem.steps, costs, "2 GiB")
    assert_type(plan, Plan)
    assert_type(plan.seconds, float)
    assert_type(plan.peak_bytes, int)
    assert_type(adjourn.curve(problem.steps, costs, "2 GiB"), Curve)
    assert_type(adjourn.run(problem, plan), RunRecord)
    Costs(advance=1.0, recordings=[Recording(seconds=2.0, left=3)], snapshot=4)


def problems(shot: Acoustic) -> None:
    """Pass the built-in model where a problem is asked for."""
    plans(shot)


def jax_programs(loss: Callable[..., Any], u: Any) -> None:
    """Plan, differentiate and explain a JAX function."""
    plan = adjourn.jax.plan(loss, u, budget="1 GiB", packages=("model",))
    assert_type(plan, adjourn.jax.Plan)
    assert_type(plan.compiled_bytes, int | None)
    assert_type(plan.seconds, float | None)
    assert_type(plan.site("solve"), adjourn.jax.SiteFigures)
    assert_type(adjourn.jax.curve(loss, u, budgets=["1 GiB"]), tuple[adjourn.jax.Plan, ...])
    assert_type(adjourn.jax.profile(loss, u, packages=("model",)), CallTree)
    assert_type(plan.explain(), str)
    assert_type(adjourn.jax.what_if(loss, u, sites="solve"), adjourn.jax.WhatIf)
    adjourn.jax.value_and_grad(loss, plan=plan)(u)
