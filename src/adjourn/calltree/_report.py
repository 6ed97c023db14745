"""What a placement says about its tree: a table of sites, and the curve with the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from .._sizes import format_bytes, format_seconds, signed
from ._curve import Curve
from ._deltas import deltas
from ._placement import Placement
from ._sites import Key
from ._tree import Call, CallTree, Leaf, Mode, distinct

__all__ = [
    "SiteRow",
    "compared",
    "curve_text",
    "placement_report",
    "site_rows",
    "sites_text",
]

_HIGH, _WIDE = 14, 62


def placement_report(
    tree: CallTree,
    placement: Placement,
    others: Sequence[Placement] = (),
    curve: Curve | None = None,
) -> str:
    """Return a placement with its sites, other placements beside it, and the curve, as text."""
    parts = [placement.text()]
    if others:
        parts.append(compared(placement, others))
    parts.append(sites_text(tree, placement))
    if curve is not None:
        parts.append(curve_text(curve, [placement, *others]))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def compared(placement: Placement, others: Sequence[Placement]) -> str:
    """Return placements side by side."""
    lines = [f"{'method':<28}{'time':>14}{'over best':>11}{'peak':>13}"]
    for one in (placement, *others):
        over = f"{one.seconds / placement.seconds:.3f}" if placement.seconds else "-"
        mark = "" if one.fits else "  over budget"
        lines.append(
            f"{one.method[:28]:<28}{format_seconds(one.seconds):>14}{over:>11}"
            f"{format_bytes(one.peak_bytes):>13}{mark}"
        )
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SiteRow:
    """One call in one context, for a table.

    Attributes
    ----------
    path : site or str
        The site, or its path where it has several contexts.
    mode : {"joint", "split"}
        Its mode.
    seconds, peak_bytes : float, int
        What switching it alone would change; negative is a gain.
    snapshot, tape : int
        Bytes of its snapshot, and of what it records itself.
    holds : bool
        Whether its bytes are part of the peak.
    """

    path: Key
    mode: Mode
    seconds: float
    peak_bytes: int
    snapshot: int
    tape: int
    holds: bool


def site_rows(tree: CallTree, placement: Placement) -> list[SiteRow]:
    """Return one row a site, those whose switching would gain the most time first."""
    by_context = deltas(
        tree, placement.modes, by="context", loops="rerun" if placement.loops else "record"
    )
    sizes: dict[str, tuple[int, int]] = {}
    for node in distinct(tree.body):
        if isinstance(node, Call):
            tape = sum(part.left for part in node.body if isinstance(part, Leaf))
            old = sizes.get(str(node.site), (0, 0))
            sizes[str(node.site)] = (max(old[0], node.snapshot), max(old[1], tape))
    holding = {part.path for part in placement.peak_parts}
    rows: list[SiteRow] = []
    for key, change in sorted(by_context.items(), key=lambda entry: entry[1].seconds):
        label = str(key).rsplit("/", maxsplit=1)[-1].partition("#")[0]
        snapshot, tape = sizes.get(label, (0, 0))
        held = _holds(key, holding)
        rows.append(
            SiteRow(key, change.mode, change.seconds, change.peak_bytes, snapshot, tape, held)
        )
    return rows


def sites_text(tree: CallTree, placement: Placement) -> str:
    """Return one line a site: its mode, what switching it alone would change, its bytes.

    ``*`` marks the sites whose bytes are part of the peak.
    """
    lines = [
        f"  {'site':<26}{'mode':<6}{'if switched':>12}{'peak':>12}{'snapshot':>11}{'tape':>11}"
    ]
    lines += [
        f"{'*' if row.holds else ' ':2}{_short(str(row.path), 25):<26}{row.mode:<6}"
        f"{signed(row.seconds, format_seconds):>12}{signed(row.peak_bytes, format_bytes):>12}"
        f"{format_bytes(row.snapshot):>11}{format_bytes(row.tape):>11}"
        for row in site_rows(tree, placement)
    ]
    return "\n".join(lines)


def _holds(key: Key, holding: set[str]) -> bool:
    text = str(key)
    return any(path == text or path.endswith(f"/{text}") for path in holding)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else "~" + text[-(width - 1) :]


def curve_text(curve: Curve, marks: Sequence[Placement] = ()) -> str:
    """Return time against bytes as a picture of 80 columns, with placements marked by letters."""
    if not curve.points:
        return "no budget works"
    peaks = [peak for peak, _ in curve.points] + [one.peak_bytes for one in marks]
    times = [seconds for _, seconds in curve.points] + [one.seconds for one in marks]
    low, high = max(1, min(peaks)), max(2, *peaks)
    least, most = min(times), max(times)
    wide = (log10(high) - log10(low)) or 1.0
    tall = (most - least) or 1.0
    rows = [[" "] * _WIDE for _ in range(_HIGH)]

    def put(peak: int, seconds: float, mark: str) -> None:
        column = round((log10(max(1, peak)) - log10(low)) / wide * (_WIDE - 1))
        row = round((most - seconds) / tall * (_HIGH - 1))
        rows[row][column] = mark

    for number, (peak, seconds) in enumerate(curve.points):
        put(peak, seconds, ".")
        after = curve.points[number + 1][0] if number + 1 < len(curve.points) else high
        steps = max(1, round(log10(after / max(1, peak)) / wide * _WIDE))
        for step in range(1, steps):
            put(round(peak * (after / max(1, peak)) ** (step / steps)), seconds, ".")
    for number, one in enumerate(marks):
        put(one.peak_bytes, one.seconds, chr(ord("A") + number))
    lines = ["time against bytes held at once"]
    for number, row in enumerate(rows):
        label = most - tall * number / (_HIGH - 1)
        side = format_seconds(label) if number % 4 == 0 or number == _HIGH - 1 else ""
        lines.append(f"{side:>14} |{''.join(row)}".rstrip())
    lines.append(f"{'':14} +{'-' * _WIDE}")
    left, right = format_bytes(low), format_bytes(high)
    lines.append(f"{'':16}{left}{right:>{_WIDE - len(left)}}")
    lines += [
        f"  {chr(ord('A') + number)}  {one.method}" + ("" if one.fits else " (over the budget)")
        for number, one in enumerate(marks)
    ]
    lines += [f"  note: {note}" for note in curve.notes]
    return "\n".join(lines)
