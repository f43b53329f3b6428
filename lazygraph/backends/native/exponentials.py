"""Functions made from e^x: exp, expm1, sinh, cosh, tanh."""

from typing import NamedTuple

from lazygraph.backends.native.coefficients import EXP, LOG_OF_2, SINH, TANH
from lazygraph.backends.native.floats import (
    at_least,
    at_most,
    layout_of,
    nearest,
    polynomial,
    power_of_two,
    scaled,
)
from lazygraph.backends.native.register import Register, given_sign_of, multiply_add, select

_LOG2_OF_E = 1.4426950408889634
# Beyond these, e^x / 4 is infinite, e^x rounds to 0, and e^x - 1 to -1.
_HIGHEST = {"float32": 89.7, "float64": 710.6}
_LOWEST = {"float32": -104.0, "float64": -746.0}
_LOWEST_MINUS_1 = {"float32": -18.0, "float64": -38.0}


class _Parts(NamedTuple):
    """`e^x = 2^n (1 + r + tail)`, |r| at most log(2) / 2."""

    n: Register
    r: Register
    tail: Register


def _parts(x: Register) -> _Parts:
    high, low = LOG_OF_2[x.dtype.name]
    n, whole = nearest(x, times=_LOG2_OF_E)
    r = multiply_add(n, x.constant(-low), multiply_add(n, x.constant(-high), x))
    return _Parts(whole, r, r * r * polynomial(r, EXP[x.dtype.name]))


def exp(x: Register, halvings: int = 0) -> Register:
    """`e^x`, divided by two as often as is said, without overflow before that."""
    name = x.dtype.name
    n, r, tail = _parts(at_least(at_most(x, _HIGHEST[name]), _LOWEST[name]))
    return scaled(1 + (r + tail), n - halvings if halvings else n)


def expm1(x: Register) -> Register:
    """`e^x - 1`, as `(2^n - 1) + 2^n (r + tail)`, all of it divided by 4 until the end."""
    name = x.dtype.name
    n, r, tail = _parts(at_least(at_most(x, _HIGHEST[name]), _LOWEST_MINUS_1[name]))
    scale = power_of_two(n - 2, x)
    y = multiply_add(scale, tail, multiply_add(scale, r, scale - 0.25)) * 4
    return select(abs(x) < layout_of(x).negligible, x, y)


def _odd_series(size: Register, coefficients: tuple[float, ...]) -> Register:
    square = size * size
    return multiply_add(size * square, polynomial(square, coefficients), size)


def sinh(x: Register) -> Register:
    """A series up to 1, from there on `(e^x - e^-x) / 2`."""
    size = abs(x)
    near = _odd_series(size, SINH[x.dtype.name])
    half = exp(size, halvings=1)
    return given_sign_of(select(size < 1, near, half - 0.25 / half), x)


def cosh(x: Register) -> Register:
    """`(e^x + e^-x) / 2`."""
    half = exp(abs(x), halvings=1)
    return half + 0.25 / half


def tanh(x: Register) -> Register:
    """A series up to 0.55, where tanh is a half; from there on `1 - 2 / (e^2x + 1)`."""
    size = abs(x)
    near = _odd_series(size, TANH[x.dtype.name])
    n, r, tail = _parts(at_most(size + size, layout_of(x).mantissa * 0.8))
    scale = power_of_two(n, x)
    far = 1 - 2 / multiply_add(scale, r + tail, scale + 1)
    return given_sign_of(select(size < 0.55, near, far), x)
