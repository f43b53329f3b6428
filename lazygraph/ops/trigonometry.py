"""Angles from sides, and the side across from the right angle."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Coerce, Kind, Op
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import NONZERO, multiply_no_nan, square
from lazygraph.ops.choice import where
from lazygraph.ops.comparison import REALS
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant
from lazygraph.ops.transcendental import rsqrt, smooth

SINES = (-0.9, 0.9)


def tan(x: TensorLike) -> Tensor:
    """The tangent of an angle in radians, `sin(x) / cos(x)`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Example:
        >>> import lazygraph as lg
        >>> lg.tan(lg.asarray([0.0])).tolist()
        [0.0]
    """
    return apply(TAN, x)


TAN = smooth(
    "tan", np.tan, lambda g, y, x: [g * (1.0 + y * y)], lambda k, x: k.tan(x), (-1.2, 1.2)
)


def asin(x: TensorLike) -> Tensor:
    """The angle in [-pi/2, pi/2] with the sine `x`; NaN outside of [-1, 1].

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        Radians. The gradient `1 / sqrt(1 - x^2)` is infinite at -1 and 1; there, an upstream of
        0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.asin(lg.asarray([0.0, 1.0])).tolist()
        [0.0, 1.5707963705062866]
    """
    return apply(ASIN, x)


def acos(x: TensorLike) -> Tensor:
    """The angle in [0, pi] with the cosine `x`; NaN outside of [-1, 1].

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        Radians. The gradient `-1 / sqrt(1 - x^2)` is infinite at -1 and 1; there, an upstream
        of 0 gives 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.acos(lg.asarray([1.0, 0.0])).tolist()
        [0.0, 1.5707963705062866]
    """
    return apply(ACOS, x)


def _arc(g: Tensor, x: Tensor) -> Tensor:
    return multiply_no_nan(g, rsqrt((1.0 - x) * (1.0 + x)))  # 1 - x * x would cancel near 1


ASIN = smooth("asin", np.arcsin, lambda g, y, x: [_arc(g, x)], lambda k, x: k.asin(x), SINES)
ACOS = smooth("acos", np.arccos, lambda g, y, x: [-_arc(g, x)], lambda k, x: k.acos(x), SINES)


def atan(x: TensorLike) -> Tensor:
    """The angle in [-pi/2, pi/2] with the tangent `x`.

    Args:
        x: a tensor of numbers; integers become float32 first.

    Returns:
        Radians, with the gradient `1 / (1 + x^2)`.

    Example:
        >>> import lazygraph as lg
        >>> lg.atan(lg.asarray([0.0, float("inf")])).tolist()
        [0.0, 1.5707963705062866]
    """
    return apply(ATAN, x)


ATAN = smooth(
    "atan", np.arctan, lambda g, y, x: [g / (1.0 + square(x))], lambda k, x: k.atan(x)
)


def _two_sides(name: str, evaluate: Any, gradient: Any, emit: Any, commutes: bool) -> Op:
    return define(
        name,
        infer=infer.arithmetic,
        evaluate=evaluate,
        gradient=gradient,
        emit=emit,
        kind=Kind.POINTWISE,
        coerce=Coerce.FLOAT,
        in_place=True,
        domain=(REALS, NONZERO),
        commutes=commutes,
    )


def hypot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The length of the vector `(x1, x2)`, `sqrt(x1^2 + x2^2)`, without overflow.

    Args:
        x1: a tensor of numbers; integers become float32 first.
        x2: a tensor that broadcasts with it.

    Returns:
        A floating tensor of the promoted dtype. Its gradients are `x1 / y` and `x2 / y`, and 0
        where the length `y` is 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.hypot(lg.asarray([3.0]), 4.0).tolist()
        [5.0]
    """
    return apply(HYPOT, x1, x2)


def atan2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The angle of the vector `(x2, x1)` with the first axis, in [-pi, pi].

        atan(x1 / x2), in the quadrant that the two signs tell

    Args:
        x1: the second coordinate; integers become float32 first.
        x2: the first coordinate, which broadcasts with it.

    Returns:
        Radians. With `r^2 = x1^2 + x2^2` the gradients are `x2 / r^2` and `-x1 / r^2`, and 0 at
        the origin, where the angle jumps. Zeros and infinities count as NumPy has it.

    Example:
        >>> import lazygraph as lg
        >>> lg.atan2(lg.asarray([1.0, 0.0]), lg.asarray([0.0, -1.0])).tolist()
        [1.5707963705062866, 3.1415927410125732]
    """
    return apply(ATAN2, x1, x2)


def _per(x: Tensor, length: Tensor) -> Tensor:
    """`x / length`, and 0 where the length is 0."""
    return where(length == 0, constant(0, length), x / length)


def _atan2_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    r = hypot(a, b)
    return [
        multiply_no_nan(g, _per(_per(b, r), r)),  # the square of r could overflow
        -multiply_no_nan(g, _per(_per(a, r), r)),
    ]


HYPOT = _two_sides(
    "hypot",
    np.hypot,
    lambda g, y, a, b: [g * _per(a, y), g * _per(b, y)],
    lambda k, a, b: k.hypot(a, b),
    commutes=True,
)
ATAN2 = _two_sides(
    "atan2", np.arctan2, _atan2_gradient, lambda k, a, b: k.atan2(a, b), commutes=False
)
