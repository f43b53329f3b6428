"""Functions made from the logarithm: log, log1p, log10, asinh, acosh, atanh."""

import math

from lazygraph.backends.native.coefficients import (
    ASINH,
    ATANH_PAIR,
    LOG,
    LOG10_OF_E,
    LOG_OF_2,
    TWO_THIRDS,
)
from lazygraph.backends.native.floats import layout_of, polynomial, split
from lazygraph.backends.native.pairs import (
    Pair,
    fast_two_sum,
    product,
    quotient,
    square_root,
    two_product,
    two_sum,
)
from lazygraph.backends.native.register import Register, given_sign_of, multiply_add, select
from lazygraph.dtypes import float32, float64

_FAR = 2.0**28  # from here on x^2 + 1 is x^2 in float64


def log(x: Register) -> Register:
    k, f = split(x)
    return _where_defined(x, _assemble(k, f, x.constant(0)))


def _assemble(k: Register, f: Register, correction: Register) -> Register:
    """`k log(2) + log(1 + f)`, plus a correction that is small."""
    high, low = LOG_OF_2[f.dtype.name]
    series = multiply_add(f, polynomial(f, LOG[f.dtype.name]), -0.5)
    small = multiply_add(k, k.constant(low), correction)
    return multiply_add(k, k.constant(high), f + multiply_add(f * f, series, small))


def _where_defined(x: Register, y: Register, zero: float = 0.0) -> Register:
    """`y` between `zero` and infinity, -inf on `zero`, NaN below; inf and NaN as they are."""
    y = select(x < math.inf, y, x)
    below = select(x.equals(zero), x.constant(-math.inf), math.nan)
    return select(x > zero, y, below)


def log1p(x: Register) -> Register:
    y = _log1p(Pair(x, x.constant(0)), x.constant(0))
    y = select(abs(x) < layout_of(x).negligible, x, y)
    return _where_defined(x, y, zero=-1.0)


def _log1p(x: Pair, doublings: Register) -> Register:
    """`log(1 + x) + doublings log(2)`, for x above -1 and finite.

    Near 1, f is x itself; elsewhere what `1 + x` loses is a correction.
    """
    total, lost = two_sum(x.high, 1.0)
    k, f = split(total)
    near = k.equals(0)
    f = select(near, x.high, f)
    correction = select(near, x.low, lost + x.low) / total
    return _assemble(k + doublings, f, correction)


def log10(x: Register) -> Register:
    if x.dtype is float32:
        return (log(x.to(float64)) * LOG10_OF_E["float64"][0]).to(float32)
    high, low = (x.constant(part) for part in LOG10_OF_E["float64"])
    y = product(log_pair(x), Pair(high, low))
    return _where_defined(x, y.high + y.low)


def log_pair(x: Register) -> Pair:
    """`log(x)` of a positive finite float64, to about 2^-65 of itself.

    With s = f / (2 + f) it is `k log(2) + 2 s + s^3 (2/3 + s^2 p(s^2))`.
    """
    k, f = split(x)
    high, low = LOG_OF_2["float64"]
    s = Pair(*fast_two_sum(*quotient(f, two_sum(x.constant(2), f))))
    square = product(s, s)
    rest = multiply_add(
        square.high, polynomial(square.high, ATANH_PAIR["float64"]), TWO_THIRDS["float64"][1]
    )
    cubic = product(
        product(s, square), fast_two_sum(x.constant(TWO_THIRDS["float64"][0]), rest)
    )
    twice = Pair(s.high * 2, s.low * 2)
    whole = fast_two_sum(k * high, twice.high)
    total = fast_two_sum(whole.high, cubic.high)
    return fast_two_sum(total.high, total.low + (whole.low + (twice.low + cubic.low + k * low)))


def asinh(x: Register) -> Register:
    """A series up to 1/2, from there on `log(x + sqrt(x^2 + 1))`; float32 by way of float64."""
    if x.dtype is float32:
        return asinh(x.to(float64)).to(float32)
    size = abs(x)
    square = size * size
    near = multiply_add(size * square, polynomial(square, ASINH["float64"]), size)
    sides = two_product(size, size)
    under = two_sum(sides.high, 1.0)
    root = square_root(Pair(under.high, under.low + sides.low))
    far = _log_of_sum(size, size - 1, Pair(root.high - 1, root.low))
    far = select(size < math.inf, far, size)
    return given_sign_of(select(size < 0.5, near, far), x)


def acosh(x: Register) -> Register:
    """`log(x + sqrt(x^2 - 1))`; float32 by way of float64."""
    if x.dtype is float32:
        return acosh(x.to(float64)).to(float32)
    above = x - 1
    sum_ = two_sum(x, 1.0)
    under = two_product(above, sum_.high)
    root = square_root(Pair(under.high, multiply_add(above, sum_.low, under.low)))
    y = _log_of_sum(above, above, root)
    y = select(x < math.inf, y, x)
    return select(x < 1, x.constant(math.nan), y)


def _log_of_sum(a: Register, far: Register, b: Pair) -> Register:
    """`log(1 + a + b)`; beyond 2^28, where b may overflow, `log(1 + far) + log(2)`."""
    total = two_sum(a, b.high)
    is_far = a > _FAR
    high = select(is_far, far, total.high)
    low = select(is_far, far.constant(0), total.low + b.low)
    return _log1p(Pair(high, low), select(is_far, far.constant(1), 0))


def atanh(x: Register) -> Register:
    """`log(1 + 2 x / (1 - x)) / 2`; float32 by way of float64."""
    if x.dtype is float32:
        return atanh(x.to(float64)).to(float32)
    size = abs(x)
    ratio = quotient(size + size, two_sum(1 - size.constant(0), -size))
    y = _log1p(ratio, size.constant(0)) * 0.5
    y = select(size < layout_of(x).negligible, size, y)
    y = select(size < 1, y, select(size.equals(1), x.constant(math.inf), math.nan))
    return given_sign_of(y, x)
