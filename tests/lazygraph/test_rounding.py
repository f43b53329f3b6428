"""Whole numbers, quotients and remainders: Python's signs, NumPy's special values."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.op_cases import FLOATS, INTEGERS, special

NUMBERS = pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
ROUNDINGS = {lg.floor: np.floor, lg.ceil: np.ceil, lg.trunc: np.trunc, lg.round: np.rint}
EACH_ROUNDING = pytest.mark.parametrize("function", ROUNDINGS, ids=lambda f: f.__name__)
# Quotients of both signs, and their remainders.
A, B = [-7, 7, -7, 7, -1], [2, 2, -2, -2, 3]
QUOTIENTS, REMAINDERS = [-4, 3, 3, -4, -1], [1, 1, -1, -1, 2]


@EACH_ROUNDING
@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_is_that_of_numpy_signs_of_zeros_included(
    function: Callable[..., lg.Tensor], dtype: Any, rng: np.random.Generator
) -> None:
    halves = np.arange(-9, 10) / 2.0
    x = np.concatenate([halves, rng.normal(0.0, 9.0, 200), special(dtype)]).astype(dtype)
    assert_same_bits(function(lg.asarray(x)), ROUNDINGS[function](x))


@EACH_ROUNDING
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_whole_already(function: Callable[..., lg.Tensor], dtype: Any) -> None:
    x = lg.asarray(special(dtype))
    assert function(x) is x


@EACH_ROUNDING
def test_steps_are_flat(function: Callable[..., lg.Tensor]) -> None:
    x = lg.asarray([-1.5, 0.0, 0.3, 2.0])
    gradient = lg.sum(function(x) * 7.0).backward()[x]
    assert gradient.tolist() == [0.0, 0.0, 0.0, 0.0]


@EACH_ROUNDING
def test_booleans_are_not_rounded(function: Callable[..., lg.Tensor]) -> None:
    message = f"{function.__name__}: the operand must be numbers; got bool\\[2\\]"
    with pytest.raises(lg.errors.DTypeError, match=message):
        function(lg.asarray([True, False]))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, *FLOATS])
def test_quotient_and_remainder_have_the_signs_of_python(dtype: Any) -> None:
    a, b = lg.asarray(A, dtype=dtype), lg.asarray(B, dtype=dtype)
    assert (a // b).tolist() == QUOTIENTS
    assert (a % b).tolist() == REMAINDERS
    assert ((a // b) * b + a % b).tolist() == A
    assert (a // b).dtype == (a % b).dtype == lg.as_dtype(dtype)


@NUMBERS
def test_every_pair_of_special_values_divides_as_in_numpy(dtype: Any) -> None:
    a, b = special(dtype)[:, np.newaxis], special(dtype)
    with np.errstate(all="ignore"):
        quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
    assert_same_bits(lg.floor_divide(lg.asarray(a), lg.asarray(b)), quotient)
    assert_same_bits(lg.remainder(lg.asarray(a), lg.asarray(b)), remainder)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_quotient_times_divisor_plus_remainder(
    dtype: Any, rng: np.random.Generator
) -> None:
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, 500, dtype=dtype, endpoint=True)
    b = rng.integers(limits.min, limits.max, 500, dtype=dtype, endpoint=True)
    b[b == 0] = 1
    q, r = divmod(lg.asarray(a), lg.asarray(b))
    assert_same_bits(q * b + r, a)


def test_integers_divided_by_zero_give_zero() -> None:
    a = lg.asarray([5, -5, 0])
    assert (a // 0).tolist() == (a % 0).tolist() == [0, 0, 0]


OPERATORS = pytest.mark.parametrize("apply", [operator.floordiv, operator.mod, divmod])


@OPERATORS
@pytest.mark.parametrize("left", [17, np.array([17, -17]), lg.asarray([17, -17])])
@pytest.mark.parametrize("right", [5, np.array([5, -5]), lg.asarray([5, -5])])
def test_operators_take_numbers_and_arrays_on_both_sides(
    apply: Callable[[Any, Any], Any], left: Any, right: Any
) -> None:
    if not (isinstance(left, lg.Tensor) or isinstance(right, lg.Tensor)):
        left = lg.asarray(left)
    found = apply(left, right)
    wanted = apply(np.array(left), np.array(right))
    for y, value in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        assert np.array_equal(y, value)


@OPERATORS
def test_operators_take_vars_and_refuse_strings(apply: Callable[[Any, Any], Any]) -> None:
    w = lg.Var("w", [7.0, -7.0])
    assert np.array_equal(apply(w, 2.0), apply(w.numpy(), np.float32(2.0)))
    assert np.array_equal(apply(9.0, w), apply(np.float32(9.0), w.numpy()))
    with pytest.raises(TypeError, match="unsupported operand"):
        apply(w, "2")


def test_plus_changes_nothing() -> None:
    w = lg.Var("w", [1.0, -0.0])
    assert_same_bits(+w, w.numpy())
    assert_same_bits(+w.tensor(), w.numpy())
    assert lg.sum(+w * 3.0).backward()[w].tolist() == [3.0, 3.0]
    with pytest.raises(lg.errors.DTypeError, match="positive: the operand must be numbers"):
        lg.positive(lg.asarray([True]))


def test_the_divisor_of_a_remainder_has_a_gradient() -> None:
    a, b = lg.asarray([7.5, -7.5, 4.0]), lg.asarray([2.0, 2.0, -3.0])
    gradients = lg.sum(lg.asarray([1.0, 1.0, 5.0]) * (a % b)).backward()
    assert gradients[a].tolist() == [1.0, 1.0, 5.0]
    assert gradients[b].tolist() == [-3.0, 4.0, 10.0]


def test_a_remainder_by_zero_that_is_not_chosen_leaks_nothing() -> None:
    a, b = lg.asarray([5.0, 5.0]), lg.asarray([0.0, 3.0])
    y = lg.where(b == 0, a, a % b)
    gradients = lg.sum(y).backward()
    assert y.tolist() == [5.0, 2.0]
    assert gradients[a].tolist() == [1.0, 1.0]
    assert gradients[b].tolist() == [0.0, -1.0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_are_read_and_given_as_in_numpy(dtype: Any) -> None:
    x = np.append(special(dtype), -np.array(np.nan, dtype))
    t = lg.asarray(x)
    assert_same_bits(lg.signbit(t), np.signbit(x))
    assert_same_bits(lg.copysign(t, t[::-1]), np.copysign(x, x[::-1]))
    assert_same_bits(lg.copysign(lg.asarray([3, 0]), -1.0), np.array([-3.0, -0.0], np.float32))


def test_the_gradient_of_copysign_turns_with_the_sign() -> None:
    a, b = lg.asarray([2.0, -2.0, 2.0, 0.0]), lg.asarray([1.0, 1.0, -0.0, -1.0])
    gradients = lg.sum(lg.copysign(a, b)).backward()
    assert gradients[a].tolist() == [1.0, -1.0, -1.0, 0.0]
    assert gradients[b].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_integers_have_no_sign_bit_to_read() -> None:
    with pytest.raises(lg.errors.DTypeError, match="signbit: the operand must be floating"):
        lg.signbit(lg.asarray([1]))
