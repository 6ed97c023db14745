"""The documentation: Sphinx, MyST, furo; `make docs` builds it with warnings as errors."""

from __future__ import annotations

import adjourn

project = "adjourn"
author = "The adjourn developers"
copyright = "2026, the adjourn developers"  # noqa: A001 - Sphinx's name
version = release = adjourn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build/html", "_build/doctrees", "measured/*"]
suppress_warnings = [
    "ref.python",  # "shape (steps, 2)" is words, not a reference
    "ref.footnote",  # see _plain_first_line
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"  # the docstrings say types, shapes and units
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_mock_imports = ["mpi4py"]
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False

html_theme = "furo"
html_title = "adjourn"
html_static_path: list[str] = []
html_theme_options = {"navigation_with_keys": True}


def _plain_first_line(_app, _what, _name, _obj, _options, lines: list[str]) -> None:
    """Turn a footnote mark in the first line to text: tables of summaries have no footnotes."""
    if lines:
        lines[0] = lines[0].replace("[1]_", "[1]")


def setup(app) -> None:
    """Connect what this project needs of Sphinx."""
    app.connect("autodoc-process-docstring", _plain_first_line)
