"""Logarithms and exponentials: digits near 0, no overflow, no NaN of infinities."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import FLOATS, special

INF = math.inf
NUMPY: dict[Callable[..., lg.Tensor], Any] = {
    lg.log1p: np.log1p,
    lg.expm1: np.expm1,
    lg.log10: np.log10,
}


@pytest.mark.parametrize("function", NUMPY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_are_those_of_numpy(
    function: Callable[..., lg.Tensor], dtype: Any, rng: np.random.Generator
) -> None:
    x = np.concatenate([rng.normal(0.0, 2.0, 500), special(dtype)]).astype(dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(function(lg.asarray(x)), NUMPY[function](x))
        whole = np.arange(5)
        wanted = NUMPY[function](whole.astype(np.float32))
        assert_same_bits(function(lg.asarray(whole)), wanted)


def units_off(found: Any, wanted: Any) -> Any:
    return np.abs(found - wanted) / np.spacing(np.abs(wanted))


@pytest.mark.parametrize("dtype", FLOATS)
def test_softplus_is_within_two_units_of_the_logarithm_of_a_sum(dtype: Any) -> None:
    x = np.linspace(-80.0, 80.0, 4001).astype(dtype)
    wanted = np.logaddexp(x.astype(np.longdouble), np.longdouble(0)).astype(dtype)
    assert units_off(lg.softplus(lg.asarray(x)).numpy(), wanted).max() <= 2.0


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp_is_within_two_units_of_the_largest_number_in_it(
    dtype: Any, rng: np.random.Generator
) -> None:
    a, b = rng.normal(0.0, 20.0, (2, 4001)).astype(dtype)
    wanted = np.logaddexp(a.astype(np.longdouble), b.astype(np.longdouble)).astype(dtype)
    off = np.abs(lg.logaddexp(lg.asarray(a), lg.asarray(b)).numpy() - wanted)
    largest = np.maximum.reduce([np.abs(a), np.abs(b), np.abs(wanted)])
    assert (off <= 2.0 * np.spacing(largest)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp_of_special_values_is_that_of_numpy(dtype: Any) -> None:
    a, b = special(dtype)[:, np.newaxis], special(dtype)
    with np.errstate(all="ignore"):
        wanted = np.logaddexp(a, b)
    found = lg.logaddexp(lg.asarray(a), lg.asarray(b)).numpy()
    assert np.allclose(found, wanted, rtol=2e-7, atol=1e-7, equal_nan=True)


def test_softplus_of_special_values() -> None:
    x = lg.asarray([INF, -INF, math.nan, 1000.0, -1000.0, -60.0], dtype="float64")
    found = lg.softplus(x).tolist()
    assert found[:2] == [INF, 0.0]
    assert math.isnan(found[2])
    assert found[3:] == [1000.0, 0.0, math.exp(-60.0)]


def test_the_gradient_of_softplus_is_sigmoid_at_the_kink_of_its_parts_as_well(
    rng: np.random.Generator,
) -> None:
    x = lg.asarray([0.0, 800.0, -800.0], dtype="float64")
    slope = lg.grad(lg.sum(lg.softplus(x)), x)
    assert slope.tolist() == [0.5, 1.0, 0.0]
    assert lg.grad(lg.sum(slope), x).tolist() == [0.25, 0.0, 0.0]
    assert_gradients(lg.softplus, [np.array([0.0, -1.5, 2.0])], rng)


def test_the_gradient_of_logaddexp_where_operands_are_equal(rng: np.random.Generator) -> None:
    x = np.array([0.0, 1.0, -2.0])
    assert_gradients(lg.logaddexp, [x, x], rng)


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp_of_infinities_has_no_nan(dtype: Any) -> None:
    a = lg.asarray(np.array([-INF, -INF, INF, INF, 2.0, -INF], dtype))
    b = lg.asarray(np.array([-INF, 3.0, 1.0, INF, INF, INF], dtype))
    y = lg.logaddexp(a, b)
    gradients = lg.grad(y, [a, b], upstream=lg.ones_like(y))
    assert y.tolist() == [-INF, 3.0, INF, INF, INF, INF]
    assert gradients[0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert gradients[1].tolist() == [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]


def test_small_shares_keep_their_digits() -> None:
    a, b = lg.asarray([0.0], dtype="float64"), lg.asarray([50.0], dtype="float64")
    share = lg.logaddexp(a, b).backward()[a].item()
    assert math.isclose(share, math.exp(-50.0), rel_tol=1e-14)
    x = lg.asarray([-50.0], dtype="float64")
    assert math.isclose(lg.expm1(x).backward()[x].item(), math.exp(-50.0), rel_tol=1e-14)


@pytest.mark.parametrize(
    ("function", "edge"), [(lg.log1p, -1.0), (lg.log10, 0.0), (lg.expm1, 1000.0)]
)
def test_an_infinite_derivative_leaks_nothing_where_it_is_not_chosen(
    function: Callable[..., lg.Tensor], edge: float
) -> None:
    x = lg.asarray([edge, 2.0], dtype="float64")
    alone = lg.sum(function(x)).backward()[x].tolist()
    chosen = lg.sum(lg.where(x == edge, x, function(x))).backward()[x].tolist()
    assert math.isinf(alone[0])
    assert chosen == [1.0, alone[1]]
