"""`x[key]` against NumPy: values, shapes, gradients, bounds, and what it costs."""

import re
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.keys import places, random_key, random_shape, with_tensors


@pytest.mark.parametrize("start", range(0, 1200, 200))
def test_a_key_picks_what_numpy_picks_and_its_gradient_adds_up_there(start: int) -> None:
    refused = 0
    for seed in range(start, start + 200):
        rng = np.random.default_rng(seed)
        shape = random_shape(rng)
        key = random_key(shape, rng)
        wanted = places(shape, key)
        x = lg.asarray(rng.integers(-9, 9, shape).astype(np.float64))
        if wanted is None:  # arrays that do not broadcast against each other
            refused += 1
            with pytest.raises(errors.ShapeError, match="broadcast"):
                x[key]
            continue
        y = x[with_tensors(key, rng)]
        assert_same_bits(y, x.numpy().reshape(-1)[wanted])
        upstream = rng.integers(-9, 9, y.shape).astype(np.float64)
        counts = np.bincount(wanted.ravel(), upstream.ravel(), x.size).reshape(shape)
        assert np.array_equal(y.backward(upstream)[x].numpy(), counts)
    assert refused < 20


SEPARATED = [
    (np.array([[0], [1]]), slice(None), np.array([3, 0, 3])),
    (slice(None), np.array([2, 2, 0]), np.array([1, -1, 1])),
    (np.array([1, 1]), None, slice(None, None, -1), 2),
    (..., np.array([True, False, True, True])),
]


@pytest.mark.parametrize("key", SEPARATED, ids=range(len(SEPARATED)))
def test_gradients_are_right_to_second_order(key: Any, rng: np.random.Generator) -> None:
    assert_gradients(lambda x: lg.exp(x)[key] ** 2, [rng.uniform(-1, 1, (2, 3, 4))], rng)


def test_an_ellipsis_without_axes_keeps_arrays_apart() -> None:
    x = lg.asarray(np.arange(24).reshape(2, 3, 4))
    i, j = np.array([0, 1, 0]), np.array([1, 2, 3])
    assert x[:, i, j].shape == (2, 3)
    assert x[:, i, ..., j].shape == (3, 2)
    assert_same_bits(x[:, i, ..., j], x.numpy()[:, i, ..., j])
    assert_same_bits(x[:, 0, ..., j], x.numpy()[:, 0, ..., j])


def test_gradients_of_one_element_add_up() -> None:
    x = lg.asarray([10.0, 20.0, 30.0])
    y = x[[2, 0, 2, 2]]
    assert y.tolist() == [30.0, 10.0, 30.0, 30.0]
    weights = lg.asarray([1.0, 2.0, 3.0, 4.0])
    assert lg.sum(weights * y).backward()[x].tolist() == [2.0, 0.0, 8.0]


def assert_refused(index: int, axis: int, size: int, rule: str = "") -> Any:
    message = f"index {index} is out of bounds for axis {axis} with size {size}{rule}"
    return pytest.raises(errors.BoundsError, match=f"^{message}(\n|$)")


def test_a_known_index_outside_is_refused_at_its_line() -> None:
    table = lg.zeros((3, 2))
    for key in ([1, 7], np.array([1, 7]), 7, (7,), ([0, 7], 1)):
        with assert_refused(7, axis=0, size=3) as caught:
            table[key]
        assert caught.value.__notes__[0].startswith("  float32[3, 2] built at test_indexing.py")
    with assert_refused(-3, axis=1, size=2):
        table[:, [0, -3]]


def test_a_computed_index_outside_is_refused_when_it_is_computed() -> None:
    ids = lg.asarray([0, 6]) + 1
    rows = lg.zeros((3, 2))[ids]
    with assert_refused(7, axis=0, size=3):
        rows.realize()
    both = lg.zeros((3, 4))[lg.asarray([0, 1]), lg.asarray([[4], [0]])]
    with assert_refused(4, axis=1, size=4):
        both.realize()


def test_a_gradient_checks_bounds_even_if_the_value_is_never_computed() -> None:
    x = lg.zeros((3,))
    gradient = lg.sum(x[lg.asarray([3]) + 0]).backward()[x]
    with assert_refused(3, axis=0, size=3):
        gradient.realize()


def test_where_negative_indices_are_refused_the_message_names_them() -> None:
    x = lg.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert lg.take(x, np.array([1, 0]), axis=0, wrap=False)[0].tolist() == [3.0, 4.0]
    for y in (
        lg.take(x, np.array([0, -1]), axis=0, wrap=False),
        lg.take_along_axis(x, np.array([[0, -1]]), axis=0, wrap=False),
    ):
        for wanted in (y, y.backward(lg.ones_like(y))[x]):
            with assert_refused(-1, axis=0, size=2, rule=", where none may be negative"):
                wanted.realize()


