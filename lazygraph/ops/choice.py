"""The choice between values: by a condition, by size, by bounds."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.comparison import REALS
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant


def where(condition: TensorLike, x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1` where the condition holds, else `x2`.

    Args:
        condition: a bool tensor.
        x1, x2: tensors that broadcast with it and with each other.

    Returns:
        A tensor of their promoted dtype. The gradient goes to the chosen element alone; what
        the other one may have become, NaN or infinite, does not leak.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([0.0, 4.0])
        >>> y = lg.where(x > 1, lg.log(x), x)
        >>> lg.sum(y).backward()[x].tolist()
        [1.0, 0.25]
    """
    return apply(WHERE, condition, x1, x2)


def _where_spec(condition: Spec, a: Spec, b: Spec) -> Spec:
    infer.logical(Spec((), condition.dtype))
    if condition.shape == a.shape == b.shape:
        return a
    return Spec(infer.broadcast_shapes(condition.shape, infer.broadcast(a, b).shape), a.dtype)


def _choose(condition: Any, a: Any, b: Any, out: Any) -> None:
    """Pick bits, not values: ((a ^ b) condition) ^ b, many times as fast as a masked copy."""
    bits = np.dtype(f"i{out.itemsize}")
    a, b, out = a.view(bits), b.view(bits), out.view(bits)
    if b.size == 1 and not b.any():  # all bits are 0, so nothing remains to be mixed in
        np.multiply(a, condition, out)
    else:
        np.bitwise_xor(np.multiply(np.bitwise_xor(a, b), condition, dtype=bits), b, out)


WHERE = define(
    "where",
    infer=_where_spec,
    evaluate=_choose,
    gradient=lambda g, y, c, a, b: [
        None,
        where(c, g, constant(0, g)),
        where(c, constant(0, g), g),
    ],
    emit=lambda k, c, a, b: k.select(c, a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    coerce_from=1,
    samples=lambda rng: [
        Sample(
            (
                rng.standard_normal((2, 3)) > 0,
                rng.standard_normal((2, 3)),
                rng.standard_normal((3,)),
            )
        )
    ],
)


def _picked(g: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    """The gradient of a choice that takes `a` where it is greater; a tie shares it evenly."""
    tie, half = a == b, g * 0.5
    zero = constant(0, g)
    return [where(tie, half, where(a > b, g, zero)), where(tie, half, where(b > a, g, zero))]


def maximum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The greater of two elements; NaN if one is NaN. A tie shares the gradient evenly."""
    return apply(MAXIMUM, x1, x2)


def minimum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The smaller of two elements; NaN if one is NaN. A tie shares the gradient evenly."""
    return apply(MINIMUM, x1, x2)


def _maximum(a: Any, b: Any, out: Any) -> None:
    np.maximum(a, b, out=out)  # NumPy wants this `out` by name


def _minimum(a: Any, b: Any, out: Any) -> None:
    np.minimum(a, b, out=out)


MAXIMUM = define(
    "maximum",
    infer=infer.broadcast,
    evaluate=_maximum,
    gradient=lambda g, y, a, b: _picked(g, a, b),
    emit=lambda k, a, b: k.maximum(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
)

MINIMUM = define(
    "minimum",
    infer=infer.broadcast,
    evaluate=_minimum,
    gradient=lambda g, y, a, b: _picked(g, a, b)[::-1],
    emit=lambda k, a, b: k.minimum(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
)


def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """The element, or the bound that it exceeds: `minimum(maximum(x, min), max)`.

    Args:
        x: a tensor.
        min, max: bounds that broadcast with it; None leaves a side open. Where `min > max` the
            result is `max`.

    Returns:
        A tensor of the promoted dtype. On a bound the gradient passes to `x` whole.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([-2.0, -1.0, 0.0, 3.0])
        >>> lg.sum(lg.clip(x, -1, 1)).backward()[x].tolist()
        [0.0, 1.0, 1.0, 0.0]
    """
    y = apply(FLOOR_AT, x, min) if min is not None else x
    y = apply(CAP_AT, y, max) if max is not None else y
    return y if isinstance(y, Tensor) else apply(FLOOR_AT, x, x)


def _bounded(g: Tensor, inside: Tensor) -> list[Tensor]:
    zero = constant(0, g)
    return [where(inside, g, zero), where(inside, zero, g)]


FLOOR_AT = define(
    "floor_at",
    infer=infer.broadcast,
    evaluate=_maximum,
    gradient=lambda g, y, x, bound: _bounded(g, x >= bound),
    emit=lambda k, x, bound: k.maximum(x, bound),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
)

CAP_AT = define(
    "cap_at",
    infer=infer.broadcast,
    evaluate=_minimum,
    gradient=lambda g, y, x, bound: _bounded(g, x <= bound),
    emit=lambda k, x, bound: k.minimum(x, bound),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(REALS, REALS),
)
