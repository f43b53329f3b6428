"""Logarithms and exponentials that keep their digits near 0 and far out."""

import math
from typing import Any

import numpy as np

from lazygraph.graph.op import Coerce, Kind
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import multiply_no_nan, reciprocal
from lazygraph.ops.choice import where
from lazygraph.ops.comparison import REALS, isinf, logical_and
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant
from lazygraph.ops.transcendental import POSITIVE, exp, sigmoid, smooth


def log1p(x: TensorLike) -> Tensor:
    """`log(1 + x)`, exact also where `1 + x` would lose the digits of `x`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor: -inf at -1, NaN below. The gradient is `1 / (1 + x)`; at -1, an
        upstream of 0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.log1p(lg.asarray([0.0, -1.0])).tolist()
        [0.0, -inf]
    """
    return apply(LOG1P, x)


LOG1P = smooth(
    "log1p",
    np.log1p,
    lambda g, y, x: [multiply_no_nan(g, reciprocal(1.0 + x))],
    lambda k, x: k.log1p(x),
    (-0.7, 3.0),
)


def expm1(x: TensorLike) -> Tensor:
    """`e^x - 1`, exact also near 0.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Example:
        >>> import lazygraph as lg
        >>> lg.expm1(lg.asarray([0.0, 1e-10])).tolist()
        [0.0, 1.000000013351432e-10]
    """
    return apply(EXPM1, x)


EXPM1 = smooth(
    "expm1",
    np.expm1,
    lambda g, y, x: [multiply_no_nan(g, exp(x))],  # y + 1 would lose its digits below 0
    lambda k, x: k.expm1(x),
)


def log10(x: TensorLike) -> Tensor:
    """The logarithm to base 10: -inf at 0, NaN below.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor. The gradient is `1 / (x log(10))`; at 0, an upstream of 0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.log10(lg.asarray([1.0, 10.0])).tolist()
        [0.0, 1.0]
    """
    return apply(LOG10, x)


LOG10 = smooth(
    "log10",
    np.log10,
    lambda g, y, x: [multiply_no_nan(g, (1.0 / math.log(10.0)) * reciprocal(x))],
    lambda k, x: k.log10(x),
    POSITIVE,
)


def softplus(x: TensorLike) -> Tensor:
    """A smooth ramp, `log(1 + e^x)`, without overflow.

        max(x, 0) + log1p(e^-|x|)

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor, with the gradient `sigmoid(x)`.

    Example:
        >>> import lazygraph as lg
        >>> lg.softplus(lg.asarray([0.0, 1000.0])).tolist()
        [0.6931471824645996, 1000.0]
    """
    return apply(SOFTPLUS, x)


def _softplus(x: Any, out: Any) -> None:
    rest = np.empty(out.shape, out.dtype)
    np.absolute(x, rest)
    _log1p_of_exp_of_negative(rest)
    np.maximum(x, 0, out=out)
    np.add(out, rest, out)


def _log1p_of_exp_of_negative(x: Any) -> None:
    np.negative(x, x)
    np.exp(x, x)
    np.log1p(x, x)


SOFTPLUS = smooth(
    "softplus",
    _softplus,
    lambda g, y, x: [g * sigmoid(x)],
    lambda k, x: k.add(
        k.maximum(x, k.constant(0, x)), k.log1p(k.exp(k.negative(k.absolute(x))))
    ),
)


def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The logarithm of a sum of exponentials, `log(e^x1 + e^x2)`, without overflow.

        max(x1, x2) + log1p(e^-|x1 - x2|)

    Args:
        x1: a tensor of numbers; integers become float32 first.
        x2: a tensor that broadcasts with it.

    Returns:
        A floating tensor of the promoted dtype, -inf where both are. The gradients are
        `sigmoid(x1 - x2)` and `sigmoid(x2 - x1)`, and 0 where both are the same infinity.

    Example:
        >>> import lazygraph as lg
        >>> lg.logaddexp(lg.asarray([1000.0]), 1000.0).tolist()
        [1000.6931762695312]
    """
    return apply(LOGADDEXP, x1, x2)


def _logaddexp(a: Any, b: Any, out: Any) -> None:
    gap = np.empty(out.shape, out.dtype)
    np.subtract(a, b, gap)
    np.absolute(gap, gap)
    np.copyto(gap, 0, where=np.equal(a, b))  # the difference of equal infinities is NaN
    _log1p_of_exp_of_negative(gap)
    np.maximum(a, b, out=out)
    np.add(out, gap, out)


def _logaddexp_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    same = logical_and(a == b, isinf(y))
    nothing = constant(0, y)
    gap = where(same, nothing, a - b)
    return [
        g * where(same, nothing, sigmoid(gap)),
        g * where(same, nothing, sigmoid(-gap)),
    ]


def _emit_logaddexp(k: Any, a: Any, b: Any) -> Any:
    gap = k.select(k.equal(a, b), k.constant(0, a), k.absolute(k.subtract(a, b)))
    return k.add(k.maximum(a, b), k.log1p(k.exp(k.negative(gap))))


LOGADDEXP = define(
    "logaddexp",
    infer=infer.arithmetic,
    evaluate=_logaddexp,
    gradient=_logaddexp_gradient,
    emit=_emit_logaddexp,
    kind=Kind.POINTWISE,
    coerce=Coerce.FLOAT,
    in_place=True,
    domain=(REALS, REALS),
    commutes=True,
)
