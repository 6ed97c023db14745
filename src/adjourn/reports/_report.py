"""Everything that one report shows, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import BadValue
from ..planning import Curve
from ..running import RunRecord
from ._field import Field
from ._record_text import record_text
from ._words import listed, ratio, size, span

__all__ = ["Report"]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Report:
    """A run, what it was compared with, and what there is to see.

    Attributes
    ----------
    record : RunRecord
        The run within the budget.
    title : str
        One line on top.
    stored : RunRecord or None
        The same gradient with the whole history stored.
    same_bits : bool or None
        Whether both gradients are equal bit for bit; None if they were not compared.
    curve : Curve or None
        Time against budget.
    fields : tuple of Field
        Model, gradient.
    about : tuple of (str, str)
        What else to say: command, machine, versions.
    """

    record: RunRecord
    title: str = ""
    stored: RunRecord | None = None
    same_bits: bool | None = None
    curve: Curve | None = None
    fields: tuple[Field, ...] = ()
    about: tuple[tuple[str, str], ...] = ()

    @property
    def verdict(self) -> str:
        """What the comparison with the stored history showed, in a sentence."""
        if self.same_bits is None:
            return "Not compared with the stored history."
        if self.same_bits:
            return "The gradient equals the one with the whole history stored, bit for bit."
        return "The gradient DIFFERS from the one with the whole history stored."

    def text(self) -> str:
        """Return the report at 80 columns."""
        lines: list[str] = []
        if self.title:
            lines += [*listed([self.title], ""), ""]
        if self.same_bits is not None:
            lines += [self.verdict]
        if self.stored is not None:
            lines += [*listed([self.against_stored()], "")]
        if lines and lines[-1]:
            lines.append("")
        text = "\n".join([*lines, record_text(self.record).rstrip("\n")])
        return text + "\n"

    def against_stored(self) -> str:
        """Return time and memory beside those of the stored history, in a sentence."""
        if self.stored is None:
            return ""
        record, stored = self.record, self.stored
        share = 100 * record.peak_bytes / max(stored.peak_bytes, 1)
        return (
            f"It took {span(record.cpu_seconds)} and {size(record.peak_bytes)}; with the whole "
            f"history stored {span(stored.cpu_seconds)} and {size(stored.peak_bytes)}: "
            f"{ratio(record.cpu_seconds, stored.cpu_seconds)} times the time at {share:.1f}% of "
            "the memory."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON value; `Report.from_json` is the way back."""
        return {
            "schema": SCHEMA,
            "kind": "report",
            "title": self.title,
            "record": self.record.to_json(),
            "stored": None if self.stored is None else self.stored.to_json(),
            "same_bits": self.same_bits,
            "curve": None if self.curve is None else self.curve.to_json(),
            "fields": [field.to_json() for field in self.fields],
            "about": [list(pair) for pair in self.about],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Report:
        """Return the report that `to_json` wrote; a run record becomes a report of its own.

        Raises
        ------
        BadValue
            The value was written under another schema, or is neither.
        """
        if value.get("kind") != "report":
            if "plan" not in value or "verbs" not in value:
                raise BadValue(
                    "the value is neither a report nor a run record. Pass what `adjourn demo "
                    "--json` or RunRecord.to_json() wrote."
                )
            return cls(RunRecord.from_json(value))
        if value.get("schema") != SCHEMA:
            raise BadValue(
                f"the report has schema {value.get('schema')!r}, and this version reads {SCHEMA}. "
                "Use the version that wrote it."
            )
        stored, curve = value["stored"], value["curve"]
        return cls(
            record=RunRecord.from_json(value["record"]),
            title=value["title"],
            stored=None if stored is None else RunRecord.from_json(stored),
            same_bits=value["same_bits"],
            curve=None if curve is None else Curve.from_json(curve),
            fields=tuple(Field.from_json(field) for field in value["fields"]),
            about=tuple((name, words) for name, words in value["about"]),
        )
