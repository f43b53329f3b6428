"""Tensors turned round, shifted, framed, repeated and taken apart."""

import math
from collections.abc import Sequence

import numpy as np

from lazygraph.errors import ShapeError
from lazygraph.graph.spec import Shape
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.choice import where
from lazygraph.ops.creation import ones
from lazygraph.ops.joining import concat
from lazygraph.ops.layout import PLACE, expand_dims, permute_dims, reshape, strided_slice
from lazygraph.ops.spread import Axis, broadcast_to, constant

PadWidth = int | tuple[int, int] | Sequence[tuple[int, int]]


def flip(x: TensorLike, *, axis: Axis = None) -> Tensor:
    """The elements in reverse order along axes.

    Args:
        x: a tensor.
        axis: the axis or axes to reverse; all of them by default.

    Returns:
        A tensor of `x`'s spec; no data moves.

    Example:
        >>> import lazygraph as lg
        >>> lg.flip(lg.asarray([[1, 2], [3, 4]]), axis=1).tolist()
        [[2, 1], [4, 3]]
    """
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    return strided_slice(
        x,
        tuple(
            (n - 1, n, -1) if i in axes and n > 1 else (0, n, 1) for i, n in enumerate(x.shape)
        ),
    )


def roll(
    x: TensorLike, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None
) -> Tensor:
    """The elements moved along axes; what leaves at the end comes back at the front.

    Args:
        x: a tensor.
        shift: by how many places, towards the front if negative; a sequence has one for each
            axis.
        axis: the axis or axes to move along; None moves along the flattened tensor.

    Returns:
        A tensor of `x`'s spec.

    Raises:
        ShapeError: not as many shifts as axes.

    Example:
        >>> import lazygraph as lg
        >>> lg.roll(lg.asarray([1, 2, 3, 4]), 1).tolist()
        [4, 1, 2, 3]
    """
    x = as_tensor(x)
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, axis=0), x.shape)
    axes = _several(axis)
    shifts = shift if isinstance(shift, Sequence) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll needs a shift for each axis; got {shift} for {axis}")
    for by, a in zip(shifts, axes, strict=True):
        x = _rolled(x, by, infer.one_axis(a, x.ndim))
    return x


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    n = x.shape[axis]
    moved = shift % n if n else 0
    if not moved:
        return x
    tail, head = span(x, axis, n - moved, moved), span(x, axis, 0, n - moved)
    return concat([tail, head], axis=axis)


def span(x: Tensor, axis: int, first: int, length: int) -> Tensor:
    """The elements `first` .. `first + length - 1` along one axis."""
    bounds = [(0, n, 1) for n in x.shape]
    bounds[axis] = (first, length, 1)
    return strided_slice(x, tuple(bounds))


def pad(x: TensorLike, pad_width: PadWidth, *, value: bool | int | float = 0) -> Tensor:
    """The tensor with a frame of one value.

    Args:
        x: a tensor with n axes.
        pad_width: how many elements to add: `(before, after)` for each axis, one such pair for
            every axis, or one number for both sides of every axis.
        value: what the frame is made of, converted to `x`'s dtype.

    Returns:
        A tensor of `x`'s dtype. Its gradient is what lies inside of the frame.

    Raises:
        ShapeError: a negative width, or not one pair for each axis.

    Example:
        >>> import lazygraph as lg
        >>> lg.pad(lg.asarray([1, 2]), (1, 2), value=7).tolist()
        [7, 1, 2, 7, 7]
    """
    x = as_tensor(x)
    widths = _pairs(pad_width, x.shape)
    shape = tuple(
        before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)
    )
    bounds = tuple((before, n, 1) for n, (before, _) in zip(x.shape, widths, strict=True))
    if shape == x.shape:
        return x
    framed = apply(PLACE, x, params=(shape, bounds))
    if value == 0 and math.copysign(1.0, value) > 0:
        return framed
    inside = apply(PLACE, ones(x.shape, dtype=bool), params=(shape, bounds))
    return where(inside, framed, constant(value, framed))


