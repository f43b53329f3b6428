"""Products along axes, and gradients that survive zeros."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import DTYPES

CUBE = (2, 3, 4)
AXES = (None, 0, -1, (0, 2), (1, 0), ())


def others(x: Array, u: Array) -> Array:
    """By definition: each element's share is `u` times the product of all others in its row."""
    shares = np.empty_like(x)
    for row, i in np.ndindex(x.shape):
        shares[row, i] = u[row] * np.prod(np.delete(x[row], i))
    return shares


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_prod_is_that_of_numpy(
    dtype: Any, axis: Any, keepdims: bool, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 5, CUBE).astype(dtype)
    wanted = np.prod(x, axis=axis, keepdims=keepdims)
    if np.dtype(dtype).kind in "iub" and axis != ():
        assert wanted.dtype.itemsize == 8
    found = lg.prod(lg.asarray(x), axis=axis, keepdims=keepdims)
    assert_same_bits(found, np.asarray(wanted, found.dtype.dtype))


def test_small_integers_are_multiplied_as_64_bits() -> None:
    x = lg.asarray(np.full(10, 10, np.int8))
    assert lg.prod(x).dtype is lg.int64
    assert lg.prod(x).item() == 10**10
    assert lg.prod(lg.asarray(np.full(3, 200, np.uint8))).dtype is lg.uint64
    assert lg.prod(lg.asarray([True, True])).item() == 1
    assert lg.prod(x, dtype=lg.int8).item() == np.prod(np.full(10, 10, np.int8), dtype=np.int8)


def test_the_product_of_nothing_is_one() -> None:
    x = lg.zeros((0, 3))
    assert lg.prod(x).item() == 1.0
    assert lg.prod(x, axis=0).tolist() == [1.0, 1.0, 1.0]
    assert lg.prod(x, axis=1).shape == (0,)
    assert lg.sum(lg.prod(x, axis=0)).backward()[x].shape == (0, 3)
    assert lg.sum(lg.prod(x, axis=1)).backward()[x].shape == (0, 3)
    assert lg.prod(lg.asarray(5.0)).item() == 5.0
    assert lg.prod(lg.asarray([np.inf, 0.0])).numpy() != 0.0  # NaN


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("realized", [False, True])
@pytest.mark.parametrize(
    ("data", "gradient"),
    [
        ([3.0, 0.0, 5.0, 2.0], [0.0, 30.0, 0.0, 0.0]),
        ([3.0, 0.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
        ([3.0, 4.0, 5.0], [20.0, 15.0, 12.0]),
        ([0.0], [1.0]),
        ([0.0, 2.0], [2.0, 0.0]),
        ([2.0, 0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_a_zero_gets_the_product_of_the_others(
    dtype: str, realized: bool, data: list[float], gradient: list[float]
) -> None:
    x = lg.asarray(data, dtype=dtype)
    y = lg.prod(x)
    if realized:
        y.realize()
    assert y.backward()[x].tolist() == gradient
    assert (y * -2.0).backward()[x].tolist() == [-2.0 * g for g in gradient]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 33])
def test_rows_of_every_length_with_no_one_and_two_zeros(
    length: int, rng: np.random.Generator
) -> None:
    x, u = rng.uniform(0.5, 1.5, (3, length)), rng.normal(size=3)
    x[1, rng.integers(length)] = 0.0
    x[2, rng.integers(length, size=2)] = 0.0
    tensor = lg.asarray(x)
    found = lg.grad(lg.prod(tensor, axis=1), tensor, upstream=u)
    assert np.allclose(found.numpy(), others(x, u), rtol=1e-13, atol=0.0)


@pytest.mark.parametrize(("axis", "zeros"), [(None, 1), (1, 1), (1, 5), ((0, 2), 3)])
def test_gradients_to_second_order_with_zeros(
    axis: Any, zeros: int, rng: np.random.Generator
) -> None:
    x = rng.uniform(0.5, 1.5, CUBE)
    x.flat[rng.permutation(x.size)[:zeros]] = 0.0
    assert_gradients(lambda x: lg.prod(x, axis=axis), [x], rng)


def test_three_zeros_have_a_third_derivative() -> None:
    x = lg.asarray([0.0, 0.0, 0.0], dtype="float64")
    first = lg.grad(lg.prod(x), x)
    second = lg.grad(first[0], x)
    assert first.tolist() == second.tolist() == [0.0, 0.0, 0.0]
    assert lg.grad(second[1], x).tolist() == [0.0, 0.0, 1.0]


def test_the_gradient_takes_as_many_nodes_as_the_length_has_bits() -> None:
    counts = []
    for length in (1 << 10, 1 << 16):
        x = lg.ones((length,)).realize()
        before = lg.stats().nodes_made
        lg.prod(x).backward()
        counts.append(lg.stats().nodes_made - before)
    assert counts[1] < 2 * counts[0] < 500
