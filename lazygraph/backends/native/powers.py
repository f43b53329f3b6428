"""Powers, with what IEEE 754 says of their special cases; lengths of hypotenuses."""

import math

from lazygraph.backends.native.coefficients import EXP, LOG_OF_2
from lazygraph.backends.native.exponentials import exp
from lazygraph.backends.native.floats import at_least, at_most, nearest, polynomial, scaled
from lazygraph.backends.native.logarithms import log, log_pair
from lazygraph.backends.native.pairs import Pair, fast_two_sum, two_product
from lazygraph.backends.native.register import Register, multiply_add, select
from lazygraph.dtypes import float32, float64

_LOG2_OF_E = 1.4426950408889634
_HUGE_EXPONENT = 2.0**80  # no base but 1 has a finite power with it


def power(a: Register, b: Register) -> Register:
    """`e^(b log(a))`; float32 by way of float64, float64 by way of pairs."""
    if a.dtype is float32:
        a, b = a.to(float64), b.to(float64)
        return _with_special_cases(a, b, exp(b * log(abs(a)))).to(float32)
    logarithm = log_pair(abs(a))
    safe = at_least(at_most(b, _HUGE_EXPONENT), -_HUGE_EXPONENT)
    high, low = two_product(safe, logarithm.high)
    return _with_special_cases(
        a, b, _exp_of_pair(Pair(high, multiply_add(safe, logarithm.low, low)))
    )


def _exp_of_pair(x: Pair) -> Register:
    high, low = LOG_OF_2["float64"]
    bounded = at_least(at_most(x.high, 720.0), -760.0)
    n, whole = nearest(bounded, times=_LOG2_OF_E)
    r = multiply_add(n, bounded.constant(-high), bounded)
    shift = multiply_add(n, bounded.constant(-low), select(bounded.equals(x.high), x.low, 0))
    r, rest = fast_two_sum(r, shift)
    first, lost = fast_two_sum(r.constant(1), r)
    tail = multiply_add(r * r, polynomial(r, EXP["float64"]), multiply_add(r, rest, rest))
    return scaled(first + (lost + tail), whole)


def _with_special_cases(a: Register, b: Register, y: Register) -> Register:
    """`y`, the power of |a|, with its sign, and the values where a or b is 0, 1, inf or NaN."""
    size, inf = abs(a), a.constant(math.inf)
    whole = b.call("trunc").equals(b)  # infinities too
    half = b * 0.5
    odd = whole & half.call("trunc").differs(half) & (abs(b) < math.inf)

    base_at_end = size.equals(0) | size.equals(math.inf)
    grows = (size > 1) ^ (b < 0)
    y = select(base_at_end | abs(b).equals(math.inf), select(grows, inf, 0), y)
    y = select(size.equals(1), y.constant(1), y)
    negative = a.bits < 0
    y = select(negative & odd, -y, y)
    y = select((a < 0) & (size < math.inf) & ~whole, y.constant(math.nan), y)
    y = select(a.is_nan() | b.is_nan(), y.constant(math.nan), y)
    return select(b.equals(0) | a.equals(1), y.constant(1), y)


def hypot(a: Register, b: Register) -> Register:
    """`sqrt(a^2 + b^2)`: infinite where a or b is, even if the other is NaN."""
    either = abs(a).equals(math.inf) | abs(b).equals(math.inf)
    if a.dtype is float32:
        y = _root_of_squares(a.to(float64), b.to(float64)).to(float32)
    else:
        y = _scaled_root_of_squares(abs(a), abs(b))
    return select(either, a.constant(math.inf), y)


def _scaled_root_of_squares(a: Register, b: Register) -> Register:
    """Scaled by a power of two where squares would overflow or lose digits."""
    large = (a > 2.0**510) | (b > 2.0**510)
    small = (a < 2.0**-450) & (b < 2.0**-450)
    down = select(large, a.constant(2.0**-600), select(small, a.constant(2.0**600), 1.0))
    up = select(large, a.constant(2.0**600), select(small, a.constant(2.0**-600), 1.0))
    return _root_of_squares(a * down, b * down) * up


def _root_of_squares(a: Register, b: Register) -> Register:
    return (a * a + b * b).call("sqrt")
