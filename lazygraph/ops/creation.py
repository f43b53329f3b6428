"""Tensors from data, from one value, or from a rule."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, DEFAULT_INTEGER, DType, as_dtype, scalar_dtype
from lazygraph.errors import ShapeError
from lazygraph.graph.leaves import data_node, owned_array, scalar_node
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops.choice import where
from lazygraph.ops.conversion import astype
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define
from lazygraph.ops.spread import broadcast_to, constant

ShapeLike = int | Sequence[int]


def asarray(obj: Any, /, *, dtype: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of given data.

    Args:
        obj: a NumPy array or scalar, nested lists, a number, a Tensor or a Var.
        dtype: the dtype; by default that of the data, float32 for Python floats, int64 for
            ints.
        copy: data is copied, so that later changes of `obj` do not show. False takes the memory
            as it is, for arrays that the caller promises never to change.

    Returns:
        A tensor that holds the data already.

    Raises:
        DTypeError: not numbers or booleans.
        ShapeError: ragged lists.

    Example:
        >>> asarray([1.0, 2.5])
        Tensor(float32[2] = [1.  2.5])
    """
    if isinstance(obj, Tensor) or hasattr(type(obj), "tensor"):
        tensor = as_tensor(obj)
        return tensor if dtype is None else astype(tensor, dtype)
    wanted = None if dtype is None else as_dtype(dtype)
    return Tensor(data_node(owned_array(obj, wanted, copy)))


def as_shape(shape: ShapeLike) -> tuple[int, ...]:
    """What people write for a shape, as a tuple."""
    wanted = (
        (shape,) if isinstance(shape, int | np.integer) else tuple(n.__index__() for n in shape)
    )
    if any(n < 0 for n in wanted):
        raise ShapeError(f"a shape must have no negative length; got {wanted}")
    return wanted


def full(
    shape: ShapeLike, fill_value: bool | int | float, *, dtype: DType | str | None = None
) -> Tensor:
    """A tensor with one value everywhere.

    Args:
        shape: the shape.
        fill_value: the value.
        dtype: the dtype; by default bool, int64 or float32, after the value.

    Example:
        >>> full((2,), 7).tolist()
        [7, 7]
    """
    wanted = scalar_dtype(fill_value, None) if dtype is None else as_dtype(dtype)
    lengths = as_shape(shape)
    one = scalar_node(fill_value, wanted)
    # A number that somebody holds may be asked for in a gradient map: no slot for a constant.
    return broadcast_to(Tensor(one), lengths) if lengths else asarray(one.value)


def zeros(shape: ShapeLike, *, dtype: Any = DEFAULT_FLOAT) -> Tensor:
    """A tensor of zeros, float32 by default."""
    return full(shape, 0, dtype=as_dtype(dtype))


def ones(shape: ShapeLike, *, dtype: Any = DEFAULT_FLOAT) -> Tensor:
    """A tensor of ones, float32 by default."""
    return full(shape, 1, dtype=as_dtype(dtype))


def full_like(x: TensorLike, fill_value: bool | int | float) -> Tensor:
    """A tensor of `x`'s shape and dtype with one value everywhere."""
    like = as_tensor(x)
    return full(like.shape, fill_value, dtype=like.dtype)


def zeros_like(x: TensorLike) -> Tensor:
    """A tensor of zeros, of `x`'s shape and dtype."""
    return full_like(x, 0)


def ones_like(x: TensorLike) -> Tensor:
    """A tensor of ones, of `x`'s shape and dtype."""
    return full_like(x, 1)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: Any = None,
) -> Tensor:
    """Numbers at equal distances: `start + i step`, up to but not including `stop`.

    Args:
        start: the first number; with one argument, that is `stop` and `start` is 0.
        stop: where to end.
        step: the distance, not 0.
        dtype: the dtype; by default int64 if all arguments are integers, else float32.

    Example:
        >>> arange(3).tolist()
        [0, 1, 2]
    """
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError("the step of arange must not be 0; got 0")
    whole = all(isinstance(x, int) for x in (first, last, step))
    default = DEFAULT_INTEGER if whole else DEFAULT_FLOAT
    wanted = default if dtype is None else as_dtype(dtype)
    length = max(0, math.ceil((last - first) / step))
    return apply(ARANGE, params=(first, step, length, wanted))


def _arange(out: Any, *, start: float, step: float, length: int, dtype: DType) -> None:
    places = np.arange(length)
    if dtype.is_floating or start != int(start) or step != int(step):
        np.copyto(out, float(start) + float(step) * places, casting="unsafe")
        return
    # Modulo 2^64, exact for every integer: 2 and 2.0, which are one parameter, agree.
    first, distance = (np.uint64(int(x) % 2**64) for x in (start, step))
    np.copyto(out, first + distance * places.astype(np.uint64), casting="unsafe")


ARANGE = define(
    "arange",
    infer=lambda start, step, length, dtype: Spec((length,), dtype),
    evaluate=_arange,
    kind=Kind.CREATION,
    params=("start", "step", "length", "dtype"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((), (2, 3, 4, DEFAULT_INTEGER)),
        Sample((), (0.5, -0.25, 3, DEFAULT_FLOAT)),
        Sample((), (0, 1, 0, DEFAULT_FLOAT)),
    ],
)


def eye(rows: int, columns: int | None = None, /, *, k: int = 0, dtype: Any = None) -> Tensor:
    """1 on the k-th diagonal, 0 elsewhere; float32 by default."""
    width = rows if columns is None else columns
    diagonal = reshape(arange(k, rows + k), (rows, 1)) == arange(width)
    return astype(diagonal, DEFAULT_FLOAT if dtype is None else dtype)


def tril(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """The elements on and below the k-th diagonal of the last two axes, 0 above."""
    x = as_tensor(x)
    return where(_at_or_below(x, k), x, constant(0, x))


def triu(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """The elements on and above the k-th diagonal of the last two axes, 0 below."""
    x = as_tensor(x)
    return where(_at_or_below(x, k - 1), constant(0, x), x)


def _at_or_below(x: Tensor, k: int) -> Tensor:
    if x.ndim < 2:
        raise ShapeError(f"a triangle needs at least two axes; got {x.shape}")
    rows, columns = x.shape[-2:]
    return reshape(arange(k, rows + k), (rows, 1)) >= arange(columns)
