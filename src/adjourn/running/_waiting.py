"""How long a run waits for its disk: predicted by the costs, and measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ..planning import Costs
from ..schedules import Advance, Load, Record, Reverse, Save, Schedule
from ..tiers import Background, DiskPool, Encoded, Tier
from ..tiers._held import Held
from ._record import TierUse
from ._storage import encoded_tier

__all__ = ["predict_waiting", "tier_uses"]

_LONGEST = 1_000_000


def predict_waiting(schedule: Schedule, costs: Costs, tier: int, buffers: int) -> float | None:
    """Return the seconds that a run is predicted to stand still for the saves and loads of a tier.

    Without staging buffers that is every transfer. With them one thread transfers, in the order
    of the calls: a save waits for a buffer, a load for what is left of a read that was begun as
    soon as thread and buffer were free. Costs a microsecond an action; None for schedules of
    more than a million actions, or if the costs know no disk.
    """
    counts = schedule.counts
    write, read = costs.disk_write, costs.disk_read
    if not tier:
        write, read = costs.write, costs.read
    if write is None or read is None or tier >= len(counts.writes):
        return None
    if not buffers:
        return counts.writes[tier] * write + counts.reads[tier] * read
    if 3 * (sum(counts.writes) + sum(counts.reads) + counts.records) > _LONGEST:
        return None
    record = max(costs.recordings[0].seconds - costs.reverse, 0.0) if costs.recordings else 0.0
    now = waited = idle = asked = 0.0
    busy: deque[float] = deque()  # when each buffer in use will be free
    for action in schedule:
        if isinstance(action, Advance):
            now += (action.stop - action.start) * costs.advance
        elif isinstance(action, Record):
            now += (action.stop - action.start) * record
        elif isinstance(action, Reverse):
            now += (action.stop - action.start) * costs.reverse
        elif isinstance(action, Save) and action.tier == tier:
            while busy and busy[0] <= now:
                busy.popleft()
            if len(busy) >= buffers:
                waited += busy[0] - now
                now = busy.popleft()
            now += costs.write
            waited += costs.write
            idle = max(idle, now) + write
            busy.append(idle)
            asked = now
        elif isinstance(action, Load) and action.tier == tier:
            idle = max(idle, asked) + read
            late = max(idle - now, 0.0)
            waited += late + costs.read
            now += late + costs.read
            asked = now
    return waited


def tier_uses(
    tiers: Sequence[Tier], waits: Sequence[float], schedule: Schedule, costs: Costs
) -> Iterator[TierUse]:
    """Yield what each tier of note did; ``waits`` are the seconds in its calls."""
    for number, tier in enumerate(tiers):
        if isinstance(tier, Held):
            continue
        if number or encoded_tier(tier) is not None:
            yield _use(tier, waits[number], number, schedule, costs)


def _use(tier: Tier, waited: float, number: int, schedule: Schedule, costs: Costs) -> TierUse:
    values: dict[str, Any] = {
        "name": tier.name,
        "memory_bytes": tier.nbytes,
        "waited_seconds": waited,
    }
    inner: Any = tier
    buffers = 0
    if isinstance(inner, Background):
        waiting = inner.waiting
        buffers = inner.buffers
        values |= {
            "transfer_seconds": waiting.transfer,
            "prefetched": waiting.prefetched,
            "loads": waiting.loads,
        }
        inner = inner.inner
    if isinstance(inner, Encoded):
        loss = inner.loss
        values |= {"ratio": loss.ratio, "largest_error": loss.largest, "rms_error": loss.rms}
        values["scale"] = loss.scale
        encoding = costs.encoding
        if encoding is not None:
            values["gradient_error"] = encoding.gradient
            values["stretch"] = (encoding.start, encoding.stop)
        inner = inner.inner
    known = isinstance(inner, DiskPool)
    return TierUse(
        transfer=inner.transfer if known else "",
        file_system=inner.file_system if known else "",
        disk_bytes=inner.disk_bytes if known else 0,
        predicted_seconds=predict_waiting(schedule, costs, number, buffers),
        **values,
    )
