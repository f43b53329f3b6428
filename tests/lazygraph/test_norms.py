"""Lengths along axes and the standard deviation: no overflow, and zero gradients at zero."""

import math
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import FLOATS

INF = math.inf
ORDERS = (2, 1, 0, INF, -INF, 3, 2.5, 0.5, -1, -2.5)
AXES = (None, 0, -1, (0, 2), ())
EACH_ORDER = pytest.mark.parametrize("ord", ORDERS)
TOLERANCE = {np.float32: 3e-7, np.float64: 1e-15}


@EACH_ORDER
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_length_is_that_of_numpy(
    ord: float, axis: Any, keepdims: bool, dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(2, 3, 4)).astype(dtype)
    found = lg.vector_norm(lg.asarray(x), axis=axis, keepdims=keepdims, ord=ord)
    if axis == ():
        wanted: Any = np.abs(x) if ord else (x != 0).astype(dtype)
    else:
        exact = x.astype(np.longdouble)
        wanted = np.linalg.vector_norm(exact, axis=axis, keepdims=keepdims, ord=ord)
    assert found.shape == wanted.shape
    assert found.dtype is lg.as_dtype(dtype)
    assert np.allclose(found.numpy(), wanted.astype(dtype), rtol=2 * TOLERANCE[dtype], atol=0.0)


