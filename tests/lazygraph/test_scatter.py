"""Gather and scatter against NumPy: values, order of sums, bounds, layouts."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lazygraph.ops.scatter import (
    accumulate,
    assign,
    gather,
    gather_along_axis,
    scatter_add_along_axis,
)

Array = NDArray[Any]

# Shape of x, axis, shape of the indices. Rows of 256 and more are added in another way.
CASES = (
    ((7,), 0, (5,)),
    ((7,), 0, ()),
    ((65, 256), 0, (300,)),
    ((65, 255), 0, (10, 30)),
    ((3, 1), 0, (40_000,)),
    ((4, 5, 300), 1, (2, 3)),
    ((4, 5, 6), 1, (9,)),
    ((4, 5, 6), 2, (3, 2)),
    ((2000, 11), 1, (13,)),
    ((3, 9, 4000), 2, (5,)),
    ((3, 0), 0, (4,)),
    ((0, 3), 0, (0,)),
    ((2, 3, 0), 1, (2, 2)),
    ((5, 3), 0, (0, 2)),
    ((0, 3, 2), 1, (4,)),
)
# Shape of x, axis, length of the indices on that axis.
ALONG = (
    ((6,), 0, 9),
    ((40, 65), 1, 1),
    ((40, 65), 0, 3),
    ((700, 30), 1, 70),
    ((3, 40_000), 0, 2),
    ((2, 40_000), 1, 50_000),
    ((4, 5, 6), 1, 8),
    ((0, 4), 1, 2),
    ((4, 0), 0, 2),
    ((4, 3), 1, 0),
)
INTEGERS = pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]
)


def drawn(rng: np.random.Generator, length: int, shape: tuple[int, ...]) -> Array:
    """Indices with negative ones among them, and repeated ones where they are many."""
    return rng.integers(-length, length, shape) if length else np.zeros(shape, np.int64)


def kernel(function: Callable[..., None], shape: tuple[int, ...], *operands: Any) -> Array:
    out = np.full(shape, 77, np.float32)
    function(*operands, out)
    return out


def scatter_add(indices: Array, upstream: Array, axis: int, out: Array) -> None:
    out[...] = 0
    accumulate(np.add, indices, upstream, axis, out)


def picked_shape(shape: tuple[int, ...], axis: int, indices: Array) -> tuple[int, ...]:
    return (*shape[:axis], *indices.shape, *shape[axis + 1 :])


def added_one_by_one(
    indices: Array, upstream: Array, axis: int, shape: tuple[int, ...]
) -> Array:
    sums = np.zeros(shape, upstream.dtype)
    before: list[Any] = [slice(None)] * axis
    for i in np.ndindex(indices.shape):
        sums[(*before, int(indices[i]))] += upstream[(*before, *i)]
    return sums


@pytest.mark.parametrize(("shape", "axis", "index_shape"), CASES)
def test_gather_is_take(
    shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    indices = drawn(rng, shape[axis], index_shape)
    wanted = np.take(x, indices, axis)
    assert np.array_equal(kernel(gather, wanted.shape, x, indices, axis), wanted)
    fortran = np.asfortranarray(x)
    assert np.array_equal(kernel(gather, wanted.shape, fortran, indices, axis), wanted)


@pytest.mark.parametrize(("shape", "axis", "index_shape"), CASES)
def test_scatter_adds_slice_by_slice_from_the_first_to_the_last(
    shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    indices = drawn(rng, shape[axis], index_shape)
    upstream = rng.standard_normal(picked_shape(shape, axis, indices)).astype(np.float32)
    out = kernel(scatter_add, shape, indices, upstream, axis)
    assert out.tobytes() == added_one_by_one(indices, upstream, axis, shape).tobytes()


@pytest.mark.parametrize("combine", [np.multiply, np.minimum, np.maximum], ids=str)
@pytest.mark.parametrize(("shape", "axis", "index_shape"), CASES)
def test_other_combinations_go_in_order_too(
    combine: np.ufunc,
    shape: tuple[int, ...],
    axis: int,
    index_shape: tuple[int, ...],
    rng: np.random.Generator,
) -> None:
    indices = drawn(rng, shape[axis], index_shape)
    values = rng.standard_normal(picked_shape(shape, axis, indices)).astype(np.float32)
    wanted = rng.standard_normal(shape).astype(np.float32)
    out = np.asfortranarray(wanted)
    accumulate(combine, indices, values, axis, out)
    before: list[Any] = [slice(None)] * axis
    for i in np.ndindex(indices.shape):
        place = (*before, int(indices[i]))
        wanted[place] = combine(wanted[place], values[(*before, *i)])
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("shape", "axis", "index_shape"), CASES)
def test_of_several_assignments_to_one_place_the_last_one_stays(
    shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    indices = drawn(rng, shape[axis], index_shape)
    values = rng.standard_normal(picked_shape(shape, axis, indices)).astype(np.float32)
    wanted = rng.standard_normal(shape).astype(np.float32)
    out = wanted.copy()
    assign(indices, values, axis, out)
    before: list[Any] = [slice(None)] * axis
    for i in np.ndindex(indices.shape):
        wanted[(*before, int(indices[i]))] = values[(*before, *i)]
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("shape", "axis", "index_shape"), CASES)
def test_scatter_is_the_transpose_of_gather(
    shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    # <u, gather(x)> == <scatter(u), x>, exactly: small whole numbers.
    indices = drawn(rng, shape[axis], index_shape)
    x = rng.integers(-8, 8, shape).astype(np.float32)
    u = rng.integers(-8, 8, picked_shape(shape, axis, indices)).astype(np.float32)
    forward = kernel(gather, u.shape, x, indices, axis)
    backward = kernel(scatter_add, shape, indices, u, axis)
    assert np.vdot(u.astype(float), forward) == np.vdot(backward, x.astype(float))


@pytest.mark.parametrize("width", [1, 40, 256])
def test_bits_of_a_scatter_do_not_depend_on_layouts(
    width: int, rng: np.random.Generator
) -> None:
    indices = drawn(rng, 9, (20, 50))
    upstream = rng.standard_normal((3, 20, 50, width)).astype(np.float32)
    wanted = kernel(scatter_add, (3, 9, width), indices, upstream, 1)
    for moved in (np.asfortranarray(upstream), np.repeat(upstream, 2, axis=2)[:, :, ::2]):
        assert np.array_equal(
            kernel(scatter_add, (3, 9, width), indices, moved, 1).view(np.uint32),
            wanted.view(np.uint32),
        )
    out = np.full((width, 9, 3), 77, np.float32).T
    scatter_add(np.asfortranarray(indices), upstream, 1, out)
    assert np.array_equal(out, wanted)


def test_a_broadcast_upstream_counts_the_indices(rng: np.random.Generator) -> None:
    indices = rng.integers(0, 10, 30_000)
    ones = np.broadcast_to(np.float32(1), (30_000,))
    counts = kernel(scatter_add, (10,), indices, ones, 0)
    assert np.array_equal(counts, np.bincount(indices, minlength=10))


@pytest.mark.parametrize(("shape", "axis", "count"), ALONG)
def test_gather_along_axis_is_take_along_axis(
    shape: tuple[int, ...], axis: int, count: int, rng: np.random.Generator
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    indices = drawn(rng, shape[axis], (*shape[:axis], count, *shape[axis + 1 :]))
    wanted = np.take_along_axis(x, indices, axis)
    assert np.array_equal(kernel(gather_along_axis, wanted.shape, x, indices, axis), wanted)
    fortran = np.asfortranarray(x)
    out = np.full(wanted.shape, 77, np.float32, order="F")
    gather_along_axis(fortran, np.asfortranarray(indices), axis, out)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("shape", "axis", "count"), ALONG)
def test_scatter_along_axis_adds_element_by_element_in_order(
    shape: tuple[int, ...], axis: int, count: int, rng: np.random.Generator
) -> None:
    indices = drawn(rng, shape[axis], (*shape[:axis], count, *shape[axis + 1 :]))
    upstream = rng.standard_normal(indices.shape).astype(np.float32)
    wanted = np.zeros(shape, np.float32)
    places = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    places[axis] = indices
    np.add.at(wanted, tuple(places), upstream)
    out = kernel(scatter_add_along_axis, shape, indices, upstream, axis)
    assert out.tobytes() == wanted.tobytes()
    moved = np.asfortranarray(upstream)
    assert np.array_equal(
        kernel(scatter_add_along_axis, shape, np.asfortranarray(indices), moved, axis), wanted
    )


@INTEGERS
def test_every_integer_dtype_indexes(dtype: Any) -> None:
    x, indices = np.array([10, 20, 30], np.float32), np.array([2, 0, 2, 2], dtype)
    assert kernel(gather, (4,), x, indices, 0).tolist() == [30, 10, 30, 30]
    assert kernel(gather_along_axis, (4,), x, indices, 0).tolist() == [30, 10, 30, 30]
    upstream = np.array([1, 2, 3, 4], np.float32)
    for scatter in (scatter_add, scatter_add_along_axis):
        assert kernel(scatter, (3,), indices, upstream, 0).tolist() == [2, 0, 8]


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_sums_have_the_dtype_of_the_result(dtype: Any) -> None:
    out = np.full((2, 300), 9, dtype)
    scatter_add(np.array([1, -1]), np.full((2, 300), 4, dtype), 0, out)
    assert out.tolist() == [[0] * 300, [8] * 300]


def test_what_is_not_finite_stays_in_its_own_row() -> None:
    upstream = np.ones((3, 300), np.float32)
    upstream[1] = np.inf
    out = kernel(scatter_add, (4, 300), np.array([0, 2, 0]), upstream, 0)
    assert out[:, 0].tolist() == [2, 0, np.inf, 0]


@pytest.mark.parametrize(
    ("indices", "dtype", "wrong"),
    [
        ([1, 7], np.int64, 7),
        ([2, -4, 9], np.int32, -4),
        ([0, 3], np.uint8, 3),
        ([[2, 1], [2**64 - 1, 5]], np.uint64, 2**64 - 1),
        ([-(2**63)], np.int64, -(2**63)),
    ],
)
def test_an_index_outside_is_an_error_that_names_it(
    indices: list[Any], dtype: Any, wrong: int
) -> None:
    picked = np.array(indices, dtype)
    message = re.escape(f"index {wrong} is out of bounds for axis 0 with size 3")
    x, out = np.zeros((3, 2), np.float32), np.full((3, 2), 5, np.float32)
    upstream = np.ones((*picked.shape, 2), np.float32)
    with pytest.raises(IndexError, match=f"^{message}$"):
        gather(x, picked, 0, upstream)
    with pytest.raises(IndexError, match=f"^{message}$"):
        accumulate(np.add, picked, upstream, 0, out)
    with pytest.raises(IndexError, match=f"^{message}$"):
        assign(picked, upstream, 0, out)
    flat = picked.reshape(-1)
    with pytest.raises(IndexError, match=f"^{message}$"):
        gather_along_axis(x[:, 0], flat, 0, np.zeros(flat.shape, np.float32))
    with pytest.raises(IndexError, match=f"^{message}$"):
        scatter_add_along_axis(flat, np.ones(flat.shape, np.float32), 0, out[:, 0])
    assert np.all(out == 5)
    assert np.all(upstream == 1)


def test_an_empty_axis_has_no_index() -> None:
    message = "^index 0 is out of bounds for axis 1 with size 0$"
    with pytest.raises(IndexError, match=message):
        kernel(gather, (2, 1), np.zeros((2, 0), np.float32), np.array([0]), 1)


def test_where_none_may_be_negative_minus_one_is_outside() -> None:
    message = "^index -1 is out of bounds for axis 0 with size 3, where none may be negative$"
    x, picked = np.zeros(3, np.float32), np.array([2, -1])
    with pytest.raises(IndexError, match=message):
        gather(x, picked, 0, np.zeros(2, np.float32), wrap=False)
    with pytest.raises(IndexError, match=message):
        gather_along_axis(x, picked, 0, np.zeros(2, np.float32), wrap=False)
    with pytest.raises(IndexError, match=message):
        scatter_add_along_axis(picked, np.zeros(2, np.float32), 0, x, wrap=False)
    with pytest.raises(IndexError, match=message):
        accumulate(np.add, picked, np.zeros(2, np.float32), 0, x, wrap=False)
