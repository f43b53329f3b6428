"""What holds where a definition leaves a choice: ties, kinks, poles, empty axes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg

INF, NAN = math.inf, math.nan
FLOATS = pytest.mark.parametrize("dtype", [lg.float32, lg.float64], ids=str)


def slopes(f: Callable[..., lg.Tensor], *at: Any, dtype: Any = lg.float64) -> list[Any]:
    """The gradients of the sum of `f` at points, as lists."""
    xs = [lg.asarray(x, dtype=dtype) for x in at]
    return [g.tolist() for g in lg.grad(lg.sum(f(*xs)), xs, missing="zero")]


def slope(f: Callable[[lg.Tensor], lg.Tensor], at: Any, dtype: Any = lg.float64) -> Any:
    return slopes(f, at, dtype=dtype)[0]


@FLOATS
def test_a_tie_shares_the_gradient_evenly(dtype: Any) -> None:
    assert slopes(lg.maximum, [1.0, 3.0, 2.0], [1.0, 2.0, 5.0], dtype=dtype) == [
        [0.5, 1.0, 0.0],
        [0.5, 0.0, 1.0],
    ]
    assert slopes(lg.minimum, [1.0, 3.0, 2.0], [1.0, 2.0, 5.0], dtype=dtype) == [
        [0.5, 0.0, 1.0],
        [0.5, 1.0, 0.0],
    ]
    rows = [[1.0, 4.0, 4.0, 0.0], [7.0, 7.0, 7.0, 7.0]]
    assert slope(lambda x: lg.max(x, axis=1), rows, dtype) == [
        [0.0, 0.5, 0.5, 0.0],
        [0.25, 0.25, 0.25, 0.25],
    ]
    assert slope(lg.min, [2.0, 2.0, 3.0], dtype) == [0.5, 0.5, 0.0]
    assert slope(lambda x: lg.max(x, axis=(0, 1)), [[5.0, 1.0], [5.0, 0.0]], dtype) == [
        [0.5, 0.0],
        [0.5, 0.0],
    ]


@FLOATS
def test_a_zero_ties_with_minus_zero(dtype: Any) -> None:
    assert slopes(lg.maximum, [0.0], [-0.0], dtype=dtype) == [[0.5], [0.5]]
    assert slope(lg.max, [0.0, -0.0], dtype) == [0.5, 0.5]


@FLOATS
def test_clip_passes_the_gradient_on_its_bounds(dtype: Any) -> None:
    x = [-2.0, -1.0, 0.0, 1.0, 3.0]
    assert slope(lambda x: lg.clip(x, -1, 1), x, dtype) == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert slope(lambda x: lg.clip(x, -1, None), x, dtype) == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert slope(lambda x: lg.clip(x, None, 1), x, dtype) == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert slope(lg.clip, x, dtype) == [1.0] * 5


def test_a_bound_gets_the_gradient_where_it_is_exceeded() -> None:
    x, low, high = [-2.0, 0.0, 3.0], [-1.0] * 3, [1.0] * 3
    assert slopes(lg.clip, x, low, high) == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


@FLOATS
def test_relu_abs_and_sign_are_flat_at_zero(dtype: Any) -> None:
    for zero in (0.0, -0.0):
        assert slope(lg.relu, [zero], dtype) == [0.0]
        assert slope(lg.abs, [zero], dtype) == [0.0]
    assert slope(lg.relu, [-1.0, 2.0], dtype) == [0.0, 1.0]
    assert slope(lg.abs, [-1.0, 2.0], dtype) == [-1.0, 1.0]
    assert slope(lg.sign, [-1.0, 0.0, 2.0], dtype) == [0.0, 0.0, 0.0]


@FLOATS
def test_the_norm_of_nothing_but_zeros_has_the_gradient_zero(dtype: Any) -> None:
    assert slope(lg.norm, [0.0, 0.0, 0.0], dtype) == [0.0, 0.0, 0.0]
    assert slope(lg.norm, [0.0, -2.0], dtype) == [0.0, -1.0]


@FLOATS
def test_the_variance_of_equal_values_has_the_gradient_zero(dtype: Any) -> None:
    assert slope(lg.var, [2.0, 2.0, 2.0, 2.0], dtype) == [0.0, 0.0, 0.0, 0.0]


@FLOATS
def test_the_deviation_of_equal_values_is_flat_but_the_root_of_their_variance_is_not(
    dtype: Any,
) -> None:
    # A root of 0 has an infinite slope; only `std` knows that nothing comes behind it.
    assert slope(lg.std, [2.0, 2.0], dtype) == [0.0, 0.0]
    assert all(map(math.isnan, slope(lambda x: lg.sqrt(lg.var(x)), [2.0, 2.0], dtype)))
    x = lg.asarray([[2.0, 2.0], [1.0, 3.0]], dtype=dtype)
    spread = lg.var(x, axis=1)
    y = lg.where(spread > 0, lg.sqrt(spread), 0.0)
    assert lg.sum(y).backward()[x].tolist() == [[0.0, 0.0], [-0.5, 0.5]]


def test_a_variance_of_too_few_values_divides_by_zero_as_in_numpy() -> None:
    assert math.isnan(lg.var(lg.asarray([5.0]), correction=1).item())
    assert math.isnan(lg.var(lg.zeros((0,))).item())


POLES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "log": (lg.log, 0.0),
    "log2": (lg.log2, 0.0),
    "sqrt": (lg.sqrt, 0.0),
    "rsqrt": (lg.rsqrt, 0.0),
    "reciprocal": (lg.reciprocal, 0.0),
    "a constant divided": (lambda x: 1.0 / x, 0.0),
    "a quotient of itself": (lambda x: x / x, 0.0),
    "a negative power": (lambda x: x**-1.5, 0.0),
    "a root as a power": (lambda x: x**0.5, 0.0),
    "the logarithm of a negative": (lg.log, -1.0),
    "the root of a negative": (lg.sqrt, -1.0),
    "a broken power of a negative": (lambda x: x**1.5, -1.0),
    "a power with a moving exponent": (lambda x: x**x, -1.0),
}


@FLOATS
@pytest.mark.parametrize("name", POLES)
def test_the_branch_not_taken_leaks_nothing(name: str, dtype: Any) -> None:
    f, pole = POLES[name]
    x = lg.asarray([pole, 4.0], dtype=dtype)
    y = lg.where(x > 1.0, f(x), 3.0 * x)
    assert lg.sum(y).backward()[x].tolist()[0] == 3.0
    taken = lg.sum(f(x[1:])).backward()[x].tolist()
    assert lg.sum(y).backward()[x].tolist()[1] == taken[1]
    assert lg.sum(0.0 * f(x)[:0]).backward()[x].tolist() == [0.0, 0.0]


@FLOATS
def test_an_exponential_that_overflows_must_be_bounded_where_it_is_not_taken(
    dtype: Any,
) -> None:
    x = lg.asarray([1e4, 1.0], dtype=dtype)
    (leaks, slope_of_exp) = lg.grad(lg.sum(lg.where(x < 80, lg.exp(x), x)), x).tolist()
    assert math.isnan(leaks)
    bounded = lg.where(x < 80, lg.exp(lg.minimum(x, 80)), x)
    assert lg.grad(lg.sum(bounded), x).tolist() == [1.0, slope_of_exp]


@FLOATS
def test_a_square_that_is_not_taken_leaks_nothing_from_the_largest_number(dtype: Any) -> None:
    x = lg.asarray([float(np.finfo(dtype.dtype).max), 1.0], dtype=dtype)
    y = lg.where(x < 80, lg.square(x), x)
    assert lg.grad(lg.sum(y), x).tolist() == [1.0, 2.0]
    assert slope(lg.square, x.tolist(), dtype) == [INF, 2.0]


def test_at_a_pole_itself_the_gradient_is_infinite() -> None:
    assert slope(lg.log, [0.0]) == [INF]
    assert slope(lg.sqrt, [0.0]) == [INF]
    assert slope(lg.reciprocal, [0.0]) == [-INF]


@FLOATS
def test_a_power_follows_the_closed_form_at_zero(dtype: Any) -> None:
    base, exponent = slopes(lg.power, [0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.5], dtype=dtype)
    assert base == [0.0, 1.0, 0.0, INF]
    assert exponent == [0.0, 0.0, 0.0, 0.0]
    for whole in (1.0, 2.0, 3.0):
        assert slope(lambda x, n=whole: x**n, [-2.0], dtype) == [whole * (-2.0) ** (whole - 1)]  # type: ignore[misc]
    assert slope(lambda x: x**2, [-3.0, 0.0], dtype) == [-6.0, 0.0]


@pytest.mark.parametrize("exponent", [0.5, 0.5 + 1e-12, -1.0, 2.0, 3.0])
def test_a_power_is_that_of_ieee_whatever_shape_the_exponent_has(exponent: float) -> None:
    x = lg.asarray([-0.0, -INF, 5.0, 7.0, 1e-3], dtype=lg.float64)
    wanted = [math.pow(v, exponent) if v or exponent > 0 else -INF for v in x.tolist()]
    stretched = lg.asarray([exponent] * 5, dtype=lg.float64)
    for found in (x**exponent, x**stretched, lg.stack([y**exponent for y in x])):
        assert np.allclose(found.numpy(), wanted, rtol=1e-15, atol=0.0)
        assert np.array_equal(found.numpy(), (x**stretched).numpy())


def test_reductions_of_nothing_follow_numpy() -> None:
    empty = lg.zeros((0, 4))
    assert lg.sum(empty).item() == 0.0
    assert lg.sum(empty, axis=0).tolist() == [0.0] * 4
    assert np.isnan(lg.mean(empty, axis=0).numpy()).all()
    assert lg.norm(empty).item() == 0.0
    assert lg.max(empty, axis=1).shape == lg.argmax(empty, axis=1).shape == (0,)
    assert lg.sum(empty).backward()[empty].shape == (0, 4)


@pytest.mark.parametrize("reduce", [lg.max, lg.min, lg.argmax], ids=["max", "min", "argmax"])
@pytest.mark.parametrize("axis", [0, None])
def test_there_is_no_greatest_of_nothing(reduce: Any, axis: int | None) -> None:
    with pytest.raises(lg.errors.ShapeError, match="axes must not be empty; got axes"):
        reduce(lg.zeros((0, 4)), axis=axis)


@FLOATS
def test_a_logsumexp_of_nothing_but_minus_infinity_is_that_with_gradient_zero(
    dtype: Any,
) -> None:
    rows = [[-INF, -INF], [-INF, 2.0], [0.0, 0.0]]
    x = lg.asarray(rows, dtype=dtype)
    y = lg.logsumexp(x, axis=1)
    assert y.tolist()[:2] == [-INF, 2.0]
    assert lg.sum(lg.where(lg.isfinite(y), y, 0.0)).backward()[x].tolist() == [
        [0.0, 0.0],
        [0.0, 1.0],
        [0.5, 0.5],
    ]
    assert slope(lg.logsumexp, [-INF, -INF], dtype) == [0.0, 0.0]


@FLOATS
def test_a_softmax_of_nothing_but_minus_infinity_is_zero_with_gradient_zero(
    dtype: Any,
) -> None:
    x = lg.asarray([[-INF, -INF], [0.0, -INF]], dtype=dtype)
    y = lg.softmax(x)
    assert y.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert lg.sum(y * lg.asarray([1.0, 5.0], dtype=dtype)).backward()[x].tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
    ]


@FLOATS
@pytest.mark.parametrize("axis", [0, 1])
def test_a_log_softmax_is_the_logarithm_of_the_softmax_where_all_are_minus_infinity_too(
    dtype: Any, axis: int
) -> None:
    rows = [[-INF, -INF, -INF], [0.0, -INF, 0.0], [NAN, 0.0, -INF]]
    x = lg.asarray(np.array(rows).T if axis == 0 else rows, dtype=dtype)
    y = lg.log_softmax(x, axis=axis)
    assert np.allclose(y.numpy(), lg.log(lg.softmax(x, axis=axis)).numpy(), equal_nan=True)
    found = (y if axis else y.T)[0].tolist()
    assert found == [-INF] * 3
    # A loss that leaves the row out gets no NaN from it, and one that takes it is infinite.
    gradient = lg.sum(lg.where(x > -INF, y, 0.0)).backward()[x]
    assert (gradient if axis else gradient.T)[:2].tolist() == [[0.0] * 3, [0.0] * 3]


def test_nan_wins_every_comparison_for_the_extreme() -> None:
    x = lg.asarray([1.0, NAN, 3.0])
    assert math.isnan(lg.max(x).item())
    assert math.isnan(lg.min(x).item())
    assert lg.argmax(x).item() == 1
    assert math.isnan(lg.maximum(x, 2.0).tolist()[1])
    assert math.isnan(lg.clip(x, 0.0, 1.0).tolist()[1])
    assert math.isnan(lg.relu(x).tolist()[1])


def test_a_stopped_gradient_is_no_key_of_the_map() -> None:
    x = lg.asarray([3.0])
    y = lg.stop_gradient(x)
    gradients = lg.sum(y * y).backward()
    assert x not in gradients
    assert gradients[y].tolist() == [6.0]
