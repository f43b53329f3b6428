"""Reductions along axes other than the plain sum."""

import math
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, DType, as_dtype, int64
from lazygraph.errors import DTypeError, ShapeError
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import multiply_no_nan, square
from lazygraph.ops.conversion import astype
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define
from lazygraph.ops.spread import Axis, sum, without_axes

_CHUNK = 8192


def _reduced(op: Op, x: TensorLike, axis: Axis, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    y = apply(op, x, params=(axes,))
    return y if keepdims else without_axes(y, axes)


def max(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element along axes; NaN if there is one. Ties share the gradient evenly.

    Args:
        x: a tensor.
        axis: the axis or axes to reduce; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Raises:
        ShapeError: a reduced axis is empty.
    """
    return _reduced(MAX, x, axis, keepdims)


def min(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest element along axes; NaN if there is one. Ties share the gradient evenly.

    Args:
        x: a tensor.
        axis: the axis or axes to reduce; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Raises:
        ShapeError: a reduced axis is empty.
    """
    return _reduced(MIN, x, axis, keepdims)


def nonempty(x: Spec, axes: tuple[int, ...]) -> Spec:
    """The spec of a reduction that needs at least one element."""
    if any(x.shape[axis] == 0 for axis in axes):
        raise ShapeError(f"the reduced axes must not be empty; got axes {axes} of {x.shape}")
    return infer.keeping(x, axes)


def _extreme_gradient(g: Tensor, y: Tensor, x: Tensor, axes: tuple[int, ...]) -> list[Tensor]:
    chosen = astype(x == y, x.dtype)
    share = g / sum(chosen, axis=axes, keepdims=True)
    return [share * chosen]


def _extreme(name: str, reduce: Any) -> Op:
    return define(
        name,
        infer=nonempty,
        evaluate=lambda x, out, axes: reduce(x, axis=axes, out=out, keepdims=True),
        gradient=_extreme_gradient,
        kind=Kind.REDUCTION,
        params=("axes",),
        coerce=Coerce.NONE,
        samples=lambda rng: [
            Sample((rng.standard_normal((3, 4)),), ((1,),)),
            Sample((rng.standard_normal((3, 4)),), ((0, 1),)),
            Sample((np.zeros((0, 3)),), ((1,),)),
        ],
    )


MAX = _extreme("max", np.maximum.reduce)
MIN = _extreme("min", np.minimum.reduce)


def argmax(x: TensorLike, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first greatest element; NaN counts as the greatest.

    Args:
        x: a tensor.
        axis: the axis to search; by default the flattened tensor.
        keepdims: keep the searched axis, with length 1.

    Returns:
        An int64 tensor.

    Raises:
        ShapeError: nothing to search.
    """
    x = as_tensor(x)
    if axis is None:
        flat = apply(ARGMAX, reshape(x, (x.size,)), params=(0,))
        return reshape(flat, (1,) * x.ndim if keepdims else ())
    at = infer.one_axis(axis, x.ndim)
    y = apply(ARGMAX, x, params=(at,))
    return y if keepdims else without_axes(y, (at,))


ARGMAX = define(
    "argmax",
    infer=lambda x, axis: Spec(nonempty(x, (axis,)).shape, int64),
    evaluate=lambda x, out, axis: np.argmax(x, axis=axis, out=out, keepdims=True),
    kind=Kind.REDUCTION,
    params=("axis",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)),), (1,)),
        Sample((np.array([3, 9, 1, 9, 9]),), (0,)),
    ],
)


def mean(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean along axes; NaN where there is nothing to average.

    Args:
        x: a tensor; integers and booleans are summed exactly and give float32.
        axis: the axis or axes to average over; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Example:
        >>> import lazygraph as lg
        >>> lg.mean(lg.asarray([1.0, 2.0, 6.0])).item()
        3.0
    """
    x = as_tensor(x)
    total = sum(x, axis=axis, keepdims=keepdims)
    return total / count_along(x, axis)


def count_along(x: Tensor, axis: Axis, correction: float = 0.0) -> float:
    """How many elements a mean along axes divides by."""
    count = 1
    for a in infer.all_axes(axis, x.ndim):
        count *= x.shape[a]
    return np.maximum(count - correction, 0.0).item()  # type: ignore[no-any-return]


def var(
    x: TensorLike, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance: the mean of the squared distance from the mean, in two passes.

        sum((x - mean(x))^2) / (n - correction)

    Args:
        x: a tensor; integers and booleans give float32.
        axis: the axis or axes to reduce; all of them by default.
        correction: what is taken from the number of elements; 1 for the unbiased estimate.
        keepdims: keep the reduced axes, with length 1.

    Example:
        >>> import lazygraph as lg
        >>> lg.var(lg.asarray([10000.0, 10001.0, 10002.0, 10003.0])).item()
        1.25
    """
    x = as_tensor(x)
    x = x if x.dtype.is_floating else astype(x, DEFAULT_FLOAT)
    distance = x - mean(x, axis=axis, keepdims=True)
    total = sum(square(distance), axis=axis, keepdims=keepdims)
    return total / count_along(x, axis, correction)


def norm(x: TensorLike, *, dtype: Any = None) -> Tensor:
    """The Euclidean norm of all elements, `sqrt(sum(x^2))`, without overflow.

    Squares are summed in float64; only if that overflows or vanishes are the elements scaled
    first.

    Args:
        x: a floating tensor of any shape.
        dtype: the dtype of the result; by default that of `x`.

    Returns:
        A tensor of shape (). Its gradient is `x / norm`, and 0 where the norm is 0.

    Raises:
        DTypeError: not floating.

    Example:
        >>> import lazygraph as lg
        >>> lg.norm(lg.asarray([3.0, 4.0])).item()
        5.0
    """
    x = as_tensor(x)
    return apply(NORM, x, params=(x.dtype if dtype is None else as_dtype(dtype),))


def _norm_spec(x: Spec, dtype: DType) -> Spec:
    if not x.dtype.is_floating:
        raise DTypeError(f"norm needs a floating tensor; got {x}")
    return Spec((), dtype)


def _norm(x: Any, out: Any, *, dtype: DType) -> None:
    flat = x.reshape(-1)
    total, scale = float(_sum_of_squares(flat)), 1.0
    if not 1e-290 < total < math.inf and flat.size:
        largest = float(np.max(np.abs(flat)))
        if 0.0 < largest < math.inf:
            total, scale = float(_sum_of_squares(flat, largest)), largest
    out[...] = scale * math.sqrt(total)


def _sum_of_squares(flat: Any, scale: float | None = None) -> Any:
    """Squares in float64, chunk by chunk, so that the conversion stays in the cache."""
    if flat.size <= _CHUNK:
        wide = flat.astype(np.float64) if scale is None else np.divide(flat, scale, dtype="f8")
        return np.dot(wide, wide)
    starts = range(0, flat.size, _CHUNK)
    return np.add.reduce([_sum_of_squares(flat[i : i + _CHUNK], scale) for i in starts])


NORM = define(
    "norm",
    infer=_norm_spec,
    evaluate=_norm,
    gradient=lambda g, y, x, dtype: [_norm_gradient(g, y, x)],
    kind=Kind.REDUCTION,
    params=("dtype",),
    coerce=Coerce.NONE,
    samples=lambda rng: [Sample((rng.standard_normal((3, 4)),), (as_dtype("float64"),))],
)


def _norm_gradient(g: Tensor, y: Tensor, x: Tensor) -> Tensor:
    # x / 0 is NaN only at x = 0, where the product with 0 wins: the subgradient 0.
    g, y = astype(g, x.dtype), astype(y, x.dtype)
    return g * multiply_no_nan(x, 1.0 / y)
