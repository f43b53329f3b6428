"""A language model in the manner of GPT-2."""

import math
from typing import Any

import lazygraph as lg
from lazygraph import errors
from training import initial
from training.layers import Dropout, Embedding, LayerNorm
from training.losses import cross_entropy
from training.module import Module
from training.transformer import Block


class GPT(Module):
    """A transformer that says for each token of a sequence how likely each next one is.

    Embeddings of token and position are added and pass the blocks and a last norm. The table of
    tokens is used twice: its transpose turns the result into scores.

    Args:
        vocabulary_size: how many tokens there are.
        block_size: the longest sequence.
        n_layer: how many blocks.
        n_head: how many heads of attention a block has.
        n_embd: the length of the vector that stands for a token, a multiple of `n_head`.
        dropout: the probability of dropout.
        bias: whether linear layers and norms have one.
        seed: the seed of first values and dropout.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: a size below 1, or heads that do not divide the width.

    Source: the layout of Andrej Karpathy's nanoGPT, with GELU in its exact form. First values
    are as there: normal with standard deviation 0.02, divided by sqrt(2 n_layer) where a block
    adds its result to its input; biases are zero.

    Example:
        >>> model = GPT(vocabulary_size=65, block_size=8, n_layer=2, n_head=2, n_embd=16)
        >>> model([[1, 2, 3]]).shape
        (1, 3, 65)
    """

    def __init__(
        self,
        vocabulary_size: int,
        block_size: int,
        n_layer: int,
        n_head: int,
        n_embd: int,
        dropout: float = 0.0,
        bias: bool = False,
        seed: int = 0,
        *,
        dtype: Any = lg.float32,
    ) -> None:
        sizes = (vocabulary_size, block_size, n_layer, n_head, n_embd)
        if min(sizes) < 1:
            raise ValueError(f"each size of a GPT must be at least 1; got {sizes}")
        generator = lg.random.Generator(seed)
        made: dict[str, Any] = {"generator": generator, "dtype": dtype}
        small = initial.normal(0.02)
        residual = initial.normal(0.02 / math.sqrt(2 * n_layer))
        self.wte = Embedding(vocabulary_size, n_embd, weight_init=small, **made)
        self.wpe = Embedding(block_size, n_embd, weight_init=small, **made)
        self.dropout = Dropout(dropout, generator)
        self.blocks = [
            Block(n_embd, n_head, dropout, bias, projection_init=residual, **made)
            for _ in range(n_layer)
        ]
        self.ln_f = LayerNorm(n_embd, bias, dtype=dtype)

    def forward(self, ids: Any, targets: Any = None) -> Any:
        """Scores of the next token.

        Args:
            ids: integers of shape `(batch, time)`, with time up to `block_size`.
            targets: the tokens that came next, of the same shape.

        Returns:
            The logits, of shape `(batch, time, vocabulary_size)`; with targets, a pair of
            logits and mean cross-entropy.

        Raises:
            ShapeError: a sequence that is too long, or another shape.
            DTypeError: not integers.
            BoundsError: at realization, a token that is not in the vocabulary.
        """
        ids = lg.asarray(ids)
        block_size = self.wpe.weight.shape[0]
        if ids.ndim != 2 or ids.shape[1] > block_size:
            raise errors.ShapeError(
                f"GPT: ids must have the shape (batch, time), time up to {block_size}; "
                f"got {ids.shape}"
            )
        x = self.dropout(self.wte(ids) + self.wpe.weight[: ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ lg.matrix_transpose(self.wte.weight)
        return logits if targets is None else (logits, cross_entropy(logits, targets))
