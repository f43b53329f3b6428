"""Eager functions, element by element."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.lazygraph.eager.operand import FUNCTIONS
from tests.lazygraph.eager.values import (
    Forward,
    RejectedError,
    Value,
    always,
    dyadic,
    never,
    record,
)
from tests.lazygraph.eager.variables import common, lift
from tests.lazygraph.exactness import Array

Function = Callable[..., Value]
Slope = Callable[[Array, Array], Any]
Slopes = Callable[[Array, Array, Array], tuple[Any, Any]]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _one(
    forward: Forward,
    slope: Slope,
    exact: Any = never,
    decide: Forward | None = None,
    floating: bool = True,
) -> Function:
    """A function of one number, with its slope by `(x, y)`."""

    def function(x: Any) -> Value:
        (x,) = common(x, floating=floating)
        return record(forward, lambda g, y, a: [g * slope(a, y)], x, exact=exact, decide=decide)

    return function


def _two(
    forward: Forward,
    slopes: Slopes,
    exact: Any = never,
    decide: Forward | None = None,
    floating: bool = False,
) -> Function:
    """A function of two numbers, with its slopes by `(a, b, y)`."""

    def function(x1: Any, x2: Any) -> Value:
        a, b = common(x1, x2, floating=floating)
        return record(
            forward,
            lambda g, y, a, b: [g * np.asarray(s) for s in slopes(a, b, y)],
            a,
            b,
            exact=exact,
            decide=decide,
        )

    return function


def _flat(x: Array, y: Array) -> float:
    return 0.0


def _sigmoid(x: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


tanh = _one(np.tanh, lambda x, y: 1.0 - y**2)
sin = _one(np.sin, lambda x, y: np.cos(x))
cos = _one(np.cos, lambda x, y: -np.sin(x))
tan = _one(np.tan, lambda x, y: 1.0 / np.cos(x) ** 2)
exp = _one(np.exp, lambda x, y: np.exp(x))
expm1 = _one(np.expm1, lambda x, y: np.exp(x))
log = _one(np.log, lambda x, y: 1.0 / x)
log2 = _one(np.log2, lambda x, y: 1.0 / (x * math.log(2.0)))
log10 = _one(np.log10, lambda x, y: 1.0 / (x * math.log(10.0)))
log1p = _one(np.log1p, lambda x, y: 1.0 / (1.0 + x))
sqrt = _one(np.sqrt, lambda x, y: 0.5 * x**-0.5)
rsqrt = _one(lambda x: x**-0.5, lambda x, y: -0.5 * x**-1.5)
reciprocal = _one(lambda x: 1.0 / x, lambda x, y: -1.0 / x**2)
erf = _one(_erf, lambda x, y: 2.0 / math.sqrt(math.pi) * np.exp(-(x**2)))
sigmoid = _one(_sigmoid, lambda x, y: y * (1.0 - y))
softplus = _one(lambda x: np.logaddexp(0.0, x), lambda x, y: _sigmoid(x))
silu = _one(lambda x: x * _sigmoid(x), lambda x, y: _sigmoid(x) * (1.0 + x * _sigmoid(-x)))
sinh = _one(np.sinh, lambda x, y: np.cosh(x))
cosh = _one(np.cosh, lambda x, y: np.sinh(x))
asin = _one(np.arcsin, lambda x, y: (1.0 - x**2) ** -0.5)
acos = _one(np.arccos, lambda x, y: -((1.0 - x**2) ** -0.5))
atan = _one(np.arctan, lambda x, y: 1.0 / (1.0 + x**2))
asinh = _one(np.arcsinh, lambda x, y: (1.0 + x**2) ** -0.5)
acosh = _one(np.arccosh, lambda x, y: (x**2 - 1.0) ** -0.5)
atanh = _one(np.arctanh, lambda x, y: 1.0 / (1.0 - x**2))

relu = _one(
    lambda x: np.maximum(x, 0), lambda x, y: np.heaviside(x, 0.0), always, np.sign, False
)
abs = _one(np.abs, lambda x, y: np.sign(x), always, np.sign, floating=False)
negative = _one(np.negative, lambda x, y: -1.0, always, floating=False)
square = _one(np.square, lambda x, y: 2.0 * x, dyadic, floating=False)
sign = _one(np.sign, _flat, always, np.sign, floating=False)
positive = _one(np.positive, lambda x, y: 1.0, always, floating=False)
floor = _one(np.floor, _flat, always, np.floor, floating=False)
ceil = _one(np.ceil, _flat, always, np.ceil, floating=False)
trunc = _one(np.trunc, _flat, always, np.trunc, floating=False)
round = _one(np.rint, _flat, always, np.rint, floating=False)


def gelu(x: Any, *, approximate: str = "none") -> Value:
    if approximate == "tanh":
        inner = _one(_inside, lambda x, y: (1.0 + 0.134145 * x**2) * math.sqrt(2.0 / math.pi))
        return lift(x) * (0.5 * tanh(inner(x)) + 0.5)
    return lift(x) * (0.5 * erf(lift(x) * math.sqrt(0.5)) + 0.5)


def _inside(x: Array) -> Array:
    return np.asarray((x + 0.044715 * x**3) * math.sqrt(2.0 / math.pi))


def _halves(a: Array, b: Array) -> Array:
    """1 where `a` is greater, 0 where `b` is, a half where neither."""
    return np.asarray(np.heaviside(a - b, 0.5))


def _gap(a: Array, b: Array) -> Array:
    return np.asarray(np.sign(a - b))


def _signed(x: Array) -> Array:
    """The array, none of whose elements is 0: the sign of a zero is nobody's promise."""
    if not x.all():
        raise RejectedError("the sign of a zero")
    return x


