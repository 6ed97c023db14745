"""A run at 80 columns: predicted beside measured."""

from __future__ import annotations

from ..planning import Plan
from ..running import RunRecord, TierUse
from ._plan_text import considered, facts
from ._words import count, listed, plural, ratio, size, span, table, titled

__all__ = ["compared", "record_text", "record_title", "remarks"]

_SHARED = 1.25  # wall time over processor time, from where it is no measure of work
_NAMES = {
    "advance": ("advance", "step"),
    "record": ("record", "step"),
    "save": ("save", "snapshot"),
    "load": ("load", "snapshot"),
    "turn": ("turn", "time"),
    "reverse": ("reverse", "step"),
}


def record_text(record: RunRecord) -> str:
    """Return what a run took as text of 80 columns."""
    lines = [*titled(record_title(record)), ""]
    lines += table(("", "predicted", "measured", "ratio"), compared(record))
    lines += ["", *listed(remarks(record))]
    lines += ["", "Plan", *_plan(record.plan)]
    lines += ["", "Why this plan", *listed(record.plan.reasons)]
    if len(record.plan.candidates) > 1:
        lines += ["", *considered(record.plan)]
    return "\n".join(lines) + "\n"


def record_title(record: RunRecord) -> str:
    """Return what was run in one line."""
    steps = plural(record.plan.steps, "step")
    if record.plan.budget is None:
        return f"Gradient of {steps}, by a schedule given by hand"
    return f"Gradient of {steps} within {size(record.plan.budget)}"


def compared(record: RunRecord) -> list[tuple[str, str, str, str]]:
    """Return rows of what was predicted and what was measured, with their ratio.

    The kinds of action are measured by the clock. Where the run shared its processor with others
    they have no ratio: what is predicted is the processor's time.
    """
    plan, alone = record.plan, not _shared(record)
    rows = [
        (
            "processor time",
            span(plan.seconds),
            span(record.cpu_seconds),
            ratio(record.cpu_seconds, plan.seconds),
        ),
        (
            "peak of memory held",
            size(plan.peak_bytes),
            size(record.peak_bytes),
            ratio(record.peak_bytes, plan.peak_bytes),
        ),
        (
            "forward steps",
            count(plan.schedule.forward_steps),
            count(record.forward_steps),
            ratio(record.forward_steps, plan.schedule.forward_steps),
        ),
    ]
    for verb in record.verbs:
        if not verb.count and not verb.seconds:
            continue
        name, noun = _NAMES.get(verb.name, (verb.name, "time"))
        predicted = span(verb.predicted) if verb.predicted else "-"
        rows.append(
            (
                f"  {name} {plural(verb.count, noun)}",
                predicted,
                span(verb.seconds),
                ratio(verb.seconds, verb.predicted) if alone else "-",
            )
        )
    rows.append(("  adjourn itself", "-", span(record.own_seconds), "-"))
    return rows


def remarks(record: RunRecord) -> list[str]:
    """Return what else a run took, in sentences."""
    said: list[str] = []
    budget = record.plan.budget
    if budget is not None:
        within = "within" if record.peak_bytes <= budget else "over"
        said.append(f"held {size(record.peak_bytes)}, {within} the budget of {size(budget)}")
    again = record.recomputed_steps
    said.append(
        f"{plural(again, 'forward step')} beyond one plain run of {count(record.plan.steps)}"
        if again > 0
        else "no step was run twice"
    )
    wall = f"wall time {span(record.wall_seconds)}; so are the times of the kinds of action above"
    if _shared(record):
        wall += ", which compare with no prediction: a processor was there for part of it only"
    said.append(wall)
    if record.resident_growth is not None:
        said.append(f"the peak resident set of the process grew by {size(record.resident_growth)}")
    said += [_tier(tier) for tier in record.tiers]
    if record.fallbacks:
        said += [f"not as planned: {words}" for words in record.fallbacks]
    else:
        said.append("everything went as planned: no fallbacks")
    return said


def _shared(record: RunRecord) -> bool:
    waited = sum(tier.waited_seconds for tier in record.tiers)
    return record.wall_seconds - waited > _SHARED * record.cpu_seconds


def _plan(plan: Plan) -> list[str]:
    rows = [(name, words) for name, words in facts(plan) if name not in ("time", "memory")]
    label = max(len(name) for name, _ in rows) + 2
    lines: list[str] = []
    for name, words in rows:
        lines += listed([words], name.ljust(label))
    return lines


def _tier(tier: TierUse) -> str:
    held = f"{size(tier.disk_bytes)} of disk" if tier.disk_bytes else f"{size(tier.memory_bytes)}"
    words = [f"{tier.name}: {held}"]
    if tier.transfer:
        words.append(f"by {tier.transfer} on {tier.file_system}")
    if tier.ratio != 1.0:
        words.append(f"encoded {tier.ratio:.1f} times smaller")
        if tier.largest_error:
            words.append(f"largest error {tier.largest_error:.2g}, rms {tier.rms_error:.2g}")
            if tier.scale:
                words.append(f"largest value {tier.scale:.2g}")
        if tier.gradient_error:
            first, last = tier.stretch
            words.append(f"gradient of steps {first} to {last} off by {tier.gradient_error:.1e}")
    expected = ""
    if tier.predicted_seconds is not None:
        expected = f" ({span(tier.predicted_seconds)} predicted)"
    words.append(f"waited {span(tier.waited_seconds)}{expected}")
    if tier.hidden is not None:
        words.append(f"{100 * tier.hidden:.0f}% of the transfers hidden")
    return ", ".join(words)
