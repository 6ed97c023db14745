"""Devito quiet and serial."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator

import pytest

os.environ.setdefault("DEVITO_LOGGING", "ERROR")
os.environ.setdefault("DEVITO_LANGUAGE", "C")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say why Devito tests are skipped where there is no C compiler."""
    if shutil.which("gcc") is None and "DEVITO_ARCH" not in os.environ:
        for item in items:
            if item.get_closest_marker("devito"):
                item.add_marker(pytest.mark.skip(reason="Devito needs gcc, which is not installed"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Let Devito's own warnings pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"devito\..*")
        yield
