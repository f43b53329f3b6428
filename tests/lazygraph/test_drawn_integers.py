"""Integers and permutations: from the generator's bits, evenly, and never the same twice."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.ops.random import Generator
from tests.lazygraph.op_cases import INTEGERS

RANGES = (
    (0, 1),
    (0, 2),
    (-3, 4),
    (10, 1010),
    (-5, 2**32 - 6),
    (-5, 2**32 - 5),
    (-(2**40), 2**41),
    (-(2**63), 2**63),
    (2**63 - 3, 2**63),
)


def words(seed: int, count: int) -> list[int]:
    """The 64 bits of each draw, as Python integers."""
    high, low = Generator(seed).bits((count, 2)).numpy().T.tolist()
    return [(a << 32) + b for a, b in zip(high, low, strict=True)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_integers_are_the_upper_bits_of_a_product_of_128(low: int, high: int) -> None:
    found = Generator(5).integers(low, high, (200,)).tolist()
    assert found == [low + (u * (high - low) >> 64) for u in words(5, 200)]
    assert low <= min(found) <= max(found) < high


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_dtype_is_filled_to_its_limits(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    x = Generator(3).integers(int(limits.min), int(limits.max) + 1, (40, 50), dtype=dtype)
    assert x.dtype is lg.as_dtype(dtype)
    width = 2.0**limits.bits
    shares = (x.numpy().astype(np.float64) - float(limits.min)) / width
    assert shares.min() < 0.01
    assert shares.max() > 0.98
    assert abs(shares.mean() - 0.5) < 0.02


def test_integers_are_evenly_spread() -> None:
    counts = np.bincount(Generator(1).integers(0, 7, (70_000,)).numpy(), minlength=7)
    # Seven classes of 10,000: six degrees of freedom, 22.5 at one in a thousand.
    assert np.sum(np.square(counts - 10_000) / 10_000) < 22.5


def test_shapes_and_defaults() -> None:
    assert Generator(0).integers(0, 5).shape == ()
    assert Generator(0).integers(0, 5, 3).shape == (3,)
    assert Generator(0).integers(0, 5, (2, 0)).numpy().shape == (2, 0)
    assert Generator(0).integers(0, 5).dtype is lg.int64


def test_what_no_integer_can_be_is_said() -> None:
    with pytest.raises(ValueError, match="integers needs low < high; got 3 and 3"):
        Generator(0).integers(3, 3)
    for low, high, dtype in (
        (0, 129, "int8"),
        (-1, 3, "uint8"),
        (0, 2, "float32"),
        (0, 2, bool),
    ):
        with pytest.raises(lg.errors.DTypeError, match="integers needs an integer dtype that"):
            Generator(0).integers(low, high, dtype=dtype)
    with pytest.raises(lg.errors.ShapeError, match="a shape must have no negative length"):
        Generator(0).permutation(-1)


def test_a_permutation_is_the_order_of_its_keys() -> None:
    keys = words(9, 1000)
    found = Generator(9).permutation(1000).tolist()
    assert found == sorted(range(1000), key=keys.__getitem__)
    assert Generator(9).permutation(0).tolist() == []
    assert Generator(9).permutation(1).tolist() == [0]


def test_every_order_comes_equally_often() -> None:
    rng = Generator(2)
    orders = [rng.permutation(3) for _ in range(1200)]
    lg.realize(orders)
    counts = Counter(tuple(order.tolist()) for order in orders)
    assert set(counts) == set(itertools.permutations(range(3)))
    # Six classes of 200: five degrees of freedom, 20.5 at one in a thousand.
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 20.5


def test_a_draw_is_one_value_and_two_draws_differ() -> None:
    lg.random.seed(7)
    first, order = lg.random.integers(0, 1000, (50,)), lg.random.permutation(50)
    again = first + 0
    second = lg.random.integers(0, 1000, (50,))
    assert second.tolist() != again.tolist() == first.tolist()
    assert lg.random.permutation(50).tolist() != order.tolist()
    lg.random.seed(7)
    assert lg.random.integers(0, 1000, (50,)).tolist() == first.tolist()
    assert lg.random.permutation(50).tolist() == order.tolist()


def test_other_bounds_need_one_other_plan_at_most() -> None:
    rng = Generator(0)
    rng.integers(2, 9, (5,)).realize()
    before = lg.stats().plans_built
    for low in range(10):
        rng.integers(low, 3 * low + 4, (5,)).realize()
    assert lg.stats().plans_built <= before + 1