def _far_from_zero(x: Array) -> Array:
    """The array, none of whose elements is what rounding may have left of a zero."""
    if x.dtype.kind == "f" and np.any(np.abs(x) < 1e-5):
        raise RejectedError("a divisor near zero")
    return x


add = _two(np.add, lambda a, b, y: (1.0, 1.0), dyadic)
subtract = _two(np.subtract, lambda a, b, y: (1.0, -1.0), dyadic)
multiply = _two(np.multiply, lambda a, b, y: (b, a), dyadic)
divide = _two(
    lambda a, b: a / _far_from_zero(b), lambda a, b, y: (1.0 / b, -a / b**2), floating=True
)
maximum = _two(np.maximum, lambda a, b, y: (_halves(a, b), _halves(b, a)), always, _gap)
minimum = _two(np.minimum, lambda a, b, y: (_halves(b, a), _halves(a, b)), always, _gap)
atan2 = _two(
    lambda a, b: np.arctan2(_signed(a), b),
    lambda a, b, y: (b / (a * a + b * b), -a / (a * a + b * b)),
    decide=lambda a, b: np.signbit(a) * np.ones_like(b),
    floating=True,
)
hypot = _two(np.hypot, lambda a, b, y: (a / y, b / y), floating=True)
logaddexp = _two(
    np.logaddexp, lambda a, b, y: (_sigmoid(a - b), _sigmoid(b - a)), floating=True
)
copysign = _two(
    lambda a, b: np.copysign(a, _signed(b)),
    lambda a, b, y: (np.sign(a) * np.sign(y), 0.0),
    always,
    lambda a, b: np.sign(a) + 3.0 * np.sign(b),
    floating=True,
)
floor_divide = _two(
    lambda a, b: np.floor_divide(a, _far_from_zero(b)),
    lambda a, b, y: (0.0, 0.0),
    always,
    np.floor_divide,
)
remainder = _two(
    lambda a, b: np.remainder(a, _far_from_zero(b)),
    lambda a, b, y: (1.0, -np.floor_divide(a, b)),
    dyadic,
    np.floor_divide,
)


def _power_slopes(a: Array, b: Array, y: Array) -> tuple[Array, Array]:
    return (
        np.where(b == 0, 0.0, b * a ** np.where(b == 0, 1.0, b - 1.0)),
        np.where(a == 0, 0.0, y * np.log(np.where(a == 0, 1.0, a))),
    )


_general_power = _two(np.power, _power_slopes)


def power(x1: Any, x2: Any) -> Value:
    a, b = common(x1, x2)
    if not a.is_floating and np.any(b.clean < 0):
        raise ValueError("integers have no negative powers")
    if type(x2) is not float and type(x2) is not int:
        return _general_power(a, b)

    def slope(a: Array, y: Array) -> Array:
        return np.asarray(0.0 if x2 == 0 else x2 * a ** (x2 - 1))

    return _one(lambda a: np.power(a, b.clean), slope, floating=False)(a)


def clip(x: Any, min: Any = None, max: Any = None) -> Value:
    y = lift(x)
    if min is not None:
        y = _two(np.maximum, lambda a, b, y: (a >= b, a < b), always, _gap)(y, min)
    if max is not None:
        y = _two(np.minimum, lambda a, b, y: (a <= b, a > b), always, _gap)(y, max)
    return y


def _logic(forward: Forward, dtype: str | None = "bool") -> Function:
    """A function without a gradient."""

    def function(*xs: Any) -> Value:
        values = common(*xs)
        return record(forward, lambda g, y, *xs: [None] * len(xs), *values, dtype=dtype)

    return function


equal = _logic(np.equal)
not_equal = _logic(np.not_equal)
less = _logic(np.less)
less_equal = _logic(np.less_equal)
greater = _logic(np.greater)
greater_equal = _logic(np.greater_equal)
logical_and = _logic(np.logical_and)
logical_or = _logic(np.logical_or)
logical_xor = _logic(np.logical_xor)
logical_not = _logic(np.logical_not)
isfinite = _logic(np.isfinite)
isnan = _logic(np.isnan)
isinf = _logic(np.isinf)
signbit = _logic(lambda x: np.signbit(_signed(x)))
bitwise_and = _logic(np.bitwise_and, dtype=None)
bitwise_or = _logic(np.bitwise_or, dtype=None)
bitwise_xor = _logic(np.bitwise_xor, dtype=None)
bitwise_invert = _logic(np.invert, dtype=None)
bitwise_left_shift = _logic(np.left_shift, dtype=None)
bitwise_right_shift = _logic(np.right_shift, dtype=None)

FUNCTIONS.update(
    add=add,
    subtract=subtract,
    multiply=multiply,
    divide=divide,
    power=power,
    negative=negative,
    greater=greater,
)
