"""Arrays whose axes before and behind one are each taken together."""

import math
from dataclasses import dataclass

from lazygraph.backends.native.products_of import even_stride, is_even
from lazygraph.backends.native.recipe import Frame
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import DType


@dataclass(frozen=True)
class Cube:
    """How an array of three axes lies; their lengths are told when code runs.

    Attributes:
        dtype: of the elements.
        strides: bytes along blocks, rows and columns.
    """

    dtype: DType
    strides: tuple[int, int, int]

    def at(
        self, f: Frame, base: ir.Value, block: ir.Value, row: ir.Value, column: ir.Value
    ) -> ir.Value:
        """Where an element lies, if the first one lies at `base`."""
        steps = zip((block, row, column), self.strides, strict=True)
        return f.at(base, *[f.times(i, stride) for i, stride in steps if stride])


def cube(x: Operand, first: int, stop: int) -> Cube | None:
    """The array with axes up to `first`, from there to `stop`, and behind taken together.

    Returns:
        None if one stride does not do for the axes of a group.
    """
    groups = [slice(0, first), slice(first, stop), slice(stop, None)]
    strides = []
    for group in groups:
        lengths, steps = x.shape[group], list(x.strides[group])
        if not is_even(lengths, steps):
            return None
        strides.append(even_stride(lengths, steps))
    return Cube(x.dtype, (strides[0], strides[1], strides[2]))


def lengths(x: Operand, first: int, stop: int) -> tuple[int, int, int]:
    """The lengths of those three axes."""
    shape = x.shape
    return math.prod(shape[:first]), math.prod(shape[first:stop]), math.prod(shape[stop:])
