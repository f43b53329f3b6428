"""Numbers as sums of two floats, where one float would lose digits that matter."""

from typing import Any, NamedTuple

from lazygraph.backends.native.register import Register


class Pair(NamedTuple):
    """The sum `high + low` that is not carried out: `low` is what `high` lacks."""

    high: Register
    low: Register


def two_sum(a: Register, b: Any) -> Pair:
    """`a + b` exactly."""
    high = a + b
    rest = high - a
    return Pair(high, (a - (high - rest)) + (b - rest))


def fast_two_sum(a: Any, b: Register) -> Pair:
    """`a + b` exactly, where `a` is 0 or not smaller in size than `b`."""
    high = a + b
    return Pair(high, b - (high - a))


def two_product(a: Register, b: Register) -> Pair:
    """`a b` exactly, where nothing overflows or underflows."""
    high = a * b
    if a.site.fused:
        return Pair(high, a.call("fma", b, -high))
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
    return Pair(high, low)


def _halves(x: Register) -> Pair:
    """The upper and the lower half of a number's digits, by Veltkamp's method."""
    digits = 12 if x.dtype.itemsize == 4 else 27
    scaled = x * (2.0**digits + 1)
    high = scaled - (scaled - x)
    return Pair(high, x - high)


def product(a: Pair, b: Pair) -> Pair:
    """`a b`, to nearly twice the digits of one float."""
    high, low = two_product(a.high, b.high)
    return fast_two_sum(high, low + (a.high * b.low + a.low * b.high))


def quotient(a: Register, b: Pair) -> Pair:
    """`a / b`, to nearly twice the digits of one float."""
    high = a / b.high
    back = two_product(high, b.high)
    return Pair(high, (((a - back.high) - back.low) - high * b.low) / b.high)


def square_root(x: Pair) -> Pair:
    """`sqrt(x)` for `x >= 0`, to nearly twice the digits of one float."""
    high = x.high.call("sqrt")
    back = two_product(high, high)
    never_zero = high + high + 1e-30
    return Pair(high, (((x.high - back.high) - back.low) + x.low) / never_zero)
