"""JAX as this room sees it: untyped, and its less public parts in one place."""

from __future__ import annotations

from typing import Any

import jax as _jax
import jax.extend.core as _core
import jax.numpy as _jnp

__all__ = ["core", "jax", "jnp", "lax"]

# JAX's own annotations are partly unknown to a strict checker.
jax: Any = _jax
jnp: Any = _jnp
lax: Any = _jax.lax
core: Any = _core
