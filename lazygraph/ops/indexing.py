"""Picking elements by integers, and adding them back where they came from."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, INTEGER
from lazygraph.errors import BoundsError, DTypeError, ShapeError
from lazygraph.graph.leaves import data_node, owned_array
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer, scatter
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import arange
from lazygraph.ops.layout import reshape, strided_slice
from lazygraph.ops.record import define


def take(x: TensorLike, indices: TensorLike, *, axis: int | None = None) -> Tensor:
    """The slices of `x` along an axis that the indices name.

    Args:
        x: a tensor.
        indices: integers of any shape, in [-n, n) for an axis of length n; negative ones count
            from the end. Values are checked when the result is computed.
        axis: the axis to pick from; may be left out for a tensor with one axis.

    Returns:
        A tensor of shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`. Where an index
        occurs several times, the gradients add.

    Raises:
        BoundsError: an index outside, at realization, with the index and the length.

    Example:
        >>> import lazygraph as lg
        >>> lg.take(lg.asarray([10, 20, 30]), lg.asarray([2, 0])).tolist()
        [30, 10]
    """
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"take needs an axis for a tensor of shape {x.shape}; got None")
        axis = 0
    return apply(TAKE, x, indices, params=(infer.one_axis(axis, x.ndim),))


def _integers(indices: Spec) -> None:
    if indices.dtype.category != INTEGER:
        raise DTypeError(f"indices must be integers; got {indices}")


def _take_spec(x: Spec, indices: Spec, axis: int) -> Spec:
    _integers(indices)
    return Spec((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


def _within_bounds(kernel: Callable[..., None]) -> Callable[..., None]:
    def checked(*arrays: Any, axis: int, **_: Any) -> None:
        *operands, out = arrays
        try:
            kernel(*operands, axis, out)
        except IndexError as error:
            raise BoundsError(*error.args) from None

    return checked


TAKE: Op = define(
    "take",
    infer=_take_spec,
    evaluate=_within_bounds(scatter.gather),
    gradient=lambda g, y, x, indices, axis: [
        apply(SCATTER_ADD, indices, g, params=(axis, x.shape)),
        None,
    ],
    kind=Kind.MOVE,
    params=("axis",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((4, 3)), np.array([2, 0, 2, -1])), (0,)),
        Sample((rng.standard_normal((2, 4)), np.array([[1, 1], [3, 0]])), (1,)),
        Sample((rng.standard_normal((4, 3)), np.zeros((0,), np.int64)), (0,)),
    ],
)

SCATTER_ADD: Op = define(
    "scatter_add",
    infer=lambda indices, g, axis, shape: Spec(shape, g.dtype),
    evaluate=_within_bounds(scatter.scatter_add),
    gradient=lambda u, y, indices, g, axis, shape: [None, take(u, indices, axis=axis)],
    kind=Kind.MOVE,
    params=("axis", "shape"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((np.array([2, 0, 2, -1]), rng.standard_normal((4, 3))), (0, (5, 3)))
    ],
)


def take_along_axis(x: TensorLike, indices: TensorLike, *, axis: int = -1) -> Tensor:
    """One element for each index, at the index's own place on all axes but one.

    Args:
        x: a tensor.
        indices: integers, of `x`'s shape but for `axis`.
        axis: the axis that the indices point into.

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
    return apply(TAKE_ALONG, x, indices, params=(infer.one_axis(axis, x.ndim),))


def _take_along_spec(x: Spec, indices: Spec, axis: int) -> Spec:
    _integers(indices)
    fits = len(x.shape) == len(indices.shape) and all(
        n == m or i == axis for i, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"indices must have the tensor's shape on every axis but {axis}; "
            f"got {indices.shape} for {x.shape}"
        )
    return Spec(indices.shape, x.dtype)


TAKE_ALONG: Op = define(
    "take_along_axis",
    infer=_take_along_spec,
    evaluate=_within_bounds(scatter.gather_along_axis),
    gradient=lambda g, y, x, indices, axis: [
        apply(SCATTER_ADD_ALONG, indices, g, params=(axis, x.shape)),
        None,
    ],
    kind=Kind.MOVE,
    params=("axis",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)), np.array([[1], [3], [-1]])), (1,)),
        Sample((rng.standard_normal((3, 2)), np.array([[2, 2], [2, 0]])), (0,)),
    ],
)

SCATTER_ADD_ALONG: Op = define(
    "scatter_add_along_axis",
    infer=lambda indices, g, axis, shape: Spec(shape, g.dtype),
    evaluate=_within_bounds(scatter.scatter_add_along_axis),
    gradient=lambda u, y, indices, g, axis, shape: [
        None,
        take_along_axis(u, indices, axis=axis),
    ],
    kind=Kind.MOVE,
    params=("axis", "shape"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((np.array([[1], [3], [-1]]), rng.standard_normal((3, 1))), (1, (3, 4))),
        Sample((np.array([[2, 2], [2, 0]]), rng.standard_normal((2, 2))), (0, (3, 2))),
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
    _integers(x.node.spec)
    return astype(reshape(x, (*x.shape, 1)) == arange(num_classes, dtype=x.dtype), dtype)


def index(x: Tensor, key: Any) -> Tensor:
    """`x[key]`: integers, slices, `...`, `None`, and at most one array of integers.

    Raises:
        BoundsError: too many indices, or an integer outside its axis.
        TypeError: a key of another kind.
    """
    keys = key if isinstance(key, tuple) else (key,)
    keys = _expanded(keys, x)
    bounds, shape, gather = _resolve(x.shape, keys)
    y = reshape(strided_slice(x, bounds), shape)
    return y if gather is None else apply(TAKE, y, gather[1], params=(gather[0],))


def _expanded(keys: tuple[Any, ...], x: Tensor) -> tuple[Any, ...]:
    """The keys with `...` written out, one for each axis and one for each `None`."""
    used = len([k for k in keys if k is not None and k is not Ellipsis])
    if used > x.ndim:
        raise BoundsError(f"a tensor of shape {x.shape} takes {x.ndim} indices; got {used}")
    rest = (slice(None),) * (x.ndim - used)
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(places) > 1:
        raise BoundsError("an index may contain one ellipsis; got several")
    at = places[0] if places else len(keys)
    return (*keys[:at], *rest, *keys[at + 1 :])


def _resolve(
    shape: Shape, keys: tuple[Any, ...]
) -> tuple[tuple[tuple[int, int, int], ...], Shape, tuple[int, Tensor] | None]:
    """Slice bounds, the shape after integers and `None`, and the axis that an array gathers."""
    bounds: list[tuple[int, int, int]] = []
    result: list[int] = []
    gather: tuple[int, Tensor] | None = None
    for key in keys:
        if key is None:
            result.append(1)
            continue
        n = shape[len(bounds)]
        if isinstance(key, slice):
            first, stop, step = key.indices(n)
            length = len(range(first, stop, step))
            bounds.append((first, length, step) if length else (0, 0, 1))
            result.append(length)
        elif isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -n <= key < n:
                raise BoundsError(
                    f"index {key} is out of bounds for axis {len(bounds)} with size {n}"
                )
            bounds.append((int(key) % n, 1, 1))
        else:
            if gather is not None:
                raise NotImplementedError("an index may contain one array of integers")
            gather = (len(result), _indices(key))
            bounds.append((0, n, 1))
            result.append(n)
    return tuple(bounds), tuple(result), gather


def _indices(key: Any) -> Tensor:
    if isinstance(key, list | tuple):
        array = owned_array(key)
        key = Tensor(data_node(array if array.size else array.astype(np.int64)))
    try:
        indices = as_tensor(key)
    except TypeError:
        raise TypeError(
            "an index must be an integer, a slice, None, ... or an array of integers; "
            f"got {key!r}"
        ) from None
    _integers(indices.node.spec)
    return indices
