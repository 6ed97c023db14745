"""Text, pictures and pages of plans and runs: nothing is computed here, only shown."""

from ._curve_svg import Mark, curve_svg
from ._curve_text import curve_text
from ._field import Field, field_of
from ._page import html_page
from ._plan_text import plan_text
from ._record_text import record_text
from ._report import Report
from ._schedule_svg import schedule_svg
from ._schedule_text import schedule_text
from ._tree_page import tree_page

__all__ = [
    "Field",
    "Mark",
    "Report",
    "curve_svg",
    "curve_text",
    "field_of",
    "html_page",
    "plan_text",
    "record_text",
    "schedule_svg",
    "schedule_text",
    "tree_page",
]
