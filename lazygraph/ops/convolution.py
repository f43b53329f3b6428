"""Convolution: products of a weight with windows that slide over images."""

from typing import Any

import numpy as np

from lazygraph.errors import ShapeError
from lazygraph.graph.blame import noted
from lazygraph.graph.op import Kind, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define
from lazygraph.ops.unrolling import convolve, convolve_to_input, convolve_to_weight
from lazygraph.ops.windows import Extent, Pair, pair, windows_over


def conv2d(
    x: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    *,
    stride: Extent = 1,
    padding: Extent = 0,
) -> Tensor:
    """The products of a weight with each window of some images, summed.

        y[b, o, r, q] = bias[o] + sum of x[b, c, h, w] weight[o, c, i, j]
        over c, i, j  with  h = r stride + i - padding  and alike w; x is 0 outside

    Args:
        x: images, a tensor of shape `(batch, channels, height, width)`.
        weight: a tensor of shape `(outputs, channels, rows, columns)`. It is not turned round:
            strictly, this is a cross-correlation.
        bias: a tensor of shape `(outputs,)`.
        stride: from window to window: one integer, or two for height and width.
        padding: how many zeros stand on each side: one integer, or two.

    Returns:
        A tensor of shape `(batch, outputs, (height + 2 padding - rows) // stride + 1, ...)`.

    Raises:
        ShapeError: shapes that do not fit, or no window does.
        ValueError: a stride below 1, or a negative padding.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.reshape(lg.arange(9, dtype="float32"), (1, 1, 3, 3))
        >>> lg.conv2d(x, lg.ones((1, 1, 2, 2))).tolist()
        [[[[8.0, 12.0], [20.0, 24.0]]]]
    """
    params = (pair("stride", stride, least=1), pair("padding", padding, least=0))
    y = apply(CONV2D, x, weight, params=params)
    if bias is None:
        return y
    bias = as_tensor(bias)
    if bias.shape != y.shape[1:2]:
        message = (
            f"conv2d: the bias must have the shape {y.shape[1:2]}, of the outputs; "
            f"got {bias.shape}"
        )
        raise noted(ShapeError(message), bias.node)
    return y + reshape(bias, (bias.size, 1, 1))


def _conv_spec(x: Spec, weight: Spec, stride: Pair, padding: Pair) -> Spec:
    infer.arithmetic(Spec((), x.dtype))
    if len(x.shape) != 4 or len(weight.shape) != 4:
        raise ShapeError(
            "x must have the shape (batch, channels, height, width) and the weight (outputs, "
            f"channels, rows, columns); got {x.shape} and {weight.shape}"
        )
    if x.shape[1] != weight.shape[1]:
        raise ShapeError(
            f"the channels of x, {x.shape[1]}, must equal those of the weight, "
            f"{weight.shape[1]}; got {x.shape} and {weight.shape}"
        )
    windows = windows_over(x.shape[2:], weight.shape[2:], stride, padding)
    return Spec((x.shape[0], weight.shape[0], *[w.count for w in windows]), x.dtype)


def _conv(x: Any, weight: Any, out: Any, *, stride: Pair, padding: Pair) -> None:
    windows = windows_over(x.shape[2:], weight.shape[2:], stride, padding)
    convolve(x, weight, out, *windows)


def _to_weight(x: Any, g: Any, out: Any, *, stride: Pair, padding: Pair, size: Pair) -> None:
    convolve_to_weight(x, g, out, *windows_over(x.shape[2:], size, stride, padding))


def _to_input(
    g: Any, weight: Any, out: Any, *, stride: Pair, padding: Pair, lengths: Pair
) -> None:
    windows = windows_over(lengths, weight.shape[2:], stride, padding)
    convolve_to_input(g, weight, out, *windows)


def _of_weight(x: Tensor, g: Tensor, stride: Pair, padding: Pair, size: Shape) -> Tensor:
    return apply(CONV2D_WEIGHT, x, g, params=(stride, padding, size))


def _of_input(g: Tensor, weight: Tensor, stride: Pair, padding: Pair, lengths: Shape) -> Tensor:
    return apply(CONV2D_INPUT, g, weight, params=(stride, padding, lengths))


def _drawn(rng: np.random.Generator, *shapes: Shape) -> tuple[np.ndarray[Any, Any], ...]:
    return tuple([rng.standard_normal(shape) for shape in shapes])


# Three operands, of which two make the third: whatever is differentiated, one of the three
# records is the answer.

CONV2D = define(
    "conv2d",
    infer=_conv_spec,
    evaluate=_conv,
    gradient=lambda g, y, x, weight, **where: [
        _of_input(g, weight, **where, lengths=x.shape[2:]),
        _of_weight(x, g, **where, size=weight.shape[2:]),
    ],
    kind=Kind.CONTRACTION,
    params=("stride", "padding"),
    samples=lambda rng: [
        Sample(_drawn(rng, (2, 3, 6, 5), (4, 3, 3, 2)), ((1, 1), (0, 0))),
        Sample(_drawn(rng, (2, 1, 7, 6), (2, 1, 3, 3)), ((2, 3), (1, 2))),
        Sample(_drawn(rng, (3, 2, 4, 4), (2, 2, 1, 1)), ((1, 1), (0, 0))),
        Sample(_drawn(rng, (2, 2, 5, 5), (3, 2, 2, 1)), ((3, 2), (0, 0))),
        Sample(_drawn(rng, (0, 2, 3, 3), (3, 2, 2, 2)), ((1, 1), (0, 0))),
    ],
)

CONV2D_INPUT = define(
    "conv2d_input",
    infer=lambda g, weight, stride, padding, lengths: Spec(
        (g.shape[0], weight.shape[1], *lengths), g.dtype
    ),
    evaluate=_to_input,
    gradient=lambda u, y, g, weight, stride, padding, lengths: [
        apply(CONV2D, u, weight, params=(stride, padding)),
        _of_weight(u, g, stride, padding, weight.shape[2:]),
    ],
    kind=Kind.CONTRACTION,
    params=("stride", "padding", "lengths"),
    samples=lambda rng: [
        Sample(_drawn(rng, (2, 4, 4, 4), (4, 3, 3, 2)), ((1, 1), (0, 0), (6, 5))),
        Sample(_drawn(rng, (2, 2, 4, 3), (2, 1, 3, 3)), ((2, 3), (1, 2), (7, 6))),
    ],
)

CONV2D_WEIGHT = define(
    "conv2d_weight",
    infer=lambda x, g, stride, padding, size: Spec((g.shape[1], x.shape[1], *size), x.dtype),
    evaluate=_to_weight,
    gradient=lambda u, y, x, g, stride, padding, size: [
        _of_input(g, u, stride, padding, x.shape[2:]),
        apply(CONV2D, x, u, params=(stride, padding)),
    ],
    kind=Kind.CONTRACTION,
    params=("stride", "padding", "size"),
    samples=lambda rng: [
        Sample(_drawn(rng, (2, 3, 6, 5), (2, 4, 4, 4)), ((1, 1), (0, 0), (3, 2))),
        Sample(_drawn(rng, (2, 1, 7, 6), (2, 2, 4, 3)), ((2, 3), (1, 2), (3, 3))),
    ],
)