def test_empty_strided_slices_have_empty_values_and_zero_gradients() -> None:
    x = lg.asarray([1.0, 2.0, 3.0, 4.0, 5.0])
    empty = x[2:2:2]
    assert empty.shape == (0,)
    assert lg.sum(empty).item() == 0.0
    assert lg.sum(empty).backward()[x].tolist() == [0.0] * 5
    y = x[4:0:-2]
    loss = lg.sum(lg.asarray([1.0, 10.0]) * y)
    assert (y.tolist(), loss.item()) == ([5.0, 3.0], 35.0)
    assert loss.backward()[x].tolist() == [0.0, 0.0, 10.0, 0.0, 1.0]


def test_arrays_of_size_zero_pick_nothing(rng: np.random.Generator) -> None:
    x = lg.asarray(rng.standard_normal((3, 4)))
    for key, shape in (
        ([], (0, 4)),
        ((slice(None), []), (3, 0)),
        (np.zeros((3, 4), bool), (0,)),
    ):
        assert x[key].shape == shape
        assert lg.sum(x[key]).backward()[x].tolist() == np.zeros((3, 4)).tolist()
    assert lg.zeros((0, 2))[[]].shape == (0, 2)


class TestBooleans:
    def test_realize_the_mask_alone(self, rng: np.random.Generator) -> None:
        x = lg.asarray(rng.standard_normal((4, 3)))
        mask, before = x > 0, lg.stats()
        picked = lg.exp(x)[mask]
        assert lg.stats().realizations - before.realizations == 1
        assert_same_bits(picked, np.exp(x.numpy())[mask.numpy()])

    def test_raise_where_nothing_may_be_computed(self) -> None:
        x = lg.asarray([1.0, -2.0, 3.0])
        mask = x > 0
        with lg.no_realize():
            with pytest.raises(errors.RealizationError, match=r"request for bool\[3\]"):
                x[mask]
            with pytest.raises(errors.RealizationError, match=r"request for bool\[3\]"):
                x.at[mask].set(0.0)
            assert x[np.array([True, False, True])].shape == (2,)  # its value is known
            assert x[[2, 0]].shape == (2,)
            assert x[lg.asarray([0]) + 1].shape == (1,)

    @pytest.mark.parametrize("key", [True, np.False_, np.array(True), lg.asarray(True)])
    def test_are_refused_by_themselves(self, key: Any) -> None:
        with pytest.raises(TypeError, match=r"^a boolean must not be an index by itself; got"):
            lg.zeros((2,))[key]
        with pytest.raises(TypeError, match=r"^a boolean must not be an index by itself; got"):
            lg.zeros((2,))[0, ..., key]

    def test_must_have_the_shape_of_their_axes(self) -> None:
        message = re.escape("must have the shape of its axes, (3, 4); got (3, 3)")
        with pytest.raises(errors.BoundsError, match=message):
            lg.zeros((2, 3, 4))[:, np.ones((3, 3), bool)]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ((0, 0, 0), errors.BoundsError, r"a tensor of shape \(2, 3\) takes 2 indices; got 3"),
        ((..., 0, ...), errors.BoundsError, "may contain one ellipsis; got 2"),
        (1.0, TypeError, "an index must be an integer, a slice.* or booleans; got 1.0"),
        ("w", TypeError, "an index must be an integer, a slice.* or booleans; got 'w'"),
        ([0.5], errors.DTypeError, r"indices must be integers; got float32\[1\]"),
        (([0, 1], [0, 1, 2]), errors.ShapeError, r"broadcast.*; got \(2,\) and \(3,\)"),
    ],
)
def test_what_is_no_key_is_refused_in_a_sentence(key: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        lg.zeros((2, 3))[key]


def test_an_integer_beside_arrays_is_a_slot_of_the_plan() -> None:
    # Picking another row needs no other plan.
    x, columns = lg.asarray(np.arange(12.0).reshape(3, 4)), lg.asarray([3, 1])
    x[0, columns].realize()
    before = lg.stats()
    for row in (1, 2, -3):
        wanted = x.numpy()[row, [3, 1]]
        assert_same_bits(x[row, columns], wanted)
    assert lg.stats().plans_built == before.plans_built


def test_a_gather_of_a_transposed_tensor_gathers_the_same(rng: np.random.Generator) -> None:
    x: Array = rng.standard_normal((5, 4, 3))
    i, j = np.array([[2], [0]]), np.array([1, 1, 3])
    turned = lg.permute_dims(lg.asarray(x), (2, 1, 0))
    for key in ((i, j), (slice(None), j, i), (i, slice(None), j)):
        assert_same_bits(turned[key], x.transpose(2, 1, 0)[key])
