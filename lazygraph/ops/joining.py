"""Joining tensors along an axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazygraph.errors import ShapeError
from lazygraph.graph.op import Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.layout import expand_dims, reshape, strided_slice
from lazygraph.ops.record import define


def concat(arrays: Sequence[TensorLike], axis: int | None = 0) -> Tensor:
    """Join tensors along an existing axis.

    Args:
        arrays: one or more tensors, whose shapes agree but for `axis`.
        axis: the axis along which they follow each other; None flattens them first.

    Returns:
        One tensor of the promoted dtype.

    Raises:
        ShapeError: nothing to join, or shapes that disagree.

    Example:
        >>> import lazygraph as lg
        >>> lg.concat([lg.zeros((2,)), lg.ones((1,))]).tolist()
        [0.0, 0.0, 1.0]
    """
    pieces = [as_tensor(x) for x in arrays]
    if not pieces:
        raise ShapeError("concat needs at least one tensor; got none")
    if axis is None:
        pieces, axis = [reshape(x, (x.size,)) for x in pieces], 0
    at = infer.one_axis(axis, pieces[0].ndim)
    return apply(CONCAT, *pieces, params=(at,))


def stack(arrays: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis.

    Args:
        arrays: one or more tensors of shape `s`, with n axes.
        axis: where the new axis stands in the result, in [-n-1, n].

    Returns:
        One tensor of the promoted dtype, with n + 1 axes.

    Raises:
        ShapeError: nothing to join, or shapes that disagree.
    """
    pieces = [as_tensor(x) for x in arrays]
    if not pieces:
        raise ShapeError("stack needs at least one tensor; got none")
    at = infer.one_axis(axis, pieces[0].ndim + 1)
    return concat([expand_dims(x, at) for x in pieces], axis=at)


def _concat_spec(*pieces: Spec, axis: int) -> Spec:
    first = pieces[0].shape
    for x in pieces:
        if len(x.shape) != len(first) or any(
            n != m for i, (n, m) in enumerate(zip(x.shape, first, strict=True)) if i != axis
        ):
            shapes = " and ".join(str(piece.shape) for piece in pieces)
            raise ShapeError(f"the shapes must agree on every axis but {axis}; got {shapes}")
    length = sum(x.shape[axis] for x in pieces)
    return Spec((*first[:axis], length, *first[axis + 1 :]), pieces[0].dtype)


def _concat_gradient(g: Tensor, y: Tensor, *pieces: Tensor, axis: int) -> list[Tensor]:
    shares, first = [], 0
    for x in pieces:
        whole = [(0, n, 1) for n in x.shape]
        whole[axis] = (first, x.shape[axis], 1)
        shares.append(strided_slice(g, tuple(whole)))
        first += x.shape[axis]
    return shares


def _concatenate(*arrays: Any, axis: int) -> None:
    *pieces, out = arrays
    np.concatenate(pieces, axis=axis, out=out)


CONCAT = define(
    "concat",
    infer=_concat_spec,
    evaluate=_concatenate,
    gradient=_concat_gradient,
    kind=Kind.MOVE,
    params=("axis",),
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3)), rng.standard_normal((2, 1))), (1,)),
        Sample((rng.standard_normal((0, 3)), rng.standard_normal((2, 3))), (0,)),
    ],
)
