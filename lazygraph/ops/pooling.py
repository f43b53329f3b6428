"""Max pooling: the greatest element of each window that slides over images."""

import math
from typing import Any

import numpy as np

from lazygraph.dtypes import as_dtype
from lazygraph.errors import ShapeError
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import sliding
from lazygraph.ops.layout import expand_dims, squeeze
from lazygraph.ops.record import define
from lazygraph.ops.windows import POOL, Extent, pool_params, pool_spec, pool_windows


def max_pool2d(
    x: TensorLike,
    size: Extent,
    *,
    stride: Extent | None = None,
    padding: Extent = 0,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest element of each window; NaN if there is one.

    The gradient goes to the first greatest element of a window, row by row. (`max` shares it;
    here, where ties are mostly zeros that a relu made, one is enough.)

    Args:
        x: images, a tensor of shape `(batch, channels, height, width)`.
        size: of the windows: one integer, or two for height and width.
        stride: from window to window; by default the size, so that they tile the image.
        padding: how far windows reach out over each side, at most half of the size. What lies
            there is never the greatest.
        ceil_mode: whether a last window may reach out further, if it starts before the padding
            behind the image does.

    Returns:
        A tensor of shape `(batch, channels, rows, columns)` and of `x`'s dtype.

    Raises:
        ShapeError: not four axes, or no window fits.
        ValueError: a size or stride below 1, or a padding that is negative or too large.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.reshape(lg.arange(8), (1, 1, 2, 4))
        >>> lg.max_pool2d(x, 2).tolist()
        [[[[5, 7]]]]
    """
    return apply(MAX_POOL2D, x, params=pool_params(size, stride, padding, ceil_mode))


def max_pool1d(
    x: TensorLike,
    size: int,
    *,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest element of each window along the last axis; see `max_pool2d`.

    Args:
        x: a tensor of shape `(batch, channels, length)`.
        size: of the windows.
        stride: from window to window; by default the size.
        padding: how far windows reach out over both ends, at most half of the size.
        ceil_mode: whether a last window may reach out further.

    Returns:
        A tensor of shape `(batch, channels, windows)`.

    Raises:
        ShapeError: not three axes, or no window fits.
        ValueError: a size or stride below 1, or a padding that is negative or too large.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([[[-3.0, -5.0, -2.0, -4.0]]])
        >>> lg.max_pool1d(x, 3, stride=2, padding=1).tolist()
        [[[-3.0, -2.0]]]
    """
    x = as_tensor(x)
    if x.ndim != 3:
        raise ShapeError(
            f"max_pool1d: x must have the shape (batch, channels, length); got {x.shape}"
        )
    y = max_pool2d(
        expand_dims(x, axis=2),
        (1, size),
        stride=(1, size if stride is None else stride),
        padding=(0, padding),
        ceil_mode=ceil_mode,
    )
    return squeeze(y, axis=2)


def _max_pool(x: Any, out: Any, **window: Any) -> None:
    lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    sliding.fold(np.maximum, lowest, x, out, pool_windows(x.shape, **window))


def _position(x: Tensor, y: Tensor, **window: Any) -> Tensor:
    return apply(MAX_POSITION2D, x, y, params=tuple(window.values()))


def _unpool(g: Tensor, position: Tensor, lengths: Shape, **window: Any) -> Tensor:
    return apply(UNPOOL2D, g, position, params=(*window.values(), lengths))


MAX_POOL2D = define(
    "max_pool2d",
    infer=pool_spec,
    evaluate=_max_pool,
    gradient=lambda g, y, x, **window: [
        _unpool(g, _position(x, y, **window), x.shape[2:], **window)
    ],
    kind=Kind.REDUCTION,
    params=POOL,
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3, 4, 6)),), ((2, 2), (2, 2), (0, 0), False)),
        Sample((rng.standard_normal((2, 1, 5, 7)),), ((3, 2), (1, 2), (1, 0), False)),
        Sample((rng.standard_normal((1, 2, 6, 4)),), ((2, 3), (3, 2), (1, 1), True)),
        Sample((rng.standard_normal((1, 2, 6, 4)),), ((3, 2), (3, 2), (1, 0), False)),
        Sample((rng.standard_normal((0, 2, 3, 3)),), ((2, 2), (2, 2), (0, 0), False)),
    ],
)


def _drawn(rng: np.random.Generator, like: Sample) -> tuple[Any, Any, Any]:
    """Images, the greatest elements of their windows, and where those stand."""
    (x,) = like.inputs
    window = MAX_POOL2D.named(like.params)
    shape = pool_spec(Spec(x.shape, as_dtype(x.dtype)), **window).shape
    y, position = np.empty(shape), np.empty(shape, np.uint8)
    _max_pool(x, y, **window)
    sliding.first_maximum(x, y, position, pool_windows(x.shape, **window))
    return x, y, position


def _samples(rng: np.random.Generator) -> list[tuple[Sample, tuple[Any, Any, Any]]]:
    assert MAX_POOL2D.samples is not None
    return [(like, _drawn(rng, like)) for like in MAX_POOL2D.samples(rng)]


# Where the greatest element stands in its window: the row times the width, and the column.
MAX_POSITION2D = define(
    "max_position2d",
    infer=lambda x, y, **window: Spec(
        y.shape, as_dtype(np.min_scalar_type(math.prod(window["size"])))
    ),
    evaluate=lambda x, y, out, **window: sliding.first_maximum(
        x, y, out, pool_windows(x.shape, **window)
    ),
    kind=Kind.REDUCTION,
    params=POOL,
    coerce=Coerce.NONE,
    samples=lambda rng: [Sample((x, y), like.params) for like, (x, y, _) in _samples(rng)],
)

UNPOOL2D: Op = define(
    "unpool2d",
    infer=lambda g, position, lengths, **window: Spec((*g.shape[:2], *lengths), g.dtype),
    evaluate=lambda g, position, out, lengths, **window: sliding.put_back(
        g, position, out, pool_windows(out.shape, **window)
    ),
    gradient=lambda u, y, g, position, lengths, **window: [
        apply(PICK2D, u, position, params=tuple(window.values())),
        None,
    ],
    kind=Kind.MOVE,
    params=(*POOL, "lengths"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal(y.shape), position), (*like.params, x.shape[2:]))
        for like, (x, y, position) in _samples(rng)
    ],
)

PICK2D: Op = define(
    "pick2d",
    infer=lambda x, position, **window: Spec(position.shape, x.dtype),
    evaluate=lambda x, position, out, **window: sliding.pick(
        x, position, out, pool_windows(x.shape, **window)
    ),
    gradient=lambda g, y, x, position, **window: [
        _unpool(g, position, x.shape[2:], **window),
        None,
    ],
    kind=Kind.MOVE,
    params=POOL,
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((x, position), like.params) for like, (x, _, position) in _samples(rng)
    ],
)
