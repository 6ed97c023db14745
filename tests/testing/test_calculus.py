"""The dot-product and Taylor tests tell right derivatives from wrong ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import BadValue
from adjourn.testing import dot_product_test, taylor_test
from problems import Advection, Leapfrog, Reaction


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 1000))
def test_a_matrix_and_its_transpose_pass(rows, columns, seed):
    """The transpose agrees to rounding; a changed entry does not."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0.1, 1.0, (rows, columns))
    x, y = rng.uniform(0.1, 1.0, columns), rng.uniform(0.1, 1.0, rows)
    assert dot_product_test(lambda v: matrix @ v, lambda v: matrix.T @ v, x, y) < 1e-14
    wrong = matrix.copy()
    wrong[0, 0] *= 1.5
    assert dot_product_test(lambda v: matrix @ v, lambda v: wrong.T @ v, x, y) > 1e-6


def test_a_map_to_zero_passes():
    """Two zeros are equal."""
    assert dot_product_test(np.zeros_like, np.zeros_like, np.ones(3), np.ones(3)) == 0.0


def test_shapes_that_do_not_fit_are_named():
    """An adjoint of the wrong shape is an error, not a number."""
    with pytest.raises(BadValue, match=r"adjoint\(y\) has shape \(2,\), but x has \(3,\)"):
        dot_product_test(lambda x: x[:2], lambda y: y, np.ones(3), np.ones(2))


def test_the_exact_gradient_has_slopes_one_and_two():
    """Five halvings, each slope to 0.02; a gradient 1% off fails."""
    point = np.linspace(0.5, 1.5, 7)
    right = taylor_test(
        lambda x: float(np.sum(np.sin(x) * x)), np.sin(point) + point * np.cos(point), point
    )
    assert right.passed()
    assert len(right.zeroth) == len(right.first) == 5
    assert "slopes of the difference: " in str(right)
    wrong = taylor_test(
        lambda x: float(np.sum(np.sin(x) * x)),
        1.01 * (np.sin(point) + point * np.cos(point)),
        point,
    )
    assert not wrong.passed()
    assert all(abs(slope - 1.0) < 0.3 for slope in wrong.first[2:])


def test_a_gradient_may_be_a_function_and_the_step_given():
    """Callable gradients, a direction and a first step are taken as they are."""
    taylor = taylor_test(
        lambda x: float(np.sum(x**3)),
        lambda x: 3 * x**2,
        np.ones((2, 3)),
        np.ones((2, 3)),
        step=1e-3,
        halvings=4,
    )
    assert taylor.steps == tuple(1e-3 / 2**k for k in range(5))
    assert taylor.passed()


def test_a_flat_function_is_an_error():
    """Where nothing changes there is no slope."""
    with pytest.raises(BadValue, match="no slope can be"):
        taylor_test(lambda _: 1.0, np.zeros(3), np.ones(3))
    with pytest.raises(BadValue, match=r"the gradient has shape \(2,\); the point has \(3,\)"):
        taylor_test(lambda _: 1.0, np.zeros(2), np.ones(3))


@pytest.mark.parametrize(("make", "name"), [(Reaction, "coefficient"), (Leapfrog, "stiffness")])
def test_the_gradients_of_the_test_problems_are_exact(make, name):
    """Slopes 1.00 and 2.00 to 0.02 over five halvings."""
    problem = make()
    problem.reserve(problem.steps)
    problem.begin()
    problem.record(0, problem.steps, replay=False)
    problem.turn()
    problem.reverse(0, problem.steps)

    def misfit(value):
        other = make(**{name: value})
        other.begin()
        other.advance(0, other.steps, replay=False)
        other.turn()
        return other.misfit

    assert taylor_test(misfit, problem.gradient, getattr(problem, name)).passed()


def test_the_gradient_of_the_linear_problem_is_exact():
    """By initial state and source, on a problem whose reverse reads nothing."""
    problem = Advection()

    def misfit(point):
        problem.initial, problem.source = point
        problem.begin()
        problem.advance(0, problem.steps, replay=False)
        problem.turn()
        return problem.misfit

    point = np.stack([problem.initial, problem.source])
    misfit(point)
    problem.reverse(0, problem.steps)
    gradient = problem.gradient
    assert taylor_test(misfit, gradient, point).passed()
