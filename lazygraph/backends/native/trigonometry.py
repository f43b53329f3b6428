"""sin, cos, tan of angles of any size."""

from typing import NamedTuple

from lazygraph.backends.native.coefficients import COS, HALF_PI_PIECES, SIN
from lazygraph.backends.native.floats import layout_of, nearest, polynomial
from lazygraph.backends.native.pairs import Pair, fast_two_sum, quotient, two_sum
from lazygraph.backends.native.register import Register, multiply_add, select
from lazygraph.backends.native.turns import Turned, with_huge_ones
from lazygraph.dtypes import float32, float64

_TWO_OVER_PI = 0.6366197723675814
_PIECES = HALF_PI_PIECES["float64"]


class _Parts(NamedTuple):
    """Sine and cosine of what is left of an angle after `quarters` quarter turns."""

    quarters: Register
    sine: Register
    cosine: Register


def sin(x: Register) -> Register:
    quarters, sine, cosine = _parts(x)
    y = select(_is_odd(quarters), cosine, sine)
    y = select((quarters & 2).differs(0), -y, y).to(x.dtype)
    return select(abs(x) < layout_of(x).negligible, x, y)


def cos(x: Register) -> Register:
    quarters, sine, cosine = _parts(x)
    y = select(_is_odd(quarters), sine, cosine)
    return select(((quarters + 1) & 2).differs(0), -y, y).to(x.dtype)


def tan(x: Register) -> Register:
    """`sin(x) / cos(x)`, after an odd number of quarter turns `-cos(x) / sin(x)`."""
    if x.dtype is float32:
        quarters, sine, cosine = _parts(x)
        odd = _is_odd(quarters)
        y = (select(odd, -cosine, sine) / select(odd, sine, cosine)).to(float32)
    else:
        y = _tan_of_pairs(x)
    return select(abs(x) < layout_of(x).negligible, x, y)


def _tan_of_pairs(x: Register) -> Register:
    quarters, rest = with_huge_ones(x, _turn_back(x))
    sine, cosine = _as_pairs(rest)
    odd = _is_odd(quarters)
    above = Pair(*(select(odd, -c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Pair(*(select(odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    ratio = quotient(above.high, below)
    return ratio.high + (ratio.low + above.low / below.high)


def _is_odd(quarters: Register) -> Register:
    return (quarters & 1).differs(0)


def _parts(x: Register) -> _Parts:
    """Those of a float64; those of a float32 in float64, as exactly as that needs."""
    if x.dtype is float32:
        return _parts_of_float32(x.to(float64))
    quarters, rest = with_huge_ones(x, _turn_back(x))
    sine, cosine = _as_pairs(rest)
    return _Parts(quarters, sine.high + sine.low, cosine.high + cosine.low)


def _parts_of_float32(x: Register) -> _Parts:
    n, whole = nearest(x, times=_TWO_OVER_PI)
    r = x
    for piece in _PIECES[:3]:
        r = multiply_add(n, r.constant(-piece), r)
    quarters, (r, _) = with_huge_ones(x, Turned(whole, Pair(r, r.constant(0))))
    square = r * r
    sine = multiply_add(square * r, polynomial(square, SIN["float32"]), r)
    tail = multiply_add(square, polynomial(square, COS["float32"]), -0.5)
    return _Parts(quarters, sine, multiply_add(square, tail, 1))


def _as_pairs(rest: Pair) -> tuple[Pair, Pair]:
    """Sine and cosine of at most an eighth of a turn."""
    r, low = rest
    square = r * r
    half = square * 0.5
    series = polynomial(square, SIN["float64"])
    sine = fast_two_sum(r, multiply_add(square * r, series, low * (1 - half)))
    one_less = fast_two_sum(r.constant(1), -half)
    series = polynomial(square, COS["float64"])
    tail = multiply_add(square * square, series, one_less.low - r * low)
    return sine, fast_two_sum(one_less.high, tail)


def _turn_back(x: Register) -> Turned:
    """Quarter turns subtracted piece by piece: products with all pieces but the last are exact.

    Good for angles that are not huge; infinities become NaN.
    """
    first, second, third, last = _PIECES
    n, whole = nearest(x, times=_TWO_OVER_PI)
    high, low = two_sum(x - n * first, n * -second)
    high, lost = two_sum(high, n * -third)
    low = low + lost
    return Turned(whole, Pair(*fast_two_sum(high, low + n * -last)))
