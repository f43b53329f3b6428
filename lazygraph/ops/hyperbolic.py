"""sinh and cosh, and the inverses of them and of tanh."""

import numpy as np

from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops.arithmetic import multiply_no_nan, reciprocal
from lazygraph.ops.transcendental import rsqrt, smooth
from lazygraph.ops.trigonometry import SINES, hypot


def sinh(x: TensorLike) -> Tensor:
    """The hyperbolic sine, `(e^x - e^-x) / 2`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Example:
        >>> import lazygraph as lg
        >>> lg.sinh(lg.asarray([0.0])).tolist()
        [0.0]
    """
    return apply(SINH, x)


def cosh(x: TensorLike) -> Tensor:
    """The hyperbolic cosine, `(e^x + e^-x) / 2`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Example:
        >>> import lazygraph as lg
        >>> lg.cosh(lg.asarray([0.0])).tolist()
        [1.0]
    """
    return apply(COSH, x)


# The derivatives overflow where the values do.
SINH = smooth(
    "sinh", np.sinh, lambda g, y, x: [multiply_no_nan(g, cosh(x))], lambda k, x: k.sinh(x)
)
COSH = smooth(
    "cosh", np.cosh, lambda g, y, x: [multiply_no_nan(g, sinh(x))], lambda k, x: k.cosh(x)
)


def asinh(x: TensorLike) -> Tensor:
    """The number with the hyperbolic sine `x`, `log(x + sqrt(x^2 + 1))`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor, with the gradient `1 / sqrt(x^2 + 1)`.

    Example:
        >>> import lazygraph as lg
        >>> lg.asinh(lg.asarray([0.0])).tolist()
        [0.0]
    """
    return apply(ASINH, x)


def acosh(x: TensorLike) -> Tensor:
    """The number from 0 up with the hyperbolic cosine `x`; NaN below 1.

        log(x + sqrt(x^2 - 1))

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor. The gradient `1 / sqrt(x^2 - 1)` is infinite at 1; there, an upstream
        of 0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.acosh(lg.asarray([1.0])).tolist()
        [0.0]
    """
    return apply(ACOSH, x)


def atanh(x: TensorLike) -> Tensor:
    """The number with the hyperbolic tangent `x`; infinite at -1 and 1, NaN outside.

        log((1 + x) / (1 - x)) / 2

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        A floating tensor. The gradient `1 / (1 - x^2)` is infinite at -1 and 1; there, an
        upstream of 0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.atanh(lg.asarray([0.0, 1.0])).tolist()
        [0.0, inf]
    """
    return apply(ATANH, x)


ASINH = smooth(
    "asinh",
    np.arcsinh,
    lambda g, y, x: [g / hypot(x, 1.0)],
    lambda k, x: k.asinh(x),
)
ACOSH = smooth(
    "acosh",
    np.arccosh,
    # Two roots: the product of the factors would overflow, and be positive below -1.
    lambda g, y, x: [multiply_no_nan(g, rsqrt(x - 1.0) * rsqrt(x + 1.0))],
    lambda k, x: k.acosh(x),
    (1.2, 4.0),
)
ATANH = smooth(
    "atanh",
    np.arctanh,
    lambda g, y, x: [multiply_no_nan(g, reciprocal((1.0 - x) * (1.0 + x)))],
    lambda k, x: k.atanh(x),
    SINES,
)
