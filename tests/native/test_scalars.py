"""What IEEE 754 and integer arithmetic define has NumPy's bits, on any number of lanes."""

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from lazygraph.backends.native.register import Register, splat
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.types import INT32, ir
from lazygraph.dtypes import DType, as_dtype
from lazygraph.ops.scalars import NumpyScalars, Scalars
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import DTYPES, FLOATS, INTEGERS, name, special
from tests.native.compiling import EIGHT, TARGETS, Library, Rule, Target

# How many operands each exact method takes, by the kind of dtype that it takes.
ANYTHING = {"maximum": 2, "minimum": 2, "less": 2, "less_equal": 2, "equal": 2, "isfinite": 1}
NUMBERS = {
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "floor_divide": 2,
    "remainder": 2,
    "negative": 1,
    "absolute": 1,
    "sign": 1,
}
REALS = {
    "divide": 2,
    "copysign": 2,
    "signbit": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "round": 1,
    "sqrt": 1,
}
BITS = {"bit_and": 2, "bit_or": 2, "bit_xor": 2, "invert": 1}
WHOLE = {"left_shift": 2, "right_shift": 2, "power": 2}

# One integer dtype stands for the others on all targets but one.
FREQUENT = (*FLOATS, np.int32, np.bool_)
CASES = [
    pytest.param(
        target,
        dtype,
        id=f"{target}-{name(dtype)}",
        marks=[] if target is EIGHT or dtype in FREQUENT else [pytest.mark.slow],
    )
    for target in TARGETS
    for dtype in DTYPES
]
each_case = pytest.mark.parametrize(("target", "dtype"), CASES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=name)


def methods_of(dtype: Any) -> dict[str, int]:
    if dtype in FLOATS:
        return ANYTHING | NUMBERS | REALS
    return ANYTHING | BITS | (NUMBERS | WHOLE if dtype in INTEGERS else {})


def rule_of(method: str, dtypes: list[Any]) -> Rule:
    return Rule(lambda k, *operands: getattr(k, method)(*operands), dtypes)


@cache
def library(dtype: Any, target: Target) -> Library:
    """Every method that takes the dtype; casts are named after the dtype that they lead to."""
    methods = methods_of(dtype)
    rules = {m: rule_of(m, [dtype] * methods[m]) for m in methods}
    rules["select"] = rule_of("select", [np.bool_, dtype, dtype])
    rules["constant"] = Rule(lambda k, x: k.constant(number_for(dtype), x), [dtype])
    for wanted in DTYPES:
        rules[name(wanted)] = Rule(partial(cast, dtype=as_dtype(wanted)), [dtype])
    return Library(rules, target)


def number_for(dtype: Any) -> float:
    return 0.1 if dtype in FLOATS else 1


def cast(k: LlvmScalars, x: Register, dtype: DType) -> Register:
    return k.cast(x, dtype)


def combinations(values: Array, operands: int) -> list[Array]:
    """Every combination of values as operands."""
    return [x.copy() for x in np.meshgrid(*[values] * operands)]


