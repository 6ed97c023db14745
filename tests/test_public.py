"""The public surface: names, import cost, nothing optional loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adjourn


def test_every_public_name_is_there_and_only_those():
    """`__all__` and what the lazy table offers are the same names."""
    assert set(adjourn.__all__) == set(adjourn._ROOM_OF)
    for name in adjourn.__all__:
        assert getattr(adjourn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        adjourn.nonsense  # noqa: B018


def test_the_core_loads_nothing_optional():
    """Importing every public name loads NumPy and xxhash and no extra."""
    code = (
        "import adjourn, sys; [getattr(adjourn, n) for n in adjourn.__all__];"
        "extras = {'rich', 'jax', 'devito', 'torch', 'scipy', 'segyio', 'zfpy', 'mpi4py'};"
        "print(sorted(extras & set(sys.modules)))"
    )
    seen = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert seen.stdout.strip() == "[]"
