"""Points at equal distances, on a line and on grids of several axes."""

from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, DType, as_dtype
from lazygraph.errors import DTypeError, ShapeError
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define
from lazygraph.ops.spread import broadcast_to


def linspace(
    start: int | float,
    stop: int | float,
    /,
    num: int,
    *,
    dtype: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """A given number of points at equal distances on a line.

        start + i (stop - start) / (num - 1)      (num instead of num - 1 without endpoint)

    Args:
        start: the first point.
        stop: the last point.
        num: how many.
        dtype: a floating dtype, float32 by default; points are computed in float64.
        endpoint: whether the last point is `stop`, exactly; otherwise it is the one before.

    Raises:
        ShapeError: `num` is negative.
        DTypeError: not a floating dtype.

    Example:
        >>> import lazygraph as lg
        >>> lg.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    wanted = DEFAULT_FLOAT if dtype is None else as_dtype(dtype)
    if not wanted.is_floating:
        raise DTypeError(f"linspace needs a floating dtype; got {wanted}")
    if num < 0:
        raise ShapeError(f"linspace needs a number of points from 0 up; got {num}")
    return apply(LINSPACE, params=(start, stop, num, wanted, endpoint))


def _linspace(
    out: Any, *, start: float, stop: float, num: int, dtype: DType, endpoint: bool
) -> None:
    np.copyto(out, np.linspace(start, stop, num, endpoint=endpoint), casting="same_kind")


LINSPACE = define(
    "linspace",
    infer=lambda start, stop, num, dtype, endpoint: Spec((num,), dtype),
    evaluate=_linspace,
    kind=Kind.CREATION,
    params=("start", "stop", "num", "dtype", "endpoint"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((), (0, 1, 5, DEFAULT_FLOAT, True)),
        Sample((), (2.0, -3.5, 4, DEFAULT_FLOAT, False)),
        Sample((), (1, 2, 0, DEFAULT_FLOAT, True)),
    ],
)


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """The tensors stretched to their common shape.

    Args:
        arrays: tensors whose shapes broadcast against each other.

    Returns:
        A list of tensors of that shape, each of its own dtype; no data moves.

    Raises:
        ShapeError: the shapes do not broadcast.

    Example:
        >>> import lazygraph as lg
        >>> [
        ...     x.tolist()
        ...     for x in lg.broadcast_arrays(lg.asarray([1, 2]), lg.asarray([[3], [4]]))
        ... ]
        [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    tensors = [as_tensor(x) for x in arrays]
    shape: tuple[int, ...] = ()
    for x in tensors:
        shape = infer.broadcast_shapes(shape, x.shape)
    return [broadcast_to(x, shape) for x in tensors]


def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of the points of a grid, one tensor for each axis of the grid.

    Args:
        arrays: the coordinates along each axis: tensors of shape `(n,)`, or numbers.
        indexing: "ij" for results of shape `(n_0, n_1, ...)`; "xy" for the first two axes
            exchanged, as a picture has them.

    Returns:
        A list of tensors of one shape; no data moves.

    Raises:
        ShapeError: a tensor with more than one axis.
        ValueError: another indexing.

    Example:
        >>> import lazygraph as lg
        >>> x, y = lg.meshgrid(lg.arange(3), lg.arange(2))
        >>> x.tolist(), y.tolist()
        ([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij'; got {indexing!r}")
    tensors = [as_tensor(x) for x in arrays]
    if any(x.ndim > 1 for x in tensors):
        shapes = " and ".join(str(x.shape) for x in tensors)
        raise ShapeError(f"meshgrid needs tensors with one axis; got {shapes}")
    places = list(range(len(tensors)))
    if indexing == "xy":
        places[:2] = reversed(places[:2])
    columns = []
    for x, place in zip(tensors, places, strict=True):
        shape = [1] * len(tensors)
        shape[place] = x.size
        columns.append(reshape(x, shape))
    return broadcast_arrays(*columns)