def _pairs(pad_width: PadWidth, shape: Shape) -> list[tuple[int, int]]:
    try:
        pairs = np.broadcast_to(np.asarray(pad_width), (len(shape), 2))
    except ValueError:
        pairs = np.full((1, 2), -1)
    if pairs.dtype.kind not in "iu" or (pairs < 0).any():
        raise ShapeError(
            f"pad needs (before, after) for each of {len(shape)} axes, neither negative; "
            f"got {pad_width}"
        )
    return [(int(before), int(after)) for before, after in pairs]


def repeat(x: TensorLike, repeats: int, *, axis: int | None = None) -> Tensor:
    """Each element several times in a row.

    Args:
        x: a tensor.
        repeats: how many times.
        axis: the axis along which to repeat; None repeats the elements of the flattened tensor.

    Returns:
        A tensor that is `repeats` times as long along the axis. Gradients of copies add.

    Raises:
        ShapeError: `repeats` is negative.

    Example:
        >>> import lazygraph as lg
        >>> lg.repeat(lg.asarray([1, 2]), 3).tolist()
        [1, 1, 1, 2, 2, 2]
    """
    x = as_tensor(x)
    if axis is None:
        return repeat(reshape(x, (x.size,)), repeats, axis=0)
    at = infer.one_axis(axis, x.ndim)
    if repeats < 0:
        raise ShapeError(f"repeat needs a number of times that is not negative; got {repeats}")
    before, n, after = x.shape[:at], x.shape[at], x.shape[at + 1 :]
    spread = broadcast_to(expand_dims(x, at + 1), (*before, n, repeats, *after))
    return reshape(spread, (*before, n * repeats, *after))


def tile(x: TensorLike, repetitions: Sequence[int]) -> Tensor:
    """The whole tensor several times side by side.

    Args:
        x: a tensor.
        repetitions: how many times along each axis, the last entry for the last axis; entries
            in front of those that `x` has axes for make new axes.

    Returns:
        A tensor of `x`'s dtype. Gradients of copies add.

    Raises:
        ShapeError: a negative number of times.

    Example:
        >>> import lazygraph as lg
        >>> lg.tile(lg.asarray([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x = as_tensor(x)
    rank = max(x.ndim, len(repetitions))
    times = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    lengths = (1,) * (rank - x.ndim) + x.shape
    if any(r < 0 for r in times):
        raise ShapeError(f"tile needs numbers of times that are not negative; got {times}")
    single = reshape(x, [n for length in lengths for n in (1, length)])
    copies = [n for pair in zip(times, lengths, strict=True) for n in pair]
    whole = [r * n for r, n in zip(times, lengths, strict=True)]
    return reshape(broadcast_to(single, copies), whole)


def moveaxis(
    x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """The tensor with some axes in other places, the rest in their order.

    Args:
        x: a tensor.
        source: the axis or axes to move.
        destination: where each of them stands in the result.

    Returns:
        A tensor of the permuted shape; no data moves.

    Raises:
        ShapeError: not as many destinations as sources, or one named twice.

    Example:
        >>> import lazygraph as lg
        >>> lg.moveaxis(lg.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    x = as_tensor(x)
    origins = [infer.one_axis(a, x.ndim, "source") for a in _several(source)]
    targets = [infer.one_axis(a, x.ndim, "destination") for a in _several(destination)]
    if not len(origins) == len(targets) == len(set(origins)) == len(set(targets)):
        raise ShapeError(
            "moveaxis needs as many places as axes, each named once; "
            f"got {source} to {destination}"
        )
    order = [axis for axis in range(x.ndim) if axis not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return permute_dims(x, order)


def _several(axis: int | Sequence[int]) -> Sequence[int]:
    return axis if isinstance(axis, Sequence) else (axis,)


def unstack(x: TensorLike, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of a tensor along an axis, which `stack` puts together again.

    Args:
        x: a tensor with at least one axis.
        axis: the axis to take apart.

    Returns:
        As many tensors as the axis is long, each without that axis.

    Example:
        >>> import lazygraph as lg
        >>> [row.tolist() for row in lg.unstack(lg.asarray([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim)
    shape = x.shape[:at] + x.shape[at + 1 :]
    return tuple(reshape(span(x, at, i, 1), shape) for i in range(x.shape[at]))
