"""Average pooling: the mean of each window that slides over images."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import sliding
from lazygraph.ops.creation import asarray
from lazygraph.ops.record import define
from lazygraph.ops.windows import (
    POOL,
    Extent,
    pool_params,
    pool_spec,
    pool_windows,
    windows_over,
)


def avg_pool2d(
    x: TensorLike,
    size: Extent,
    *,
    stride: Extent | None = None,
    padding: Extent = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window.

    Args:
        x: images, a tensor of shape `(batch, channels, height, width)`; integers become
            float32.
        size: of the windows: one integer, or two for height and width.
        stride: from window to window; by default the size, so that they tile the image.
        padding: how many zeros stand on each side, at most half of the size.
        ceil_mode: whether a last window may reach out further, if it starts before the padding
            behind the image does. What it has beyond the padding does not count.
        count_include_pad: whether the zeros of the padding count as elements.

    Returns:
        A tensor of shape `(batch, channels, rows, columns)`.

    Raises:
        ShapeError: not four axes, or no window fits.
        ValueError: a size or stride below 1, or a padding that is negative or too large.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.reshape(lg.arange(8), (1, 1, 2, 4))
        >>> lg.avg_pool2d(x, 2).tolist()
        [[[[2.5, 4.5]]]]
    """
    x = as_tensor(x)
    params = pool_params(size, stride, padding, ceil_mode)
    total = apply(SUM_POOL2D, x, params=params)
    down, across = (
        windows.extents(count_include_pad) for windows in windows_over(x.shape[2:], *params)
    )
    counts = np.outer(down, across)
    same = bool((counts == counts[0, 0]).all())
    divisor: Any = counts[0, 0].item() if same else asarray(counts, dtype=total.dtype)
    return total / divisor  # type: ignore[no-any-return]


def _sum_pool(x: Any, out: Any, **window: Any) -> None:
    sliding.fold(np.add, 0, x, out, pool_windows(x.shape, **window))


SUM_POOL2D: Op = define(
    "sum_pool2d",
    infer=pool_spec,
    evaluate=_sum_pool,
    gradient=lambda g, y, x, **window: [
        apply(SPREAD2D, g, params=(*window.values(), x.shape[2:]))
    ],
    kind=Kind.REDUCTION,
    params=POOL,
    coerce=Coerce.FLOAT,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3, 4, 6)),), ((2, 2), (2, 2), (0, 0), False)),
        Sample((rng.standard_normal((2, 1, 5, 7)),), ((3, 2), (1, 2), (1, 0), False)),
        Sample((rng.standard_normal((1, 2, 6, 4)),), ((2, 3), (3, 2), (1, 1), True)),
        Sample((rng.standard_normal((0, 2, 3, 3)),), ((2, 2), (2, 2), (0, 0), False)),
    ],
)

SPREAD2D: Op = define(
    "spread2d",
    infer=lambda g, lengths, **window: Spec((*g.shape[:2], *lengths), g.dtype),
    evaluate=lambda g, out, lengths, **window: sliding.spread(
        g, out, pool_windows(out.shape, **window)
    ),
    gradient=lambda u, y, g, lengths, **window: [
        apply(SUM_POOL2D, u, params=tuple(window.values()))
    ],
    kind=Kind.MOVE,
    params=(*POOL, "lengths"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3, 2, 3)),), ((2, 2), (2, 2), (0, 0), False, (4, 6))),
        Sample((rng.standard_normal((2, 1, 5, 3)),), ((3, 2), (1, 2), (1, 0), False, (5, 7))),
        Sample((rng.standard_normal((1, 2, 3, 3)),), ((2, 3), (3, 2), (1, 1), True, (6, 4))),
    ],
)
