"""Order: ties stay in order, NaN is the greatest, gradients find their way back."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import DTYPES, FLOATS, special

NAN, INF = np.nan, np.inf
DESCENDING = pytest.mark.parametrize("descending", [False, True])


def order(x: Array, axis: int, descending: bool) -> Array:
    """By definition: indices by value, those of equal values ascending, NaN the greatest."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.asarray(x.shape[axis] - 1 - np.flip(backwards, axis))


@DESCENDING
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9,), (3, 40), (2, 3, 4), (0,), (3, 0), (0, 3), (1,)])
def test_elements_and_indices_are_in_order(
    descending: bool, dtype: Any, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    x = rng.integers(0, 7, shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        wanted = order(x, axis, descending)
        t = lg.asarray(x)
        assert_same_bits(lg.argsort(t, axis=axis, descending=descending), wanted)
        found = lg.sort(t, axis=axis, descending=descending)
        assert_same_bits(found, np.take_along_axis(x, wanted, axis))


@DESCENDING
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values_are_in_order_and_zeros_keep_their_signs(
    descending: bool, dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.permutation(np.tile(special(dtype), 3))
    wanted = order(x, 0, descending)
    assert_same_bits(lg.argsort(lg.asarray(x), descending=descending), wanted)
    assert_same_bits(lg.sort(lg.asarray(x), descending=descending), x[wanted])


def test_equal_elements_keep_their_order_both_ways() -> None:
    x = lg.asarray([2, 1, 2, 1, 2])
    assert lg.argsort(x).tolist() == [1, 3, 0, 2, 4]
    assert lg.argsort(x, descending=True).tolist() == [0, 2, 4, 1, 3]
    assert lg.argsort(x, stable=False).tolist() == [1, 3, 0, 2, 4]
    nans = lg.asarray([1.0, NAN, -INF, INF])
    assert lg.argsort(nans).tolist() == [2, 0, 3, 1]
    assert lg.argsort(nans, descending=True).tolist() == [1, 3, 0, 2]


def test_bits_do_not_depend_on_how_the_operand_lies(rng: np.random.Generator) -> None:
    x = np.where(rng.uniform(size=(40, 30)) < 0.3, -0.0, rng.integers(0, 3, (40, 30)) * 1.0)
    for axis in (0, 1):
        wanted = np.take_along_axis(x, order(x, axis, True), axis)
        for t in (lg.asarray(x), lg.asarray(x.T).T, lg.asarray(x[::-1, ::-1])[::-1, ::-1]):
            assert_same_bits(lg.sort(t, axis=axis, descending=True), wanted)
            assert_same_bits(lg.argsort(t, axis=axis, descending=True), order(x, axis, True))


@DESCENDING
def test_a_sorted_element_sends_its_gradient_home(descending: bool) -> None:
    x = lg.asarray([3.0, 1.0, 2.0, 1.0])
    y = lg.sort(x, descending=descending)
    found = lg.grad(y, x, upstream=lg.asarray([1.0, 10.0, 100.0, 1000.0])).tolist()
    assert found == ([1.0, 100.0, 10.0, 1000.0] if descending else [1000.0, 1.0, 100.0, 10.0])


@DESCENDING
@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_to_second_order(
    descending: bool, axis: int, rng: np.random.Generator
) -> None:
    x = rng.permutation(12).reshape(3, 4) / 4.0
    weights = np.arange(12.0).reshape(3, 4)

    def function(x: lg.Tensor) -> lg.Tensor:
        return lg.exp(lg.sort(x, axis=axis, descending=descending)) * weights

    assert_gradients(function, [x], rng)
    assert_gradients(lambda x: lg.exp(lg.topk(x, 2, axis=axis)[0]), [x], rng)


def test_topk_gives_values_and_indices() -> None:
    x = lg.asarray([[1.0, NAN, 5.0, 5.0], [4.0, -1.0, 2.0, 3.0]])
    values, indices = lg.topk(x, 3)
    assert indices.tolist() == [[1, 2, 3], [0, 3, 2]]
    assert_same_bits(values, np.array([[NAN, 5.0, 5.0], [4.0, 3.0, 2.0]], np.float32))
    values, indices = lg.topk(x, 1, axis=0, largest=False)
    assert indices.tolist() == [[0, 1, 1, 1]]
    assert values.tolist() == [[1.0, -1.0, 2.0, 3.0]]
    assert [y.shape for y in lg.topk(x, 0)] == [(2, 0), (2, 0)]
    assert lg.topk(lg.asarray([3, 1, 2]), 2)[0].tolist() == [3, 2]


def test_topk_sends_its_gradient_to_the_chosen() -> None:
    x = lg.asarray([3.0, 9.0, 1.0, 7.0])
    values, _ = lg.topk(x, 2)
    assert lg.grad(values, x, upstream=lg.asarray([1.0, 10.0])).tolist() == [
        0.0,
        1.0,
        0.0,
        10.0,
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_argmin_is_that_of_numpy(
    dtype: Any, axis: int | None, keepdims: bool, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 3, (5, 6)).astype(dtype)
    found = lg.argmin(lg.asarray(x), axis=axis, keepdims=keepdims)
    assert_same_bits(found, np.argmin(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_the_first_of_equal_elements_is_the_smallest_and_the_greatest(dtype: Any) -> None:
    assert lg.argmin(lg.asarray([4, 2, 2, 8], dtype=dtype)).item() == 1
    assert lg.argmax(lg.asarray([3, 9, 1, 9, 9], dtype=dtype)).item() == 1
    x = lg.asarray([[1, 5], [1, 7], [0, 7]], dtype=dtype)
    assert lg.argmax(x, axis=0).tolist() == [0, 1]
    assert lg.argmin(-x, axis=0).tolist() == [0, 1]


def test_nan_is_the_smallest_for_argmin_and_zeros_are_equal() -> None:
    assert lg.argmin(lg.asarray([1.0, NAN, -INF, NAN])).item() == 1
    assert lg.argmin(lg.asarray([0.0, -0.0])).item() == 0
    assert lg.argmin(lg.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(lg.errors.ShapeError, match="the reduced axes must not be empty"):
        lg.argmin(lg.zeros((0, 3)), axis=0)
    with pytest.raises(lg.errors.ShapeError, match="the reduced axes must not be empty"):
        lg.argmin(lg.zeros((0,)))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3)])
def test_places_are_those_of_numpy(
    side: Any, dtype: Any, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    for length in (0, 1, 20):
        row = np.sort(rng.integers(0, 9, length)).astype(dtype)
        values = np.asarray(rng.integers(0, 9, shape)).astype(dtype)
        found = lg.searchsorted(lg.asarray(row), lg.asarray(values), side=side)
        assert_same_bits(found, np.asarray(np.searchsorted(row, values, side)))


def test_places_of_nan_numbers_and_of_a_row_that_is_not_in_order() -> None:
    row = lg.asarray([3.0, 1.0, NAN, 2.0])
    sorter = lg.argsort(row)
    found = lg.searchsorted(row, lg.asarray([2.0, NAN, INF]), sorter=sorter, side="right")
    assert found.tolist() == [2, 4, 3]
    assert lg.searchsorted(lg.asarray([1, 2, 3]), 2.5).item() == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: lg.topk(x, 4), "topk needs k in [0, 3], the length of the axis; got 4"),
        (lambda x: lg.topk(x, -1), "topk needs k in [0, 3], the length of the axis; got -1"),
        (
            lambda x: lg.searchsorted(x, 1.0),
            "the row to search must have one axis; got float32",
        ),
        (lambda x: lg.searchsorted(x[0], 1.0, side="up"), "side must be 'left' or 'right'"),
        (lambda x: lg.sort(x, axis=2), "axis must lie in [-2, 2) for 2 axes; got 2"),
        (lambda x: lg.argsort(x[0, 0]), "axis must lie in [-0, 0) for 0 axes; got -1"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    call: Callable[[lg.Tensor], Any], message: str
) -> None:
    with pytest.raises((ValueError, IndexError), match=re.escape(message)):
        call(lg.zeros((2, 3)))
