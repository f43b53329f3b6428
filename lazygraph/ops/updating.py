"""`x.at[key].set(values)` and its kin: a tensor with some of its elements changed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_INTEGER, DType
from lazygraph.errors import DTypeError, ShapeError
from lazygraph.graph.leaves import data_node, owned_array
from lazygraph.graph.node import Value
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer, scatter
from lazygraph.ops.arithmetic import add, multiply
from lazygraph.ops.choice import maximum, minimum, where
from lazygraph.ops.comparison import logical_or
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import arange
from lazygraph.ops.gathering import (
    SCATTER_ADD,
    Axes,
    define_scatter,
    gathered,
    lengths_of,
    place_of,
    take,
)
from lazygraph.ops.indexing import Region, cut, index, locate
from lazygraph.ops.joining import concat
from lazygraph.ops.layout import SLICE, Bounds, permute_dims, reshape, strided_slice
from lazygraph.ops.rearranging import flip
from lazygraph.ops.record import define
from lazygraph.ops.sorting import argsort
from lazygraph.ops.spread import broadcast_to, constant


class At:
    """What `x.at` gives: index it to say which elements of `x` are meant."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> "Spot":
        return Spot(self._x, key)


class Spot:
    """What `x.at[key]` gives: elements of `x`, to be read or replaced in a copy.

    Each method returns a new tensor of `x`'s shape and dtype; `x` stays as it is. Values
    broadcast to the shape of `x[key]` and are converted to `x`'s dtype: a floating tensor takes
    integers, an integer tensor takes no floats. Keys and errors are those of `x[key]`.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([5, 7, 8])
        >>> x.at[1:].set(0).tolist(), x.at[[0, 0]].add([1, 2]).tolist()
        ([5, 0, 0], [8, 7, 8])
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tensor, key: Any) -> None:
        self._x, self._key = x, key

    def get(self) -> Tensor:
        """The elements themselves: `x[key]`."""
        return index(self._x, self._key)

    def set(self, values: TensorLike | Sequence[Any]) -> Tensor:
        """The tensor with the elements replaced; of several values for one, the last counts."""
        return self._updated(SCATTER_SET, lambda old, new: new, values)

    def add(self, values: TensorLike | Sequence[Any]) -> Tensor:
        """The tensor with values added; several for one element are added in their order."""
        return self._updated(SCATTER_ADD, add, values)

    def multiply(self, values: TensorLike | Sequence[Any]) -> Tensor:
        """The tensor with elements multiplied; several values for one element all count."""
        return self._updated(SCATTER_MULTIPLY, multiply, values)

    def min(self, values: TensorLike | Sequence[Any]) -> Tensor:
        """The tensor with elements cut down to the values; ties share the gradient evenly."""
        return self._updated(SCATTER_MIN, minimum, values)

    def max(self, values: TensorLike | Sequence[Any]) -> Tensor:
        """The tensor with elements raised to the values; ties share the gradient evenly."""
        return self._updated(SCATTER_MAX, maximum, values)

    def _updated(
        self, op: Op, combine: Callable[[Tensor, Tensor], Tensor], values: Any
    ) -> Tensor:
        x, region = self._x, locate(self._x, self._key)
        old = cut(x, region)
        if region.indices:
            picked = gathered(old, region.indices, region.axes)
            new = reshape(_fitting(values, picked.shape, x.dtype, region.joint), picked.shape)
            inner = apply(op, old, *region.indices, new, params=(region.axes, True))
        else:
            inner = combine(old, _fitting(values, old.shape, x.dtype))
        return _put_back(x, inner, region)


def _put_back(x: Tensor, inner: Tensor, region: Region) -> Tensor:
    """`x` with what lies within the bounds of the region replaced."""
    inner = reshape(inner, tuple([length for _, length, _ in region.bounds]))
    whole = all(bound == (0, n, 1) for bound, n in zip(region.bounds, x.shape, strict=True))
    return inner if whole else apply(WRITE, x, inner, params=(region.bounds,))


def _fitting(values: Any, shape: Shape, dtype: DType, joint: int | None = None) -> Tensor:
    """The values in the dtype and the shape of the elements that they are for."""
    if joint is not None:
        shape = shape[:joint] + shape[joint + 1 :]
    listed = isinstance(values, list | tuple)
    tensor = Tensor(data_node(owned_array(values))) if listed else as_tensor(values, dtype)
    if tensor.dtype.category > dtype.category:
        raise DTypeError(f"the values must fit the tensor's dtype, {dtype}; got {tensor.dtype}")
    if listed:  # anew: by way of float32, the numbers of a list would lose digits
        tensor = Tensor(data_node(owned_array(values, dtype)))
    if infer.broadcast_shapes(shape, tensor.shape) != shape:
        raise ShapeError(
            f"the values must broadcast to the elements picked, {shape}; got {tensor.shape}"
        )
    return broadcast_to(astype(tensor, dtype), shape)


def _write(x: Value, values: Value, out: Value, *, bounds: Bounds) -> None:
    np.copyto(out, x)
    SLICE.evaluate(out, bounds=bounds)[...] = values


def _write_spec(x: Spec, values: Spec, bounds: Bounds) -> Spec:
    region = SLICE.infer(x, bounds=bounds)
    if values != region:
        raise ShapeError(f"the values must be {region}, as their places are; got {values}")
    return x


WRITE: Op = define(
    "write",
    infer=_write_spec,
    evaluate=_write,
    gradient=lambda g, y, x, values, bounds: [
        apply(WRITE, g, constant(0, values), params=(bounds,)),
        strided_slice(g, bounds),
    ],
    kind=Kind.MOVE,
    params=("bounds",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample(
            (rng.standard_normal((5, 4)), rng.standard_normal((2, 4))),
            (((1, 2, 2), (0, 4, 1)),),
        ),
        Sample((rng.standard_normal((5,)), rng.standard_normal((2,))), (((4, 2, -2),),)),
        Sample((rng.standard_normal((5,)), rng.standard_normal((0,))), (((0, 0, 1),),)),
    ],
)


def _set_gradient(
    g: Tensor, y: Tensor, x: Tensor, *rest: Tensor, axes: Axes, wrap: bool
) -> list[Tensor | None]:
    *indices, values = rest
    zeros = constant(0, values)
    stay = apply(SCATTER_SET, g, *indices, zeros, params=(axes, wrap))
    counts = _is_last(x, indices, axes, wrap)
    behind = values.ndim - place_of(axes) - counts.ndim
    counts = reshape(counts, (*counts.shape, *[1] * behind))
    return [
        stay,
        *[None] * len(indices),
        where(counts, gathered(g, indices, axes, wrap), zeros),
    ]


def _is_last(x: Tensor, indices: Sequence[Tensor], axes: Axes, wrap: bool) -> Tensor:
    """Whether no later index names the same place, for each combination of indices."""
    first = tuple(range(len(axes)))
    nobody = broadcast_to(as_tensor(0), lengths_of(x, axes))
    block = gathered(nobody, indices, first, wrap).shape
    number = reshape(arange(int(np.prod(block))), block)
    winner = apply(SCATTER_SET, nobody, *indices, number, params=(first, wrap))
    return gathered(winner, indices, first, wrap) == number


SCATTER_SET = define_scatter("scatter_set", scatter.assign, _set_gradient)


def _multiply_gradient(
    g: Tensor, y: Tensor, x: Tensor, *rest: Tensor, axes: Axes, wrap: bool
) -> list[Tensor | None]:
    *indices, values = rest
    factors = apply(SCATTER_MULTIPLY, constant(1, x), *indices, values, params=(axes, wrap))
    share = gathered(g * x, indices, axes, wrap)
    if values.size:
        share = share * _products_of_rivals(values, _addresses(x, indices, axes), axes)
    return [g * factors, *[None] * len(indices), share]


def _addresses(x: Tensor, indices: Sequence[Tensor], axes: Axes) -> Tensor:
    """One number for each combination of indices; equal ones name the same place."""
    address = as_tensor(0)
    for each, n in zip(indices, lengths_of(x, axes), strict=True):
        i = astype(each, DEFAULT_INTEGER)
        address = address * n + where(i < 0, i + n, i)
    return address


def _products_of_rivals(values: Tensor, address: Tensor, axes: Axes) -> Tensor:
    """For each value, the product of all others that go to the same place.

    Values are sorted by place; then they are multiplied with what is 1, 2, 4, ... rows away.
    Nothing is divided, so zeros do no harm, and rules of the ops used here give every higher
    derivative.
    """
    first, rank = place_of(axes), address.ndim
    block = range(first, first + rank)
    order = (*block, *(axis for axis in range(values.ndim) if axis not in block))
    turned = permute_dims(values, order)
    rows = reshape(turned, (address.size, values.size // address.size))
    address = reshape(address, (address.size,))
    by_place = argsort(address)
    rows, address = take(rows, by_place, axis=0), take(address, by_place)
    after = _products_before(flip(rows, axis=0), flip(address))
    products = _products_before(rows, address) * flip(after, axis=0)
    back = reshape(take(products, argsort(by_place), axis=0), turned.shape)
    return permute_dims(back, sorted(range(values.ndim), key=order.__getitem__))


def _products_before(rows: Tensor, address: Tensor) -> Tensor:
    """For each row, the product of those before it with its address; equal ones touch."""
    count, step = address.size, 1
    same = reshape(address, (count, 1))
    rows = concat([constant(1, rows[:1]), where(same[1:] == same[:-1], rows[:-1], 1.0)])
    while step < count:
        near = where(same[step:] == same[:-step], rows[:-step], constant(1, rows[:-step]))
        rows = concat([rows[:step], rows[step:] * near])
        step *= 2
    return rows


SCATTER_MULTIPLY = define_scatter(
    "scatter_multiply",
    partial(scatter.accumulate, np.multiply),
    _multiply_gradient,
    check=infer.arithmetic,
)


def _extreme_gradient(
    g: Tensor, y: Tensor, x: Tensor, *rest: Tensor, axes: Axes, wrap: bool
) -> list[Tensor | None]:
    *indices, values = rest
    mine = _prevails(x, y)
    theirs = _prevails(values, gathered(y, indices, axes, wrap))
    count = apply(SCATTER_ADD, mine, *indices, theirs, params=(axes, wrap))
    share = g / count
    of_values = gathered(share, indices, axes, wrap) * theirs
    return [share * mine, *[None] * len(indices), of_values]


def _prevails(x: Tensor, y: Tensor) -> Tensor:
    """1 where `x` is the extreme `y`, as NaN always is, else 0."""
    return astype(logical_or(x == y, x != x), x.dtype)


SCATTER_MIN = define_scatter(
    "scatter_min", partial(scatter.accumulate, np.minimum), _extreme_gradient
)
SCATTER_MAX = define_scatter(
    "scatter_max", partial(scatter.accumulate, np.maximum), _extreme_gradient
)
