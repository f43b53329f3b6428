"""Angles, sides and hyperbolic functions: NumPy's values, derivatives that neither leak nor
overflow.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import FLOATS, special

Function = Callable[..., lg.Tensor]
NUMPY: dict[Function, Any] = {
    lg.tan: np.tan,
    lg.asin: np.arcsin,
    lg.acos: np.arccos,
    lg.atan: np.arctan,
    lg.sinh: np.sinh,
    lg.cosh: np.cosh,
    lg.asinh: np.arcsinh,
    lg.acosh: np.arccosh,
    lg.atanh: np.arctanh,
}
EACH = pytest.mark.parametrize("function", NUMPY, ids=lambda f: f.__name__)


@EACH
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_are_those_of_numpy(
    function: Function, dtype: Any, rng: np.random.Generator
) -> None:
    x = np.concatenate([rng.normal(0.0, 2.0, 500), special(dtype)]).astype(dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(function(lg.asarray(x)), NUMPY[function](x))


@EACH
@pytest.mark.parametrize("dtype", [np.int16, np.uint64, np.int64, np.bool_])
def test_integers_and_booleans_become_float32(function: Function, dtype: Any) -> None:
    x = np.array([0, 1], dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(function(lg.asarray(x)), NUMPY[function](x.astype(np.float32)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("function", "numpy"), [(lg.atan2, np.arctan2), (lg.hypot, np.hypot)], ids=str
)
def test_two_sides_of_every_special_value_agree_with_numpy(
    function: Function, numpy: Any, dtype: Any
) -> None:
    a, b = special(dtype)[:, np.newaxis], special(dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(function(lg.asarray(a), lg.asarray(b)), numpy(a, b))


@pytest.mark.parametrize(
    ("function", "edge", "inside"),
    [
        (lg.asin, 1.0, 0.0),
        (lg.asin, -1.0, 0.0),
        (lg.acos, 1.0, 0.0),
        (lg.acosh, 1.0, 2.0),
        (lg.atanh, 1.0, 0.0),
        (lg.sinh, 1000.0, 0.0),
        (lg.cosh, 1000.0, 0.0),
    ],
)
def test_an_infinite_derivative_leaks_nothing_where_it_is_not_chosen(
    function: Function, edge: float, inside: float
) -> None:
    x = lg.asarray([edge, inside], dtype="float64")
    alone = lg.sum(function(x)).backward()[x].tolist()
    chosen = lg.sum(lg.where(x == edge, x, function(x))).backward()[x].tolist()
    assert math.isinf(alone[0])
    assert chosen == [1.0, alone[1]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_derivatives_far_out_do_not_overflow(dtype: Any) -> None:
    big = 1e30 if dtype is np.float32 else 1e300
    x = lg.asarray(np.array([big, -big], dtype))
    one = lg.asarray(np.array([1.0, 1.0], dtype))
    for function in (lg.asinh, lambda x: lg.acosh(lg.abs(x))):
        found = lg.sum(function(x)).backward()[x].numpy()
        assert np.allclose(np.abs(found) * big, 1.0, rtol=1e-6)
    gradients = lg.sum(lg.hypot(x, x)).backward()
    assert np.allclose(gradients[x].numpy(), [math.sqrt(2.0), -math.sqrt(2.0)])
    gradients = lg.sum(lg.atan2(one, x) * big).backward()
    assert np.allclose(gradients[one].numpy(), [1.0, -1.0], rtol=1e-6)


def test_derivatives_keep_their_digits_near_the_edge() -> None:
    x = lg.asarray([1.0 - 2.0**-40], dtype="float64")
    exact = 1.0 / math.sqrt(2.0**-40 * (2.0 - 2.0**-40))
    assert math.isclose(lg.asin(x).backward()[x].item(), exact, rel_tol=1e-15)
    assert math.isclose(lg.acos(x).backward()[x].item(), -exact, rel_tol=1e-15)
    assert math.isclose(lg.atanh(x).backward()[x].item(), exact * exact, rel_tol=1e-15)


def test_the_origin_has_no_gradient() -> None:
    a, b = lg.asarray([0.0, 3.0]), lg.asarray([0.0, 4.0])
    for function, of_a, of_b in (
        (lg.hypot, [0.0, 0.6], [0.0, 0.8]),
        (lg.atan2, [0.0, 0.16], [0.0, -0.12]),
    ):
        gradients = lg.sum(function(a, b)).backward()
        assert np.allclose(gradients[a].numpy(), of_a)
        assert np.allclose(gradients[b].numpy(), of_b)


@pytest.mark.parametrize("function", [lg.atan2, lg.hypot])
def test_gradients_hold_in_every_quadrant(function: Function, rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 3.0, (4, 5)) * np.array([[1], [1], [-1], [-1]])
    y = rng.uniform(0.5, 3.0, (4, 1)) * np.array([[1], [-1], [1], [-1]])
    assert_gradients(function, [x, y], rng)


@EACH
def test_the_inverse_undoes_it(function: Function) -> None:
    pairs = {
        lg.tan: lg.atan,
        lg.asin: lg.sin,
        lg.acos: lg.cos,
        lg.atan: lg.tan,
        lg.sinh: lg.asinh,
        lg.cosh: lg.acosh,
        lg.asinh: lg.sinh,
        lg.acosh: lg.cosh,
        lg.atanh: lg.tanh,
    }
    shift = 1.0 if function is lg.acosh else 0.0
    x = lg.linspace(0.1, 0.9, 9, dtype="float64") + shift
    assert np.allclose(pairs[function](function(x)).numpy(), x.numpy(), rtol=1e-14)
