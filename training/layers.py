"""Layers: linear, embedding, layer norm, dropout, and several in a row."""

import math
from collections.abc import Callable
from typing import Any

import lazygraph as lg
from lazygraph.extend import TensorLike, as_tensor
from training import initial
from training.initial import Initializer
from training.module import Module
from training.operands import as_counts, rows, title

Generator = lg.random.Generator


class Linear(Module):
    """An affine map of the last axis.

        y = x weight + bias

    The default first values, for weight and bias alike, are even draws from
    [-1 / sqrt(inputs), 1 / sqrt(inputs)).

    Args:
        inputs: the length of the last axis of `x`.
        outputs: the length of the last axis of `y`.
        bias: whether there is one.
        weight_init: gives `weight`, of shape `(inputs, outputs)`, its first value.
        bias_init: gives `bias`, of shape `(outputs,)`, its first value.
        generator: the source of the draws; by default that of `lg.random`.
        dtype: the dtype of the parameters.

    Example:
        >>> Linear(3, 2)(lg.ones((5, 3))).shape
        (5, 2)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bias: bool = True,
        *,
        weight_init: Initializer | None = None,
        bias_init: Initializer | None = None,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        default = initial.uniform(1.0 / math.sqrt(max(inputs, 1)))
        source = _given(generator)
        weight = (weight_init or default)(source, (inputs, outputs), dtype)
        self.weight = lg.Var("weight", weight)
        self.bias = None
        if bias:
            self.bias = lg.Var("bias", (bias_init or default)(source, (outputs,), dtype))

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `x` of shape `(..., inputs)` to `(..., outputs)`; ShapeError for another one."""
        y = rows(self, x, self.weight.shape[0]) @ self.weight
        return y if self.bias is None else y + self.bias


class Embedding(Module):
    """A table with a row of numbers for each token.

    Args:
        count: how many tokens there are.
        width: the length of a row.
        weight_init: gives `weight`, of shape `(count, width)`, its first value; by default
            draws from the normal distribution of mean 0 and variance 1.
        generator: the source of the draws; by default that of `lg.random`.
        dtype: the dtype of the table.

    Example:
        >>> Embedding(10, 4)([[1, 2, 3]]).shape
        (1, 3, 4)
    """

    def __init__(
        self,
        count: int,
        width: int,
        *,
        weight_init: Initializer | None = None,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        table = (weight_init or initial.normal())(_given(generator), (count, width), dtype)
        self.weight = lg.Var("weight", table)

    def forward(self, tokens: Any) -> lg.Tensor:
        """From integers of shape `s` to rows, of shape `(*s, width)`.

        Raises:
            DTypeError: not integers.
            BoundsError: at realization, a token outside of [0, count).
        """
        counts = as_counts(tokens, f"{title(self)}: tokens")
        return lg.take(self.weight, counts, axis=0, wrap=False)


class LayerNorm(Module):
    """Rows brought to mean 0 and variance 1, then scaled by `weight` and shifted by `bias`.

    Args:
        width: the length of a row, the last axis.
        bias: whether there is one; it begins with zeros, `weight` with ones.
        eps: added to the variance.
        dtype: the dtype of the parameters.

    Source: Ba, Kiros & Hinton, "Layer Normalization", 2016.

    Example:
        >>> LayerNorm(2)(lg.asarray([[3.0, 5.0]])).numpy().round(3).tolist()
        [[-1.0, 1.0]]
    """

    def __init__(
        self, width: int, bias: bool = True, eps: float = 1e-5, *, dtype: Any = lg.float32
    ) -> None:
        self.weight = lg.Var("weight", lg.ones((width,), dtype=dtype))
        self.bias = lg.Var("bias", lg.zeros((width,), dtype=dtype)) if bias else None
        self.eps = eps

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `x` of shape `(..., width)` to the same; ShapeError for another one."""
        x = rows(self, x, self.weight.shape[0])
        return lg.layer_norm(x, self.weight, self.bias, eps=self.eps)


class Dropout(Module):
    """In training, elements set to 0 at random, and the others scaled so that the mean stays.

        y = x / (1 - p) where kept, 0 elsewhere;  y = x after `eval()`

    Each call draws a mask of its own; after `eval()`, or with p = 0, nothing is drawn.

    Args:
        p: the probability of an element to be set to 0.
        generator: the source of the masks; by default that of `lg.random`.

    Raises:
        ValueError: p is not in [0, 1].

    Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", JMLR 15, 2014; scaled in training rather than in use.

    Example:
        >>> Dropout(0.5).eval()(lg.ones((3,))).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float, generator: Generator | None = None) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"the probability of dropout must be in [0, 1]; got {p}")
        self.p = p
        self.generator = generator

    def forward(self, x: TensorLike) -> lg.Tensor:
        """`x` with dropout, of the same shape."""
        x = as_tensor(x)
        if not self.training or self.p == 0.0:
            return x
        keep = _given(self.generator).bernoulli(1.0 - self.p, x.shape)
        scale = 1.0 / (1.0 - self.p) if self.p < 1.0 else 0.0
        return lg.where(keep, x * scale, lg.zeros_like(x))


class Sequential(Module):
    """Layers, each applied to the result of the one before.

    Args:
        *layers: modules, and functions of one tensor such as `lg.relu`.

    Example:
        >>> Sequential(Linear(3, 4), lg.relu, Linear(4, 2))(lg.ones((5, 3))).shape
        (5, 2)
    """

    def __init__(self, *layers: Callable[[Any], Any]) -> None:
        self.layers = layers

    def forward(self, x: Any) -> Any:
        """The result of the last layer; `x` itself if there is none."""
        for layer in self.layers:
            x = layer(x)
        return x


def _given(generator: Generator | None) -> Generator:
    return lg.random.default_generator() if generator is None else generator
