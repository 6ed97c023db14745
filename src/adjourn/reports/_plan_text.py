"""A plan at 80 columns."""

from __future__ import annotations

from ..planning import Plan
from ..schedules import Counts
from ._words import count, listed, plural, ratio, size, span, table, titled

__all__ = ["considered", "facts", "optimality", "plan_text", "plan_title"]


def plan_text(plan: Plan) -> str:
    """Return a plan as text of 80 columns: what, how long, how much, why."""
    lines = [*titled(plan_title(plan)), ""]
    label = max(len(name) for name, _ in facts(plan)) + 2
    for name, words in facts(plan):
        lines += listed([words], name.ljust(label))
    lines += ["", "Why this plan", *listed(plan.reasons)]
    if len(plan.candidates) > 1:
        lines += ["", *considered(plan)]
    return "\n".join(lines) + "\n"


def plan_title(plan: Plan) -> str:
    """Return what was planned in one line."""
    within = "by a schedule given by hand"
    if plan.budget is not None:
        within = f"within {size(plan.budget)}"
    if plan.disk is not None:
        within += f" and {size(plan.disk)} of disk"
    return f"Plan: {plural(plan.steps, 'step')} {within}"


def facts(plan: Plan) -> list[tuple[str, str]]:
    """Return the figures of a plan as pairs of a name and words."""
    counts = plan.schedule.counts
    whole = plan.store_all_seconds
    forward = counts.advances + counts.records
    time = (
        f"{span(plan.seconds)} predicted, "
        f"{ratio(plan.seconds, whole)} times as long as with the whole history stored"
    )
    steps = (
        f"{plural(forward, 'forward step')}: {count(counts.records)} recorded, "
        f"{count(max(forward - plan.steps, 0))} beyond one plain run"
    )
    played = "played action by action before the run"
    if not plan.checked:
        played = "not played: longer than what the checker plays as a matter of course"
    return [
        ("schedule", plan.candidates[0].name if plan.candidates else plan.family),
        ("time", time),
        ("memory", f"{size(plan.peak_bytes)} held at the peak{_share(plan)}"),
        ("steps", steps),
        ("snapshots", _snapshots(counts)),
        ("optimal", optimality(plan)),
        ("checked", played),
    ]


def optimality(plan: Plan) -> str:
    """Return how far the plan may be from the optimum, in words."""
    if plan.gap is None:
        return "the fastest of the families considered; no lower bound is known here"
    if plan.gap == 0:
        return "yes, by the stated costs no schedule within this budget is faster"
    return f"within {100 * plan.gap:.2g}% of a proven lower bound"


def considered(plan: Plan) -> list[str]:
    """Return the table of the schedules that were compared."""
    fastest = plan.candidates[0].seconds
    rows = [
        (c.name, span(c.seconds), ratio(c.seconds, fastest), size(c.peak_bytes))
        for c in plan.candidates
    ]
    return table(("considered", "time", "ratio", "peak"), rows)


def _share(plan: Plan) -> str:
    if not plan.budget:
        return ""
    return f", {100 * plan.peak_bytes / plan.budget:.1f}% of the budget"


def _snapshots(counts: Counts) -> str:
    tiers = [
        f"{count(held)} held {'in memory' if tier == 0 else 'on disk'}, "
        f"saved {plural(writes, 'time')} and loaded {plural(reads, 'time')}"
        for tier, (held, writes, reads) in enumerate(
            zip(counts.snapshots, counts.writes, counts.reads, strict=True)
        )
        if held
    ]
    return "; ".join(tiers) or "none"
