"""Arguments that cannot be used are met with what is so and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from adjourn import BadValue, WrongType
from adjourn.models import Acoustic, layered_model, smooth_model, synthetic
from adjourn.models.acoustic import born

GOOD = {
    "velocity": np.full((20, 30), 2.0),
    "spacing": 10.0,
    "steps": 10,
    "source": (20.0, 150.0),
    "receivers": [(20.0, 50.0), (20.0, 250.0)],
}

BAD = [
    ("velocity", np.full(20, 2.0), BadValue, r"velocity has shape \(20,\). Pass an array of two"),
    ("velocity", np.full((20, 1), 2.0), BadValue, r"velocity has shape \(20, 1\)"),
    ("velocity", np.full((20, 30), 2000.0), BadValue, r"it looks like m/s. Pass velocity / 1000"),
    ("velocity", np.zeros((20, 30)), BadValue, r"from 0 to 0 km/s; every cell must be finite"),
    ("velocity", np.full((20, 30), np.nan), BadValue, "from nan to nan km/s"),
    ("spacing", 0.0, BadValue, "spacing=0.0 is not a positive number. Pass spacing in m"),
    ("spacing", (10.0, 10.0, 10.0), BadValue, "has 3 values; the model has 2 axes"),
    ("spacing", float("nan"), BadValue, "spacing=nan is not a positive number"),
    ("steps", 0, BadValue, "steps=0 is too small"),
    ("steps", 10.5, WrongType, "steps=10.5 is of type float"),
    ("steps", None, WrongType, "steps=None is of type NoneType"),
    (
        "source",
        (20.0, 300.0),
        BadValue,
        r"source\[0\] lies at \[20.0, 300.0\] m; the model reaches",
    ),
    ("source", (20.0, -1.0), BadValue, r"reaches from 0 to \[190.0, 290.0\] m"),
    ("source", (20.0, float("nan")), BadValue, r"source\[0\] lies at"),
    (
        "receivers",
        [(1.0, 2.0, 3.0)],
        BadValue,
        r"receivers has shape \(1, 3\); the model has 2 axes",
    ),
    ("receivers", np.zeros((0, 2)), BadValue, r"receivers has shape \(0, 2\)"),
    ("frequency", 60.0, BadValue, r"frequency=60 Hz makes waves of 13.3 m; cells of 10 m carry 20"),
    ("frequency", -3.0, BadValue, "frequency=-3.0 is not a positive number. Pass frequency in Hz"),
    (
        "dt",
        0.01,
        BadValue,
        r"dt=0.01 s is unstable: the fastest velocity is 2 km/s, which allows 0.00277",
    ),
    ("dt", 0.0, BadValue, "dt=0.0 is not a positive number. Pass dt in s"),
    ("absorbing", -1, BadValue, "absorbing=-1 is too small"),
    ("dtype", np.float16, BadValue, "dtype=float16 is not supported. Pass float32 or float64"),
    ("dtype", int, BadValue, "dtype=int64 is not supported"),
    ("wavelet", np.zeros(9), BadValue, r"wavelet has shape \(9,\); 10 steps of 1 sources need"),
    ("wavelet", np.full(10, np.inf), BadValue, "wavelet holds values that are not finite"),
    ("observed", np.zeros((10, 3)), BadValue, r"10 steps at 2 receivers need \(10, 2\)"),
    ("observed", np.full((10, 2), np.nan), BadValue, "observed holds values that are not finite"),
]


def test_the_good_arguments_are_good():
    """What the table below changes one by one."""
    assert Acoustic(**GOOD).steps == 10


@pytest.mark.parametrize(("name", "value", "error", "text"), BAD)
def test_a_bad_argument_is_named(name, value, error, text):
    """The message says what was asked, what is so, and what to do."""
    with pytest.raises(error, match=text):
        Acoustic(**(GOOD | {name: value}))


def test_a_velocity_that_outgrows_the_time_step_is_refused():
    """The time step stays; the message says what would be stable."""
    shot = Acoustic(**GOOD)
    shot.set_velocity(np.full((20, 30), 2.3))
    with pytest.raises(BadValue, match=r"is unstable: the fastest velocity is 3 km/s"):
        shot.set_velocity(np.full((20, 30), 3.0))
    with pytest.raises(
        BadValue, match=r"velocity has shape \(20, 29\); the problem has \(20, 30\)"
    ):
        shot.set_velocity(np.full((20, 29), 2.0))


def test_the_stable_time_step_is_stable_and_a_larger_one_is_not():
    """The limit is sharp: at 0.999 of it fields stay bounded."""
    limit = Acoustic(**GOOD).dt / 0.85
    noise = np.random.default_rng(0).standard_normal(2000)
    shot = Acoustic(
        np.full((12, 12), 2.0),
        spacing=10.0,
        steps=2000,
        source=(0, 0),
        receivers=(50, 50),
        dt=0.999 * limit,
        wavelet=noise,
        absorbing=0,
        dtype=np.float64,
    )
    assert np.abs(shot.observe()).max() < 1e3
    with pytest.raises(BadValue, match="is unstable"):
        Acoustic(**(GOOD | {"dt": 1.001 * limit}))


def test_helpers_refuse_what_they_cannot_use():
    """Shapes and counts of the helpers."""
    with pytest.raises(BadValue, match=r"has 1 axes\. Pass two or three"):
        layered_model((20,))
    with pytest.raises(BadValue, match="shape=4 is too small"):
        layered_model((4, 20))
    with pytest.raises(BadValue, match="cells=-1 is too small"):
        smooth_model(np.ones((9, 9)), -1)
    with pytest.raises(BadValue, match="receivers=0 is too small"):
        synthetic(receivers=0)
    with pytest.raises(BadValue, match=r"perturbation has shape \(3,\)"):
        born(Acoustic(**GOOD), np.zeros(3))
