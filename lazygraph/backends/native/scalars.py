"""The interpreter of `emit` rules whose elements are machine registers."""

from lazygraph.backends.native import (
    angles,
    casts,
    division,
    error_function,
    exponentials,
    integers,
    logarithms,
    powers,
    trigonometry,
)
from lazygraph.backends.native.register import Register, Site, select, with_sign_of
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import DType


class LlvmScalars:
    """Emits instructions for one element, or for as many side by side as a register has lanes.

    What IEEE 754 or integer arithmetic defines has the bits of NumPy. The other functions are
    polynomials of our own, within two units in the last place, whose special values are
    NumPy's; their last bits may differ between machines that fuse a product with a sum and
    those that do not. Nothing traps.

    Args:
        b: the builder; a method may leave it in another block than it found it in.
        fused: whether the machine that the code is for has fused multiply-add.
    """

    def __init__(self, b: ir.IRBuilder, *, fused: bool) -> None:
        self.site = Site(b, fused)

    def constant(self, value: float, like: Register) -> Register:
        return like.constant(value)

    def add(self, a: Register, b: Register) -> Register:
        return a + b

    def subtract(self, a: Register, b: Register) -> Register:
        return a - b

    def multiply(self, a: Register, b: Register) -> Register:
        return a * b

    def divide(self, a: Register, b: Register) -> Register:
        return a / b

    def floor_divide(self, a: Register, b: Register) -> Register:
        return division.floor_divide(a, b)

    def remainder(self, a: Register, b: Register) -> Register:
        return division.remainder(a, b)

    def negative(self, x: Register) -> Register:
        return -x

    def absolute(self, x: Register) -> Register:
        return abs(x)

    def sign(self, x: Register) -> Register:
        below = x.constant(-1) if x.is_floating or x.is_signed else x.constant(0)
        either = select(x > 0, x.constant(1), select(x < 0, below, 0))
        return select(x.is_nan(), x, either) if x.is_floating else either

    def signbit(self, x: Register) -> Register:
        return x.bits < 0

    def copysign(self, a: Register, b: Register) -> Register:
        return with_sign_of(a, b)

    def floor(self, x: Register) -> Register:
        return x.call("floor")

    def ceil(self, x: Register) -> Register:
        return x.call("ceil")

    def trunc(self, x: Register) -> Register:
        return x.call("trunc")

    def round(self, x: Register) -> Register:
        return x.call("rint")

    def power(self, a: Register, b: Register) -> Register:
        return powers.power(a, b) if a.is_floating else integers.integer_power(a, b)

    def maximum(self, a: Register, b: Register) -> Register:
        """The greater one; of two zeros the second, as NumPy has it on x86-64."""
        first = a > b
        return select(first | a.is_nan() if a.is_floating else first, a, b)

    def minimum(self, a: Register, b: Register) -> Register:
        """The smaller one; of two zeros the second, as NumPy has it on x86-64."""
        first = a < b
        return select(first | a.is_nan() if a.is_floating else first, a, b)

    def exp(self, x: Register) -> Register:
        return exponentials.exp(x)

    def expm1(self, x: Register) -> Register:
        return exponentials.expm1(x)

    def log(self, x: Register) -> Register:
        return logarithms.log(x)

    def log1p(self, x: Register) -> Register:
        return logarithms.log1p(x)

    def log10(self, x: Register) -> Register:
        return logarithms.log10(x)

    def sqrt(self, x: Register) -> Register:
        return x.call("sqrt")

    def hypot(self, a: Register, b: Register) -> Register:
        return powers.hypot(a, b)

    def sin(self, x: Register) -> Register:
        return trigonometry.sin(x)

    def cos(self, x: Register) -> Register:
        return trigonometry.cos(x)

    def tan(self, x: Register) -> Register:
        return trigonometry.tan(x)

    def asin(self, x: Register) -> Register:
        return angles.asin(x)

    def acos(self, x: Register) -> Register:
        return angles.acos(x)

    def atan(self, x: Register) -> Register:
        return angles.atan(x)

    def atan2(self, a: Register, b: Register) -> Register:
        return angles.atan2(a, b)

    def sinh(self, x: Register) -> Register:
        return exponentials.sinh(x)

    def cosh(self, x: Register) -> Register:
        return exponentials.cosh(x)

    def tanh(self, x: Register) -> Register:
        return exponentials.tanh(x)

    def asinh(self, x: Register) -> Register:
        return logarithms.asinh(x)

    def acosh(self, x: Register) -> Register:
        return logarithms.acosh(x)

    def atanh(self, x: Register) -> Register:
        return logarithms.atanh(x)

    def erf(self, x: Register) -> Register:
        return error_function.erf(x)

    def less(self, a: Register, b: Register) -> Register:
        return a < b

    def less_equal(self, a: Register, b: Register) -> Register:
        return a <= b

    def equal(self, a: Register, b: Register) -> Register:
        return a.equals(b)

    def isfinite(self, x: Register) -> Register:
        return abs(x) < float("inf") if x.is_floating else x.equals(x)

    def select(self, condition: Register, a: Register, b: Register) -> Register:
        return select(condition, a, b)

    def bit_and(self, a: Register, b: Register) -> Register:
        return a & b

    def bit_or(self, a: Register, b: Register) -> Register:
        return a | b

    def bit_xor(self, a: Register, b: Register) -> Register:
        return a ^ b

    def invert(self, x: Register) -> Register:
        return ~x

    def left_shift(self, a: Register, b: Register) -> Register:
        return integers.left_shift(a, b)

    def right_shift(self, a: Register, b: Register) -> Register:
        return integers.right_shift(a, b)

    def cast(self, x: Register, dtype: DType) -> Register:
        return casts.cast(x, dtype)
