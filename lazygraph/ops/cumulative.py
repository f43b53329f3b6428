"""Running sums, and the differences that undo them."""

from typing import Any

import numpy as np

from lazygraph.dtypes import as_dtype
from lazygraph.errors import ShapeError
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import zeros
from lazygraph.ops.joining import concat
from lazygraph.ops.rearranging import flip, span
from lazygraph.ops.record import define
from lazygraph.ops.spread import sum_dtype

_BLOCK = 1024


def cumulative_sum(
    x: TensorLike,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """The sums of the first elements along an axis.

        y_i = x_0 + ... + x_i

    Args:
        x: a tensor of numbers or booleans with at least one axis.
        axis: the axis to sum along; may be left out for a tensor with one axis.
        dtype: the dtype of sums and result; by default that of `x`, or int64 (uint64 for
            unsigned integers) where `x` holds integers or booleans.
        include_initial: begin with the sum of nothing, 0: one element more.

    Returns:
        The sums. Floats are summed in float64, in blocks of 1024 that are moved by the sum of
        what was before them, so that the error stays small.

    Raises:
        ShapeError: no axis to sum along, or several and none named.

    Example:
        >>> import lazygraph as lg
        >>> lg.cumulative_sum(lg.asarray([1, 2, 3])).tolist()
        [1, 3, 6]
    """
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(
                f"cumulative_sum needs an axis for a tensor of shape {x.shape}; got None"
            )
        axis = 0
    at = infer.one_axis(axis, x.ndim)
    x = astype(x, sum_dtype(x.dtype) if dtype is None else as_dtype(dtype))
    y = apply(CUMULATIVE_SUM, x, params=(at,))
    if not include_initial:
        return y
    return concat([zeros(_resized(x, at, 1), dtype=x.dtype), y], axis=at)


def _resized(x: Tensor, axis: int, length: int) -> tuple[int, ...]:
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


def _accumulate(x: Any, out: Any, *, axis: int) -> None:
    if x.dtype.kind != "f":
        np.add.accumulate(x, axis=axis, out=out)
        return
    before = (slice(None),) * axis
    so_far: Any = None
    for start in range(0, x.shape[axis], _BLOCK):
        block = (*before, slice(start, start + _BLOCK))
        sums = np.add.accumulate(x[block], axis=axis, dtype=np.float64)
        if so_far is not None:
            np.add(sums, so_far, out=sums)
        np.copyto(out[block], sums, casting="same_kind")
        so_far = sums[(*before, slice(-1, None))]


CUMULATIVE_SUM = define(
    "cumulative_sum",
    infer=lambda x, axis: Spec(infer.numeric(x).shape, x.dtype),
    evaluate=_accumulate,
    gradient=lambda g, y, x, axis: [
        flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis)
    ],
    kind=Kind.REDUCTION,
    params=("axis",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((5,)),), (0,)),
        Sample((rng.standard_normal((3, 4)),), (0,)),
        Sample((rng.standard_normal((2, 3, 2)),), (1,)),
        Sample((np.zeros((2, 0)),), (1,)),
        Sample((np.zeros((0, 3)),), (1,)),
    ],
)


def diff(
    x: TensorLike,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """The differences of neighbours along an axis, taken `n` times.

        y_i = x_(i + 1) - x_i

    Args:
        x: a tensor of numbers with at least one axis.
        axis: the axis along which to subtract.
        n: how often; 0 gives `x` itself.
        prepend, append: tensors of `x`'s shape but for the axis, joined to it before.

    Returns:
        A tensor that is shorter by `n` along the axis, and not shorter than 0.

    Raises:
        ValueError: `n` is negative.

    Example:
        >>> import lazygraph as lg
        >>> lg.diff(lg.asarray([1, 4, 9, 16])).tolist()
        [3, 5, 7]
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim)
    if n < 0:
        raise ValueError(f"diff must be taken 0 or more times; got n={n}")
    pieces = [p for p in (prepend, x, append) if p is not None]
    x = concat(pieces, axis=at) if len(pieces) > 1 else x
    for _ in range(n):
        length = max(x.shape[at] - 1, 0)
        x = span(x, at, x.shape[at] - length, length) - span(x, at, 0, length)
    return x
