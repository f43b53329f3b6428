"""How the listed reductions make one number of many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lazygraph.backends.native.register import Register
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.dtypes import BOOL, FLOATING, DType, float32, float64


@dataclass(frozen=True, slots=True)
class Reduction:
    """One way to accumulate.

    Attributes:
        neutral: what changes nothing, in a dtype.
        combine: two accumulated numbers made one.
        element: what is accumulated, from the operands.
        finish: the result, from what has been accumulated.
        takes: the dtypes of operands that it is right for.
    """

    neutral: Callable[[DType], Any]
    combine: Callable[[LlvmScalars, Register, Register], Register]
    element: Callable[..., Register] = lambda k, x: x
    finish: Callable[[LlvmScalars, Register], Register] = lambda k, x: x
    takes: Callable[[DType], bool] = lambda dtype: True


def lowest(dtype: DType) -> Any:
    if dtype.category == FLOATING:
        return float("-inf")
    signed = dtype.dtype.kind == "i"
    return -(2 ** (8 * dtype.itemsize - 1)) if signed else 0


def _highest(dtype: DType) -> Any:
    if dtype.category == FLOATING:
        return float("inf")
    signed = dtype.dtype.kind == "i"
    return 1 if dtype.category == BOOL else 2 ** (8 * dtype.itemsize - signed) - 1


def _zero(dtype: DType) -> Any:
    """The zero that a sum may start from: -0.0 + x is x for every x."""
    return -0.0 if dtype.category == FLOATING else 0


def _square(k: LlvmScalars, x: Register) -> Register:
    wide = k.cast(x, float64)
    return wide * wide


def _positive_zero(k: LlvmScalars, x: Register) -> Register:
    """The sum of no element, and that of negative zeros, is 0.0 as in NumPy."""
    return x + 0.0 if x.is_floating else x


# `norm` squares in float64, where no float32 overflows or vanishes.
REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction(_zero, LlvmScalars.add, finish=_positive_zero),
    "dots": Reduction(_zero, LlvmScalars.add, LlvmScalars.multiply, _positive_zero),
    "norm": Reduction(
        _zero, LlvmScalars.add, _square, LlvmScalars.sqrt, lambda dtype: dtype is float32
    ),
    "prod": Reduction(lambda dtype: 1, LlvmScalars.multiply),
    "max": Reduction(lowest, LlvmScalars.maximum),
    "min": Reduction(_highest, LlvmScalars.minimum),
    "any": Reduction(lambda dtype: 0, LlvmScalars.bit_or),
    "all": Reduction(lambda dtype: 1, LlvmScalars.bit_and),
}
ACCUMULATED_WIDE = frozenset({"norm"})


def accumulator_dtype(name: str, dtype: DType) -> DType:
    return float64 if name in ACCUMULATED_WIDE else dtype
