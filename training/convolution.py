"""Layers for images: convolution, pooling, and the way to a row of numbers."""

import math
from collections.abc import Sequence
from typing import Any

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor, noted
from training import initial
from training.initial import Initializer
from training.layers import Generator
from training.module import Module
from training.operands import title

Extent = int | Sequence[int]


class Conv2d(Module):
    """Products of a weight with each window of some images, summed; see `lg.conv2d`.

    The default first values, for weight and bias alike, are even draws from
    [-1 / sqrt(n), 1 / sqrt(n)), with n = inputs * rows * columns of a window.

    Args:
        inputs: how many channels `x` has.
        outputs: how many channels `y` has.
        size: of the windows: one integer, or two for height and width.
        stride: from window to window: one integer, or two.
        padding: how many zeros stand on each side: one integer, or two.
        bias: whether there is one.
        weight_init: gives `weight`, of shape `(outputs, inputs, rows, columns)`, its first
            value.
        bias_init: gives `bias`, of shape `(outputs,)`, its first value.
        generator: the source of the draws; by default that of `lg.random`.
        dtype: the dtype of the parameters.

    Example:
        >>> Conv2d(3, 8, 3, padding=1)(lg.ones((5, 3, 16, 16))).shape
        (5, 8, 16, 16)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: Extent,
        stride: Extent = 1,
        padding: Extent = 0,
        bias: bool = True,
        *,
        weight_init: Initializer | None = None,
        bias_init: Initializer | None = None,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        rows, columns = (size, size) if isinstance(size, int) else size
        default = initial.uniform(1.0 / math.sqrt(max(inputs * rows * columns, 1)))
        source = lg.random.default_generator() if generator is None else generator
        weight = (weight_init or default)(source, (outputs, inputs, rows, columns), dtype)
        self.weight = lg.Var("weight", weight)
        self.bias = None
        if bias:
            self.bias = lg.Var("bias", (bias_init or default)(source, (outputs,), dtype))
        self.stride = stride
        self.padding = padding

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(batch, inputs, height, width)` to `(batch, outputs, rows, columns)`.

        Raises:
            ShapeError: another shape, or an image smaller than a window.
        """
        x = images(self, x, self.weight.shape[1])
        return lg.conv2d(x, self.weight, self.bias, stride=self.stride, padding=self.padding)


class MaxPool2d(Module):
    """The greatest element of each window; see `lg.max_pool2d`.

    Args:
        size: of the windows: one integer, or two for height and width.
        stride: from window to window; by default the size.
        padding: how far windows reach out over each side, at most half of the size.
        ceil_mode: whether a last window may reach out further.

    Example:
        >>> MaxPool2d(2)(lg.ones((5, 3, 16, 16))).shape
        (5, 3, 8, 8)
    """

    def __init__(
        self,
        size: Extent,
        stride: Extent | None = None,
        padding: Extent = 0,
        ceil_mode: bool = False,
    ) -> None:
        self.size = size
        self.window: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "ceil_mode": ceil_mode,
        }

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(batch, channels, height, width)` to `(batch, channels, rows, columns)`."""
        return lg.max_pool2d(images(self, x), self.size, **self.window)


class AvgPool2d(Module):
    """The mean of each window; see `lg.avg_pool2d`.

    Args:
        size: of the windows: one integer, or two for height and width.
        stride: from window to window; by default the size.
        padding: how many zeros stand on each side, at most half of the size.
        ceil_mode: whether a last window may reach out further.
        count_include_pad: whether the zeros of the padding count as elements.

    Example:
        >>> AvgPool2d(2)(lg.ones((5, 3, 16, 16))).shape
        (5, 3, 8, 8)
    """

    def __init__(
        self,
        size: Extent,
        stride: Extent | None = None,
        padding: Extent = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        self.size = size
        self.window: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad,
        }

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(batch, channels, height, width)` to `(batch, channels, rows, columns)`."""
        return lg.avg_pool2d(images(self, x), self.size, **self.window)


class Flatten(Module):
    """All of an example in one row, in row-major order.

    Example:
        >>> Flatten()(lg.ones((5, 3, 4, 4))).shape
        (5, 48)
    """

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(batch, ...)` to `(batch, n)`; ShapeError for a tensor without axes."""
        x = as_tensor(x)
        if x.ndim == 0:
            message = f"{title(self)}: x must have the shape (batch, ...); got ()"
            raise noted(errors.ShapeError(message), x.node)
        return lg.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def images(layer: Module, x: TensorLike, channels: int | None = None) -> lg.Tensor:
    """`x` as a tensor of images, with as many channels as a layer was made for.

    Args:
        layer: the layer, for the message.
        x: a tensor of shape `(batch, channels, height, width)`.
        channels: how many there must be; None for any number.

    Raises:
        ShapeError: another number of channels or axes.

    Example:
        >>> images(Module(), lg.ones((5, 1, 8, 8)), 3)
        Traceback (most recent call last):
        lazygraph.errors.ShapeError: Module: x must have the shape (batch, 3, height, ...
          float32[5, 1, 8, 8] built at ...
    """
    x = as_tensor(x)
    if x.ndim != 4 or channels not in (None, x.shape[1]):
        wanted = "channels" if channels is None else channels
        message = (
            f"{title(layer)}: x must have the shape (batch, {wanted}, height, width); "
            f"got {x.shape}"
        )
        raise noted(errors.ShapeError(message), x.node)
    return x
