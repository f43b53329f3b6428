"""`x.at[key]`: values against NumPy, element by element; gradients; and that `x` stays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.keys import places, random_key, random_shape, with_tensors

METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
BY_METHOD = pytest.mark.parametrize("method", METHODS)


def updated(x: lg.Tensor, key: Any, method: str, values: Any) -> lg.Tensor:
    result: lg.Tensor = getattr(x.at[key], method)(values)
    return result


def one_by_one(x: Array, at: Array, method: str, values: Array) -> Array:
    flat = x.reshape(-1).copy()
    for place, value in zip(at.flat, np.broadcast_to(values, at.shape).flat, strict=True):
        flat[place] = METHODS[method](flat[place], value)
    return flat.reshape(x.shape)


def narrower(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """A shape that broadcasts to it."""
    kept = shape[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.5 else shape
    return tuple(n if rng.random() < 0.8 else 1 for n in kept)


@BY_METHOD
def test_values_go_where_numpy_finds_the_key_one_after_the_other(method: str) -> None:
    for seed in range(250):
        rng = np.random.default_rng(seed)
        shape = random_shape(rng)
        key = random_key(shape, rng)
        at = places(shape, key)
        if at is None:
            continue
        x = rng.standard_normal(shape).astype(np.float32)
        values = rng.standard_normal(narrower(at.shape, rng)).astype(np.float32)
        given = lg.asarray(x)
        found = updated(given, with_tensors(key, rng), method, values)
        assert_same_bits(found, one_by_one(x, at, method, values))
        assert_same_bits(given, x)
        assert_same_bits(given.at[key].get(), x[key])


# Each names some element several times, or skips some.
KEYS: dict[str, Any] = {
    "slice": (slice(None, None, 2), slice(2, None, -1)),
    "integer": (1, ...),
    "rows": (np.array([2, 0, 2, -1]),),
    "columns": (slice(1, None), np.array([[0, 3], [3, 0]])),
    "apart": (np.array([2, 2]), None, np.array([-1, 3])),
    "elements": (np.array([[0], [2]]), np.array([1, 3, 1])),
    "mask": (np.array([True, False, True]), 2),
    "nothing": (np.zeros((0,), int),),
}
BY_KEY = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)


@BY_METHOD
@BY_KEY
def test_gradients_are_right_to_second_order(
    method: str, key: Any, rng: np.random.Generator
) -> None:
    x = rng.permutation(12).reshape(3, 4) / 12.0
    picked = x[key]
    # Distinct from each other and from all of x: no tie.
    values = (rng.permutation(picked.size).reshape(picked.shape) + 0.3) / 12.0

    def smooth(x: lg.Tensor, values: lg.Tensor) -> lg.Tensor:
        return updated(lg.sin(x), key, method, lg.sin(values)) ** 2

    assert_gradients(smooth, [x, values], rng)


def test_the_last_of_several_values_stays_and_gets_the_gradient() -> None:
    x, values = lg.asarray([1.0, 2.0, 3.0]), lg.asarray([10.0, 20.0, 30.0])
    y = x.at[[2, 0, 2]].set(values)
    assert y.tolist() == [20.0, 2.0, 30.0]
    gradients = y.backward(lg.asarray([5.0, 6.0, 7.0]))
    assert gradients[x].tolist() == [0.0, 6.0, 0.0]
    assert gradients[values].tolist() == [0.0, 5.0, 7.0]


def test_products_have_gradients_where_factors_are_zero(rng: np.random.Generator) -> None:
    x, i = lg.asarray([2.0, 3.0, 5.0]), [0, 0, 1, 1, 1, 2]
    values = lg.asarray([0.0, 7.0, 0.0, 0.0, 4.0, 0.0])
    gradients = lg.sum(x.at[i].multiply(values)).backward()
    assert gradients[x].tolist() == [0.0, 0.0, 0.0]
    assert gradients[values].tolist() == [14.0, 0.0, 0.0, 0.0, 0.0, 5.0]
    at = [t.numpy().astype(np.float64) for t in (x, values)]
    assert_gradients(lambda x, values: x.at[i].multiply(values), at, rng)


def test_ties_share_the_gradient_evenly_and_nan_takes_it() -> None:
    x = lg.asarray([1.0, 4.0, np.nan, 4.0])
    values = lg.asarray([4.0, 4.0, 2.0, 9.0])
    y = x.at[[1, 1, 1, 2]].max(values)
    assert np.array_equal(y.numpy(), [1.0, 4.0, np.nan, 4.0], equal_nan=True)
    gradients = lg.sum(y * lg.asarray([1.0, 6.0, 1.0, 1.0])).backward()
    assert gradients[x].tolist() == [1.0, 2.0, 1.0, 1.0]
    assert gradients[values].tolist() == [2.0, 2.0, 0.0, 0.0]


@BY_METHOD
def test_untouched_elements_keep_every_bit(method: str) -> None:
    x = np.array([-0.0, np.inf, np.nan, 1e-45, 5.0], np.float32)
    for key in ([4, 4], slice(4, None), np.array([False] * 4 + [True])):
        found = updated(lg.asarray(x), key, method, -1.0)
        assert found.numpy()[:4].tobytes() == x[:4].tobytes()


def test_a_reader_recorded_before_an_update_keeps_its_value() -> None:
    for turned in (False, True):
        x = lg.asarray([5, 7, 8])
        r = 2 * x
        y = x.at[1:].set(0)
        lg.realize(*((y, r) if turned else (r, y)))
        assert (r.tolist(), y.tolist(), x.tolist()) == ([10, 14, 16], [5, 0, 0], [5, 7, 8])


def test_nothing_is_computed_until_it_is_asked_for() -> None:
    x = lg.asarray([5, 7, 8]) + 1
    with lg.no_realize():
        y = x.at[lg.asarray([0, 1]) + 1].add(x[:2])
    assert y.tolist() == [6, 14, 17]


def test_an_update_that_is_recorded_again_finds_its_plan() -> None:
    x = lg.asarray([5.0, 7.0, 8.0])
    for i, plans in ((0, 1), (1, 0), (2, 0)):
        before = lg.stats()
        y = x.at[lg.asarray([i, 0])].multiply(2.5)
        lg.realize(y, y.backward(x)[x])
        assert lg.stats().plans_built - before.plans_built == plans


class TestValues:
    @pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8"])
    def test_take_the_dtype_of_the_tensor(self, dtype: str) -> None:
        x = lg.zeros((3,), dtype=dtype)
        for values in (7, np.array([7], np.uint8), [7], lg.asarray(7)):
            y = x.at[[1]].set(values)
            assert (y.dtype.name, y.tolist()) == (dtype, [0, 7, 0])

    def test_of_lists_keep_their_digits(self) -> None:
        x = lg.zeros((2,), dtype="float64")
        assert x.at[:1].set([0.1]).tolist() == [0.1, 0.0]
        assert x.at[[0]].set(0.1).tolist() == [0.1, 0.0]

    def test_that_are_floats_are_no_integers(self) -> None:
        message = "^the values must fit the tensor's dtype, int64; got float32$"
        for values in (0.5, [0.5], lg.asarray([0.5])):
            with pytest.raises(errors.DTypeError, match=message):
                lg.asarray([1, 2]).at[0].set(values)

    def test_must_broadcast_to_their_places(self) -> None:
        message = (
            r"^the values must broadcast to the elements picked, \(2, 3\); got \(4, 1, 3\)$"
        )
        with pytest.raises(errors.ShapeError, match=message):
            lg.zeros((2, 3)).at[[0, 1]].set(lg.zeros((4, 1, 3)))
        with pytest.raises(errors.ShapeError, match="broadcast"):
            lg.zeros((2, 3)).at[:, :2].add(lg.zeros((3,)))

    @pytest.mark.parametrize("key", [[0], 0])
    def test_of_booleans_are_set_and_compared_but_not_added(self, key: Any) -> None:
        x = lg.asarray([True, False])
        assert x.at[key].set(False).tolist() == [False, False]
        assert x.at[key].min(False).tolist() == [False, False]
        with pytest.raises(errors.DTypeError, match="arithmetic needs numbers; got bool"):
            x.at[key].add(True)


def test_an_update_checks_bounds() -> None:
    x = lg.zeros((3,))
    with pytest.raises(errors.BoundsError, match="index 3 is out of bounds for axis 0 with"):
        x.at[3].set(1.0)
    late = x.at[lg.asarray([0, 2]) + 1].set(1.0)
    with pytest.raises(errors.BoundsError, match="index 3 is out of bounds for axis 0 with"):
        late.realize()
