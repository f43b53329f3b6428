"""Our own polynomials are within two units in the last place, everywhere."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from lazygraph.ops.special import erf
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import FLOATS, name, special
from tests.native.accuracy import NUMPY, assert_within
from tests.native.compiling import BASELINE, EIGHT, ONE, TARGETS, Library, Rule, Target

TWO = ("power", "hypot", "atan2")
ONE_OPERAND = [function for function in NUMPY if function not in TWO]
INF = math.inf

# Where a function is defined and finite, and where its computation changes its way.
DOMAIN = {
    "log": (0.0, INF),
    "log1p": (-1.0, INF),
    "log10": (0.0, INF),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "acosh": (1.0, INF),
    "atanh": (-1.0, 1.0),
}
HALF_LOG_2, HALF_PI, ROOT_2 = math.log(2) / 2, math.pi / 2, math.sqrt(2)
HALVES_OF_LOG_2 = [k * HALF_LOG_2 for k in (-207, -100, -51, -5, -3, -1, 1, 3, 5, 51, 100, 255)]
QUARTERS = [k * HALF_PI / 2 for k in (1, 2, 3, 4, 5, 6, 7, 8, 1000, 2001)]
POWERS_OF_2 = [2.0**k for k in (-126, -60, -30, -26, -10, -1, 0, 1, 10, 28, 60)]
BREAKS = {
    "exp": [*HALVES_OF_LOG_2, -103.97208, 88.722839],
    "expm1": [*HALVES_OF_LOG_2, -18.0, 2.0**-26, 88.722839],
    "log": [*(p / ROOT_2 for p in POWERS_OF_2), *POWERS_OF_2],
    "log1p": [1 / ROOT_2 - 1, ROOT_2 - 1, *POWERS_OF_2, -0.5, -1 + 2.0**-20],
    "log10": [*(p / ROOT_2 for p in POWERS_OF_2), *POWERS_OF_2],
    "sin": [*QUARTERS, *(-q for q in QUARTERS), 2.0**20, 2.0**21, 1e10, 1e30],
    "cos": [*QUARTERS, *(-q for q in QUARTERS), 2.0**20, 2.0**21, 1e10, 1e30],
    "tan": [*QUARTERS, *(-q for q in QUARTERS), 2.0**20, 2.0**21, 1e10, 1e30],
    "asin": [0.5, -0.5, 2.0**-12, 1 - 2.0**-10],
    "acos": [0.5, -0.5, 2.0**-12, 1 - 2.0**-10, 2.0**-10 - 1],
    "atan": [1.0, -1.0, 2.0**-12, 2.0**24],
    "sinh": [1.0, -1.0, 2.0**-12, 3 * HALF_LOG_2, 88.722839, 89.415986],
    "cosh": [HALF_LOG_2, 3 * HALF_LOG_2, 88.722839, 89.415986],
    "tanh": [0.55, -0.55, HALF_LOG_2, 2.0**-12, 9.0, 9.2],
    "asinh": [0.5, -0.5, 2.0**-12, 2.0**28],
    "acosh": [1 + 2.0**-12, 1.5, 2.0**28],
    "atanh": [1 / ROOT_2 - 1, ROOT_2 - 1, 2.0**-12, 1 - 2.0**-10],
}


@cache
def library(dtype: Any, target: Target) -> Library:
    rules = {f: Rule(_rule(f), [dtype] * (2 if f in TWO else 1)) for f in (*NUMPY, "erf")}
    return Library(rules, target)


def _rule(function: str) -> Any:
    return lambda k, *operands: getattr(k, function)(*operands)


def within_domain(function: str, x: Array) -> Array:
    low, high = DOMAIN.get(function, (-INF, INF))
    return x[(x > low) & (x < high)]


def neighbours(x: float, dtype: Any, count: int) -> Array:
    """Floats on both sides of a number, without gaps."""
    bits = np.array(x, dtype).view(f"i{np.dtype(dtype).itemsize}")
    return (bits + np.arange(-count, count, dtype=bits.dtype)).view(dtype)


def strided(stride: int) -> Array:
    """Every so-manieth float32, of both signs, from the smallest to the largest."""
    return np.arange(0, 2**32, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)


def of_every_size(count: int, rng: np.random.Generator) -> Array:
    """Random float64, half of them of sizes that are frequent."""
    sizes = [
        2.0 ** rng.uniform(-1074, 1023, count),
        2.0 ** rng.uniform(-60, 10, count),
        rng.uniform(0, 1, count),
        rng.uniform(0, 720, count),
    ]
    return np.concatenate([sign * size for size in sizes for sign in (1, -1)])


def finite_only(function: str, x: Array) -> Array:
    """Those operands where the result is finite, for references that know no infinity."""
    bound = {"exp": 709.7, "expm1": 709.7, "sinh": 710.4, "cosh": 710.4}.get(function, INF)
    return within_domain(function, x[np.abs(x) < bound])


@pytest.mark.parametrize("target", [EIGHT, BASELINE], ids=str)
@pytest.mark.parametrize("function", ONE_OPERAND)
class TestFloat32:
    def test_the_whole_range_in_strides(self, function: str, target: Target) -> None:
        x = within_domain(function, strided(8009))
        found = library(np.float32, target).run(function, x)
        assert_within(2, found, [x], function)

    @pytest.mark.slow
    def test_the_whole_range_in_short_strides(self, function: str, target: Target) -> None:
        x = within_domain(function, strided(211))
        found = library(np.float32, target).run(function, x)
        assert_within(2, found, [x], function)

    def test_near_every_break(self, function: str, target: Target) -> None:
        near = [neighbours(x, np.float32, 1000) for x in BREAKS[function]]
        x = within_domain(function, np.concatenate(near))
        found = library(np.float32, target).run(function, x)
        assert_within(2, found, [x], function)


@pytest.mark.parametrize("target", [EIGHT, BASELINE], ids=str)
@pytest.mark.parametrize("function", ONE_OPERAND)
class TestFloat64:
    def test_random_numbers_of_every_size(
        self, function: str, target: Target, rng: np.random.Generator
    ) -> None:
        x = finite_only(function, of_every_size(100, rng))
        found = library(np.float64, target).run(function, x)
        assert_within(2, found, [x], function)

    @pytest.mark.slow
    def test_many_random_numbers_of_every_size(
        self, function: str, target: Target, rng: np.random.Generator
    ) -> None:
        x = finite_only(function, of_every_size(2500, rng))
        found = library(np.float64, target).run(function, x)
        assert_within(2, found, [x], function)

    def test_near_every_break(self, function: str, target: Target) -> None:
        near = [neighbours(x, np.float64, 10) for x in BREAKS[function]]
        x = finite_only(function, np.concatenate(near))
        found = library(np.float64, target).run(function, x)
        assert_within(2, found, [x], function)


def pairs_for(function: str, dtype: Any, count: int, rng: np.random.Generator) -> list[Array]:
    """Operands of two-place functions whose results are finite and not 0."""
    widest = 126 if dtype is np.float32 else 1020
    sizes = [2.0 ** rng.uniform(-widest, widest, count) for _ in range(2)]
    a, b = rng.uniform(0.2, 6, count), rng.uniform(-6, 6, count)
    if function == "power":
        exponents = rng.uniform(-0.9, 0.9, count) * widest / np.log2(sizes[0])
        near_1 = 1 + rng.uniform(-1e-5, 1e-5, count)
        far = rng.uniform(-6e6, 6e6, count)
        whole = rng.integers(-9, 9, count), rng.integers(-20, 20, count)
        nonzero = np.where(whole[0] == 0, 3, whole[0])
        columns = [(a, b), (sizes[0], exponents), (near_1, far), (nonzero, whole[1])]
    else:
        columns = [(a, b), (-a, b), (sizes[0], sizes[1]), (sizes[0], sizes[0] * b)]
    return [np.concatenate(column).astype(dtype) for column in zip(*columns, strict=True)]


@pytest.mark.parametrize("target", [EIGHT, BASELINE], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("function", TWO)
def test_functions_of_two_numbers(
    function: str, dtype: Any, target: Target, rng: np.random.Generator
) -> None:
    with np.errstate(over="ignore"):
        operands = pairs_for(function, dtype, 100 if dtype is np.float64 else 20000, rng)
    operands = [np.where(np.isinf(x), dtype(1), x) for x in operands]
    found = library(dtype, target).run(function, *operands)
    assert_within(2, found, operands, function)


@pytest.mark.parametrize("target", [EIGHT, BASELINE], ids=str)
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_angles_that_are_nearly_whole_quarter_turns(
    function: str, target: Target, rng: np.random.Generator
) -> None:
    # Of all float64 angles, the first is the nearest to a whole number of quarter turns.
    sizes = 2.0 ** rng.uniform(0, 60, 300)
    x = np.array([6381956970095103 * 2.0**797, *np.rint(sizes) * (math.pi / 2)])
    found = library(np.float64, target).run(function, x)
    assert_within(2, found, [x], function)


# Results that must be exact.
EXACT = {
    "exp": [(0.0, 1.0), (-0.0, 1.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (-200.0, -1.0)],
    "log": [(1.0, 0.0)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0)],
    "log10": [(1.0, 0.0), *((10.0**n, float(n)) for n in range(1, 11))],
    "cos": [(0.0, 1.0), (-0.0, 1.0)],
    "acos": [(1.0, 0.0)],
    "cosh": [(0.0, 1.0)],
    "tanh": [(40.0, 1.0), (-40.0, -1.0)],
    "acosh": [(1.0, 0.0)],
}


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("target", TARGETS, ids=str)
class TestSpecialValues:
    def test_exact_results(self, target: Target, dtype: Any) -> None:
        for function, cases in EXACT.items():
            x, wanted = np.array(cases, dtype).T.copy()
            assert_same_bits(library(dtype, target).run(function, x), wanted)

    def test_zeros_infinities_and_nan_are_those_of_numpy(
        self, target: Target, dtype: Any
    ) -> None:
        for function in ONE_OPERAND:
            x = special(dtype)
            found = library(dtype, target).run(function, x)
            assert_alike(found, function, [x])

    def test_cases_of_two_numbers_are_those_of_numpy(self, target: Target, dtype: Any) -> None:
        more = np.array([-2.5, 1.5, 4.0, -5.0, 3e18, 2.0**53 + 2, -1e9], dtype)
        values = np.concatenate([special(dtype), more])
        operands = [x.copy() for x in np.meshgrid(values, values)]
        for function in TWO:
            found = library(dtype, target).run(function, *operands)
            assert_alike(found, function, operands)

    def test_erf_has_the_bits_of_the_numpy_backend(
        self, target: Target, dtype: Any, rng: np.random.Generator
    ) -> None:
        x = np.concatenate([special(dtype), rng.uniform(-7, 7, 9999).astype(dtype)])
        wanted = np.empty_like(x)
        with np.errstate(all="ignore"):
            erf(x, wanted)
        assert_same_bits(library(dtype, target).run("erf", x), wanted)


def assert_alike(found: Array, function: str, operands: list[Array]) -> None:
    """NumPy's bits where those are special: 0, infinite, NaN; the same sign everywhere."""
    with np.errstate(all="ignore"):
        wanted = NUMPY[function](*operands)
    ordinary = np.isfinite(wanted) & (wanted != 0)
    assert np.array_equal(np.isfinite(found) & (found != 0), ordinary), function
    assert_same_bits(found[~ordinary], wanted[~ordinary])
    assert_same_bits(np.signbit(found[ordinary]), np.signbit(wanted[ordinary]))
    assert np.allclose(found[ordinary], wanted[ordinary], rtol=1e-6, atol=0), function


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_bits_do_not_depend_on_the_number_of_lanes(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = np.concatenate([special(dtype), rng.standard_normal(999).astype(dtype) * 3])
    for function in (*ONE_OPERAND, "erf"):
        one_by_one = library(dtype, ONE).run(function, x)
        assert_same_bits(library(dtype, EIGHT).run(function, x), one_by_one)
