"""Reductions in kernels: exact where NumPy is, accurate where it need not be NumPy's order."""

from typing import Any

import numpy as np
import pytest

from lazygraph.dtypes import float32
from tests.lazygraph.op_cases import FLOATS, name
from tests.native.kernel_calls import Tape, assert_close, assert_exact, view

Generator = np.random.Generator


REDUCED = [(9000, 3), (700, 70), (2, 5003)]
REDUCED_TYPES = [np.float32, np.uint8]


@pytest.mark.parametrize("shape", REDUCED, ids=str)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("dtype", REDUCED_TYPES, ids=name)
def test_whole_numbers_reduce_exactly(
    shape: tuple[int, int], axes: tuple[int, ...], dtype: Any, rng: Generator
) -> None:
    low = 0 if dtype is np.uint8 else -9
    for reduction in ("sum", "max", "min", "prod"):
        tape = Tape()
        x = rng.integers(low, 9, shape).astype(dtype)
        if reduction == "prod" and dtype in FLOATS:
            x = np.where(x > 0, 1, -1).astype(dtype)
        tape.call(reduction, tape.array(x), params=(axes,))
        assert_exact(tape)


@pytest.mark.parametrize("shape", REDUCED, ids=str)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_bits_reduce_exactly(
    shape: tuple[int, int], axes: tuple[int, ...], rng: Generator
) -> None:
    for likely in (0.001, 0.999):
        for reduction in ("any", "all", "min"):
            tape = Tape()
            tape.call(reduction, tape.array(rng.random(shape) < likely), params=(axes,))
            assert_exact(tape)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_extremes_and_sums_carry_nan_and_infinity(
    axes: tuple[int, ...], dtype: Any, rng: Generator
) -> None:
    for special in (np.nan, np.inf, -np.inf):
        for at in range(0, 67, 6):
            x = rng.choice([-1, 1], (5, 67)).astype(dtype)
            x[at % 5, at] = special
            for reduction in ("max", "min", "sum", "prod"):
                tape = Tape()
                tape.call(reduction, tape.array(x), params=(axes,))
                assert_exact(tape)


def test_a_sum_of_negative_zeros_is_zero() -> None:
    for axes in ((0,), (1,), (0, 1)):
        tape = Tape()
        tape.call("sum", tape.array(np.full((3, 20), -0.0)), params=(axes,))
        assert_exact(tape)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("shape", [(3, 300_000), (200_000, 3), (1, 1_000_000)], ids=str)
def test_long_sums_stay_accurate(shape: tuple[int, int], dtype: Any, rng: Generator) -> None:
    x = rng.random(shape).astype(dtype)
    for axes in ((0,), (1,), (0, 1)):
        tape = Tape()
        out = tape.call("sum", tape.array(x), params=(axes,))
        found = view(tape.run(2), out)
        wanted = np.sum(x.astype(np.longdouble), axis=axes, keepdims=True)
        error = np.abs(found - wanted) / (np.finfo(dtype).eps * wanted)
        assert error.max() < 8


@pytest.mark.parametrize("size", [1, 5, 64, 2048, 2049, 100_000, 3_000_000])
def test_norm_is_right_for_sizes_that_squares_lose(size: int, rng: Generator) -> None:
    for scale in (1e-38, 1.0, 1e30):
        x = (scale * rng.standard_normal(size)).astype(np.float32)
        tape = Tape()
        tape.call("norm", tape.array(x), params=(float32,))
        assert_close(tape, 1)
