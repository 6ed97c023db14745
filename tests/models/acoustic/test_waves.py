"""The forward model: the scheme, the layer, sources and receivers, memory."""

from __future__ import annotations

import tracemalloc
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.models import Acoustic, layered_model, smooth_model
from adjourn.models.acoustic import ricker
from adjourn.models.acoustic._grid import Grid
from adjourn.models.acoustic._points import Points
from adjourn.testing import dot_product_test

WEIGHTS = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)


def plainly(velocity, spacing, steps, dt, source, receiver):
    """Run the undamped scheme as a textbook writes it, on whole cells, walls rigid."""
    old = np.zeros(velocity.shape)
    now = np.zeros(velocity.shape)
    wavelet = ricker(steps, dt, 10.0)
    trace = []
    for step in range(steps):
        around = np.pad(now, 4)
        laplacian = np.zeros_like(now)
        for axis, h in enumerate(spacing):
            for offset in range(-4, 5):
                shifted = np.roll(around, -offset, axis)
                inner = shifted[tuple(slice(4, -4) for _ in spacing)]
                laplacian += WEIGHTS[abs(offset)] * inner / h**2
        laplacian[source] += wavelet[step] / spacing[0] ** 2
        old, now = now, 2 * now - old + (1000 * velocity * dt) ** 2 * laplacian
        trace.append(now[receiver])
    return now, np.array(trace)


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [((21, 30), (10.0, 10.0)), ((20, 24), (8.0, 11.0)), ((9, 10, 11), (10.0, 9.0, 10.0))],
)
def test_the_scheme_is_the_textbook_scheme(shape, spacing):
    """The blocked sweep equals the plain stencil to rounding, in two and three dimensions."""
    velocity = np.random.default_rng(0).uniform(1.5, 3.0, shape)
    source, receiver = tuple(n // 2 for n in shape), tuple(n // 3 for n in shape)
    shot = Acoustic(
        velocity,
        spacing=spacing,
        steps=120,
        source=np.array(source) * spacing,
        receivers=np.array(receiver) * spacing,
        absorbing=0,
        dtype=np.float64,
    )
    field, trace = plainly(velocity, spacing, 120, shot.dt, source, receiver)
    traces = shot.observe()[:, 0]
    assert np.abs(traces - trace).max() < 1e-12 * np.abs(trace).max()
    shot.advance(0, 120, replay=True)
    assert np.abs(shot.wavefield - field).max() < 1e-12 * np.abs(field).max()
    assert not shot.traces.any()  # a replay is silent


def homogeneous(absorbing, cells=60, shift=0, steps=220, **options):
    return Acoustic(
        np.full((cells, cells), 2.0),
        spacing=10.0,
        steps=steps,
        source=(300.0 + shift, 300.0 + shift),
        receivers=[(300.0 + shift, 150.0 + shift), (200.0 + shift, 450.0 + shift)],
        frequency=15.0,
        absorbing=absorbing,
        dtype=np.float64,
        **options,
    )


def test_the_layer_absorbs():
    """Twenty cells leave under 5% of what rigid walls reflect, forty under 2%."""
    free = homogeneous(0, cells=200, shift=700.0).observe()  # the walls are out of reach
    walls = np.abs(homogeneous(0).observe() - free).max()
    assert np.abs(homogeneous(20).observe() - free).max() < 0.05 * walls
    assert np.abs(homogeneous(40).observe() - free).max() < 0.02 * walls


def test_waves_travel_at_their_speed():
    """The trace's largest excursion comes after distance over speed, later than the wavelet."""
    shot = homogeneous(20)
    trace = np.abs(shot.observe()[:, 0])
    expected = 1.2 / 15.0 + 150.0 / 2000.0
    assert abs((np.argmax(trace) + 1) * shot.dt - expected) < 0.015


@pytest.mark.parametrize("dimensions", [2, 3])
def test_receivers_at_opposite_edges_record_the_same(dimensions):
    """In a symmetric model the traces at the four or six faces agree to rounding."""
    cells, spacing = 25, 10.0
    middle, last = (cells - 1) / 2 * spacing, (cells - 1) * spacing
    faces = []
    for axis in range(dimensions):
        for end in (0.0, last):
            face = [middle] * dimensions
            face[axis] = end
            faces.append(face)
    shot = Acoustic(
        np.full((cells,) * dimensions, 2.0),
        spacing=spacing,
        steps=120,
        source=[middle] * dimensions,
        receivers=faces,
        absorbing=6,
        dtype=np.float64,
    )
    traces = shot.observe()
    assert np.abs(traces).max() > 1e-4
    assert np.abs(traces - traces[:, :1]).max() < 1e-12 * np.abs(traces).max()


def test_source_and_receiver_can_be_exchanged():
    """Reciprocity holds to rounding, in a layered model, off the grid and beside the layer."""
    places = [(33.0, 41.0), (395.0, 212.0)]
    traces = []
    for source, receiver in (places, places[::-1]):
        shot = Acoustic(
            layered_model((41, 45)),
            spacing=10.0,
            steps=300,
            source=source,
            receivers=receiver,
            absorbing=7,
            dtype=np.float64,
        )
        traces.append(shot.observe()[:, 0])
    assert np.abs(traces[0] - traces[1]).max() < 1e-11 * np.abs(traces[0]).max()


def test_sources_superpose():
    """Two sources at once are the sum of each alone."""

    def observe(source):
        return Acoustic(
            layered_model((20, 24)),
            spacing=10.0,
            steps=60,
            source=source,
            receivers=[(50.0, 50.0)],
            dtype=np.float64,
        ).observe()

    one, two = (25.0, 31.0), (120.0, 200.0)
    both = observe([one, two])
    assert np.abs(both - observe(one) - observe(two)).max() < 1e-13 * np.abs(both).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_step_loop_allocates_nothing(dtype):
    """Forward, recording and reverse steps stay far below one field of new memory."""
    shot = Acoustic(
        np.full((150, 160), 2.0),
        spacing=10.0,
        steps=8,
        source=(100.0, 100.0),
        receivers=[(20.0, 10.0 * k) for k in range(100)],
        observed=np.zeros((8, 100)),
        dtype=dtype,
    )
    shot.reserve(8)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        shot.advance(0, 4, replay=False)
        shot.record(4, 8, replay=False)
        shot.turn()
        shot.reverse(4, 8)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.05 * shot.window().step_bytes


def test_a_window_is_what_it_says():
    """A recorded step is one level, a snapshot two; the zero cells are counted."""
    shot = Acoustic(
        np.full((10, 12), 2.0), spacing=10.0, steps=5, source=(0, 0), receivers=(0, 0), absorbing=3
    )
    level = 16 * (18 + 4) * 4
    assert shot.window().step_bytes == level
    assert sum(array.nbytes for array in shot.state(0)) == 2 * level
    shot.reserve(3)
    shot.record(0, 3, replay=False)
    assert sum(array.nbytes for array in shot.tape(0, 3)) == shot.window().nbytes(3) == 3 * level


@settings(max_examples=40)
@given(
    shape=st.lists(st.integers(2, 7), min_size=2, max_size=3),
    layer=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_carrying_outwards_and_folding_back_are_transposes(shape, layer, seed):
    """Fold is the exact transpose of extend."""
    grid = Grid(tuple(shape), (10.0,) * len(shape), layer)
    rng = np.random.default_rng(seed)
    model, field = rng.uniform(1, 2, shape), rng.uniform(1, 2, grid.padded)
    assert dot_product_test(lambda m: grid.extend(m, 0.0), grid.fold, model, field) < 1e-13


@settings(max_examples=40)
@given(
    shape=st.lists(st.integers(2, 7), min_size=2, max_size=3),
    count=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_reading_and_injecting_are_transposes(shape, count, seed):
    """Scatter is the exact transpose of gather, and linear fields are interpolated exactly."""
    grid = Grid(tuple(shape), (10.0, 12.0, 8.0)[: len(shape)], 2)
    rng = np.random.default_rng(seed)
    extent = (np.array(shape) - 1) * grid.spacing
    positions = rng.uniform(0, 1, (count, len(shape))) * extent
    points = Points(grid, positions, "receivers", np.dtype(np.float64))

    def gather(field):
        out = np.empty(count)
        points.gather(np.ascontiguousarray(field), out)
        return out

    def scatter(values):
        field = np.zeros(prod(grid.padded))
        points.scatter(values, points.weight, field)
        return field

    field, values = rng.uniform(1, 2, prod(grid.padded)), rng.uniform(1, 2, count)
    assert dot_product_test(gather, scatter, field, values) < 1e-13
    axes = np.meshgrid(
        *(np.arange(n) * h for n, h in zip(shape, grid.spacing, strict=True)), indexing="ij"
    )
    linear = sum((k + 1) * axis for k, axis in enumerate(axes))
    expected = positions @ np.arange(1, len(shape) + 1)
    assert np.allclose(gather(grid.extend(linear, 0.0).ravel()), expected, rtol=1e-12)


def test_the_made_up_models():
    """Layers from 1.5 to 3.5 km/s; smoothing keeps constants, means of slowness and the range."""
    model = layered_model((60, 80))
    assert (model.min(), model.max(), model.shape) == (1.5, 3.5, (60, 80))
    smooth = smooth_model(model, 6)
    assert model.min() - 1e-9 <= smooth.min() < smooth.max() <= model.max() + 1e-9
    assert np.abs(np.diff(smooth, axis=0)).max() < 0.3 * np.abs(np.diff(model, axis=0)).max()
    assert np.allclose(smooth_model(np.full((9, 9, 9), 2.5), 4), 2.5, rtol=1e-13)
    assert np.array_equal(smooth_model(model, 0), 1 / (1 / model)) or np.allclose(
        smooth_model(model, 0), model
    )


def test_the_wavelet_starts_from_rest_and_peaks_at_one():
    """A Ricker wavelet: zero mean, unit peak, nothing denormal."""
    wavelet = ricker(1200, 0.0005, 10.0)
    assert wavelet.max() == pytest.approx(1.0, abs=1e-9)
    assert abs(wavelet[0]) < 1e-4
    assert abs(wavelet.sum()) < 1e-3
    assert np.abs(wavelet[wavelet != 0]).min() >= 1e-12
