"""JAX in double precision for the tests of this folder."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: adjourn[jax]")
jax.config.update("jax_enable_x64", True)
