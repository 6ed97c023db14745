"""Devito quiet, serial and free of side effects on other tests."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import warnings
from collections.abc import Iterator

import pytest

os.environ.setdefault("DEVITO_LOGGING", "ERROR")
os.environ.setdefault("DEVITO_LANGUAGE", "C")

_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say why Devito tests are skipped where there is no C compiler."""
    if shutil.which("gcc") is None and "DEVITO_ARCH" not in os.environ:
        for item in items:
            if item.get_closest_marker("devito"):
                item.add_marker(pytest.mark.skip(reason="Devito needs gcc, which is not installed"))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Undo the flush-to-zero mode that Devito's code leaves; let its own warnings pass."""
    environment = (ctypes.c_byte * 64)()
    _LIBM.fegetenv(environment)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"devito\..*")
        yield
    _LIBM.fesetenv(environment)
