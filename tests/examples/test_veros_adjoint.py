"""The parts of the ocean example that need no ocean model."""

from __future__ import annotations

import base64
import importlib.util
import re
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

pytestmark = pytest.mark.jax


@pytest.fixture(scope="module")
def example():
    """Load the example as a module."""
    path = Path(__file__).parents[2] / "examples" / "veros_adjoint.py"
    spec = importlib.util.spec_from_file_location("veros_adjoint", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_root_has_its_values_and_a_slope_that_is_finite(example):
    """`flat_sqrt` has the bits of `sqrt`, slope 0 at 0, and the slope of `sqrt` elsewhere."""
    x = jnp.array([0.0, 1e-12, 0.25, 4.0])
    assert (example.flat_sqrt(x) == jnp.sqrt(x)).all()
    slope = jax.vmap(jax.grad(example.flat_sqrt))(x)
    assert slope[0] == 0
    assert jnp.allclose(slope[1:], jax.vmap(jax.grad(jnp.sqrt))(x[1:]), rtol=1e-6)
    twice = jax.grad(lambda x: example.flat_sqrt(example.flat_sqrt(x)))(0.0)
    assert twice == 0


def test_the_numpy_of_the_model_differs_in_its_root_alone(example):
    """The stand-in for `jax.numpy` gives its functions, and the flat root."""
    stand_in = example.FlatNumpy()
    assert stand_in.sqrt is example.flat_sqrt
    assert stand_in.maximum is jnp.maximum
    with pytest.raises(AttributeError):
        _ = stand_in.no_such_function


def test_transport_is_velocity_times_area_of_the_channel(example):
    """A uniform current of 2 m/s carries 2 m/s times the wet area south of 20 degrees south."""
    nx, ny, nz = 4, 5, 3
    latitude = np.array([0, 0, -40.0, -30.0, -10.0, 0.0, 10.0, 0, 0])
    state = {
        "u": jnp.full((nx + 4, ny + 4, nz, 3), 2.0),
        "maskU": jnp.ones((nx + 4, ny + 4, nz)).at[2, 2, 0].set(0.0),
        "yt": jnp.asarray(latitude),
        "dyt": jnp.full(ny + 4, 100.0),
        "dzt": jnp.array([50.0, 20.0, 10.0]),
        "tau": jnp.array(1),
    }
    wet = 100.0 * (2 * 80.0 - 50.0)
    assert float(example.transport(state)) == pytest.approx(2 * wet / 1e6)


def test_heat_counts_the_wet_cells_in_the_north(example):
    """The heat content is that of the water north of 20 degrees, 4.1 MJ per kelvin and m^3."""
    nx, ny, nz = 2, 3, 2
    state = {
        "temp": jnp.full((nx + 4, ny + 4, nz, 3), 10.0).at[..., 0].set(99.0),
        "maskT": jnp.ones((nx + 4, ny + 4, nz)).at[2, 4, 0].set(0.0),
        "yt": jnp.array([0, 0, 0.0, 20.0, 40.0, 0, 0]),
        "area_t": jnp.full((nx + 4, ny + 4), 1e10),
        "dzt": jnp.array([300.0, 100.0]),
        "tau": jnp.array(2),
    }
    volume = 1e10 * (2 * 400 - 300)
    assert float(example.heat(state)) == pytest.approx(10 * volume * 4.1e6 / 1e21, rel=1e-6)


def pixels(svg):
    """Return the colours of the picture in a chart, shape (height, width, 3)."""
    data = base64.b64decode(re.search(r"base64,([^\"]+)", svg)[1])
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        chunks[kind] = data[at + 8 : at + 8 + size]
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    palette = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    return palette[rows[:, 1:]].astype(int)


def test_a_chart_has_north_up_and_east_right(example):
    """The cell of largest x and y is red in the upper right corner, the least blue lower left."""
    values = np.zeros((3, 5))
    values[2, 4], values[0, 0] = 1.0, -1.0
    svg = example.chart(values, np.arange(3.0), np.arange(5.0), "what", "Sv/K")
    picture = pixels(svg)
    assert picture.shape == (5, 3, 3)
    red, blue = picture[0, 2], picture[4, 0]
    assert red[0] > 2 * red[2]
    assert blue[2] > 2 * blue[0]
    assert "what" in svg
    assert "Sv/K" in svg
