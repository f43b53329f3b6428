"""Which dtype a result has: promotion, weak Python scalars, strong NumPy scalars."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATING = ("float32", "float64")
EVERY = ("bool", *SIGNED, *UNSIGNED, *FLOATING)

# Rows: the signed operand, int8 first; columns: the unsigned one, uint8 first.
MIXED = (
    ("int16", "int32", "int64", None),
    ("int16", "int32", "int64", None),
    ("int32", "int32", "int64", None),
    ("int64", "int64", "int64", None),
)
ARITHMETIC = (operator.add, operator.sub, operator.mul)


def leaf(dtype: str, *numbers: float) -> lg.Tensor:
    return lg.asarray(list(numbers or (1,)), dtype=dtype)


def standard(a: str, b: str) -> str | None:
    """The Python array API standard within a category, and bool < integers < floats beyond."""
    for family in (SIGNED, UNSIGNED, FLOATING):
        if a in family and b in family:
            return family[max(family.index(a), family.index(b))]
    if a in SIGNED and b in UNSIGNED:
        return MIXED[SIGNED.index(a)][UNSIGNED.index(b)]
    if b in SIGNED and a in UNSIGNED:
        return standard(b, a)
    return next(name for name in (a, b) if name in FLOATING or "bool" in {a, b} - {name})


@pytest.mark.parametrize("a", EVERY)
@pytest.mark.parametrize("b", EVERY)
def test_two_dtypes_meet_as_the_standard_says(a: str, b: str) -> None:
    wanted = "bool" if a == b == "bool" else standard(a, b)
    if wanted is None:
        message = re.escape(f"operands must have a common dtype; got {a} and {b}")
        with pytest.raises(lg.errors.DTypeError, match=message):
            operator.eq(leaf(a), leaf(b))
    else:
        assert lg.where(lg.asarray([True]), leaf(a), leaf(b)).dtype.name == wanted
        assert lg.concat([leaf(a), leaf(b)]).dtype.name == wanted
        assert (leaf(a) == leaf(b)).dtype is lg.bool_


@pytest.mark.parametrize("dtype", EVERY)
def test_a_python_scalar_takes_the_dtype_beside_it_where_it_can(dtype: str) -> None:
    x = leaf(dtype, 1, 0)
    category = "bool" if dtype == "bool" else "float" if dtype in FLOATING else "int"
    for scalar, wanted in (
        (True, dtype),
        (1, "int64" if category == "bool" else dtype),
        (1.0, dtype if category == "float" else "float32"),
    ):
        assert lg.maximum(x, scalar).dtype.name == wanted
        assert lg.maximum(scalar, x).dtype.name == wanted
        assert lg.where(lg.asarray([True, False]), x, scalar).dtype.name == wanted


def test_two_python_scalars_have_the_default_dtypes() -> None:
    found = [lg.maximum(a, b).dtype for a, b in ((True, False), (True, 2), (1, 2), (1, 2.0))]
    assert found == [lg.bool_, lg.int64, lg.int64, lg.float32]


@pytest.mark.parametrize("scalar", [np.float64(2), np.float32(2), np.int16(2), np.uint8(2)])
def test_a_numpy_scalar_is_strong(scalar: Any) -> None:
    for dtype in ("int8", "float32"):
        wanted = standard(dtype, scalar.dtype.name)
        for f in ARITHMETIC:
            assert f(leaf(dtype), scalar).dtype.name == wanted
            assert f(scalar, leaf(dtype)).dtype.name == wanted


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f
    for f in (
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow),
        *(operator.matmul, operator.eq, operator.ne, operator.lt, operator.le),
        *(operator.gt, operator.ge),
    )
}


@pytest.mark.parametrize("name", BINARY)
def test_an_array_on_either_side_becomes_a_tensor(name: str) -> None:
    f = BINARY[name]
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 1.0], [0.5, 4.0]])
    for found in (f(lg.asarray(a), b), f(a, lg.asarray(b)), f(a, lg.Var("b", b))):
        assert isinstance(found, lg.Tensor)
        assert np.allclose(found.numpy(), f(a, b), rtol=1e-15)


@pytest.mark.parametrize("f", [operator.and_, operator.or_, operator.xor])
def test_bitwise_operators_take_arrays_on_either_side(f: Callable[[Any, Any], Any]) -> None:
    a, b = np.array([6, 5, 0]), np.array([3, 4, 7])
    assert f(a, lg.asarray(b)).tolist() == f(lg.asarray(a), b).tolist() == f(a, b).tolist()
    assert f(6, lg.asarray(b)).tolist() == f(6, b).tolist()


def test_integers_divide_to_float32_and_otherwise_stay() -> None:
    a, b = leaf("int64", 7, -7, 1), leaf("int64", 2, 2, 0)
    assert (a / b).dtype is lg.float32
    assert (a / b).tolist() == [3.5, -3.5, np.inf]
    assert (a / leaf("float64", 2, 2, 4)).dtype is lg.float64
    assert (a**3).dtype is lg.int64
    assert (a**3).tolist() == [343, -343, 1]
    assert lg.exp(a).dtype is lg.sqrt(a).dtype is lg.mean(a).dtype is lg.float32
    assert (leaf("bool", 1, 0) / leaf("bool", 1, 1)).tolist() == [1.0, 0.0]


def test_integers_wrap_around_as_in_numpy() -> None:
    x = leaf("uint8", 200, 255, 0)
    assert (x + 100).tolist() == [44, 99, 100]
    assert (x - 1).tolist() == [199, 254, 255]
    assert (x * x).tolist() == (x**2).tolist() == [64, 1, 0]
    assert (-x).tolist() == [56, 1, 0]
    assert lg.abs(leaf("int8", -128)).tolist() == [-128]


def test_sums_of_integers_are_wide_enough() -> None:
    assert lg.sum(leaf("uint8", *[200] * 9)).node.spec == lg.extend.Spec((), lg.uint64)
    assert lg.sum(leaf("int8", *[100] * 9)).item() == 900
    assert lg.sum(leaf("bool", 1, 1, 0)).item() == 2
    assert lg.sum(leaf("int8", 100, 100), dtype=lg.int8).item() == -56
    assert lg.mean(leaf("uint8", 200, 100)).item() == 150.0


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [("uint8", 300), ("uint8", -1), ("int8", 128), ("int64", 2**63), ("uint64", -1)],
)
def test_a_python_integer_must_fit(dtype: str, scalar: int) -> None:
    message = f"a Python scalar must fit the tensor's dtype, {dtype}; got {scalar}\\b"
    for f in ARITHMETIC:
        with pytest.raises(lg.errors.DTypeError, match=message):
            f(leaf(dtype), scalar)
    with pytest.raises(lg.errors.DTypeError, match=message):
        lg.full((2,), scalar, dtype=dtype)


@pytest.mark.parametrize("number", [1.5, np.nan, np.inf])
def test_no_integer_tensor_is_full_of_broken_numbers(number: float) -> None:
    with pytest.raises(
        lg.errors.DTypeError, match=f"fit the tensor's dtype, int32; got {number}"
    ):
        lg.full((2,), number, dtype=lg.int32)


def test_a_python_float_too_large_for_float32_is_infinite_without_a_warning() -> None:
    assert (leaf("float32", 1, -1) * 1e300).tolist() == [np.inf, -np.inf]
    assert (leaf("float64", 1) * 1e300).tolist() == [1e300]


@pytest.mark.parametrize(
    "f",
    [*ARITHMETIC, operator.pow, operator.matmul, lambda a, b: -a, lambda a, b: lg.abs(a)],
)
def test_booleans_are_no_numbers(f: Callable[[Any, Any], Any]) -> None:
    x = leaf("bool", 1, 0)
    with pytest.raises(lg.errors.DTypeError, match=r"(needs|must be) numbers; got bool"):
        f(x, x)


def test_booleans_are_bits() -> None:
    a, b = leaf("bool", 1, 1, 0, 0), leaf("bool", 1, 0, 1, 0)
    assert (a & b).tolist() == lg.logical_and(a, b).tolist() == [True, False, False, False]
    assert (a | b).tolist() == lg.logical_or(a, b).tolist() == [True, True, True, False]
    assert (a ^ b).tolist() == lg.logical_xor(a, b).tolist() == [False, True, True, False]
    assert (~a).tolist() == lg.logical_not(a).tolist() == [False, False, True, True]
    with pytest.raises(lg.errors.DTypeError, match="a shift needs integers; got bool"):
        a << b


def test_one_hot_of_a_narrow_integer_names_each_class_once() -> None:
    for dtype in (*SIGNED, *UNSIGNED):
        found = lg.one_hot(leaf(dtype, 0, 3), 300)
        assert np.argwhere(found.numpy()).tolist() == [[0, 0], [1, 3]]


def test_equal_arguments_of_arange_mean_equal_numbers() -> None:
    large = 2**53
    for first in (large, float(large)):
        found = lg.arange(first, large + 2, dtype=lg.int64).tolist()
        assert found == [large, large + 1]
    assert lg.arange(3, -3, -2, dtype=lg.uint8).tolist() == [3, 1, 255]
    assert lg.arange(2**64 - 2, 2**64, dtype=lg.uint64).tolist() == [2**64 - 2, 2**64 - 1]
    assert lg.arange(0.5, 2.0, 0.5).tolist() == [0.5, 1.0, 1.5]
