"""How floats are laid out in bits, with what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from lazygraph.backends.native.register import Register, multiply_add, select
from lazygraph.dtypes import DType, float32, uint32, uint64


@dataclass(frozen=True)
class Layout:
    """The numbers that describe one floating dtype.

    Attributes:
        mantissa: how many bits the mantissa has, its hidden first one not counted.
        bias: the exponent field of 1.0.
        unsigned: the unsigned integer of the same width.
    """

    mantissa: int
    bias: int
    unsigned: DType

    @property
    def rounder(self) -> float:
        """A number so large that those beside it are whole: adding it rounds."""
        return 1.5 * 2.0**self.mantissa

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def negligible(self) -> float:
        """So small that x + x^2 rounds to x."""
        return 2.0 ** -(self.mantissa + 3)


_FLOAT32, _FLOAT64 = Layout(23, 127, uint32), Layout(52, 1023, uint64)


def layout_of(x: Register) -> Layout:
    return _FLOAT32 if x.dtype is float32 else _FLOAT64


def bits_of(number: float, x: Register) -> int:
    """The bits of a number in the floating dtype of `x`."""
    return int(np.array(number, x.dtype.dtype).view(f"i{x.dtype.itemsize}"))


def nearest(x: Register, times: float) -> tuple[Register, Register]:
    """The whole number nearest to the product, as a float and as an integer.

    Its size must be below 2^mantissa / 4. Of two that are nearly as near it may be the other.
    """
    rounder = layout_of(x).rounder
    shifted = multiply_add(x, x.constant(times), rounder)
    return shifted - rounder, shifted.bits - bits_of(rounder, x)


def power_of_two(n: Register, like: Register) -> Register:
    """`2^n`, a normal number, for an integer `n`."""
    layout = layout_of(like)
    return ((n + layout.bias) << layout.mantissa).as_float


def scaled(x: Register, n: Register) -> Register:
    """`x 2^n` with one rounding, for an integer `n` up to twice the largest exponent."""
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


def split(x: Register) -> tuple[Register, Register]:
    """`k` and `f` in `x = 2^k (1 + f)`, sqrt(1/2) <= 1 + f < sqrt(2), for 0 < x < inf."""
    layout = layout_of(x)
    lift = layout.mantissa + 1
    small = x < layout.smallest_normal
    x = select(small, x * 2.0**lift, x)
    low_end = bits_of(0.5**0.5, x)
    above = x.bits - low_end
    mantissa = ((above & ((1 << layout.mantissa) - 1)) + low_end).as_float
    # A logical shift of a number that is never negative: not every machine has the other one.
    biased = (above + (layout.bias << layout.mantissa)).to(layout.unsigned) >> layout.mantissa
    shifted = (biased | bits_of(layout.rounder, x)).as_float
    offset = layout.rounder + layout.bias
    k = shifted - select(small, x.constant(offset + lift), offset)
    return k, mantissa - 1


def at_most(x: Register, bound: float) -> Register:
    """The number, or the bound that it exceeds; NaN stays NaN."""
    return select(x > bound, x.constant(bound), x)


def at_least(x: Register, bound: float) -> Register:
    """The number, or the bound that it falls short of; NaN stays NaN."""
    return select(x < bound, x.constant(bound), x)


_FEW = 6


def polynomial(x: Register, coefficients: Sequence[float]) -> Register:
    """`c0 + c1 x + c2 x^2 ...`: a short one by Horner's rule, a long one by Estrin's.

    Horner's has the fewest operations, each of which waits for the one before. Estrin's joins
    neighbouring terms, then neighbouring pairs, and so on: more of it can run at once.
    """
    terms = [x.constant(c) for c in coefficients]
    if len(terms) <= _FEW:
        return reduce(lambda total, c: multiply_add(total, x, c), reversed(terms))
    while len(terms) > 1:
        joined = [multiply_add(b, x, a) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = joined + terms[2 * len(joined) :]
        x = x * x
    return terms[0]
