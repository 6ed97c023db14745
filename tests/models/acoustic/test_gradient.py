"""The gradient is that of the discrete misfit: dot-product, Taylor and bitwise oracles."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import BadValue, ProblemFailed
from adjourn.models import Acoustic, layered_model, smooth_model, synthetic
from adjourn.models.acoustic import born
from adjourn.testing import dot_product_test, taylor_test

SHOTS = {
    "2-D": {"shape": (40, 50), "steps": 160, "absorbing": 8},
    "3-D": {"shape": (16, 18, 20), "steps": 60, "absorbing": 5},
    "rigid": {"shape": (24, 30), "steps": 90, "absorbing": 0},
}


def make(name, dtype=np.float64, **changes):
    return synthetic(smoothing=3, frequency=12.0, dtype=dtype, **(SHOTS[name] | changes))


def oblong(dtype=np.float64):
    """Unequal spacings, two sources with their own wavelets, everything off the grid."""
    true = layered_model((24, 20, 22))
    rng = np.random.default_rng(5)
    shot = Acoustic(
        true,
        spacing=(8.0, 10.0, 12.5),
        steps=50,
        source=[(31.0, 77.0, 101.0), (50.0, 120.0, 33.3)],
        wavelet=rng.standard_normal((50, 2)),
        receivers=[(20.0, 33.3, 55.5), (20.0, 33.3, 55.5), (21.0, 34.0, 58.0), (184.0, 0.0, 262.5)],
        absorbing=4,
        dtype=dtype,
    )
    shot.set_observed(shot.observe())
    shot.set_velocity(smooth_model(true, 3))
    return shot


def gradient(shot):
    shot.reserve(shot.steps)
    shot.begin()
    shot.record(0, shot.steps, replay=False)
    shot.turn()
    shot.reverse(0, shot.steps)
    return shot.gradient


def misfit(shot):
    def function(velocity):
        shot.set_velocity(velocity)
        shot.begin()
        shot.advance(0, shot.steps, replay=False)
        shot.turn()
        return shot.misfit

    return function


@pytest.mark.parametrize("name", [*SHOTS, "oblong"])
def test_the_linearised_model_and_the_adjoint_are_transposes(name):
    """The dot-product test holds to 1e-12 in double precision."""
    shot = oblong() if name == "oblong" else make(name)
    rng = np.random.default_rng(1)
    traces = shot.observe()

    def adjoint(weights):
        shot.set_observed(traces - weights)
        return gradient(shot)

    change = rng.uniform(0.5, 1.0, shot.grid.shape) * shot.velocity
    weights = born(shot, change) * rng.uniform(0.5, 1.5, traces.shape)  # no cancellation
    assert dot_product_test(lambda v: born(shot, v), adjoint, change, weights) < 1e-12
    weights = rng.standard_normal(traces.shape) * np.abs(traces).max()
    assert dot_product_test(lambda v: born(shot, v), adjoint, change, weights) < 1e-10


@pytest.mark.parametrize("name", [*SHOTS, "oblong"])
def test_the_gradient_has_taylor_slopes_one_and_two(name):
    """Slopes 1.00 and 2.00 to 0.02 over five halvings in double precision."""
    shot = oblong() if name == "oblong" else make(name)
    start = shot.velocity.copy()
    right = gradient(shot)
    direction = right * np.random.default_rng(2).uniform(0.5, 1.5, right.shape)
    taylor = taylor_test(misfit(shot), right, start, direction, halvings=5)
    assert taylor.passed(), str(taylor)
    wrong = taylor_test(misfit(shot), right * 1.001, start, direction, halvings=8)
    assert not wrong.passed()


@pytest.mark.parametrize("name", [*SHOTS, "oblong"])
def test_single_precision_agrees_with_double(name):
    """The float32 gradient is within 1e-4 of the float64 one."""
    make_one = oblong if name == "oblong" else lambda dtype: make(name, dtype)
    single, double = (gradient(make_one(dtype)) for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    assert np.abs(single - double).max() < 1e-4 * np.abs(double).max()


def test_the_misfit_vanishes_at_the_true_model():
    """Zero misfit and a gradient of zeros, exactly: both runs have the same bits."""
    shot = make("2-D")
    shot.set_velocity(layered_model((40, 50)))
    assert not gradient(shot).any()
    assert shot.misfit == 0.0


def test_a_step_of_descent_lowers_the_misfit():
    """The gradient points uphill."""
    shot = make("2-D")
    start = shot.velocity.copy()
    uphill = gradient(shot)
    before = shot.misfit
    after = misfit(shot)(start - 0.02 * uphill / np.abs(uphill).max())
    assert after < before


def test_a_reverse_without_its_field_is_an_error():
    """Neither recorded nor live: the step is named, no gradient is made up."""
    shot = make("2-D")
    shot.begin()
    shot.advance(0, shot.steps, replay=False)
    shot.turn()
    with pytest.raises(ProblemFailed, match=r"step 159 cannot be reversed.*live state is at 160"):
        shot.reverse(159, 160)
    shot.reserve(0)
    shot.begin()
    with pytest.raises(BadValue, match="the window holds no step"):
        shot.record(0, 1, replay=False)


def test_a_gradient_without_data_is_an_error():
    """Absent data are not taken for zeros."""
    shot = Acoustic(np.full((9, 9), 2.0), spacing=10.0, steps=3, source=(0, 0), receivers=(0, 0))
    shot.advance(0, 3, replay=False)
    with pytest.raises(BadValue, match="a gradient was asked for without data"):
        shot.turn()
