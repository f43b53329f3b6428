"""Operands of layers and losses: made tensors, checked, and named in messages."""

from typing import Any, TypeVar

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import describe

Error = TypeVar("Error", bound=Exception)


def as_counts(x: Any, what: str) -> lg.Tensor:
    """A tensor of integers that count from zero, such as class labels.

    Args:
        x: a Tensor, an array or nested lists of integers.
        what: how a message calls them.

    Returns:
        A tensor of the same shape, of unsigned integers: as an index, a number below zero is then
        out of bounds, instead of naming an element from the end.

    Raises:
        DTypeError: not integers.

    Example:
        >>> as_counts([2, 0], "targets").tolist()
        [2, 0]
    """
    counts = lg.asarray(x)
    kind = counts.dtype.dtype.kind
    if kind not in "iu":
        raise noted(errors.DTypeError(f"{what} must be integers; got {counts.dtype}"), counts)
    return counts if kind == "u" else lg.astype(counts, lg.uint64)


def noted(error: Error, *operands: lg.Tensor) -> Error:
    """The same error, with a note for each operand: its spec and the line that built it."""
    for x in operands:
        error.add_note(f"  {x.node.spec} built at {describe(x.node.source)}")
    return error
