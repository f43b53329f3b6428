"""Turning, shifting, framing, repeating and taking apart, against NumPy."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import DTYPES

# The same call for lazygraph and for NumPy.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "flip all axes": lambda m, x: m.flip(x),
    "flip one axis": lambda m, x: m.flip(x, axis=-2),
    "flip two axes": lambda m, x: m.flip(x, axis=(0, 2)),
    "flip twice": lambda m, x: m.flip(m.flip(x, axis=1), axis=1),
    "roll flat": lambda m, x: m.roll(x, 5),
    "roll backwards": lambda m, x: m.roll(x, -2, axis=1),
    "roll far": lambda m, x: m.roll(x, 25, axis=2),
    "roll by nothing": lambda m, x: m.roll(x, 0, axis=0),
    "roll two axes": lambda m, x: m.roll(x, (1, -1), axis=(0, 2)),
    "roll two axes alike": lambda m, x: m.roll(x, 1, axis=(1, 2)),
    "roll one axis twice": lambda m, x: m.roll(x, (1, 1), axis=(2, 2)),
    "repeat elements": lambda m, x: m.repeat(x, 3),
    "repeat rows": lambda m, x: m.repeat(x, 2, axis=1),
    "repeat once": lambda m, x: m.repeat(x, 1, axis=-1),
    "repeat never": lambda m, x: m.repeat(x, 0, axis=0),
    "tile last": lambda m, x: m.tile(x, (2,)),
    "tile all": lambda m, x: m.tile(x, (2, 1, 3)),
    "tile in front": lambda m, x: m.tile(x, (2, 1, 1, 2)),
    "tile nothing": lambda m, x: m.tile(x, (0, 1, 1)),
    "tile as it is": lambda m, x: m.tile(x, ()),
    "move one axis": lambda m, x: m.moveaxis(x, 0, -1),
    "move it back": lambda m, x: m.moveaxis(x, 2, 0),
    "move two axes": lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)),
    "move all axes": lambda m, x: m.moveaxis(x, (0, 1, 2), (2, 0, 1)),
    "move none": lambda m, x: m.moveaxis(x, (), ()),
    "unstack and stack": lambda m, x: m.stack(m.unstack(x, axis=1)) if 0 not in x.shape else x,
}
EACH_CALL = pytest.mark.parametrize("name", CALLS)


@EACH_CALL
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_go_where_numpy_puts_them(
    name: str, dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 100, (2, 3, 4)).astype(dtype)
    assert_same_bits(CALLS[name](lg, lg.asarray(x)), CALLS[name](np, x))
    turned = lg.permute_dims(lg.asarray(x.transpose(2, 0, 1)), (1, 2, 0))
    assert_same_bits(CALLS[name](lg, turned), CALLS[name](np, x))


@EACH_CALL
@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)])
def test_axes_may_be_empty_or_short(name: str, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert_same_bits(CALLS[name](lg, lg.asarray(x)), CALLS[name](np, x))


@EACH_CALL
def test_gradients_go_back_the_same_way(name: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 4))
    if CALLS[name](np, x).size:
        assert_gradients(lambda x: CALLS[name](lg, x * x), [x], rng)


@pytest.mark.parametrize("flat", [lg.flip, lambda x: lg.roll(x, 3), lambda x: lg.tile(x, (1,))])
def test_a_tensor_without_axes_has_one_element(flat: Callable[[lg.Tensor], lg.Tensor]) -> None:
    assert flat(lg.asarray(7)).tolist() in (7, [7])
    assert lg.repeat(lg.asarray(7), 2).tolist() == [7, 7]
    assert lg.pad(lg.asarray(7), 3).tolist() == 7


WIDTHS = (0, 2, (1, 2), [(0, 1), (2, 0)], ((3, 0), (0, 0)))


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("value", [0, 1, -0.0, 2.5, np.inf, np.nan])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (0, 0)])
def test_a_frame_is_that_of_numpy(
    widths: Any, value: float, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    x = rng.normal(size=shape)
    wanted = np.pad(x, widths, constant_values=value)
    assert_same_bits(lg.pad(lg.asarray(x), widths, value=value), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, 1])
def test_a_frame_has_the_dtype_of_the_tensor(dtype: Any, value: int) -> None:
    x = np.array([1, 0, 1]).astype(dtype)
    wanted = np.pad(x, (2, 1), constant_values=np.array(value).astype(dtype))
    assert_same_bits(lg.pad(lg.asarray(x), (2, 1), value=value), wanted)


@pytest.mark.parametrize("value", [0, 7.0, np.nan])
def test_the_gradient_of_a_frame_is_what_lies_inside(value: float) -> None:
    x = lg.asarray([1.0, 2.0])
    y = lg.pad(x, (1, 2), value=value)
    assert lg.grad(y, x, upstream=lg.asarray([1.0, 2.0, 3.0, 4.0, 5.0])).tolist() == [2.0, 3.0]


def test_widths_and_value_must_fit() -> None:
    x = lg.zeros((2, 3), dtype="int32")
    for widths in (-1, (1, -1), ((1, 2), (3, 4), (5, 6)), 1.5, ((1, 2, 3), (4, 5, 6))):
        with pytest.raises(lg.errors.ShapeError, match=r"pad needs .* for each of 2 axes"):
            lg.pad(x, widths)  # type: ignore[arg-type]
    with pytest.raises(lg.errors.DTypeError, match=r"must fit the tensor's dtype, int32"):
        lg.pad(x, 1, value=0.5)


def test_views_move_no_data() -> None:
    x = lg.asarray(np.arange(6.0).reshape(2, 3))
    for y in (lg.flip(x), lg.moveaxis(x, 0, 1), *lg.unstack(x)):
        assert {node.op.kind for node in lg.extend.postorder([y.node])[1:]} <= {
            lg.extend.Kind.VIEW
        }


def test_unstack_gives_the_slices() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        found = lg.unstack(lg.asarray(x), axis=axis)
        assert isinstance(found, tuple)
        for y, wanted in zip(found, np.moveaxis(x, axis, 0), strict=True):
            assert_same_bits(y, wanted)
    assert lg.unstack(lg.zeros((0, 3))) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: lg.roll(x, (1, 2), axis=0), "roll needs a shift for each axis; got (1, 2)"),
        (lambda x: lg.repeat(x, -1), "repeat needs a number of times that is not negative"),
        (lambda x: lg.tile(x, (2, -1)), "tile needs numbers of times that are not negative"),
        (lambda x: lg.moveaxis(x, (0, 1), 0), "moveaxis needs as many places as axes"),
        (lambda x: lg.moveaxis(x, (0, 0), (0, 1)), "each named once; got (0, 0) to (0, 1)"),
        (lambda x: lg.flip(x, axis=2), "axis must lie in [-2, 2) for 2 axes; got 2"),
        (lambda x: lg.unstack(x[0, 0]), "axis must lie in [-0, 0) for 0 axes; got 0"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    call: Callable[[lg.Tensor], Any], message: str
) -> None:
    with pytest.raises((lg.errors.ShapeError, lg.errors.BoundsError), match=re.escape(message)):
        call(lg.zeros((2, 3)))
