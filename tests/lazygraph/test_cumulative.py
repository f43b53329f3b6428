"""Running sums and differences: values, small errors, the same bits wherever they are cut."""

import itertools
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits, bits
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import DTYPES, FLOATS, INTEGERS

SHAPES = ((5,), (3, 4), (2, 3, 4), (0,), (3, 0), (0, 3), (1, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("include_initial", [False, True])
def test_cumulative_sum_is_that_of_numpy(
    dtype: Any, shape: tuple[int, ...], include_initial: bool, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 2, shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        wanted = np.cumulative_sum(x, axis=axis, include_initial=include_initial)
        found = lg.cumulative_sum(lg.asarray(x), axis=axis, include_initial=include_initial)
        assert_same_bits(found, wanted)


def test_small_integers_are_summed_as_64_bits() -> None:
    assert lg.cumulative_sum(lg.asarray(np.full(3, 100, np.int8))).tolist() == [100, 200, 300]
    assert lg.cumulative_sum(lg.asarray(np.full(3, 200, np.uint8))).dtype is lg.uint64
    narrow = lg.cumulative_sum(lg.asarray(np.full(3, 100, np.int8)), dtype="int8")
    assert narrow.tolist() == [100, -56, 44]


def test_an_axis_is_needed_and_must_exist() -> None:
    message = r"cumulative_sum needs an axis for a tensor of shape \(2, 2\); got None"
    with pytest.raises(lg.errors.ShapeError, match=message):
        lg.cumulative_sum(lg.zeros((2, 2)))
    with pytest.raises(lg.errors.ShapeError, match=r"of shape \(\)"):
        lg.cumulative_sum(lg.asarray(1.0))
    with pytest.raises(lg.errors.BoundsError, match=r"axis must lie in \[-1, 1\)"):
        lg.cumulative_sum(lg.zeros((2,)), axis=1)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_million_floats_are_summed_without_drift(axis: int) -> None:
    shape = (1_000_000, 2) if axis == 0 else (2, 1_000_000)
    x = lg.full(shape, 0.1)
    last = lg.cumulative_sum(x, axis=axis)[-1, -1]
    assert abs(last.item() - 100000.00149) < 0.1
    assert abs(float(np.cumsum(x.numpy(), axis=axis)[-1, -1]) - 100000.00149) > 900.0


@pytest.mark.parametrize("length", [1023, 1024, 1025, 2048, 2049, 5000])
def test_blocks_join(length: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(length, 3))
    wanted = np.cumsum(x.astype(np.longdouble), axis=0)
    found = lg.cumulative_sum(lg.asarray(x), axis=0).numpy()
    assert np.abs(found - wanted).max() < 1e-12
    whole = rng.integers(-9, 9, length)
    assert_same_bits(lg.cumulative_sum(lg.asarray(whole)), np.cumsum(whole))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bits_do_not_depend_on_how_the_operand_lies(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(1500, 3)).astype(dtype)
    wanted = bits(lg.cumulative_sum(lg.asarray(x), axis=0))
    assert bits(lg.cumulative_sum(lg.asarray(x.T).T, axis=0)) == wanted
    assert bits(lg.cumulative_sum(lg.asarray(x[::-1])[::-1], axis=0)) == wanted
    assert (
        bits(lg.cumulative_sum(lg.asarray(np.repeat(x, 2, axis=1))[:, ::2], axis=0)) == wanted
    )


def test_drawing_by_running_sums_is_the_same_wherever_it_is_realized() -> None:
    # An inverse distribution function of equal weights: each draw falls into its own quarter.
    u = lg.asarray([0.1, 0.3, 0.6, 0.9])
    for early in itertools.product([False, True], repeat=3):
        w = lg.asarray(np.ones(4))
        p = w / lg.sum(w)
        c = lg.cumulative_sum(p)
        i = lg.sum(u[:, None] >= c[None, :], axis=1)
        for tensor, wanted in zip((p, c, i), early, strict=True):
            if wanted:
                tensor.realize()
        assert i.tolist() == [0, 1, 2, 3]
        assert_same_bits(c, np.array([0.25, 0.5, 0.75, 1.0]))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("include_initial", [False, True])
def test_the_gradient_is_the_sum_of_what_follows(
    axis: int, include_initial: bool, rng: np.random.Generator
) -> None:
    x = lg.asarray([1.0, 2.0, 3.0])
    u = lg.asarray([1.0, 10.0, 100.0])
    assert lg.sum(lg.cumulative_sum(x) * u).backward()[x].tolist() == [111.0, 110.0, 100.0]

    def function(x: lg.Tensor) -> lg.Tensor:
        return lg.square(lg.cumulative_sum(x, axis=axis, include_initial=include_initial))

    assert_gradients(function, [rng.normal(size=(3, 4))], rng)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_diff_is_that_of_numpy(
    dtype: Any, shape: tuple[int, ...], n: int, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 9, shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        assert_same_bits(lg.diff(lg.asarray(x), axis=axis, n=n), np.diff(x, n=n, axis=axis))


def test_diff_joins_what_is_given_before() -> None:
    x, before, after = np.array([[1.0, 4.0]]), np.array([[0.5]]), np.array([[9.0, 16.0]])
    found = lg.diff(lg.asarray(x), prepend=before, append=lg.asarray(after))
    assert_same_bits(found, np.diff(x, prepend=before, append=after))


def test_diff_undoes_a_running_sum(rng: np.random.Generator) -> None:
    x = lg.asarray(rng.integers(-9, 9, (3, 7)))
    sums = lg.cumulative_sum(x, axis=1, include_initial=True)
    assert lg.diff(sums, axis=1).tolist() == x.tolist()
    assert_gradients(lambda x: lg.diff(x * x, n=2, axis=0), [rng.normal(size=(5, 2))], rng)


def test_diff_is_not_taken_a_negative_number_of_times_nor_of_booleans() -> None:
    with pytest.raises(ValueError, match="diff must be taken 0 or more times; got n=-1"):
        lg.diff(lg.zeros((3,)), n=-1)
    with pytest.raises(lg.errors.DTypeError, match="arithmetic needs numbers; got bool"):
        lg.diff(lg.asarray([True, False]))
