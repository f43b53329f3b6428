"""The protocol that an op's `emit` speaks, and its first interpreter."""

from typing import Any, Protocol, TypeVar

import numpy as np

from lazygraph.dtypes import DType
from lazygraph.ops.exponentiation import power
from lazygraph.ops.special import erf

S = TypeVar("S")


class Scalars(Protocol[S]):
    """One element's arithmetic, whatever an element is: an array, a text, a machine register.

    Nothing is contracted or reordered: each method is one correctly ordered operation, so that
        all
    interpreters describe the same bits.
    """

    def constant(self, value: float, like: S) -> S: ...
    def add(self, a: S, b: S) -> S: ...
    def subtract(self, a: S, b: S) -> S: ...
    def multiply(self, a: S, b: S) -> S: ...
    def divide(self, a: S, b: S) -> S: ...
    def negative(self, x: S) -> S: ...
    def absolute(self, x: S) -> S: ...
    def sign(self, x: S) -> S: ...
    def power(self, a: S, b: S) -> S: ...
    def maximum(self, a: S, b: S) -> S: ...
    def minimum(self, a: S, b: S) -> S: ...
    def exp(self, x: S) -> S: ...
    def log(self, x: S) -> S: ...
    def sqrt(self, x: S) -> S: ...
    def sin(self, x: S) -> S: ...
    def cos(self, x: S) -> S: ...
    def tanh(self, x: S) -> S: ...
    def erf(self, x: S) -> S: ...
    def less(self, a: S, b: S) -> S: ...
    def less_equal(self, a: S, b: S) -> S: ...
    def equal(self, a: S, b: S) -> S: ...
    def isfinite(self, x: S) -> S: ...
    def select(self, condition: S, a: S, b: S) -> S: ...
    def bit_and(self, a: S, b: S) -> S: ...
    def bit_or(self, a: S, b: S) -> S: ...
    def bit_xor(self, a: S, b: S) -> S: ...
    def invert(self, x: S) -> S: ...
    def left_shift(self, a: S, b: S) -> S: ...
    def right_shift(self, a: S, b: S) -> S: ...
    def cast(self, x: S, dtype: DType) -> S: ...


Array = np.ndarray[Any, Any]


class NumpyScalars:
    """The interpreter whose elements are arrays: it says which bits an `emit` rule means."""

    add = staticmethod(np.add)
    subtract = staticmethod(np.subtract)
    multiply = staticmethod(np.multiply)
    divide = staticmethod(np.divide)
    negative = staticmethod(np.negative)
    absolute = staticmethod(np.absolute)
    sign = staticmethod(np.sign)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    tanh = staticmethod(np.tanh)
    less = staticmethod(np.less)
    less_equal = staticmethod(np.less_equal)
    equal = staticmethod(np.equal)
    isfinite = staticmethod(np.isfinite)
    select = staticmethod(np.where)
    bit_and = staticmethod(np.bitwise_and)
    bit_or = staticmethod(np.bitwise_or)
    bit_xor = staticmethod(np.bitwise_xor)
    invert = staticmethod(np.invert)
    left_shift = staticmethod(np.left_shift)
    right_shift = staticmethod(np.right_shift)

    @staticmethod
    def constant(value: float, like: Array) -> Array:
        return like.dtype.type(value)  # type: ignore[no-any-return]

    @staticmethod
    def power(a: Array, b: Array) -> Array:
        out = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
        power(a, b, out)
        return out

    @staticmethod
    def erf(x: Array) -> Array:
        out = np.empty_like(x, order="C")
        erf(x, out)
        return out

    @staticmethod
    def cast(x: Array, dtype: DType) -> Array:
        return x.astype(dtype.dtype)
