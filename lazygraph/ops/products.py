"""Products along axes."""

from typing import Any

import numpy as np

from lazygraph.dtypes import as_dtype
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import ones
from lazygraph.ops.joining import concat
from lazygraph.ops.layout import permute_dims, reshape, strided_slice
from lazygraph.ops.record import define
from lazygraph.ops.spread import Axis, constant, sum_dtype, without_axes


def prod(
    x: TensorLike, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements along axes.

    Args:
        x: a tensor of numbers or booleans.
        axis: the axis or axes to multiply over; all of them by default.
        dtype: the dtype of product and result; by default that of `x`, or int64 (uint64 for
            unsigned integers) where `x` holds integers or booleans.
        keepdims: keep the multiplied axes, with length 1.

    Returns:
        The products; 1 for an empty axis. The gradient of an element is the product of the
        others, right where elements are 0 as well.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([3.0, 0.0, 5.0])
        >>> lg.prod(x).item(), lg.prod(x).backward()[x].tolist()
        (0.0, [0.0, 15.0, 0.0])
    """
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    x = astype(x, sum_dtype(x.dtype) if dtype is None else as_dtype(dtype))
    y = apply(PROD, x, params=(axes,)) if axes else x
    return y if keepdims else without_axes(y, axes)


def _multiply(x: Any, out: Any, *, axes: tuple[int, ...]) -> None:
    np.multiply.reduce(x, axis=axes, out=out, keepdims=True)


def _prod_gradient(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> list[Tensor]:
    if not x.size:
        return [constant(0, x)]
    order = (*(axis for axis in range(x.ndim) if axis not in axes), *axes)
    turned = permute_dims(x, order)
    rows = reshape(turned, (y.size, x.size // y.size))
    shares = reshape(_products_of_others(rows, reshape(g, (y.size, 1))), turned.shape)
    return [permute_dims(shares, sorted(range(x.ndim), key=order.__getitem__))]


def _products_of_others(x: Tensor, g: Tensor) -> Tensor:
    """For each element of a row, the product of the row's `g` and the rest of the row.

    Halves are multiplied until one column is left; on the way back each half gets what came to
    their product times the other half. Nothing is divided, so zeros do no harm, and rules of
    the ops used here give every higher derivative.
    """
    levels = []
    while x.shape[1] > 1:
        width = x.shape[1]
        if width % 2:
            x = concat([x, ones((x.shape[0], 1), dtype=x.dtype)], axis=1)
        left, right = _columns(x, 0, x.shape[1] // 2), _columns(x, x.shape[1] // 2, x.shape[1])
        levels.append((width, left, right))
        x = left * right
    for width, left, right in reversed(levels):
        g = _columns(concat([g * right, g * left], axis=1), 0, width)
    return g


def _columns(x: Tensor, first: int, stop: int) -> Tensor:
    return strided_slice(x, ((0, x.shape[0], 1), (first, stop - first, 1)))


PROD = define(
    "prod",
    infer=infer.keeping,
    evaluate=_multiply,
    gradient=_prod_gradient,
    kind=Kind.REDUCTION,
    params=("axes",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)),), ((1,),)),
        Sample((rng.standard_normal((3, 4)),), ((0, 1),)),
        Sample((rng.standard_normal((2, 3, 2)),), ((0, 2),)),
        Sample((np.array([[3.0, 0.0, 5.0], [0.0, 0.0, 2.0]]),), ((1,),)),
        Sample((np.zeros((0, 3)),), ((0,),)),
    ],
)
