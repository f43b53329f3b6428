"""Sums, products, quotients and what else needs no series."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Coerce, Kind
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.comparison import REALS
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant

NONZERO = (0.5, 3.0)


def add(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 + x2`, element by element, broadcast."""
    return apply(ADD, x1, x2)


ADD = define(
    "add",
    infer=infer.arithmetic,
    evaluate=np.add,
    gradient=lambda g, y, a, b: [g, g],
    emit=lambda k, a, b: k.add(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
    commutes=True,
)


def subtract(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 - x2`, element by element, broadcast."""
    return apply(SUBTRACT, x1, x2)


SUBTRACT = define(
    "subtract",
    infer=infer.arithmetic,
    evaluate=np.subtract,
    gradient=lambda g, y, a, b: [g, -g],
    emit=lambda k, a, b: k.subtract(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
)


def multiply(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 x2`, element by element, broadcast."""
    return apply(MULTIPLY, x1, x2)


MULTIPLY = define(
    "multiply",
    infer=infer.arithmetic,
    evaluate=np.multiply,
    gradient=lambda g, y, a, b: [g * b, g * a],
    emit=lambda k, a, b: k.multiply(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
    commutes=True,
)


def multiply_no_nan(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 x2`, but 0 wherever `x1` is 0, be `x2` infinite or NaN.

    Gradient rules whose derivative can be infinite use it, so that an upstream of 0 gives 0 and
    `where` leaks nothing from the branch that it does not take.

    Args:
        x1: the factor whose zeros win.
        x2: the other factor.

    Example:
        >>> import lazygraph as lg
        >>> multiply_no_nan(lg.asarray([0.0, 2.0]), float("inf")).tolist()
        [0.0, inf]
    """
    return apply(MULTIPLY_NO_NAN, x1, x2)


_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def _multiply_no_nan(a: Any, b: Any, out: Any) -> None:
    kept = np.not_equal(a, 0)
    np.multiply(a, b, out)
    bits = out.view(_BITS[out.itemsize])
    np.multiply(bits, kept, bits)


MULTIPLY_NO_NAN = define(
    "multiply_no_nan",
    infer=infer.arithmetic,
    evaluate=_multiply_no_nan,
    gradient=lambda g, y, a, b: [multiply_no_nan(g, b), g * a],
    emit=lambda k, a, b: k.select(
        k.equal(a, k.constant(0, a)), k.constant(0, a), k.multiply(a, b)
    ),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(NONZERO, REALS),
)


def divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 / x2`, element by element, broadcast; integers become float32 first.

    Division by 0 gives infinity or NaN, as IEEE 754 has it.
    """
    return apply(DIVIDE, x1, x2)


def _divide_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    share = multiply_no_nan(g, reciprocal(b))
    return [share, -multiply_no_nan(share, y)]


DIVIDE = define(
    "divide",
    infer=infer.arithmetic,
    evaluate=np.divide,
    gradient=_divide_gradient,
    emit=lambda k, a, b: k.divide(a, b),
    kind=Kind.POINTWISE,
    coerce=Coerce.FLOAT,
    in_place=True,
    domain=(REALS, NONZERO),
)


def reciprocal(x: TensorLike) -> Tensor:
    """`1 / x`, element by element; integers become float32 first."""
    return apply(RECIPROCAL, x)


RECIPROCAL = define(
    "reciprocal",
    infer=infer.arithmetic,
    evaluate=np.reciprocal,
    gradient=lambda g, y, x: [-multiply_no_nan(g, y * y)],
    emit=lambda k, x: k.divide(k.constant(1, x), x),
    kind=Kind.POINTWISE,
    coerce=Coerce.FLOAT,
    in_place=True,
    domain=(NONZERO,),
)


def negative(x: TensorLike) -> Tensor:
    """`-x`, element by element."""
    return apply(NEGATIVE, x)


NEGATIVE = define(
    "negative",
    infer=infer.numeric,
    evaluate=np.negative,
    gradient=lambda g, y, x: [-g],
    emit=lambda k, x: k.negative(x),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS,),
)


def square(x: TensorLike) -> Tensor:
    """`x x`, element by element."""
    return apply(SQUARE, x)


def _square_gradient(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor]:
    share = g * x  # first: twice x may overflow, also where g is 0
    return [share + share]


SQUARE = define(
    "square",
    infer=infer.numeric,
    evaluate=np.square,
    gradient=_square_gradient,
    emit=lambda k, x: k.multiply(x, x),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS,),
)


def abs(x: TensorLike) -> Tensor:
    """`|x|`, element by element; the gradient at 0 is 0."""
    return apply(ABS, x)


ABS = define(
    "abs",
    infer=infer.numeric,
    evaluate=np.absolute,
    gradient=lambda g, y, x: [g * sign(x)],
    emit=lambda k, x: k.absolute(x),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(NONZERO,),
)


def sign(x: TensorLike) -> Tensor:
    """-1, 0 or 1 by the sign of the element, NaN for NaN; the gradient is 0."""
    return apply(SIGN, x)


SIGN = define(
    "sign",
    infer=infer.numeric,
    evaluate=np.sign,
    gradient=lambda g, y, x: [constant(0, x)],
    emit=lambda k, x: k.sign(x),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(NONZERO,),
)
