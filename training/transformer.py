"""The layers of a transformer: attention, feed-forward, and the block of both."""

import math
from typing import Any

import lazygraph as lg
from lazygraph.extend import TensorLike
from training import initial
from training.initial import Initializer
from training.layers import Dropout, Generator, LayerNorm, Linear
from training.module import Module
from training.operands import rows

SMALL: Initializer = initial.normal(0.02)


class CausalSelfAttention(Module):
    """Heads in which each position of a sequence looks at itself and those before it.

    Weights begin with normal draws of standard deviation 0.02, biases with zeros.

    Args:
        width: the length of the last axis, of input and output.
        heads: how many heads share the width evenly.
        dropout: the probability of dropout, for the attention weights and for the result.
        bias: whether the linear layers have one.
        projection_init: gives the weight of the last linear layer its first value.
        generator: the source of draws; by default that of `lg.random`.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: heads do not divide the width.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.2.

    Example:
        >>> CausalSelfAttention(8, heads=2)(lg.ones((3, 5, 8))).shape
        (3, 5, 8)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        projection_init: Initializer = SMALL,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        if heads < 1 or width % heads:
            raise ValueError(
                f"the heads of attention must divide its width; got {heads} and {width}"
            )
        made: dict[str, Any] = {
            "bias_init": initial.zeros,
            "generator": generator,
            "dtype": dtype,
        }
        self.heads = heads
        self.qkv = Linear(width, 3 * width, bias, weight_init=SMALL, **made)
        self.projection = Linear(width, width, bias, weight_init=projection_init, **made)
        self.attention_dropout = Dropout(dropout, generator)
        self.dropout = Dropout(dropout, generator)

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(..., time, width)` to the same shape.

        Raises:
            ShapeError: another width, or fewer than two axes.
        """
        x = rows(self, x, self.projection.weight.shape[0], "time")
        *leading, time, width = x.shape
        qkv = lg.reshape(self.qkv(x), (*leading, time, 3, self.heads, width // self.heads))
        n = len(leading)
        # (3, ..., heads, time, width of a head)
        query, key, value = lg.permute_dims(qkv, (n + 1, *range(n), n + 2, n, n + 3))
        y = self._attend(query, key, value)
        y = lg.reshape(lg.permute_dims(y, (*range(n), n + 1, n, n + 2)), x.shape)
        return self.dropout(self.projection(y))  # type: ignore[no-any-return]

    def _attend(self, query: lg.Tensor, key: lg.Tensor, value: lg.Tensor) -> lg.Tensor:
        if not self.training or self.attention_dropout.p == 0.0:
            return lg.attention(query, key, value, causal=True)
        time, width = query.shape[-2:]
        scores = query * (1.0 / math.sqrt(width)) @ key.mT
        visible = lg.expand_dims(lg.arange(time), axis=1) >= lg.arange(time)
        weights = lg.softmax(lg.where(visible, scores, -math.inf), axis=-1)
        return self.attention_dropout(weights) @ value  # type: ignore[no-any-return]


class FeedForward(Module):
    """Two linear layers with a GELU between.

        y = gelu(x expansion) projection

    Weights begin with normal draws of standard deviation 0.02, biases with zeros.

    Args:
        width: the length of the last axis, of input and output.
        hidden: the length of the last axis in between.
        dropout: the probability of dropout, for the result.
        bias: whether the linear layers have one.
        projection_init: gives the weight of the last linear layer its first value.
        generator: the source of draws; by default that of `lg.random`.
        dtype: the dtype of the parameters.

    Example:
        >>> FeedForward(8, 32)(lg.ones((3, 8))).shape
        (3, 8)
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        projection_init: Initializer = SMALL,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        made: dict[str, Any] = {
            "bias_init": initial.zeros,
            "generator": generator,
            "dtype": dtype,
        }
        self.expansion = Linear(width, hidden, bias, weight_init=SMALL, **made)
        self.projection = Linear(hidden, width, bias, weight_init=projection_init, **made)
        self.dropout = Dropout(dropout, generator)

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `(..., width)` to the same shape; ShapeError for another width."""
        y = self.projection(lg.gelu(self.expansion(x)))
        return self.dropout(y)  # type: ignore[no-any-return]


class Block(Module):
    """Attention and feed-forward, each of the normalized input and added to the input.

        h = x + attention(norm(x)),  y = h + mlp(norm(h))

    Args:
        width: the length of the last axis; the feed-forward has four times as much inside.
        heads: how many heads share the width evenly.
        dropout: the probability of dropout, everywhere.
        bias: whether linear layers and norms have one.
        projection_init: gives the last weight of both branches its first value.
        generator: the source of draws; by default that of `lg.random`.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: heads do not divide the width.

    Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019,
    section 2.3.

    Example:
        >>> Block(8, heads=2)(lg.ones((3, 5, 8))).shape
        (3, 5, 8)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        projection_init: Initializer = SMALL,
        generator: Generator | None = None,
        dtype: Any = lg.float32,
    ) -> None:
        made: dict[str, Any] = {
            "projection_init": projection_init,
            "generator": generator,
            "dtype": dtype,
        }
        self.ln_1 = LayerNorm(width, bias, dtype=dtype)
        self.attention = CausalSelfAttention(width, heads, dropout, bias, **made)
        self.ln_2 = LayerNorm(width, bias, dtype=dtype)
        self.mlp = FeedForward(width, 4 * width, dropout, bias, **made)

    def forward(self, x: lg.Tensor) -> lg.Tensor:
        """From `(..., time, width)` to the same shape; ShapeError for another width."""
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))  # type: ignore[no-any-return]
