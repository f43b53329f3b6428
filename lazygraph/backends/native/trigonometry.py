"""sin, cos, tan of angles of any size."""

from typing import NamedTuple

from lazygraph.backends.native.coefficients import COS, HALF_PI_PIECES, SIN
from lazygraph.backends.native.floats import layout_of, nearest, polynomial
from lazygraph.backends.native.pairs import Pair, fast_two_sum, quotient, two_sum
from lazygraph.backends.native.register import Register, multiply_add, select
from lazygraph.backends.native.turns import Turned, with_huge_ones
from lazygraph.dtypes import float32, float64

_TWO_OVER_PI = 0.6366197723675814


class _SineAndCosine(NamedTuple):
    """Of the angle that is left after whole quarter turns, whose number is `quarters`."""

    quarters: Register
    sine: Pair
    cosine: Pair


def sin(x: Register) -> Register:
    wide = x.to(float64)
    quarters, sine, cosine = _sine_and_cosine(wide, x.dtype.name)
    y = select(_is_odd(quarters), cosine.high + cosine.low, sine.high + sine.low)
    y = select((quarters & 2).differs(0), -y, y)
    return select(abs(wide) < layout_of(x).negligible, wide, y).to(x.dtype)


def cos(x: Register) -> Register:
    quarters, sine, cosine = _sine_and_cosine(x.to(float64), x.dtype.name)
    y = select(_is_odd(quarters), sine.high + sine.low, cosine.high + cosine.low)
    return select(((quarters + 1) & 2).differs(0), -y, y).to(x.dtype)


def tan(x: Register) -> Register:
    """`sin(x) / cos(x)`, after an odd number of quarter turns `-cos(x) / sin(x)`."""
    wide = x.to(float64)
    quarters, sine, cosine = _sine_and_cosine(wide, x.dtype.name)
    odd = _is_odd(quarters)
    above = Pair(*(select(odd, -c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Pair(*(select(odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    if x.dtype is float32:
        y = above.high / below.high
    else:
        ratio = quotient(above.high, below)
        y = ratio.high + (ratio.low + above.low / below.high)
    return select(abs(wide) < layout_of(x).negligible, wide, y).to(x.dtype)


def _is_odd(quarters: Register) -> Register:
    return (quarters & 1).differs(0)


def _sine_and_cosine(x: Register, precision: str) -> _SineAndCosine:
    """Both, of a float64; for a float32 that became one, as exactly as that needs."""
    quarters, rest = with_huge_ones(x, _turn_back(x))
    r, low = rest
    square = r * r
    half = square * 0.5
    from_low = low * (1 - half)
    sine = fast_two_sum(
        r, multiply_add(square * r, polynomial(square, SIN[precision]), from_low)
    )
    one_less = fast_two_sum(r.constant(1), -half)
    tail = multiply_add(
        square * square, polynomial(square, COS[precision]), one_less.low - r * low
    )
    cosine = fast_two_sum(one_less.high, tail)
    return _SineAndCosine(quarters, sine, cosine)


def _turn_back(x: Register) -> Turned:
    """Quarter turns subtracted piece by piece: products with all pieces but the last are exact.

    Good up to `EASY`; infinities become NaN.
    """
    first, second, third, last = HALF_PI_PIECES["float64"]
    n, whole = nearest(x, times=_TWO_OVER_PI)
    high, low = two_sum(x - n * first, n * -second)
    high, lost = two_sum(high, n * -third)
    low = low + lost
    return Turned(whole, Pair(*fast_two_sum(high, low + n * -last)))
