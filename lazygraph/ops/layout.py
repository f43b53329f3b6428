"""The same elements under other indices: reshape, permute, slice."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazygraph.errors import ShapeError
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.record import define

Bounds = tuple[tuple[int, int, int], ...]  # (first, length, step) of each axis


def reshape(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """The elements of `x`, in row-major order, under another shape.

    Args:
        x: a tensor of any shape.
        shape: the new shape; one entry may be -1, and is then what remains.

    Returns:
        A tensor of that shape and of `x`'s dtype.

    Raises:
        ShapeError: the number of elements would change.

    Example:
        >>> import lazygraph as lg
        >>> lg.reshape(lg.arange(6), (2, -1)).tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    x = as_tensor(x)
    wanted = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if wanted.count(-1) == 1:
        known = math.prod(n for n in wanted if n != -1)
        if known and x.size % known == 0:
            wanted = tuple(x.size // known if n == -1 else n for n in wanted)
    return x if wanted == x.shape else apply(RESHAPE, x, params=(wanted,))


def _reshape_spec(x: Spec, shape: Shape) -> Spec:
    if any(n < 0 for n in shape) or math.prod(shape) != x.size:
        raise ShapeError(
            f"the new shape must hold the same {x.size} elements; got {shape} for {x.shape}"
        )
    return Spec(shape, x.dtype)


RESHAPE = define(
    "reshape",
    infer=_reshape_spec,
    evaluate=lambda x, shape: np.reshape(x, shape, copy=False),
    gradient=lambda g, y, x, shape: [reshape(g, x.shape)],
    kind=Kind.VIEW,
    params=("shape",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3, 4)),), ((6, 4),)),
        Sample((rng.standard_normal((1, 1)),), ((),)),
        Sample((np.zeros((0, 3)),), ((3, 0, 2),)),
    ],
)


def permute_dims(x: TensorLike, axes: Sequence[int]) -> Tensor:
    """The tensor with its axes in another order.

    Args:
        x: a tensor with n axes.
        axes: a permutation of 0 .. n-1 (negative ones count from the end); axis i of the result
            is axis `axes[i]` of `x`.

    Returns:
        A tensor of the permuted shape.

    Raises:
        ShapeError: not a permutation.

    Example:
        >>> import lazygraph as lg
        >>> lg.permute_dims(lg.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    x = as_tensor(x)
    wanted = tuple(infer.one_axis(axis, x.ndim, "axes") for axis in axes)
    return x if wanted == tuple(range(x.ndim)) else apply(PERMUTE, x, params=(wanted,))


def matrix_transpose(x: TensorLike) -> Tensor:
    """The tensor with its last two axes exchanged, as `x.mT`.

    Args:
        x: a tensor of shape `(..., m, n)`.

    Returns:
        A tensor of shape `(..., n, m)`.

    Raises:
        ShapeError: fewer than two axes.
    """
    return as_tensor(x).mT


def _permute_spec(x: Spec, axes: tuple[int, ...]) -> Spec:
    if sorted(axes) != list(range(len(x.shape))):
        raise ShapeError(
            f"axes must be a permutation of the {len(x.shape)} axes of {x.shape}; got {axes}"
        )
    return Spec(tuple([x.shape[axis] for axis in axes]), x.dtype)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


PERMUTE = define(
    "permute_dims",
    infer=_permute_spec,
    evaluate=lambda x, axes: x.transpose(axes),
    gradient=lambda g, y, x, axes: [permute_dims(g, _inverse(axes))],
    kind=Kind.VIEW,
    params=("axes",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3, 4)),), ((2, 0, 1),)),
        Sample((rng.standard_normal((2, 0)),), ((1, 0),)),
    ],
)


def squeeze(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """Remove axes of length 1.

    Args:
        x: a tensor.
        axis: the axis or axes to remove.

    Raises:
        ShapeError: an axis is longer than 1.
    """
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"squeeze needs axes of length 1; got axes {axes} of {x.shape}")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in axes))


def expand_dims(x: TensorLike, axis: int) -> Tensor:
    """Insert an axis of length 1, which becomes axis `axis` of the result.

    Args:
        x: a tensor with n axes.
        axis: in [-n-1, n].
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim + 1)
    return reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


def strided_slice(x: Tensor, bounds: Bounds) -> Tensor:
    """The elements at `first + i step`, i < length, along each axis."""
    whole = tuple((0, n, 1) for n in x.shape)
    return x if bounds == whole else apply(SLICE, x, params=(bounds,))


def _keys(bounds: Bounds) -> tuple[slice, ...]:
    keys = []
    for first, length, step in bounds:
        stop = first + length * step
        keys.append(slice(first, stop if stop >= 0 else None, step) if length else slice(0, 0))
    return tuple(keys)


def _place(g: Any, out: Any, *, shape: Shape, bounds: Bounds) -> None:
    out[...] = 0
    out[_keys(bounds)] = g


SLICE: Op = define(
    "slice",
    infer=lambda x, bounds: Spec(tuple([length for _, length, _ in bounds]), x.dtype),
    evaluate=lambda x, bounds: x[_keys(bounds)],
    gradient=lambda g, y, x, bounds: [apply(PLACE, g, params=(x.shape, bounds))],
    kind=Kind.VIEW,
    params=("bounds",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((5, 4)),), (((1, 2, 2), (0, 4, 1)),)),
        Sample((rng.standard_normal((5,)),), (((4, 2, -2),),)),
        Sample((rng.standard_normal((5,)),), (((4, 5, -1),),)),
        Sample((rng.standard_normal((5,)),), (((2, 0, 1),),)),
    ],
)

PLACE: Op = define(
    "place",
    infer=lambda g, shape, bounds: Spec(shape, g.dtype),
    evaluate=_place,
    gradient=lambda u, y, g, shape, bounds: [strided_slice(u, bounds)],
    kind=Kind.MOVE,
    params=("shape", "bounds"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 4)),), ((5, 4), ((1, 2, 2), (0, 4, 1)))),
        Sample((rng.standard_normal((2,)),), ((5,), ((4, 2, -2),))),
    ],
)
