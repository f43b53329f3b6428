"""The kinds behind reported faults of values: rewrites, cancellation, random numbers."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array, Bits, assert_same_bits, bits
from tests.lazygraph.op_cases import FLOATS

NUMBERS = (0, 0.0, -0.0, 1, 1.0, -1.0, 2.0, 0.5, math.inf, -math.inf, math.nan)
# Functions that IEEE 754 defines to the last bit, by lazygraph and by NumPy.
ONE: tuple[tuple[Any, Any], ...] = (
    (lg.negative, np.negative),
    (lg.abs, np.abs),
    (lg.square, np.square),
    (lg.sqrt, np.sqrt),
    (lg.reciprocal, np.reciprocal),
    (lambda x: lg.reshape(x, (-1, 1)), lambda x: x.reshape(-1, 1)),
    (lambda x: lg.reshape(x, (1, -1)), lambda x: x.reshape(1, -1)),
    (lambda x: lg.permute_dims(x, (1, 0)), lambda x: x.T),
    (lambda x: lg.broadcast_to(x[:1], x.shape), lambda x: np.broadcast_to(x[:1], x.shape)),
    (lambda x: lg.flip(x, axis=1), lambda x: x[:, ::-1]),
    (lambda x: lg.where(x > 0.5, x, x), lambda x: np.where(x > 0.5, x, x)),
)
TWO: tuple[tuple[Any, Any], ...] = (
    (lambda a, b: a + b, np.add),
    (lambda a, b: a - b, np.subtract),
    (lambda a, b: a * b, np.multiply),
    (lambda a, b: a / b, np.divide),
    (lambda a, b: a + -(b * 1.0), np.subtract),
    (lambda a, b: a - -(b * 1.0), np.add),
    (lambda a, b: lg.where(lg.asarray(a) < b, a, b), lambda a, b: np.where(a < b, a, b)),
)


class Expression:
    """A tree of such functions over one tensor and Python numbers, which may be exchanged."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.steps: list[tuple[Any, ...]] = []
        for _ in range(rng.integers(2, 7)):
            which = int(rng.integers(0, 4))
            if which == 0:
                self.steps.append(("one", ONE[rng.integers(len(ONE))]))
            else:
                pair = TWO[rng.integers(len(TWO))]
                self.steps.append((("number", "twin", "mirrored")[which - 1], pair))

    def numbers(self) -> list[float]:
        return [NUMBERS[self.rng.integers(len(NUMBERS))] for _ in self.steps]

    def __call__(self, x: Any, numbers: list[float], side: int) -> Any:
        """The value by lazygraph (side 0) or by NumPy (side 1)."""
        first = y = x
        for (form, pair), number in zip(self.steps, numbers, strict=True):
            f = pair[side]
            other = number if side == 0 else first.dtype.type(number)
            if form == "one":
                y = f(y)
            elif form == "number":
                y = f(y, other)
            elif form == "mirrored":
                y = f(other, y)
            elif y.shape == first.shape:
                y = f(y, first)
        return y


@pytest.mark.parametrize("dtype", FLOATS, ids=op_cases.name)
@pytest.mark.parametrize("block", range(4))
def test_no_rewrite_changes_a_bit(block: int, dtype: Any, rng: np.random.Generator) -> None:
    # Whatever numbers stand beside a tensor, also when a plan has seen others before.
    x = np.resize(op_cases.special(dtype), 25).reshape(5, 5)
    for _ in range(40):
        expression = Expression(rng)
        for numbers in (expression.numbers(), expression.numbers()):
            with np.errstate(all="ignore"):
                wanted = np.array(expression(x, numbers, 1))
            assert_same_bits(expression(lg.asarray(x), numbers, 0), wanted)
            early = lg.asarray(x)
            assert_same_bits(expression((early * 1).realize(), numbers, 0), wanted)


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, -3e5])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)], ids=str)
def test_a_spread_far_from_zero_keeps_its_digits(
    offset: float, axis: Any, rng: np.random.Generator
) -> None:
    # Whole numbers have no rounding of their own.
    x = (offset + rng.integers(-8, 9, (6, 8))).astype(np.float32)
    exact = x.astype(np.float64)
    leaf = lg.asarray(x)
    for correction in (0, 1):
        named: Any = {"axis": axis, "correction": correction}
        exact_var = np.var(exact, axis=axis, ddof=correction)
        # What is left is the square of the rounding of the mean.
        near: Any = {"rtol": 1e-5, "atol": (offset * 2.0**-23) ** 2}
        assert np.allclose(lg.var(leaf, **named).numpy(), exact_var, **near)
        assert np.allclose(lg.std(leaf, **named).numpy(), np.sqrt(exact_var), **near)
        count = x.size / exact_var.size - correction
        slope = 2 * (exact - exact.mean(axis=axis, keepdims=True)) / count
        found = lg.grad(lg.sum(lg.var(leaf, **named)), leaf).numpy()
        assert np.allclose(found, slope, rtol=1e-4, atol=abs(offset) * 2e-7)
    rows = lg.layer_norm(leaf, eps=0.0).numpy()
    wanted = (exact - exact.mean(-1, keepdims=True)) / exact.std(-1, keepdims=True)
    assert np.allclose(rows, wanted, rtol=1e-4, atol=1e-5 + abs(offset) * 1e-7)


DRAWS: dict[str, Callable[[lg.random.Generator], lg.Tensor]] = {
    "uniform": lambda g: g.uniform((5,)),
    "uniform, float64": lambda g: g.uniform((2, 3), -1.0, 4.0, dtype=lg.float64),
    "normal": lambda g: g.normal((7,)),
    "normal, float64": lambda g: g.normal((2, 2), 3.0, 0.5, dtype=lg.float64),
    "bernoulli": lambda g: g.bernoulli(0.5, (64,)),
    "bits": lambda g: g.bits((3,)),
    "integers": lambda g: g.integers(0, 1000, (9,)),
    "permutation": lambda g: g.permutation(20),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_one_value_and_the_next_one_another(name: str) -> None:
    def drawn(seed: int, count: int) -> list[lg.Tensor]:
        generator = lg.random.Generator(seed)
        return [DRAWS[name](generator) for _ in range(count)]

    def plain(x: lg.Tensor) -> Bits:
        return bits(lg.astype(x, lg.float64) if x.dtype is not lg.float64 else x)

    wanted = [plain(x) for x in drawn(3, 4)]
    assert len(set(wanted)) == 4
    assert [plain(x) for x in drawn(4, 4)] != wanted
    for order in itertools.permutations(range(4)):
        tensors = drawn(3, 4)
        twice = [lg.astype(x, lg.float64) * 1.0 for x in tensors]
        lg.realize(tensors[order[0]], twice[order[1]])
        for i in order:
            assert bits(twice[i]) == wanted[i] == plain(tensors[i])


def test_a_step_draws_new_numbers_and_the_same_ones_when_it_is_run_again() -> None:
    # Masks of one plan, with and without a look at other numbers in between.
    def masks(looks: int) -> list[Array]:
        generator, other = lg.random.Generator(3), lg.random.Generator(3)
        found = []
        for _ in range(3):
            mask = lg.where(generator.bernoulli(0.5, (64,)), 2.0, 0.0)
            for _ in range(looks):
                other.uniform((64,)).realize()
            found.append((mask * lg.ones((64,))).numpy())
        return found

    first = masks(0)
    assert not any(np.array_equal(a, b) for a, b in itertools.combinations(first, 2))
    for looks in (0, 2):
        assert all(np.array_equal(a, b) for a, b in zip(first, masks(looks), strict=True))
