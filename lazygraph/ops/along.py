"""One element for each index, at the index's own place, picked or marked."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, DEFAULT_INTEGER, uint64
from lazygraph.errors import ShapeError
from lazygraph.graph.node import Value
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer, scatter
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import arange
from lazygraph.ops.gathering import check_integers, within_bounds
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define


def take_along_axis(
    x: TensorLike, indices: TensorLike, *, axis: int = -1, wrap: bool = True
) -> Tensor:
    """One element for each index, at the index's own place on all axes but one.

    Args:
        x: a tensor.
        indices: integers, of `x`'s shape but for `axis`.
        axis: the axis that the indices point into.
        wrap: False refuses negative indices, as where they are labels or tokens.

    Returns:
        A tensor of the shape of `indices`. Where an index repeats, the gradients add.

    Raises:
        BoundsError: an index outside, at realization, with the index and the length.

    Example:
        >>> import lazygraph as lg
        >>> lg.take_along_axis(lg.asarray([[1, 2], [3, 4]]), lg.asarray([[1], [0]])).tolist()
        [[2], [3]]
    """
    x = as_tensor(x)
    return apply(TAKE_ALONG, x, indices, params=(infer.one_axis(axis, x.ndim), wrap))


def _take_along_spec(x: Spec, indices: Spec, axis: int, wrap: bool) -> Spec:
    check_integers(indices)
    fits = len(x.shape) == len(indices.shape) and all(
        n == m or i == axis for i, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"indices must have the tensor's shape on every axis but {axis}; "
            f"got {indices.shape} for {x.shape}"
        )
    return Spec(indices.shape, x.dtype)


def _along(kernel: Callable[..., None]) -> Callable[..., None]:
    def evaluate(*arrays: Value, axis: int, wrap: bool, shape: Shape = ()) -> None:
        *operands, out = arrays
        kernel(*operands, axis, out, wrap)

    return within_bounds(evaluate)


TAKE_ALONG: Op = define(
    "take_along_axis",
    infer=_take_along_spec,
    evaluate=_along(scatter.gather_along_axis),
    gradient=lambda g, y, x, indices, axis, wrap: [
        apply(SCATTER_ADD_ALONG, indices, g, params=(axis, wrap, x.shape)),
        None,
    ],
    kind=Kind.MOVE,
    params=("axis", "wrap"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)), np.array([[1], [3], [-1]])), (1, True)),
        Sample((rng.standard_normal((3, 2)), np.array([[2, 2], [2, 0]])), (0, False)),
    ],
)

SCATTER_ADD_ALONG: Op = define(
    "scatter_add_along_axis",
    infer=lambda indices, g, axis, wrap, shape: Spec(shape, g.dtype),
    evaluate=_along(scatter.scatter_add_along_axis),
    gradient=lambda u, y, indices, g, axis, wrap, shape: [
        None,
        take_along_axis(u, indices, axis=axis, wrap=wrap),
    ],
    kind=Kind.MOVE,
    params=("axis", "wrap", "shape"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((np.array([[1], [3], [-1]]), rng.standard_normal((3, 1))), (1, True, (3, 4))),
        Sample((np.array([[2, 2], [2, 0]]), rng.standard_normal((2, 2))), (0, False, (3, 2))),
    ],
)


def one_hot(x: TensorLike, num_classes: int, *, dtype: Any = DEFAULT_FLOAT) -> Tensor:
    """1 at the place that the integer names on a new last axis, 0 elsewhere.

    Args:
        x: integers of shape `s`.
        num_classes: the length of the new axis; an integer outside gives zeros only.
        dtype: the dtype of the result.

    Returns:
        A tensor of shape `(*s, num_classes)`.

    Example:
        >>> import lazygraph as lg
        >>> lg.one_hot(lg.asarray([1, 0]), 2).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    x = as_tensor(x)
    check_integers(x.node.spec)
    # Places in a narrow integer would wrap around, and name a class twice.
    places = arange(num_classes, dtype=x.dtype if x.dtype is uint64 else DEFAULT_INTEGER)
    return astype(reshape(x, (*x.shape, 1)) == places, dtype)
