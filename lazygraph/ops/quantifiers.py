"""How many elements are not zero: any of them, all of them, the number of them."""

from typing import Any

import numpy as np

from lazygraph.dtypes import bool_
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.conversion import astype
from lazygraph.ops.record import define
from lazygraph.ops.spread import Axis, sum, without_axes


def any(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether at least one element along axes is true.

    Args:
        x: a tensor of any dtype; numbers but 0, and NaN, count as true.
        axis: the axis or axes to reduce; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Returns:
        A bool tensor; false for an empty axis.

    Example:
        >>> import lazygraph as lg
        >>> lg.any(lg.asarray([[0, 2], [0, 0]]), axis=1).tolist()
        [True, False]
    """
    return _quantified(ANY, x, axis, keepdims)


def all(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element along axes is true.

    Args:
        x: a tensor of any dtype; numbers but 0, and NaN, count as true.
        axis: the axis or axes to reduce; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Returns:
        A bool tensor; true for an empty axis.

    Example:
        >>> import lazygraph as lg
        >>> lg.all(lg.asarray([[1, 2], [0, 3]]), axis=1).tolist()
        [True, False]
    """
    return _quantified(ALL, x, axis, keepdims)


def _quantified(op: Op, x: TensorLike, axis: Axis, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    y = apply(op, astype(x, bool_), params=(axes,))
    return y if keepdims else without_axes(y, axes)


def count_nonzero(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The number of elements along axes that are not 0.

    Args:
        x: a tensor of any dtype; NaN is not 0.
        axis: the axis or axes to count over; all of them by default.
        keepdims: keep the counted axes, with length 1.

    Returns:
        An int64 tensor.

    Example:
        >>> import lazygraph as lg
        >>> lg.count_nonzero(lg.asarray([3.0, 0.0, -1.0])).item()
        2
    """
    return sum(astype(x, bool_), axis=axis, keepdims=keepdims)


def _truth_spec(x: Spec, axes: tuple[int, ...]) -> Spec:
    return infer.keeping(infer.logical(x), axes)


def _quantifier(name: str, reduce: Any) -> Op:
    return define(
        name,
        infer=_truth_spec,
        evaluate=lambda x, out, axes: reduce(x, axis=axes, out=out, keepdims=True),
        kind=Kind.REDUCTION,
        params=("axes",),
        coerce=Coerce.NONE,
        samples=lambda rng: [
            Sample((rng.integers(0, 2, (3, 4)) > 0,), ((1,),)),
            Sample((rng.integers(0, 2, (3, 4)) > 0,), ((0, 1),)),
            Sample((np.zeros((0, 3), bool),), ((0,),)),
        ],
    )


ANY = _quantifier("any", np.logical_or.reduce)
ALL = _quantifier("all", np.logical_and.reduce)
