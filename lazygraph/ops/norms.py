"""Lengths of vectors along axes, and the spread that they measure."""

import math
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT
from lazygraph.errors import DTypeError
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import abs, sign
from lazygraph.ops.choice import where
from lazygraph.ops.comparison import logical_or
from lazygraph.ops.conversion import astype
from lazygraph.ops.quantifiers import count_nonzero
from lazygraph.ops.record import define
from lazygraph.ops.reduction import count_along, max, mean, min
from lazygraph.ops.spread import Axis, add_reduce, constant, sum, without_axes


def vector_norm(
    x: TensorLike, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """The length of the vectors that lie along axes, without overflow.

        sum(|x|^ord)^(1 / ord)

    Args:
        x: a floating tensor.
        axis: the axis or axes of a vector; all of them by default.
        keepdims: keep those axes, with length 1.
        ord: the order: any number but 0, `inf` for the greatest size, `-inf` for the smallest;
            0 counts the elements that are not 0.

    Returns:
        A tensor of `x`'s dtype; 0 for an empty vector of positive order. The gradient is
        `sign(x) (|x| / norm)^(ord - 1)`, and 0 where an element or the norm is 0. A count has
        none.

    Raises:
        DTypeError: not floating.
        ShapeError: nothing to choose the greatest or smallest from.

    Example:
        >>> import lazygraph as lg
        >>> lg.vector_norm(lg.asarray([[3.0, 4.0], [0.0, -2.0]]), axis=1).tolist()
        [5.0, 2.0]
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise DTypeError(f"vector_norm needs a floating tensor; got {x.node.spec}")
    axes = infer.all_axes(axis, x.ndim)
    if ord == 0:
        return astype(count_nonzero(x, axis=axes, keepdims=keepdims), x.dtype)
    if ord == 1 or not axes:
        return sum(abs(x), axis=axes, keepdims=keepdims)
    if math.isinf(ord):
        extreme = max if ord > 0 else min
        return extreme(abs(x), axis=axes, keepdims=keepdims)
    y = apply(VECTOR_NORM, x, params=(axes, float(ord)))
    return y if keepdims else without_axes(y, axes)


def _vector_norm(x: Any, out: Any, *, axes: tuple[int, ...], ord: float) -> None:
    """Powers are summed in float64; vectors for which that fails are scaled first."""
    total = _sum_of_powers(x, axes, ord)
    fits = (total > 1e-290) & (total < np.inf)
    scale: Any = 1.0
    if not fits.all():
        size = np.abs(x, dtype=np.float64)
        choose, start = (np.maximum, 0.0) if ord > 0 else (np.minimum, np.inf)
        scale = choose.reduce(size, axis=axes, keepdims=True, initial=start)
        scale[fits | ~((scale > 0.0) & (scale < np.inf))] = 1.0
        total = _sum_of_powers(size / scale, axes, ord)
    np.copyto(out, scale * total ** (1.0 / ord), casting="same_kind")


def _sum_of_powers(x: Any, axes: tuple[int, ...], ord: float) -> Any:
    if ord == 2.0:
        powers = np.square(x, dtype=np.float64)
    else:
        powers = np.abs(x, dtype=np.float64)
        np.power(powers, ord, out=powers)
    total = np.empty(tuple(1 if axis in axes else n for axis, n in enumerate(x.shape)))
    add_reduce(powers, total, axes=axes)
    return total


def _vector_norm_gradient(
    g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...], ord: float
) -> list[Tensor]:
    nothing = constant(0, x)
    if ord == 2.0:
        return [g * where(y == 0, nothing, x / y)]
    dead = logical_or(x == 0, y == 0)
    share = where(dead, constant(1, x), abs(x) / y)
    return [g * where(dead, nothing, sign(x) * share ** (ord - 1.0))]


VECTOR_NORM = define(
    "vector_norm",
    infer=lambda x, axes, ord: infer.keeping(x, axes),
    evaluate=_vector_norm,
    gradient=_vector_norm_gradient,
    kind=Kind.REDUCTION,
    params=("axes", "ord"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)),), ((1,), 2.0)),
        Sample((-rng.uniform(0.5, 2.0, (2, 3, 2)),), ((0, 2), 3.0)),
        Sample((rng.uniform(0.5, 2.0, (3, 4)),), ((0, 1), -1.5)),
        Sample((np.zeros((0, 3)),), ((0,), 2.0)),
    ],
)


def std(
    x: TensorLike, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation: the root of the mean squared distance from the mean.

        sqrt(sum((x - mean(x))^2) / (n - correction))

    Args:
        x: a tensor; integers and booleans give float32.
        axis: the axis or axes to reduce; all of them by default.
        correction: what is taken from the number of elements; 1 for the root of the unbiased
            variance.
        keepdims: keep the reduced axes, with length 1.

    Returns:
        A floating tensor; NaN where there is nothing to measure. The gradient is 0 where all
        elements are equal. (That of `sqrt(var(x))` is NaN there, infinity times 0.)

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([2.0, 2.0, 6.0, 6.0])
        >>> lg.std(x).item(), lg.std(x).backward()[x].tolist()
        (2.0, [-0.25, -0.25, 0.25, 0.25])
    """
    x = as_tensor(x)
    x = x if x.dtype.is_floating else astype(x, DEFAULT_FLOAT)
    distance = x - mean(x, axis=axis, keepdims=True)
    length = vector_norm(distance, axis=axis, keepdims=keepdims)
    return length / math.sqrt(count_along(x, axis, correction))
