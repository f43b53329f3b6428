"""Average pooling against loops, and what it has in common with max pooling."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import OPS
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.sliding_loops import (
    GEOMETRIES,
    TILES,
    Geometry,
    greatest,
    loops,
    named,
    pooled,
)

GEOMETRY = pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)


class TestAveragePooling:
    @GEOMETRY
    @pytest.mark.parametrize("counted", [True, False])
    def test_is_the_mean_of_each_window(
        self, geometry: Geometry, counted: bool, rng: Generator
    ) -> None:
        x = rng.standard_normal((2, 3, 7, 6))
        size, stride, padding, ceil_mode = geometry
        padded = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
        # Windows over what is already padded; in ceil mode they may go on past that.
        source, margin = (padded, (0, 0)) if counted else (x, padding)
        expected = pooled(
            source, lambda e, _: e.mean(-1), size, stride, margin, ceil_mode=ceil_mode
        )
        y = lg.avg_pool2d(x, **named(geometry), count_include_pad=counted)
        rows, columns = y.shape[2:]
        np.testing.assert_allclose(
            y.numpy(), expected[:, :, :rows, :columns], rtol=1e-12, atol=1e-14
        )
        assert y.shape[2:] == loops(x, greatest, geometry).shape[2:]

    @GEOMETRY
    def test_spreads_the_gradient_evenly(self, geometry: Geometry, rng: Generator) -> None:
        x = lg.asarray(rng.standard_normal((1, 2, 7, 6)))
        y = lg.avg_pool2d(x, **named(geometry))
        u = rng.standard_normal(y.shape)
        found = lg.grad(y, x, upstream=u).numpy()
        unit = np.eye(42).reshape(42, 1, 7, 6)
        responses = lg.avg_pool2d(unit, **named(geometry)).numpy()[:, 0]
        expected = np.einsum("krq,bcrq->bck", responses, u).reshape(x.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-14)

    def test_counts_neither_more_nor_less_than_the_padding(self) -> None:
        x = lg.full((1, 1, 1, 3), 6.0)

        def row(**options: Any) -> Any:
            return lg.avg_pool2d(x, (1, 2), **options).tolist()[0][0][0]

        # Windows of places: padding and 6, 6 and 6; and one of 6 and what is past all padding.
        assert row(padding=(0, 1)) == [3.0, 6.0]
        assert row(padding=(0, 1), count_include_pad=False) == [6.0, 6.0]
        assert row(ceil_mode=True) == [6.0, 6.0]

    @pytest.mark.parametrize("dtype", [np.uint8, np.int64])
    def test_of_integers_is_not_cut(self, dtype: Any) -> None:
        x = np.array([[[[255, 254], [255, 255]]]], dtype)
        y = lg.avg_pool2d(x, 2)
        assert y.dtype is lg.float32
        assert y.item() == 254.75


LAYOUTS: dict[str, Callable[[Array], lg.Tensor]] = {
    "channels last": lambda x: lg.permute_dims(
        lg.asarray(x.transpose(0, 2, 3, 1).copy()), (0, 3, 1, 2)
    ),
    "a part": lambda x: lg.asarray(np.repeat(np.repeat(x, 2, axis=3), 3, axis=1))[
        :, ::3, :, ::2
    ],
    "backwards": lambda x: lg.asarray(x[::-1, :, ::-1].copy())[::-1, :, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("pool", [lg.max_pool2d, lg.avg_pool2d])
@pytest.mark.parametrize("geometry", [TILES, ((3, 2), (1, 2), (1, 1), True)], ids=str)
def test_bits_do_not_depend_on_how_operands_lie(
    layout: Any, pool: Any, geometry: Geometry, rng: Generator
) -> None:
    x = np.maximum(rng.standard_normal((3, 2, 8, 6)), 0.0).astype(np.float32)
    xs, turned = lg.asarray(x), layout(x)
    y = pool(xs, **named(geometry))
    assert_same_bits(pool(turned, **named(geometry)), y)
    u = rng.standard_normal(y.shape).astype(np.float32)
    wanted = lg.grad(y, xs, upstream=u)
    found = lg.grad(pool(turned, **named(geometry)), turned, upstream=layout(u))
    assert_same_bits(found, wanted)


@pytest.mark.parametrize("pool", [lg.max_pool2d, lg.avg_pool2d])
@pytest.mark.parametrize("shape", [(40, 3, 32, 34), (1, 5, 200, 230), (1, 1, 330, 310)])
@pytest.mark.parametrize("geometry", [TILES, ((3, 2), (1, 2), (1, 1), False)], ids=str)
def test_it_does_not_matter_into_which_pieces_the_work_is_cut(
    pool: Any, shape: Any, geometry: Geometry, rng: Generator
) -> None:
    # Several images, some channels of one, and one channel are worked on at a time.
    x = rng.standard_normal(shape).astype(np.float32)
    y = pool(lg.asarray(x), **named(geometry))
    u = rng.standard_normal(y.shape).astype(np.float32)
    xs = lg.asarray(x)
    gradient = lg.grad(pool(xs, **named(geometry)), xs, upstream=u).numpy()
    for i, j in ((0, 0), (shape[0] - 1, shape[1] - 1)):
        one = slice(i, i + 1), slice(j, j + 1)
        part = lg.asarray(x[one])
        alone = pool(part, **named(geometry))
        assert_same_bits(alone, y.numpy()[one])
        assert_same_bits(lg.grad(alone, part, upstream=u[one]), gradient[one])


def test_nothing_in_nothing_out() -> None:
    for pool in (lg.max_pool2d, lg.avg_pool2d):
        for shape in ((0, 3, 4, 4), (2, 0, 4, 4)):
            x = lg.asarray(np.zeros(shape, np.float32))
            y = pool(x, 2)
            assert y.numpy().shape == (*shape[:2], 2, 2)
            assert lg.sum(y).backward()[x].numpy().shape == shape


def test_one_number_means_the_same_for_height_and_width(rng: Generator) -> None:
    x = rng.standard_normal((1, 1, 6, 6))
    for pool in (lg.max_pool2d, lg.avg_pool2d):
        assert_same_bits(pool(x, 2), pool(x, (2, 2), stride=(2, 2), padding=(0, 0)))
        assert_same_bits(
            pool(x, 3, stride=2, padding=1), pool(x, [3, 3], stride=[2, 2], padding=1)
        )
    assert_same_bits(lg.max_pool1d(x[:, 0], 3), lg.max_pool2d(x, (1, 3))[:, 0])


def test_transposes_are_records_of_their_own(rng: Generator) -> None:
    x = lg.asarray(rng.standard_normal((1, 1, 4, 4)))
    for pool, name in ((lg.max_pool2d, "unpool2d"), (lg.avg_pool2d, "spread2d")):
        assert lg.grad(lg.sum(pool(x, 2)), x).node.op is OPS[name]


class TestRefusals:
    @pytest.mark.parametrize("pool", [lg.max_pool2d, lg.avg_pool2d])
    def test_axes(self, pool: Any) -> None:
        message = r"x must have the shape \(batch, channels, height, width\); got \(3, 4, 4\)"
        with pytest.raises(errors.ShapeError, match=message) as caught:
            pool(lg.zeros((3, 4, 4)), 2)
        assert caught.value.__notes__[0].startswith("  float32[3, 4, 4] built at ")

    def test_axes_of_a_row(self) -> None:
        message = (
            r"^max_pool1d: x must have the shape \(batch, channels, length\); got \(4, 4\)$"
        )
        with pytest.raises(errors.ShapeError, match=message):
            lg.max_pool1d(lg.zeros((4, 4)), 2)

    @pytest.mark.parametrize("pool", [lg.max_pool2d, lg.avg_pool2d])
    def test_windows_that_do_not_fit(self, pool: Any) -> None:
        message = r"a window must fit .* got a window of 5 on 4 \+ 2 \* 0"
        with pytest.raises(errors.ShapeError, match=message):
            pool(lg.zeros((1, 1, 6, 4)), 5)

    def test_truth_values(self) -> None:
        with pytest.raises(
            errors.DTypeError, match=r"^max_pool2d: the operand must be numbers"
        ):
            lg.max_pool2d(lg.ones((1, 1, 2, 2), dtype=bool), 2)

    @pytest.mark.parametrize("pool", [lg.max_pool2d, lg.avg_pool2d])
    @pytest.mark.parametrize(
        ("size", "where", "message"),
        [
            (0, {}, "size must be at least 1; got 0"),
            (2, {"stride": 0}, "stride must be at least 1; got 0"),
            (2, {"padding": -1}, "padding must be at least 0; got -1"),
            (
                (4, 3),
                {"padding": 2},
                r"padding must be at most half of the size; got \(2, 2\) and \(4, 3\)",
            ),
        ],
    )
    def test_geometry(self, pool: Any, size: Any, where: Any, message: str) -> None:
        with pytest.raises(ValueError, match=f"^{message}$"):
            pool(lg.zeros((1, 1, 9, 9)), size, **where)
