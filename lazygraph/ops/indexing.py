"""`x[key]`: what a key of NumPy's forms points at."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazygraph.dtypes import BOOL, DEFAULT_INTEGER
from lazygraph.errors import BoundsError
from lazygraph.graph.blame import noted
from lazygraph.graph.leaves import data_node, owned_array, scalar_node
from lazygraph.graph.node import Value
from lazygraph.graph.spec import Shape
from lazygraph.graph.tensor import Tensor, as_tensor
from lazygraph.ops import scatter
from lazygraph.ops.gathering import check_integers, gathered, within_bounds
from lazygraph.ops.layout import Bounds, reshape, strided_slice

# A key taken apart: an integer, a slice, `None`, `...`, an array that is known, or a tensor.
Part = Any


class Region(NamedTuple):
    """The elements that a key points at: of a strided slice, reshaped, those that arrays name.

    Attributes:
        bounds: first index, length and step of the slice, for each axis of the tensor.
        shape: of the slice, without the axes of integers and with those of `None`.
        axes: which of these axes arrays point into; integers too, if there are arrays.
        indices: the array for each of them.
        joint: the axis of the result, of length 1, that has to be dropped, or None. It stems
            from a `...` without axes between arrays, which still keeps them apart.
    """

    bounds: Bounds
    shape: Shape
    axes: tuple[int, ...]
    indices: tuple[Tensor, ...]
    joint: int | None


def index(x: Tensor, key: Any) -> Tensor:
    """`x[key]`, by the rules of NumPy.

    A key is one of these, or a tuple of them: an integer, a slice, `...`, `None`, an array of
    integers, an array of booleans. Arrays broadcast against each other, and integers beside
    them. Their common axes take the place of theirs if these follow one another, else they come
    first. An array of booleans with n axes stands for n arrays of integers, the places where it
    is true; its value is asked for at once, since the shape of the result depends on it.

    Args:
        x: a tensor.
        key: what to pick.

    Raises:
        BoundsError: too many indices, an index that is known and outside of its axis, or an
            array of booleans of another shape. An index that has to be computed is checked at
            realization.
        RealizationError: inside `no_realize`, an array of booleans that is not known.
        TypeError: a key of another kind, a boolean by itself among them.
    """
    return read(x, locate(x, key))


def read(x: Tensor, region: Region) -> Tensor:
    """The elements of a region."""
    y = cut(x, region)
    if region.indices:
        y = gathered(y, region.indices, region.axes)
    if region.joint is not None:
        y = reshape(y, y.shape[: region.joint] + y.shape[region.joint + 1 :])
    return y


def cut(x: Tensor, region: Region) -> Tensor:
    """What lies within the bounds of a region, before arrays pick from it."""
    return reshape(strided_slice(x, region.bounds), region.shape)


def locate(x: Tensor, key: Any) -> Region:
    """What the key points at; errors are those of `index`."""
    try:
        return _region(x.shape, key)
    except BoundsError as error:
        noted(error, x.node)
        raise


def _region(shape: Shape, key: Any) -> Region:
    keys = key if type(key) is tuple else (key,)
    parts = _for_each_axis([_part(k) for k in keys], shape)
    if any(isinstance(part, Tensor) for part in parts):
        parts = [_as_array(part) if isinstance(part, int) else part for part in parts]
    else:
        parts = [part for part in parts if part is not Ellipsis]
    bounds: list[tuple[int, int, int]] = []
    lengths: list[int] = []
    arrays: dict[int, Tensor] = {}
    joint = None
    for part in parts:
        if part is None:
            lengths.append(1)
        elif part is Ellipsis:
            joint = len(lengths)
            lengths.append(1)
        elif isinstance(part, int):
            bounds.append((part, 1, 1))
        elif isinstance(part, slice):
            bounds.append(_span(part, shape[len(bounds)]))
            lengths.append(bounds[-1][1])
        else:
            arrays[len(lengths)] = part
            lengths.append(shape[len(bounds)])
            bounds.append((0, lengths[-1], 1))
    if joint is not None:  # kept apart, the arrays have their axes in front
        rank = max(indices.ndim for indices in arrays.values())
        joint += rank - len([axis for axis in arrays if axis < joint])
    return Region(tuple(bounds), tuple(lengths), tuple(arrays), tuple(arrays.values()), joint)


def _span(part: slice, n: int) -> tuple[int, int, int]:
    first, stop, step = part.indices(n)
    length = len(range(first, stop, step))
    return (first, length, step) if length else (0, 0, 1)


def _as_array(i: int) -> Tensor:
    """A slot of the plan, which serves any integer."""
    return Tensor(scalar_node(i, DEFAULT_INTEGER))


def _part(key: Any) -> Part:
    """The key as an integer, a slice, `None`, `...`, an array that is known, or a tensor."""
    if type(key) is int or key is None or key is Ellipsis or isinstance(key, slice):
        return key
    if isinstance(key, list | tuple):
        array = owned_array(key)
        key = array if array.size else array.astype(np.int64)
    known = isinstance(key, np.ndarray | np.generic | int)
    if not known and not hasattr(type(key), "dtype"):
        return _integer(key)
    indices = as_tensor(key)
    if indices.dtype.category == BOOL:
        if indices.ndim == 0:
            raise TypeError(f"a boolean must not be an index by itself; got {key!r}")
        return indices.numpy()
    check_integers(indices.node.spec)
    if not known:
        return indices
    return int(indices.item()) if indices.ndim == 0 else indices.numpy()


def _integer(key: Any) -> int:
    try:
        return operator.index(key)
    except TypeError:
        raise TypeError(
            "an index must be an integer, a slice, None, ..., or an array of integers or "
            f"booleans; got {key!r}"
        ) from None


def _for_each_axis(parts: Sequence[Part], shape: Shape) -> list[Part]:
    """One integer, slice or tensor for each axis; `None`; a `...` that keeps arrays apart."""
    used = sum(_rank(part) for part in parts)
    if used > len(shape):
        raise BoundsError(f"a tensor of shape {shape} takes {len(shape)} indices; got {used}")
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise BoundsError(f"an index may contain one ellipsis; got {len(dots)}")
    at = dots[0] if dots else len(parts)
    before, behind = parts[:at], parts[at + 1 :]
    whole: list[Part] = [slice(None)] * (len(shape) - used)
    if not whole and any(map(_points, before)) and any(map(_points, behind)):
        whole = [Ellipsis]
    return list(_checked((*before, *whole, *behind), shape))


def _rank(part: Part) -> int:
    """How many axes a part stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1


def _points(part: Part) -> bool:
    return not (part is None or isinstance(part, slice))


def _checked(parts: Sequence[Part], shape: Shape) -> Iterator[Part]:
    """The parts with integers counted from the front, and known arrays as tensors."""
    axis = 0
    for part in parts:
        if isinstance(part, int):
            n = shape[axis]
            if not -n <= part < n:
                raise BoundsError(
                    f"index {part} is out of bounds for axis {axis} with size {n}"
                )
            yield part % n
        elif isinstance(part, np.ndarray):
            yield from _known(part, axis, shape)
        else:
            yield part
        axis += _rank(part)


def _known(array: Value, axis: int, shape: Shape) -> Iterator[Tensor]:
    if array.dtype == bool:
        lengths = shape[axis : axis + array.ndim]
        if array.shape != lengths:
            raise BoundsError(
                f"an array of booleans must have the shape of its axes, {lengths}; "
                f"got {array.shape}"
            )
        yield from (Tensor(data_node(places)) for places in np.nonzero(array))
    else:
        within_bounds(scatter.check_bounds)(array, axis, shape[axis])
        yield Tensor(data_node(array))
