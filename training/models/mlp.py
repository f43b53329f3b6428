"""A multilayer perceptron."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import lazygraph as lg
from lazygraph.extend import TensorLike
from training.layers import Linear
from training.losses import cross_entropy
from training.module import Module


class MLP(Module):
    """Linear layers with an activation between them.

    Args:
        sizes: the length of the last axis before, between and after the layers: at least two.
        activation: a function of one tensor.
        loss: what becomes of outputs and targets, where targets are given.
        seed: the seed of the first values.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: fewer than two sizes, or one below 1.

    Example:
        >>> MLP((784, 32, 10))(lg.zeros((5, 784))).shape
        (5, 10)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Callable[[lg.Tensor], lg.Tensor] = lg.relu,
        loss: Callable[[lg.Tensor, Any], lg.Tensor] = cross_entropy,
        seed: int = 0,
        *,
        dtype: Any = lg.float32,
    ) -> None:
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"an MLP needs two sizes or more, from 1 up; got {tuple(sizes)}")
        generator = lg.random.Generator(seed)
        self.activation = activation
        self.loss = loss
        self.layers = [
            Linear(inputs, outputs, generator=generator, dtype=dtype)
            for inputs, outputs in pairwise(sizes)
        ]

    def forward(self, x: TensorLike, targets: Any = None) -> Any:
        """Outputs, of shape `(..., sizes[-1])`, for `x` of shape `(..., sizes[0])`.

        Args:
            x: the inputs.
            targets: what `loss` takes beside the outputs.

        Returns:
            The outputs; with targets, a pair of outputs and loss.

        Raises:
            ShapeError: another shape of inputs or targets.
        """
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activation(layer(x))
        outputs = last(x)
        return outputs if targets is None else (outputs, self.loss(outputs, targets))
