"""Points on lines and grids."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.gradients import assert_gradients

POINTS = (
    (0, 1, 5),
    (0.0, 1.0, 1),
    (-2.5, 7, 4),
    (3, -3, 7),
    (1, 1, 3),
    (5.0, 9.0, 0),
    (0, 1, 100),
)


@pytest.mark.parametrize(("start", "stop", "num"), POINTS)
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
def test_a_line_is_that_of_numpy(
    start: float, stop: float, num: int, endpoint: bool, dtype: str | None
) -> None:
    found = lg.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    wanted = np.linspace(start, stop, num, endpoint=endpoint).astype(dtype or "float32")
    assert_same_bits(found, wanted)


def test_a_line_ends_exactly_where_it_should() -> None:
    for num in range(2, 200):
        points = lg.linspace(0.1, 0.7, num, dtype="float64").numpy()
        assert points[0] == 0.1
        assert points[-1] == 0.7


def test_a_line_needs_floats_and_a_number_of_points() -> None:
    with pytest.raises(
        lg.errors.DTypeError, match="linspace needs a floating dtype; got int64"
    ):
        lg.linspace(0, 1, 3, dtype=int)
    with pytest.raises(lg.errors.ShapeError, match="number of points from 0 up; got -1"):
        lg.linspace(0, 1, -1)


def test_arrays_are_stretched_to_the_common_shape(rng: np.random.Generator) -> None:
    arrays = [
        rng.normal(size=(3, 1)),
        rng.integers(0, 9, (1, 4)),
        np.array(True),
        np.ones((2, 1, 1)),
    ]
    found = lg.broadcast_arrays(*map(lg.asarray, arrays))
    for y, wanted in zip(found, np.broadcast_arrays(*arrays), strict=True):
        assert_same_bits(y, wanted)
    assert lg.broadcast_arrays() == []
    assert lg.broadcast_arrays(lg.zeros((0, 1)), 1.0, lg.zeros((5,)))[1].shape == (0, 5)
    with pytest.raises(
        lg.errors.ShapeError, match=r"shapes that broadcast, .* got \(2,\) and \(3,\)"
    ):
        lg.broadcast_arrays(lg.zeros((2,)), lg.zeros((3,)))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(), (3,), (3, 2), (3, 2, 4), (0, 2), (1, 1, 1, 2)])
def test_a_grid_is_that_of_numpy(indexing: Any, lengths: tuple[int, ...]) -> None:
    arrays = [np.arange(n) * 10.0 for n in lengths]
    found = lg.meshgrid(*map(lg.asarray, arrays), indexing=indexing)
    wanted = np.meshgrid(*arrays, indexing=indexing)
    assert isinstance(found, list)
    for y, value in zip(found, wanted, strict=True):
        assert_same_bits(y, value)


def test_a_grid_takes_numbers_and_keeps_dtypes() -> None:
    x, y = lg.meshgrid(5, lg.asarray([1.0, 2.0], dtype="float64"))
    assert x.tolist() == [[5], [5]]
    assert (x.dtype, y.dtype) == (lg.int64, lg.float64)


def test_a_grid_needs_lines_and_a_known_order() -> None:
    with pytest.raises(lg.errors.ShapeError, match=r"tensors with one axis; got \(2, 2\)"):
        lg.meshgrid(lg.zeros((2, 2)))
    with pytest.raises(ValueError, match="indexing must be 'xy' or 'ij'; got 'yx'"):
        lg.meshgrid(lg.zeros((2,)), indexing="yx")


def test_gradients_of_a_grid_add_over_the_other_axes(rng: np.random.Generator) -> None:
    def area(a: lg.Tensor, b: lg.Tensor) -> lg.Tensor:
        x, y = lg.meshgrid(a, b)
        return x * x * y

    assert_gradients(area, [rng.normal(size=3), rng.normal(size=4)], rng)