def numbers(dtype: Any, rng: np.random.Generator) -> Array:
    """Special values, and random ones of every size."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        bits = rng.integers(0, 256, (60, kind.itemsize), np.uint8).view(dtype)[:, 0]
        halves = np.arange(-8, 8, dtype=dtype) / 2
        return np.concatenate([special(dtype), halves, halves + dtype(1e-3), bits])
    if kind.kind == "b":
        return special(dtype)
    limits = np.iinfo(kind)
    drawn = rng.integers(limits.min, limits.max, 60, dtype, endpoint=True)
    return np.concatenate([special(dtype), np.arange(70).astype(dtype), drawn])


def beside_limits(dtype: Any) -> Array:
    """Floats below, on and beyond the limits of integers, which themselves have none here."""
    if dtype not in FLOATS:
        return np.empty(0, dtype)
    factors = np.array([[-1.5], [-1.0], [-0.75], [0.75], [1.0], [1.5]], dtype)
    return np.ravel(factors * dtype(2) ** np.arange(7, 65, dtype=dtype))


def operands_for(method: str, dtype: Any, rng: np.random.Generator) -> list[Array]:
    operands = combinations(numbers(dtype, rng), methods_of(dtype)[method])
    if method == "power":
        operands[1] = np.abs(operands[1].astype(object)).clip(0, np.iinfo(dtype).max)
        operands[1] = operands[1].astype(dtype)  # NumPy has no negative powers
    return operands


@each_case
def test_exact_methods_have_the_bits_of_numpy(
    target: Target, dtype: Any, rng: np.random.Generator
) -> None:
    for method in methods_of(dtype):
        operands = operands_for(method, dtype, rng)
        with np.errstate(all="ignore"):
            wanted = getattr(NumpyScalars(), method)(*operands)
        found = library(dtype, target).run(method, *operands)
        assert_same_bits(found, wanted)


@each_case
def test_casts_have_the_bits_of_numpy(
    target: Target, dtype: Any, rng: np.random.Generator
) -> None:
    for wanted in DTYPES:
        x = np.concatenate([numbers(dtype, rng), beside_limits(dtype)])
        if wanted is np.uint32 and dtype in FLOATS:
            x = x[np.abs(x) < 2.0**31]  # beyond, NumPy depends on the place in the array
        found = library(dtype, target).run(name(wanted), x)
        with np.errstate(all="ignore"):
            assert_same_bits(found, x.astype(wanted))


def test_floats_beyond_uint32_keep_their_low_bits() -> None:
    x = np.array([2.0**32 - 1, 2.0**32 + 5, -(2.0**33) - 1, 2.0**63, np.nan])
    found = library(np.float64, EIGHT).run("uint32", x)
    assert found.tolist() == [2**32 - 1, 5, 2**32 - 1, 0, 0]


@each_case
def test_select_takes_each_element_from_its_own_side(target: Target, dtype: Any) -> None:
    values = special(dtype)
    condition = np.arange(len(values)) % 3 > 0
    found = library(dtype, target).run("select", condition, values, values[::-1])
    assert_same_bits(found, np.where(condition, values, values[::-1]))


@each_case
def test_a_constant_is_what_numpy_makes_of_the_number(target: Target, dtype: Any) -> None:
    found = library(dtype, target).run("constant", np.zeros(17, dtype))
    assert_same_bits(found, np.full(17, number_for(dtype), dtype))


def first_in_every_lane(k: LlvmScalars, x: Register) -> Register:
    first = k.site.b.extract_element(x.value, INT32(0))
    return splat(Register(k.site, first, x.dtype), x.lanes)


@each_dtype
def test_one_element_can_be_put_into_every_lane(dtype: Any) -> None:
    x = np.resize(special(dtype), 24)
    found = Library({"splat": Rule(first_in_every_lane, [dtype])}, EIGHT).run("splat", x)
    assert_same_bits(found, np.repeat(x[::8], 8))


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_product_and_a_sum_are_rounded_one_after_the_other(
    target: Target, dtype: Any, rng: np.random.Generator
) -> None:
    rule = Rule(lambda k, a, b, c: k.add(k.multiply(a, b), c), [dtype] * 3)
    a, b = (rng.standard_normal(1000).astype(dtype) for _ in range(2))
    found = Library({"rule": rule}, target).run("rule", a, b, -a * b)
    assert_same_bits(found, np.zeros(1000, dtype))


@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_no_division_and_no_shift_of_integers_traps(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    edges = np.array([limits.min, 0, 1, 7, 64, 100, limits.max], dtype)
    a, b = combinations(edges, 2)
    for method in ("floor_divide", "remainder", "left_shift", "right_shift"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, method)(a, b)
        assert_same_bits(library(dtype, EIGHT).run(method, a, b), wanted)


def test_the_interpreter_has_the_protocol() -> None:
    k: Scalars[Register] = LlvmScalars(ir.IRBuilder(), fused=False)  # mypy compares the types
    assert [m for m in vars(Scalars) if not m.startswith("_") and not hasattr(k, m)] == []
