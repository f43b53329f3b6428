"""A convolutional network for small images."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import lazygraph as lg
from lazygraph.extend import TensorLike
from training.convolution import Conv2d, Flatten, MaxPool2d
from training.layers import Linear
from training.losses import cross_entropy
from training.module import Module


class ConvNet(Module):
    """Convolutions, a pooling and two linear layers, each but the last with an activation.

    Windows of convolutions stay inside of the image, so each makes it `kernel - 1` smaller.

    Args:
        channels: of the images.
        size: height and width of the images: one integer, or two.
        classes: how many scores there are.
        widths: how many channels each convolution gives.
        hidden: the length of the row between the linear layers.
        kernel: height and width of the windows of convolutions.
        pool: height, width and stride of the windows of pooling.
        activation: a function of one tensor.
        loss: what becomes of scores and targets, where targets are given.
        seed: the seed of the first values.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: a number below 1, or images that are too small.

    Source: the network of PyTorch's MNIST example, without dropout.

    Example:
        >>> ConvNet(widths=(4, 8), hidden=16)(lg.zeros((5, 1, 28, 28))).shape
        (5, 10)
    """

    def __init__(
        self,
        channels: int = 1,
        size: int | Sequence[int] = 28,
        classes: int = 10,
        widths: Sequence[int] = (32, 64),
        hidden: int = 128,
        kernel: int = 3,
        pool: int = 2,
        activation: Callable[[lg.Tensor], lg.Tensor] = lg.relu,
        loss: Callable[[lg.Tensor, Any], lg.Tensor] = cross_entropy,
        seed: int = 0,
        *,
        dtype: Any = lg.float32,
    ) -> None:
        height, width = (size, size) if isinstance(size, int) else size
        numbers = (channels, height, width, classes, *widths, hidden, kernel, pool)
        if min(numbers) < 1:
            raise ValueError(f"each number of a ConvNet must be at least 1; got {min(numbers)}")
        rows, columns = (
            (length - len(widths) * (kernel - 1)) // pool for length in (height, width)
        )
        if rows < 1 or columns < 1:
            raise ValueError(
                f"the images of a ConvNet must be large enough for {len(widths)} windows of "
                f"{kernel} and one of {pool}; got {(height, width)}"
            )
        made: dict[str, Any] = {"generator": lg.random.Generator(seed), "dtype": dtype}
        self.convolutions = [
            Conv2d(inputs, outputs, kernel, **made)
            for inputs, outputs in pairwise((channels, *widths))
        ]
        self.pool = MaxPool2d(pool)
        self.flatten = Flatten()
        last = (channels, *widths)[-1]
        self.hidden = Linear(last * rows * columns, hidden, **made)
        self.output = Linear(hidden, classes, **made)
        self.activation = activation
        self.loss = loss

    def forward(self, x: TensorLike, targets: Any = None) -> Any:
        """Scores, of shape `(batch, classes)`, for images `(batch, channels, height, width)`.

        Args:
            x: the images.
            targets: what `loss` takes beside the scores.

        Returns:
            The scores; with targets, a pair of scores and loss.

        Raises:
            ShapeError: another shape of images or targets.
        """
        for convolution in self.convolutions:
            x = self.activation(convolution(x))
        row = self.flatten(self.pool(x))
        scores = self.output(self.activation(self.hidden(row)))
        return scores if targets is None else (scores, self.loss(scores, targets))
