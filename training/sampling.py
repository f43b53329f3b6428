"""Text from a model: one character after the other, each drawn from the model's belief."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazygraph import errors

Logits = Callable[[NDArray[np.int32]], NDArray[Any]]


def draw(logits: NDArray[Any], temperature: float, rng: np.random.Generator) -> int:
    """Draw a token from softmax(logits / temperature).

    Args:
        logits: scores of shape `(vocabulary,)`; minus infinity forbids a token.
        temperature: 1 draws as the model believes, less prefers the likely; 0 is the likeliest.
        rng: the source of chance, asked for one number unless `temperature` is 0.

    Returns:
        A token.

    Raises:
        NonFiniteError: if a score is NaN or infinity.

    Example:
        >>> draw(np.array([0.0, 9.0, 1.0]), 0.0, np.random.default_rng(0))
        1
    """
    scores = np.asarray(logits, np.float64)
    if not scores.max() < np.inf:
        raise errors.NonFiniteError(f"the scores of tokens must be finite, got {scores.max()}")
    if temperature == 0.0:
        return int(scores.argmax())
    with np.errstate(over="ignore"):  # a tiny temperature: far scores become minus infinity
        shares = np.exp((scores - scores.max()) / temperature).cumsum()
    return int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))


def continuation(
    logits: Logits,
    prompt: Sequence[int],
    length: int,
    block_size: int,
    temperature: float,
    rng: np.random.Generator,
) -> list[int]:
    """Tokens that go on from a prompt.

    Args:
        logits: from a window of tokens of shape `(1, block_size)` to scores of shape
            `(block_size, vocabulary)`; row `i` must not depend on tokens after `i`.
        prompt: at least one token; the model sees the last `block_size` of prompt and answer.
        length: how many tokens to add.
        block_size: the size of the window, the same each time so that one plan serves all.
        temperature: see `draw`.
        rng: the source of chance.

    Returns:
        The new tokens only.

    Raises:
        ValueError: if the prompt is empty.
        NonFiniteError: if a score is NaN or infinity.

    Example:
        >>> def successor(window):  # believes that n + 1 follows n
        ...     return 9.0 * np.eye(8)[(window[0] + 1) % 8]
        >>> continuation(successor, [6], 4, 3, 0.0, np.random.default_rng(0))
        [7, 0, 1, 2]
    """
    if not prompt:
        raise ValueError("a prompt must hold at least one token, got none")
    tokens = list(prompt)
    for _ in range(length):
        recent = tokens[-block_size:]
        window = np.zeros((1, block_size), np.int32)
        window[0, : len(recent)] = recent
        tokens.append(draw(logits(window)[len(recent) - 1], temperature, rng))
    return tokens[len(prompt) :]
