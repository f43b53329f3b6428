"""Batches of text as pure functions of a seed and a step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Batch = tuple[NDArray[np.int32], NDArray[np.int32]]


class TextBatches:
    """Windows of a token sequence: random ones to train on, all in order to validate on.

    The sequence is cut once: its first part is trained on, the rest is only validated on. A
    training batch depends on nothing but the seed and the step, so any step can be asked for
    at any time at the same cost, and a resumed run sees what it would have seen.

    Args:
        tokens: integers of shape `(n,)`; may be mapped from a file.
        block_size: length of a window.
        batch_size: windows a batch.
        seed: at least 0; another seed gives other batches.
        split: the share of the tokens to train on, between 0 and 1.

    Raises:
        ValueError: if an argument is out of range, or a part is too short for one window.

    Example:
        >>> batches = TextBatches(np.arange(100), block_size=4, batch_size=2, seed=0)
        >>> x, y = batches.batch(step=7)
        >>> x.shape, bool((y == x + 1).all())
        ((2, 4), True)
    """

    def __init__(
        self,
        tokens: NDArray[Any],
        block_size: int,
        batch_size: int,
        seed: int,
        split: float = 0.9,
    ) -> None:
        _require(block_size >= 1, "block_size must be at least 1", block_size)
        _require(batch_size >= 1, "batch_size must be at least 1", batch_size)
        _require(0 <= seed < 2**64, "seed must be at least 0 and below 2**64", seed)
        _require(0.0 < split < 1.0, "split must be between 0 and 1", split)
        cut = round(len(tokens) * split)
        self.training, self.validation = tokens[:cut], tokens[cut:]
        self.block_size, self.batch_size, self.seed = block_size, batch_size, seed
        for name, part in (("training", self.training), ("validation", self.validation)):
            if len(part) < block_size + 1:
                raise ValueError(
                    f"a text of {len(tokens)} tokens is too short: its {name} part has "
                    f"{len(part)}, and a block of {block_size} needs {block_size + 1}"
                )

    def batch(self, step: int) -> Batch:
        """The batch to train on at a step.

        Args:
            step: the step, counted from 0.

        Returns:
            Inputs and targets, int32 of shape `(batch_size, block_size)`; the target of a
            token is the one that follows it in the text.

        Raises:
            ValueError: if `step` is negative.
        """
        _require(step >= 0, "step must be at least 0", step)
        key = np.array([self.seed, step], np.uint64)
        rng = np.random.Generator(np.random.Philox(key=key))
        starts = rng.integers(len(self.training) - self.block_size, size=self.batch_size)
        return _windows(self.training, starts, self.block_size)

    def validation_windows(self) -> int:
        """How many whole windows the validation part holds side by side."""
        return (len(self.validation) - 1) // self.block_size

    def validation_batches(self, limit: int | None = None) -> Iterator[Batch]:
        """The validation part in order, each token the target of one window.

        Only the last batch may have fewer rows; weigh each batch's mean by its size.

        Args:
            limit: at most so many batches, their windows spread evenly; None for all windows.

        Returns:
            An iterator over inputs and targets, int32 of shape `(rows, block_size)`.

        Raises:
            ValueError: if `limit` is below 1.
        """
        _require(limit is None or limit >= 1, "limit must be at least 1 or None", limit)
        count = self.validation_windows()
        chosen = count if limit is None else min(count, limit * self.batch_size)
        starts = np.arange(chosen) * count // chosen * self.block_size
        return (
            _windows(self.validation, starts[i : i + self.batch_size], self.block_size)
            for i in range(0, chosen, self.batch_size)
        )


def _windows(tokens: NDArray[Any], starts: NDArray[np.int64], block_size: int) -> Batch:
    rows = tokens[starts[:, np.newaxis] + np.arange(block_size + 1)].astype(np.int32)
    # Two arrays of their own: a view would keep the longer rows alive.
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, 1:])


def _require(holds: bool, demand: str, got: object) -> None:
    if not holds:
        raise ValueError(f"{demand}, got {got}")
