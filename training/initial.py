"""First values of parameters: each a pure function of a generator, or a seed, and a shape."""

import math
from typing import Any, Protocol

import lazygraph as lg
from lazygraph import errors

Source = lg.random.Generator | int
Shape = tuple[int, ...]


class Initializer(Protocol):
    """What gives a parameter its first value."""

    def __call__(self, source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
        """A tensor of that shape and dtype; an integer `source` seeds a new generator."""


def normal(std: float = 1.0) -> Initializer:
    """Draws from the normal distribution of mean 0.

    Args:
        std: the standard deviation.

    Example:
        >>> first, again = normal(0.02)(7, (3, 4)), normal(0.02)(7, (3, 4))
        >>> first.tolist() == again.tolist()
        True
    """

    def draw(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
        return _generator(source).normal(shape, std=std, dtype=dtype)

    return draw


def uniform(bound: float) -> Initializer:
    """Draws spread evenly over [-bound, bound).

    Args:
        bound: the largest magnitude.
    """

    def draw(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
        return _generator(source).uniform(shape, -bound, bound, dtype=dtype)

    return draw


def xavier_uniform(gain: float = 1.0) -> Initializer:
    """Draws that keep the variance of signals and gradients about equal through a linear layer.

        uniform over [-b, b),  b = gain sqrt(6 / (inputs + outputs))

    Args:
        gain: a factor for the activation that follows: 1 for none, 5/3 for tanh.

    Raises:
        ShapeError: when it is called for a shape that is not `(inputs, outputs)`.

    Source: Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010, equation 16.
    """

    def draw(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
        inputs, outputs = _matrix("xavier_uniform", shape)
        return uniform(gain * math.sqrt(6 / (inputs + outputs)))(source, shape, dtype)

    return draw


def kaiming_uniform(gain: float = math.sqrt(2.0)) -> Initializer:
    """Draws that keep the size of signals through a linear layer and its activation.

        uniform over [-b, b),  b = gain sqrt(3 / inputs)

    Args:
        gain: a factor for the activation: sqrt(2) for relu, 1 for none.

    Raises:
        ShapeError: when it is called for a shape that is not `(inputs, outputs)`.

    Source: He et al., "Delving Deep into Rectifiers", ICCV 2015, section 2.2.
    """

    def draw(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
        inputs, _ = _matrix("kaiming_uniform", shape)
        return uniform(gain * math.sqrt(3 / inputs))(source, shape, dtype)

    return draw


def zeros(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
    """Zeros; nothing is drawn."""
    return lg.zeros(shape, dtype=dtype)


def ones(source: Source, shape: Shape, dtype: Any = lg.float32) -> lg.Tensor:
    """Ones; nothing is drawn."""
    return lg.ones(shape, dtype=dtype)


def _generator(source: Source) -> lg.random.Generator:
    return lg.random.Generator(source) if isinstance(source, int) else source


def _matrix(name: str, shape: Shape) -> tuple[int, int]:
    if len(shape) != 2 or not all(shape):
        raise errors.ShapeError(
            f"{name}: the shape must be (inputs, outputs), neither of them 0; got {shape}"
        )
    return shape[0], shape[1]