@EACH_ORDER
@pytest.mark.parametrize(
    "row", [[0.0, 0.0], [INF, 1.0], [-INF, 0.0], [math.nan, 1.0], [0.0, 3.0], [INF, -INF]]
)
def test_zeros_infinities_and_nan_count_as_in_numpy(ord: float, row: list[float]) -> None:
    found = lg.vector_norm(lg.asarray([row], dtype="float64"), axis=1, ord=ord).item()
    with np.errstate(all="ignore"):
        wanted = float(np.linalg.vector_norm(np.array([row]), axis=1, ord=ord)[0])
    assert found == pytest.approx(wanted, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("ord", [2, 3, 2.5, 0.5, -1, -2.5])
def test_large_and_small_rows_neither_overflow_nor_vanish(dtype: Any, ord: float) -> None:
    limits = np.finfo(dtype)
    row = np.array([1.0, 2.0, 2.0])
    length = float(np.linalg.vector_norm(row, ord=ord))
    scales = np.array([1.0, float(limits.max) / 64, float(limits.tiny) * 64])
    x = (row * scales[:, np.newaxis]).astype(dtype)
    found = lg.vector_norm(lg.asarray(x), axis=1, ord=ord).numpy()
    assert np.allclose(found / scales, length, rtol=4 * TOLERANCE[dtype], atol=0.0)


def test_a_row_has_the_same_bits_beside_any_other() -> None:
    x = np.array([[1.1, 2.3, 3.7], [1e300, 1e300, 1e300]])
    both = lg.vector_norm(lg.asarray(x), axis=1).numpy()
    alone = lg.vector_norm(lg.asarray(x[:1]), axis=1).numpy()
    assert bits(both[:1]) == bits(alone)


def test_the_length_of_nothing() -> None:
    x = lg.zeros((0, 3))
    for ord in (2, 1, 0, 3.0):
        assert lg.vector_norm(x, axis=0, ord=ord).tolist() == [0.0, 0.0, 0.0]
        assert lg.vector_norm(x, axis=1, ord=ord).shape == (0,)
    with pytest.raises(lg.errors.ShapeError, match="the reduced axes must not be empty"):
        lg.vector_norm(x, axis=0, ord=INF)


def test_lengths_are_of_floats() -> None:
    with pytest.raises(
        lg.errors.DTypeError, match="vector_norm needs a floating tensor; got int"
    ):
        lg.vector_norm(lg.asarray([1, 2]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ord", [2, 1, INF, 3, 1.5, 0.5])
def test_the_gradient_at_zero_is_zero(dtype: str, ord: float) -> None:
    z = lg.zeros((3,), dtype=dtype)
    y = lg.vector_norm(z, ord=ord)
    assert y.item() == 0.0
    assert y.backward()[z].tolist() == [0.0, 0.0, 0.0]
    assert (7.0 * y).backward()[z].tolist() == [0.0, 0.0, 0.0]
    second = lg.grad(lg.sum(lg.grad(y, z)), z, missing="zero")
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_the_gradient_is_the_direction() -> None:
    x = lg.asarray([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    gradient = lg.sum(lg.vector_norm(x, axis=1)).backward()[x]
    assert np.allclose(gradient.numpy(), [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]])
    assert lg.vector_norm(x, ord=1).backward()[x].tolist() == [[1, 1], [0, 0], [0, -1]]
    assert lg.vector_norm(x, ord=INF).backward()[x].tolist() == [[0, 1], [0, 0], [0, 0]]
    assert lg.norm(x[0]).backward()[x].tolist() == [*gradient[:1].tolist(), [0, 0], [0, 0]]


@EACH_ORDER
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_gradients_to_second_order(ord: float, axis: Any, rng: np.random.Generator) -> None:
    x = rng.permutation(np.arange(1.0, 25.0)).reshape(2, 3, 4) / 8.0
    x *= rng.choice([-1.0, 1.0], x.shape)
    if ord != 0:
        assert_gradients(lambda x: lg.square(lg.vector_norm(x, axis=axis, ord=ord)), [x], rng)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("correction", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_standard_deviation_is_that_of_numpy(
    dtype: Any, axis: Any, correction: float, keepdims: bool, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 9, (3, 4, 5)).astype(dtype)
    found = lg.std(lg.asarray(x), axis=axis, correction=correction, keepdims=keepdims)
    with np.errstate(all="ignore"):
        wanted = np.asarray(x, np.float64)
        count = (
            wanted.size
            if axis is None
            else math.prod(np.array(x.shape)[list(np.atleast_1d(axis).astype(int))])
        )
        spread = wanted - wanted.mean(axis=axis, keepdims=True)
        total = np.square(spread).sum(axis=axis, keepdims=keepdims)
        value = np.sqrt(total / max(count - correction, 0.0))
    assert found.shape == value.shape
    assert found.dtype is (lg.float64 if dtype is np.float64 else lg.float32)
    assert np.allclose(found.numpy(), value, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_values_have_no_spread_and_no_gradient(dtype: str) -> None:
    x = lg.asarray([2.0, 2.0, 2.0, 2.0], dtype=dtype)
    y = lg.std(x)
    assert y.item() == 0.0
    assert y.backward()[x].tolist() == [0.0] * 4
    assert (lg.sum(x) + 5.0 * y).backward()[x].tolist() == [1.0] * 4
    assert lg.var(x).backward()[x].tolist() == [0.0] * 4


def test_a_large_mean_does_not_hide_the_spread() -> None:
    x = lg.asarray([10000.0, 10001.0, 10002.0, 10003.0])
    assert lg.std(x).item() == pytest.approx(math.sqrt(1.25), rel=1e-7)
    huge = lg.asarray([-3e38, 3e38]) / 2.0
    assert lg.std(huge).item() == pytest.approx(1.5e38, rel=1e-6)


def test_the_spread_of_nothing_is_nan() -> None:
    assert math.isnan(lg.std(lg.zeros((0,))).item())
    assert math.isnan(lg.std(lg.asarray([1.0]), correction=1).item())
    assert lg.std(lg.zeros((0, 3)), axis=1).shape == (0,)
    assert lg.std(lg.asarray(5.0)).item() == 0.0


@pytest.mark.parametrize("correction", [0.0, 1.0])
def test_gradients_of_the_spread_to_second_order(
    correction: float, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(3, 5))
    assert_gradients(lambda x: lg.std(x, axis=1, correction=correction), [x], rng)
