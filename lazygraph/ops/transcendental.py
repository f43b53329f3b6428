"""Exponentials, logarithms, roots, powers, trigonometric and error functions."""

import math
from typing import Any

import numpy as np

from lazygraph.graph.op import Coerce, Kind, Op
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import exponentiation, infer, special
from lazygraph.ops.arithmetic import multiply_no_nan, reciprocal, square
from lazygraph.ops.choice import where
from lazygraph.ops.comparison import REALS, logical_and
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant

POSITIVE = (0.3, 3.0)


def smooth(
    name: str,
    evaluate: Any,
    gradient: Any,
    emit: Any,
    domain: tuple[float, float] = REALS,
) -> Op:
    """The record of a function of one real number; integers become float32."""
    return define(
        name,
        infer=infer.numeric,
        evaluate=evaluate,
        gradient=gradient,
        emit=emit,
        kind=Kind.POINTWISE,
        coerce=Coerce.FLOAT,
        in_place=True,
        domain=(domain,),
    )


def exp(x: TensorLike) -> Tensor:
    """`e^x`, element by element.

    Where that overflows, so does the gradient, and an upstream of 0 gives NaN: to look for it
    would cost every gradient of `exp` another pass. Bound `x` before it enters a branch that
    may not be taken, as in `where(x < 80, exp(minimum(x, 80)), x)`.
    """
    return apply(EXP, x)


EXP = smooth("exp", np.exp, lambda g, y, x: [g * y], lambda k, x: k.exp(x))


def log(x: TensorLike) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below."""
    return apply(LOG, x)


LOG = smooth(
    "log",
    np.log,
    lambda g, y, x: [multiply_no_nan(g, reciprocal(x))],
    lambda k, x: k.log(x),
    POSITIVE,
)


def log2(x: TensorLike) -> Tensor:
    """The logarithm to base 2: `log(x) / log(2)`."""
    return log(x) * (1.0 / math.log(2.0))


def sqrt(x: TensorLike) -> Tensor:
    """The square root: NaN below 0. An upstream of 0 gives the gradient 0, also at 0."""
    return apply(SQRT, x)


SQRT = smooth(
    "sqrt",
    np.sqrt,
    lambda g, y, x: [multiply_no_nan(g, 0.5 / y)],
    lambda k, x: k.sqrt(x),
    POSITIVE,
)


def rsqrt(x: TensorLike) -> Tensor:
    """`1 / sqrt(x)`, element by element."""
    return apply(RSQRT, x)


def _rsqrt(x: Any, out: Any) -> None:
    np.sqrt(x, out)
    np.reciprocal(out, out)


RSQRT = smooth(
    "rsqrt",
    _rsqrt,
    lambda g, y, x: [multiply_no_nan(g, -0.5 * y * y * y)],
    lambda k, x: k.divide(k.constant(1, x), k.sqrt(x)),
    POSITIVE,
)


def sin(x: TensorLike) -> Tensor:
    """The sine of an angle in radians."""
    return apply(SIN, x)


def cos(x: TensorLike) -> Tensor:
    """The cosine of an angle in radians."""
    return apply(COS, x)


SIN = smooth("sin", np.sin, lambda g, y, x: [g * cos(x)], lambda k, x: k.sin(x))
COS = smooth("cos", np.cos, lambda g, y, x: [-(g * sin(x))], lambda k, x: k.cos(x))


def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent, element by element."""
    return apply(TANH, x)


TANH = smooth("tanh", np.tanh, lambda g, y, x: [g * (1.0 - y * y)], lambda k, x: k.tanh(x))


def erf(x: TensorLike) -> Tensor:
    """The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x."""
    return apply(ERF, x)


ERF = smooth(
    "erf",
    special.erf,
    lambda g, y, x: [g * (exp(-(x * x)) * (2.0 / math.sqrt(math.pi)))],
    lambda k, x: k.erf(x),
)


def ndtr(x: TensorLike) -> Tensor:
    """The standard normal distribution function, `(1 + erf(x / sqrt 2)) / 2`.

    Its derivative is the density, `exp(-x^2 / 2) / sqrt(2 pi)`.
    """
    return apply(NDTR, x)


def _ndtr(x: Any, out: Any) -> None:
    np.multiply(x, math.sqrt(0.5), out)
    special.erf(out, out)
    np.multiply(out, 0.5, out)
    np.add(out, 0.5, out)


def _ndtr_by_scalars(k: Any, x: Any) -> Any:
    half = k.constant(0.5, x)
    scaled = k.multiply(x, k.constant(math.sqrt(0.5), x))
    return k.add(k.multiply(k.erf(scaled), half), half)


NDTR = smooth(
    "ndtr",
    _ndtr,
    lambda g, y, x: [g * (exp(square(x) * -0.5) * (1.0 / math.sqrt(2.0 * math.pi)))],
    _ndtr_by_scalars,
)


def sigmoid(x: TensorLike) -> Tensor:
    """The logistic function, `1 / (1 + exp(-x))`."""
    return apply(SIGMOID, x)


def _sigmoid(x: Any, out: Any) -> None:
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, 1, out)
    np.reciprocal(out, out)


SIGMOID = smooth(
    "sigmoid",
    _sigmoid,
    lambda g, y, x: [g * (y * (1.0 - y))],
    lambda k, x: k.divide(k.constant(1, x), k.add(k.exp(k.negative(x)), k.constant(1, x))),
)


def power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1` to the power `x2`, element by element, broadcast.

    Integers with integers stay integers, as NumPy has it. The gradients are `x2 x1^(x2 - 1)`,
    which is 0 wherever `x2` is 0, and `x1^x2 log(x1)`, which is 0 where `x1` is 0 and `x2` is
    not negative.
    """
    return apply(POWER, x1, x2)


def _power_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    base = where(b == 0, constant(0, y), b * a ** (b - 1.0))
    exponent = where(logical_and(a == 0, b >= 0), constant(0, y), y * log(a))
    return [multiply_no_nan(g, base), multiply_no_nan(g, exponent)]


POWER = define(
    "power",
    infer=infer.arithmetic,
    evaluate=exponentiation.power,
    gradient=_power_gradient,
    emit=lambda k, a, b: k.power(a, b),
    kind=Kind.POINTWISE,
    domain=(POSITIVE, REALS),
)
