"""Sums and the spreading of one element over many, each the other's gradient."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lazygraph.dtypes import BOOL, DEFAULT_INTEGER, DType, as_dtype, uint64
from lazygraph.errors import ShapeError
from lazygraph.graph.leaves import scalar_node
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.conversion import astype
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define

Axis = int | Sequence[int] | None
_BLOCK = 512


def broadcast_to(x: TensorLike, shape: Sequence[int]) -> Tensor:
    """The tensor stretched to a shape: length 1 becomes any length, new axes come in front.

    Args:
        x: a tensor.
        shape: the new shape.

    Returns:
        A tensor of that shape; no data moves.

    Raises:
        ShapeError: `x` does not broadcast to it.

    Example:
        >>> import lazygraph as lg
        >>> lg.broadcast_to(lg.asarray([1, 2]), (2, 2)).tolist()
        [[1, 2], [1, 2]]
    """
    x = as_tensor(x)
    wanted = tuple(int(n) for n in shape)
    if wanted == x.shape:
        return x
    if len(wanted) > x.ndim:
        x = reshape(x, (1,) * (len(wanted) - x.ndim) + x.shape)
    return apply(BROADCAST, x, params=(wanted,))


def _broadcast_spec(x: Spec, shape: Shape) -> Spec:
    fits = len(x.shape) == len(shape) and all(
        n in (1, m) for n, m in zip(x.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"{x.shape} must broadcast to the wanted shape; got {shape}")
    return Spec(shape, x.dtype)


BROADCAST = define(
    "broadcast_to",
    infer=_broadcast_spec,
    evaluate=lambda x, shape: np.broadcast_to(x, shape),
    gradient=lambda g, y, x, shape: [sum_to(g, x.shape)],
    kind=Kind.VIEW,
    params=("shape",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((1, 3)),), ((2, 3),)),
        Sample((rng.standard_normal((1, 1)),), ((0, 3),)),
    ],
)


def constant(value: bool | int | float, like: Tensor) -> Tensor:
    """A tensor of `like`'s spec with one value everywhere."""
    return broadcast_to(Tensor(scalar_node(value, like.dtype)), like.shape)


def sum(
    x: TensorLike, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements along axes.

    Args:
        x: a tensor of numbers or booleans.
        axis: the axis or axes to sum over; all of them by default.
        dtype: the dtype of sum and result; by default that of `x`, or int64 (uint64 for
            unsigned integers) where `x` holds integers or booleans.
        keepdims: keep the summed axes, with length 1.

    Returns:
        The sums; 0 for an empty axis. Floats are summed in blocks, so that the error grows with
        the logarithm of the length rather than with the length.

    Example:
        >>> import lazygraph as lg
        >>> lg.sum(lg.asarray([[1, 2], [3, 4]]), axis=0).tolist()
        [4, 6]
    """
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    x = astype(x, sum_dtype(x.dtype) if dtype is None else as_dtype(dtype))
    y = apply(SUM, x, params=(axes,)) if axes else x
    return y if keepdims else without_axes(y, axes)


def without_axes(y: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Drop the axes that a reduction left with length 1."""
    return reshape(y, tuple(n for axis, n in enumerate(y.shape) if axis not in axes))


def sum_dtype(dtype: DType) -> DType:
    """The dtype in which elements are summed, wide enough for integers not to wrap."""
    if dtype.is_floating:
        return dtype
    return uint64 if dtype.dtype.kind == "u" and dtype.category != BOOL else DEFAULT_INTEGER


def add_reduce(x: Any, out: Any, *, axes: tuple[int, ...]) -> None:
    """`out = x` summed over `axes`, which keep length 1; `x` is C-contiguous.

    NumPy adds pairwise along trailing axes only. Over any other long axis it keeps one running
    sum, whose error grows with the length; there, blocks are summed first and their sums after
    them.
    """
    if _at_once(x, axes):
        np.add.reduce(x, axis=axes, out=out, keepdims=True)
        return
    first = axes[0]
    blocks = range(0, x.shape[first], _BLOCK)
    sums = np.empty((*out.shape[:first], len(blocks), *out.shape[first + 1 :]), x.dtype)
    before = (slice(None),) * first
    for i, start in enumerate(blocks):
        np.add.reduce(
            x[(*before, slice(start, start + _BLOCK))],
            axis=axes,
            out=sums[(*before, slice(i, i + 1))],
            keepdims=True,
        )
    add_reduce(sums, out, axes=(first,))


def _at_once(x: Any, axes: tuple[int, ...]) -> bool:
    trailing = axes == tuple(range(x.ndim - len(axes), x.ndim))
    return x.shape[axes[0]] <= _BLOCK or trailing or x.dtype.kind != "f"


def _sum_choice(x: Any, *, axes: tuple[int, ...]) -> Callable[..., Any]:
    if not _at_once(x, axes):
        return partial(add_reduce, axes=axes)
    add: Any = np.add.reduce
    return lambda x, out: add(x, axes, None, out, True)


SUM = define(
    "sum",
    infer=infer.keeping,
    evaluate=add_reduce,
    gradient=lambda g, y, x, axes: [broadcast_to(g, x.shape)],
    choose=_sum_choice,
    kind=Kind.REDUCTION,
    params=("axes",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)),), ((1,),)),
        Sample((rng.standard_normal((3, 4)),), ((0, 1),)),
        Sample((rng.standard_normal((2, 3, 2)),), ((0, 2),)),
        Sample((np.zeros((0, 3)),), ((0,),)),
    ],
)


def sum_to(x: Tensor, shape: Shape) -> Tensor:
    """Undo broadcasting: sum over every axis that `shape` lacks or has with length 1."""
    if x.shape == shape:
        return x
    new = x.ndim - len(shape)
    stretched = tuple(i + new for i, n in enumerate(shape) if n == 1 and x.shape[i + new] != 1)
    axes = (*range(new), *stretched)
    return reshape(apply(SUM, x, params=(axes,)) if axes else x, shape)
