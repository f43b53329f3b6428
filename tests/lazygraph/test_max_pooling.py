"""Max pooling against loops: values, geometry, ties, special values."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.sliding_loops import GEOMETRIES, Geometry, greatest, loops, named, windows

GEOMETRY = pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)


def one(row: list[float], dtype: Any = np.float32) -> lg.Tensor:
    """A batch of one row."""
    return lg.asarray(np.array([[row]], dtype))


class TestMaxPooling:
    @GEOMETRY
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
    def test_is_the_greatest_of_each_window(
        self, geometry: Geometry, dtype: Any, rng: Generator
    ) -> None:
        x = rng.integers(-90 if np.dtype(dtype).kind != "u" else 5, 90, (2, 3, 7, 6))
        x = x.astype(dtype)
        y = lg.max_pool2d(x, **named(geometry))
        assert_same_bits(y, loops(x, greatest, geometry))

    @GEOMETRY
    def test_sends_the_gradient_to_the_first_greatest(
        self, geometry: Geometry, rng: Generator
    ) -> None:
        # Few different values: nearly every window has a tie.
        x = rng.integers(0, 3, (2, 3, 7, 6)).astype(np.float64)
        xs = lg.asarray(x)
        y = lg.max_pool2d(xs, **named(geometry))
        u = rng.integers(1, 100, y.shape).astype(np.float64)
        expected = np.zeros_like(x)
        for r, q, places in windows(x, *geometry):
            for b, c in np.ndindex(2, 3):
                values = [x[b, c, h, w] for _, _, h, w in places]
                _, _, h, w = places[int(np.argmax(values))]
                expected[b, c, h, w] += u[b, c, r, q]
        assert_same_bits(lg.grad(y, xs, upstream=u), expected)

    def test_pads_with_nothing(self) -> None:
        # A padding of zeros would give [0, -2].
        x = one([-3, -5, -2, -4])
        y = lg.max_pool1d(x, 3, stride=2, padding=1)
        assert y.tolist() == [[[-3.0, -2.0]]]
        assert lg.sum(y).backward()[x].tolist() == [[[1.0, 0.0, 1.0, 0.0]]]
        assert lg.max_pool1d(one([-3, -5], np.int8), 2, padding=1).tolist() == [[[-3, -5]]]

    @pytest.mark.parametrize(
        ("length", "size", "stride", "padding", "count"),
        [(10, 3, 3, 1, 4), (7, 2, 3, 0, 3), (8, 2, 3, 1, 3), (6, 2, 4, 1, 2)],
    )
    def test_has_no_window_of_padding_alone(
        self, length: int, size: int, stride: int, padding: int, count: int
    ) -> None:
        # The plain formula says 4 and 3 for the last two, with nothing to see there.
        x = one([float(i) for i in range(length)])
        y = lg.max_pool1d(x, size, stride=stride, padding=padding, ceil_mode=True)
        lasts = [min(i * stride - padding + size, length) - 1 for i in range(count)]
        assert y.tolist() == [[[float(i) for i in lasts]]]

    def test_tells_the_order_in_a_window_row_by_row(self) -> None:
        x = lg.asarray(np.array([[[[0.0, 5.0], [5.0, 5.0]]]]))
        assert lg.sum(lg.max_pool2d(x, 2)).backward()[x].tolist() == [[[[0, 1], [0, 0]]]]
        x = lg.asarray(np.array([[[[0.0, 1.0], [5.0, 5.0]]]]))
        assert lg.sum(lg.max_pool2d(x, 2)).backward()[x].tolist() == [[[[0, 0], [1, 0]]]]

    def test_of_minus_infinity_alone_is_that_with_a_gradient_for_the_first(self) -> None:
        x = one([-np.inf, -np.inf, -np.inf])
        y = lg.max_pool1d(x, 3, stride=2, padding=1)
        assert y.tolist() == [[[-np.inf, -np.inf]]]
        assert lg.sum(y).backward()[x].tolist() == [[[1.0, 1.0, 0.0]]]

    @pytest.mark.parametrize("place", range(4))
    def test_takes_nan_for_the_greatest(self, place: int) -> None:
        row = [1.0, 7.0, 3.0, 4.0, 5.0, 6.0, 0.0, 2.0]
        row[place] = np.nan
        x = one(row)
        y = lg.max_pool1d(x, 4)
        assert np.array_equal(y.numpy(), [[[np.nan, 6.0]]], equal_nan=True)
        chosen = [float(i in (place, 5)) for i in range(8)]
        assert lg.sum(y).backward()[x].tolist() == [[chosen]]

    @pytest.mark.parametrize("wild", [np.inf, -np.inf, np.nan])
    def test_keeps_an_infinite_upstream_in_its_place(self, wild: float) -> None:
        x = one([1.0, 2.0, 3.0, 0.0])
        g = lg.grad(lg.max_pool1d(x, 2), x, upstream=np.array([[[wild, -1.0]]], np.float32))
        assert np.array_equal(g.numpy(), [[[0.0, wild, -1.0, 0.0]]], equal_nan=True)
        assert not np.signbit(g.numpy()[0, 0, [0, 3]]).any()

    def test_adds_up_where_windows_meet(self) -> None:
        x = one([1.0, 9.0, 2.0, 3.0])
        y = lg.max_pool1d(x, 3, stride=1)
        g = lg.grad(y, x, upstream=np.array([[[10.0, 5.0]]], np.float32))
        assert g.tolist() == [[[0.0, 15.0, 0.0, 0.0]]]

    def test_has_a_slope_of_its_slope(self, rng: Generator) -> None:
        # y = max(x)^3 a window: the gradient of <grad y, v> is 6 max v at the maximum.
        x = rng.standard_normal((1, 1, 4, 4))
        v = rng.standard_normal(x.shape)
        xs = lg.asarray(x)
        slope = lg.grad(lg.sum(lg.max_pool2d(xs, 2) ** 3), xs)
        again = lg.grad(lg.sum(slope * v), xs).numpy()
        at = x == np.repeat(np.repeat(lg.max_pool2d(x, 2).numpy(), 2, axis=2), 2, axis=3)
        np.testing.assert_allclose(again, np.where(at, 6.0 * x * v, 0.0), rtol=1e-12)

    @pytest.mark.parametrize(
        ("size", "dtype"), [(2, "uint8"), (15, "uint8"), (16, "uint16"), (17, "uint16")]
    )
    def test_remembers_a_place_in_as_few_bytes_as_hold_it(self, size: int, dtype: str) -> None:
        x = lg.asarray(np.arange(17.0 * 17.0).reshape(1, 1, 17, 17))
        g = lg.grad(lg.sum(lg.max_pool2d(x, size)), x)
        position = g.node.inputs[1]
        assert position.spec.dtype.name == dtype
        assert lg.Tensor(position).numpy()[0, 0, 0, 0] == size * size - 1
        assert g.numpy().sum() == (17 // size) ** 2
