"""Settings of the whole suite: Hypothesis derandomised, one thread for numerical libraries."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", parent=settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("ADJOURN_PROFILE", "ci"))

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference cases and data, which is not part of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference cases is not beside this checkout")
    return SHARED


try:
    _LIBM = ctypes.CDLL("libm.so.6")
except OSError:  # not Linux
    _LIBM = None
_MODES = (ctypes.c_byte * 64)()
if _LIBM is not None:
    _LIBM.fegetenv(_MODES)


@pytest.fixture(autouse=True)
def _floating_point_modes() -> Iterator[None]:
    """Undo what compiled code leaves: Devito's flushes denormal numbers to zero from then on.

    Before a test too, since fixtures of a wider scope may have run such code.
    """
    if _LIBM is not None:
        _LIBM.fesetenv(_MODES)
    yield
    if _LIBM is not None:
        _LIBM.fesetenv(_MODES)
