"""Convolution against loops: values, bits, special values, memory, and what is refused."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import OPS, Kind
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.sliding_loops import convolved

GEOMETRIES = list(itertools.product([(1, 1), (2, 1), (3, 2)], [(0, 0), (1, 0), (2, 3)]))
SHAPES = {
    "rectangles": ((2, 3, 7, 5), (4, 3, 3, 2)),
    "one channel": ((3, 1, 6, 6), (1, 1, 3, 3)),
    "points": ((2, 3, 5, 4), (2, 3, 1, 1)),
    "one window": ((2, 2, 5, 5), (3, 2, 5, 5)),
    "a row": ((2, 2, 1, 9), (3, 2, 1, 4)),
    "long windows": ((1, 2, 9, 2), (3, 2, 8, 2)),
}
# Products that take rows of an image, an image, and several: the sizes decide.
PIECES = {
    "several images": ((9, 2, 8, 8), (3, 2, 3, 3)),
    "an image each": ((3, 2, 20, 20), (3, 2, 3, 3)),
    "some rows each": ((2, 24, 45, 45), (2, 24, 3, 3)),
}


def drawn(rng: Generator, *shapes: tuple[int, ...], dtype: Any = np.float64) -> list[Array]:
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def pulled_back(x: Array, weight: Array, u: Array, **where: Any) -> list[Array]:
    xs = [lg.asarray(x), lg.asarray(weight)]
    return [g.numpy() for g in lg.grad(lg.conv2d(*xs, **where), xs, upstream=u)]


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("stride", "padding"), GEOMETRIES)
def test_a_convolution_is_the_sum_of_products_in_each_window(
    shapes: Any, stride: Any, padding: Any, rng: Generator
) -> None:
    x, weight = drawn(rng, *shapes)
    y = lg.conv2d(x, weight, stride=stride, padding=padding)
    expected = convolved(x, weight, stride, padding)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("stride", "padding"), GEOMETRIES)
def test_gradients_are_the_transposes_of_the_convolution(
    shapes: Any, stride: Any, padding: Any, rng: Generator
) -> None:
    # Linear in each operand: every entry of a gradient is the response to one unit of it.
    x, weight = drawn(rng, *shapes)
    (u,) = drawn(rng, convolved(x, weight, stride, padding).shape)
    of_x, of_weight = pulled_back(x, weight, u, stride=stride, padding=padding)
    unit = np.eye(x[0].size).reshape(-1, *x.shape[1:])
    responses = convolved(unit, weight, stride, padding)
    expected = np.einsum("korq,borq->bk", responses, u).reshape(x.shape)
    np.testing.assert_allclose(of_x, expected, rtol=1e-11, atol=1e-12)
    unit = np.eye(weight[0].size).reshape(-1, *weight.shape[1:])
    responses = convolved(x, unit, stride, padding)
    expected = np.einsum("bkrq,borq->ok", responses, u).reshape(weight.shape)
    np.testing.assert_allclose(of_weight, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shapes", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
def test_it_does_not_matter_into_which_pieces_the_work_is_cut(
    shapes: Any, stride: int, padding: int, rng: Generator
) -> None:
    x, weight = drawn(rng, *shapes)
    where = (stride, stride), (padding, padding)
    expected = convolved(x, weight, *where)
    y = lg.conv2d(x, weight, stride=stride, padding=padding).numpy()
    np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-11)
    # <u, conv(v, w)> == <of_x, v>, and alike for the weight.
    u, v, d = drawn(rng, y.shape, x.shape, weight.shape)
    of_x, of_weight = pulled_back(x, weight, u, stride=stride, padding=padding)
    assert np.vdot(of_x, v) == pytest.approx(np.vdot(u, convolved(v, weight, *where)))
    assert np.vdot(of_weight, d) == pytest.approx(np.vdot(u, convolved(x, d, *where)))


# The same elements, lying otherwise.
LAYOUTS: dict[str, Callable[[Array], lg.Tensor]] = {
    "channels last": lambda x: lg.permute_dims(
        lg.asarray(x.transpose(0, 2, 3, 1).copy()), (0, 3, 1, 2)
    ),
    "turned": lambda x: lg.permute_dims(
        lg.asarray(x.transpose(3, 2, 1, 0).copy()), (3, 2, 1, 0)
    ),
    "a part": lambda x: lg.asarray(np.repeat(np.repeat(x, 2, axis=3), 3, axis=1))[
        :, ::3, :, ::2
    ],
    "backwards": lambda x: lg.asarray(x[::-1, :, ::-1].copy())[::-1, :, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shapes", [*SHAPES.values(), PIECES["an image each"]])
def test_bits_do_not_depend_on_how_operands_lie(
    layout: Callable[[Array], lg.Tensor], shapes: Any, rng: Generator
) -> None:
    x, weight = drawn(rng, *shapes, dtype=np.float32)
    for stride, padding in ((1, 0), (2, 1)):
        where = {"stride": stride, "padding": padding}
        y = lg.conv2d(x, weight, **where)
        assert_same_bits(lg.conv2d(layout(x), layout(weight), **where), y)
        u = rng.standard_normal(y.shape).astype(np.float32)
        wanted = pulled_back(x, weight, u, **where)
        xs = layout(x), layout(weight)
        found = lg.grad(lg.conv2d(*xs, **where), list(xs), upstream=layout(u))
        for g, expected in zip(found, wanted, strict=True):
            assert_same_bits(g, expected)


def test_an_image_has_the_same_bits_in_every_batch(rng: Generator) -> None:
    x, weight = drawn(rng, (5, 3, 20, 18), (4, 3, 3, 3), dtype=np.float32)
    y = lg.conv2d(x, weight, padding=1)
    u = rng.standard_normal(y.shape).astype(np.float32)
    of_x, _ = pulled_back(x, weight, u, padding=1)
    for i in range(5):
        one = slice(i, i + 1)
        assert_same_bits(lg.conv2d(x[one], weight, padding=1), y.numpy()[one])
        assert_same_bits(pulled_back(x[one], weight, u[one], padding=1)[0], of_x[one])


def test_what_is_not_finite_is_seen_by_its_windows_alone() -> None:
    x = np.ones((2, 2, 20, 20), np.float32)
    x[0, 1, 7, 9] = np.nan
    y = lg.conv2d(x, np.ones((3, 2, 3, 3), np.float32)).numpy()
    seen = np.zeros((2, 3, 18, 18), bool)
    seen[0, :, 5:8, 7:10] = True
    assert np.array_equal(np.isnan(y), seen)
    assert (y[~seen] == 18.0).all()


def test_a_bias_is_added_to_each_output(rng: Generator) -> None:
    x, weight, bias = drawn(rng, (2, 3, 5, 5), (4, 3, 2, 2), (4,))
    plain = lg.conv2d(x, weight).numpy()
    b = lg.asarray(bias)
    y = lg.conv2d(x, weight, b)
    assert_same_bits(y, plain + bias[:, None, None])
    assert lg.sum(y).backward()[b].tolist() == [32.0] * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_the_dtype_of_the_operands_is_kept(dtype: Any) -> None:
    x = np.arange(18).reshape(1, 2, 3, 3).astype(dtype)
    y = lg.conv2d(x, np.ones((1, 2, 2, 2), dtype))
    assert y.dtype is lg.as_dtype(dtype)
    assert y.tolist() == [[[[52.0, 60.0], [76.0, 84.0]]]]


def test_operands_are_promoted() -> None:
    y = lg.conv2d(np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 2, 2)))
    assert (y.dtype, y.item()) == (lg.float64, 4.0)


def test_nothing_in_nothing_out() -> None:
    weight = lg.asarray(np.ones((4, 3, 2, 2), np.float32))
    x = lg.asarray(np.zeros((0, 3, 5, 5), np.float32))
    y = lg.conv2d(x, weight)
    assert y.numpy().shape == (0, 4, 4, 4)
    of_x, of_weight = lg.grad(lg.sum(y), [x, weight])
    assert of_x.numpy().shape == x.shape
    assert not of_weight.numpy().any()
    assert not lg.conv2d(np.zeros((2, 0, 5, 5)), np.zeros((1, 0, 2, 2))).numpy().any()


def test_the_three_records_are_each_others_gradients(rng: Generator) -> None:
    x, weight = (lg.asarray(a) for a in drawn(rng, (2, 2, 5, 5), (3, 2, 2, 2)))
    found = lg.grad(lg.sum(lg.square(lg.conv2d(x, weight, stride=2))), [x, weight])
    assert [g.node.op.name for g in found] == ["conv2d_input", "conv2d_weight"]
    again = lg.grad(lg.sum(lg.square(found[0])) + lg.sum(found[1]), [x, weight])
    assert [g.shape for g in again] == [x.shape, weight.shape]
    records = [OPS[name] for name in ("conv2d", "conv2d_input", "conv2d_weight")]
    assert {op.kind for op in records} == {Kind.CONTRACTION}


def test_the_scratch_is_a_fraction_of_the_windows(rng: Generator) -> None:
    # All windows at once would be 25 times the image: 67 MB.
    x, weight = drawn(rng, (2, 32, 128, 80), (4, 32, 5, 5), dtype=np.float32)
    xs = [lg.asarray(x), lg.asarray(weight)]
    y = lg.conv2d(*xs).realize()
    upstream = lg.asarray(np.ones(y.shape, np.float32))
    lg.realize(lg.grad(lg.conv2d(*xs), xs, upstream=upstream))  # memory for results is there
    for targets in (lg.conv2d(*xs), *lg.grad(lg.conv2d(*xs), xs, upstream=upstream)):
        tracemalloc.start()
        targets.realize()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8e6


class TestRefusals:
    def refused(self, *shapes: tuple[int, ...], **where: Any) -> tuple[str, list[str]]:
        with pytest.raises(errors.ShapeError) as caught:
            lg.conv2d(*(lg.zeros(shape) for shape in shapes), **where)
        return str(caught.value), [note.split(" built")[0] for note in caught.value.__notes__]

    def test_axes(self) -> None:
        message, notes = self.refused((3, 5, 5), (4, 3, 2, 2))
        assert message == (
            "conv2d: x must have the shape (batch, channels, height, width) and the weight "
            "(outputs, channels, rows, columns); got (3, 5, 5) and (4, 3, 2, 2)"
        )
        assert notes == ["  float32[3, 5, 5]", "  float32[4, 3, 2, 2]"]

    def test_channels(self) -> None:
        message, _ = self.refused((2, 3, 5, 5), (4, 1, 2, 2))
        assert message == (
            "conv2d: the channels of x, 3, must equal those of the weight, 1; "
            "got (2, 3, 5, 5) and (4, 1, 2, 2)"
        )

    def test_windows_that_do_not_fit(self) -> None:
        message, _ = self.refused((2, 3, 5, 5), (4, 3, 2, 8), padding=(0, 1))
        assert message == (
            "conv2d: a window must fit on its axis with the padding; "
            "got a window of 8 on 5 + 2 * 1"
        )

    def test_a_bias_of_another_length(self) -> None:
        message, notes = self.refused((2, 3, 5, 5), (4, 3, 2, 2), (3,))
        assert message == "conv2d: the bias must have the shape (4,), of the outputs; got (3,)"
        assert notes == ["  float32[3]"]

    def test_truth_values(self) -> None:
        yes = lg.ones((1, 1, 2, 2), dtype=bool)
        with pytest.raises(errors.DTypeError, match=r"^conv2d: arithmetic needs numbers"):
            lg.conv2d(yes, yes)

    @pytest.mark.parametrize(
        ("where", "kind", "message"),
        [
            ({"stride": 0}, ValueError, "stride must be at least 1; got 0"),
            ({"padding": (0, -1)}, ValueError, r"padding must be at least 0; got \(0, -1\)"),
            ({"stride": 1.5}, TypeError, "stride must be an integer or two; got 1.5"),
            ({"padding": "same"}, TypeError, "padding must be an integer or two; got 'same'"),
            ({"stride": (1, 2, 3)}, TypeError, r"stride .* got \(1, 2, 3\)"),
        ],
    )
    def test_strides_and_paddings(self, where: Any, kind: Any, message: str) -> None:
        with pytest.raises(kind, match=f"^{message}$"):
            lg.conv2d(lg.zeros((1, 1, 3, 3)), lg.zeros((1, 1, 2, 2)), **where)
