"""Angles from their sines, cosines and tangents: asin, acos, atan, atan2."""

import math

from lazygraph.backends.native.coefficients import ASIN, ATAN, HALF_PI, PI
from lazygraph.backends.native.floats import polynomial
from lazygraph.backends.native.pairs import fast_two_sum
from lazygraph.backends.native.register import Register, given_sign_of, multiply_add, select


def atan(x: Register) -> Register:
    """By a series up to 1, from there on as what the angle of `1 / x` leaves of `pi / 2`."""
    high, low = HALF_PI[x.dtype.name]
    size = abs(x)
    steep = size > 1
    angle = _atan_up_to_1(select(steep, 1 / size, size))
    return given_sign_of(select(steep, high - (angle - low), angle), x)


def _atan_up_to_1(t: Register) -> Register:
    square = t * t
    return multiply_add(t * square, polynomial(square, ATAN[t.dtype.name]), t)


def atan2(y: Register, x: Register) -> Register:
    """The angle of the smaller side, turned into the octant that sizes and signs tell."""
    name = y.dtype.name
    rise, run = abs(y), abs(x)
    steep = rise > run
    short, long = select(steep, run, rise), select(steep, rise, run)
    ratio = select(long.equals(0), long, short / long)
    ratio = select(short.equals(math.inf), short.constant(1), ratio)
    angle = _atan_up_to_1(ratio)
    angle = select(steep, HALF_PI[name][0] - (angle - HALF_PI[name][1]), angle)
    angle = select(x.bits < 0, PI[name][0] - (angle - PI[name][1]), angle)
    angle = select(x.is_nan() | y.is_nan(), x + y, angle)
    return given_sign_of(angle, y)


def _asin_tail(square: Register) -> Register:
    """`asin(t) / t - 1` from `t^2`, up to 1/4."""
    return square * polynomial(square, ASIN[square.dtype.name])


def _near_and_far(size: Register) -> tuple[Register, Register, Register]:
    """Whether |x| is at most 1/2; the root s of (1 - |x|) / 2; `asin(t) / t - 1` of x or s."""
    near = size <= 0.5
    rest = (1 - size) * 0.5
    return near, rest.call("sqrt"), _asin_tail(select(near, size * size, rest))


def asin(x: Register) -> Register:
    """By a series up to 1/2, from there on with twice that of `sqrt((1 - x) / 2)`."""
    high, low = HALF_PI[x.dtype.name]
    size = abs(x)
    near, root, tail = _near_and_far(size)
    whole = fast_two_sum(x.constant(high), root * -2)
    far = whole.high + (whole.low + (low - root * tail * 2))
    return given_sign_of(select(near, multiply_add(size, tail, size), far), x)


def acos(x: Register) -> Register:
    """`pi / 2 - asin(x)`, or `2 asin(sqrt((1 - |x|) / 2))` and what that leaves of pi."""
    high, low = HALF_PI[x.dtype.name]
    near, root, tail = _near_and_far(abs(x))
    right = fast_two_sum(x.constant(high), -x)
    middle = right.high + (right.low + (low - x * tail))
    left = fast_two_sum(x.constant(high), -root)
    behind = (left.high + (left.low + (low - root * tail))) * 2
    ahead = multiply_add(root, tail, root) * 2
    return select(near, middle, select(x < 0, behind, ahead))
