"""From costs and a budget in bytes to the fastest plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from .._sizes import as_bytes, as_count, format_bytes, format_seconds
from ..checker import check
from ..errors import BadValue, BudgetTooSmall, ScheduleError, WrongType
from ..schedules import Schedule
from ._anywhere import least_anywhere, optimal_fit, recordings_lie_anywhere
from ._background import in_background
from ._candidates import Fit, fixed_window, least_fixed_window, linear, predict_seconds
from ._costs import Costs
from ._levels import over_levels
from ._plan import Candidate, Plan
from ._stages import from_recordings

__all__ = ["candidate_fits", "least_budget", "plan", "plan_schedule"]

MOST_STEPS = 10**7  # planning stays within seconds and 200 MB up to here
_PLAYED = 400_000  # actions the checker plays as a matter of course, about half a second


def plan(steps: int, costs: Costs, budget: int | str, disk: int | str | None = None) -> Plan:
    """Return the fastest plan that reverses ``steps`` steps within ``budget`` bytes.

    The families that the problem allows are compared by predicted time: all that is stored, if
    it fits; with a fixed window, segments and Revolve on blocks, optimal among all schedules
    for such a problem [1]_; where recordings may lie anywhere, the optimum over all schedules
    of snapshots and recordings; where copies cost time or there is a disk, H-Revolve on blocks,
    which no other family beats while its tables are affordable, and beyond that multistage
    and periodic writes; with staging buffers, writes in the background. A larger budget never
    gives a slower plan. The checker plays the chosen schedule, unless it is longer than 400 000
    actions.

    Parameters
    ----------
    steps : int
        Number of steps, 1 to 10^7.
    costs : Costs
        Seconds and bytes of a step, measured or stated.
    budget : int or str
        Bytes for snapshots, recorded steps, transients and staging, such as ``"2 GiB"``.
    disk : int or str, optional
        Bytes of disk for further snapshots.

    Raises
    ------
    BudgetTooSmall
        No schedule fits; ``least`` is the least budget that would do.
    WrongType, BadValue
        An argument cannot be used.

    References
    ----------
    .. [1] The documentation, "Why these plans are optimal".

    Examples
    --------
    >>> from adjourn import Recording
    >>> costs = Costs(advance=1, recordings=[Recording(seconds=2.5, left=1)], snapshot=2)
    >>> made = plan(10, costs, budget=10)
    >>> made.seconds, made.peak_bytes
    (25.0, 10)
    """
    steps = as_count(steps, "steps", most=MOST_STEPS)
    if not isinstance(costs, Costs):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"costs={costs!r} is not a Costs. Pass adjourn.Costs(...).")
    allowed = as_bytes(budget)
    on_disk = None if disk is None else as_bytes(disk, "disk")
    if on_disk is not None and (costs.disk_write is None or costs.disk_read is None):
        raise BadValue(
            f"disk={disk!r} is given, and the costs do not know how fast the disk is. Pass "
            "Costs(disk_write=, disk_read=, disk_snapshot=), or measure(problem, disk=True)."
        )
    fits = sorted(candidate_fits(steps, costs, allowed, on_disk), key=_preference)
    if not fits:
        least = least_budget(steps, costs)
        raise BudgetTooSmall(_too_small(steps, costs, budget, allowed, least), least)
    chosen = fits[0]
    played = _prove(chosen, costs, allowed)
    return Plan(
        schedule=chosen.schedule,
        costs=costs,
        budget=allowed,
        disk=on_disk,
        seconds=chosen.seconds,
        peak_bytes=chosen.peak_bytes,
        gap=chosen.gap,
        reasons=tuple(_reasons(chosen, fits, costs, allowed)),
        candidates=tuple(Candidate(_name(f), f.seconds, f.peak_bytes) for f in fits),
        checked=played,
    )


def plan_schedule(schedule: Schedule, costs: Costs) -> Plan:
    """Return a plan that plays a given schedule, with its predicted time and bytes.

    Raises
    ------
    ScheduleError
        The schedule breaks a rule.
    """
    seen = check(schedule, costs=costs)
    return Plan(
        schedule=schedule,
        costs=costs,
        budget=None,
        disk=None,
        seconds=predict_seconds(schedule, costs),
        peak_bytes=seen.peak_bytes or 0,
        reasons=("the schedule was given by hand",),
        checked=True,
    )


def candidate_fits(steps: int, costs: Costs, budget: int, disk: int | None) -> Iterable[Fit]:
    """Return every schedule considered, the best of each family among them."""
    if costs.reads == "nothing":
        return [linear(steps, costs)]
    fits: list[Fit] = []
    if costs.window is not None:
        fits.extend(fixed_window(steps, costs, costs.window, budget))
    if recordings_lie_anywhere(costs):
        best = optimal_fit(steps, costs, budget)
        if best is not None:
            holding = any(recording.holds_state for recording in costs.recordings)
            fits.append(replace(best, gap=None) if holding else best)
        fits.extend(from_recordings(steps, costs, budget))
    known = min((fit.seconds for fit in fits), default=inf)
    fits.extend(over_levels(steps, costs, budget, disk, known))
    known = min((fit.seconds for fit in fits), default=inf)
    fits.extend(in_background(steps, costs, budget, disk, known))
    return fits


def least_budget(steps: int, costs: Costs) -> int:
    """Return the least budget in bytes with which ``steps`` steps can be reversed."""
    frame = costs.window
    if costs.reads == "nothing":
        return 0
    needs: list[int] = []
    if frame is not None:
        needs.append(least_fixed_window(steps, costs, frame))
    if recordings_lie_anywhere(costs):
        needs.append(least_anywhere(steps, costs))
    return min(needs)


def on_disk(schedule: Schedule) -> int:
    """Return the snapshots held on disk at most."""
    held = enumerate(schedule.counts.snapshots)
    return sum(most for tier, most in held if tier and tier != schedule.held)


def _preference(fit: Fit) -> tuple[float, int]:
    return fit.seconds, fit.peak_bytes


def _prove(fit: Fit, costs: Costs, budget: int) -> bool:
    """Play the schedule; its counts, time and bytes must be what was predicted."""
    counts = fit.schedule.counts
    actions = 4 * (sum(counts.writes) + sum(counts.reads)) + 2 * counts.records
    if actions > _PLAYED:
        return False
    seen = check(fit.schedule, costs=costs)
    peak = seen.peak_bytes or 0
    if on_disk(fit.schedule):
        peak += costs.disk_staging
    if fit.schedule.reversal == "tape":
        peak += costs.standing
    if peak > budget or peak > fit.peak_bytes:
        raise ScheduleError(
            f"{_name(fit)} was predicted to hold {fit.peak_bytes} bytes and holds {peak} when "
            f"played, with a budget of {budget}. This is a fault of adjourn: please report it "
            "with the costs and the budget."
        )
    return True


def _name(fit: Fit) -> str:
    schedule = fit.schedule
    schedule = getattr(schedule, "inner", schedule)
    parts = [schedule.family]
    length = getattr(fit.schedule, "length", None)
    if length is not None:
        parts.append(f"{length} steps a window")
    if schedule.slots:
        parts.append(f"{schedule.slots} snapshot{'s' if schedule.slots > 1 else ''}")
    if schedule.reversal == "state":
        parts.append("reversed from states")
    return ", ".join(parts)


def _reasons(chosen: Fit, fits: list[Fit], costs: Costs, budget: int) -> list[str]:
    held = f"{format_bytes(chosen.peak_bytes)} of {format_bytes(budget)} held at the peak"
    words = [f"{_name(chosen)}: {format_seconds(chosen.seconds)} predicted, {held}"]
    if chosen.words:
        words.append(chosen.words)
    counts = chosen.schedule.counts
    outside = on_disk(chosen.schedule)
    if outside:
        in_memory, times = counts.snapshots[0], sum(counts.writes[1:])
        words.append(
            f"{in_memory} snapshots in main memory and {outside} on disk, written {times} times"
        )
    steps = chosen.schedule.steps
    if costs.reads == "nothing":
        words.append("the reverse reads nothing of the forward run: nothing need be stored")
    elif chosen.schedule.family == "store_all":
        words.append("the whole history fits the budget: no step is run twice")
    else:
        frame = costs.window
        whole = (
            steps * min(r.left for r in costs.recordings) if frame is None else frame.nbytes(steps)
        )
        again = max(chosen.schedule.recomputed_steps, 0)
        words.append(
            f"the whole history takes {format_bytes(whole)}, which the budget does not hold: "
            f"{again} forward steps beyond the {steps} of one run"
        )
    for other in fits[1:3]:
        words.append(f"{_name(other)} would take {format_seconds(other.seconds)}")  # noqa: PERF401
    return words


def _too_small(steps: int, costs: Costs, asked: int | str, budget: int, least: int) -> str:
    count = budget // costs.snapshot if costs.snapshot else 0
    held = costs.window.fixed_bytes if costs.window is not None else costs.standing
    parts = "one snapshot and one recorded step"
    if held:  # a problem's own, and what commits to a directory take
        parts = f"one snapshot, one recorded step and {format_bytes(held)} held throughout"
    return (
        f"budget={asked!r} ({format_bytes(budget)}) holds {count} snapshot{'s' * (count != 1)} of "
        f"{format_bytes(costs.snapshot)}; reversing {steps} steps needs {format_bytes(least)} "
        f"for {parts}. Pass budget={least} (bytes) or more."
    )
