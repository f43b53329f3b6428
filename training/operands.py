"""Operands of layers and losses: made tensors, checked, and named in messages."""

from typing import Any, TypeVar

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor, noted
from training.module import Module, path_now

Error = TypeVar("Error", bound=Exception)


def as_counts(x: Any, what: str) -> lg.Tensor:
    """A tensor of integers that count from zero, such as class labels.

    Args:
        x: a Tensor, an array or nested lists of integers.
        what: how a message calls them.

    Returns:
        The integers. To pick by them, say `wrap=False`: a number below zero is then out of
        bounds, instead of naming an element from the end.

    Raises:
        DTypeError: not integers.

    Example:
        >>> as_counts([2, 0], "targets").tolist()
        [2, 0]
    """
    counts = lg.asarray(x)
    if counts.dtype.dtype.kind not in "iu":
        raise noted(
            errors.DTypeError(f"{what} must be integers; got {counts.dtype}"), counts.node
        )
    return counts


def rows(layer: Module, x: TensorLike, width: int, *axes: str) -> lg.Tensor:
    """`x` as a tensor whose last axis has the length that a layer was made for.

    Args:
        layer: the layer, for the message.
        x: a tensor of shape `(..., *axes, width)`.
        width: the length of the last axis.
        *axes: names of axes that must be there before it.

    Raises:
        ShapeError: another length, or too few axes.

    Example:
        >>> rows(Module(), lg.ones((5, 4)), 3)
        Traceback (most recent call last):
        lazygraph.errors.ShapeError: Module: x must have the shape (..., 3); got (5, 4)
          float32[5, 4] built at ...
    """
    x = as_tensor(x)
    if x.ndim < 1 + len(axes) or x.shape[-1] != width:
        shape = ", ".join(["...", *axes, str(width)])
        message = f"{title(layer)}: x must have the shape ({shape}); got {x.shape}"
        raise noted(errors.ShapeError(message), x.node)
    return x


def title(module: Module) -> str:
    """The class and the path of a module, for messages: `Linear blocks.0.attention.qkv`."""
    return f"{type(module).__name__} {path_now(module)}".rstrip()
