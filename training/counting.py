"""Integers that count from zero: class labels, and tokens that name the row of a table."""

from typing import Any

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import describe


def as_counts(x: Any, what: str) -> lg.Tensor:
    """A tensor of integers that cannot be taken for positions from the end.

    Args:
        x: a Tensor, an array or nested lists of integers.
        what: what they are, for the message.

    Returns:
        A tensor of the same shape, of unsigned integers. As an index, a number below zero is out
        of bounds then, instead of naming an element from the end.

    Raises:
        DTypeError: not integers.

    Example:
        >>> as_counts([2, 0], "targets").tolist()
        [2, 0]
    """
    x = lg.asarray(x)
    kind = x.dtype.dtype.kind
    if kind not in "iu":
        error = errors.DTypeError(f"{what} must be integers; got {x.dtype}")
        error.add_note(f"  {x.node.spec} built at {describe(x.node.source)}")
        raise error
    return x if kind == "u" else lg.astype(x, lg.uint64)
