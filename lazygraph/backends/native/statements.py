"""Calls as kernels see them: a record, and arrays at places in a table of pointers."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from lazygraph.dtypes import DType
from lazygraph.graph.op import Kind, Op
from lazygraph.graph.spec import Shape


@dataclass(frozen=True, slots=True)
class Operand:
    """An array whose first element lies at `table[place] + offset`.

    Different places are different memory, unless both are only read.

    Attributes:
        place: the index into the table of pointers.
        offset: in bytes.
        shape: as NumPy's.
        strides: in bytes; any, also 0 and negative.
        dtype: of the elements.
        extent: where in the place its first byte lies, and the one behind its last.
    """

    place: int
    offset: int
    shape: Shape
    strides: tuple[int, ...]
    dtype: DType
    extent: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ways = [s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)]
        first = self.offset + sum(way for way in ways if way < 0)
        end = self.offset + sum(way for way in ways if way > 0) + self.dtype.itemsize
        object.__setattr__(self, "extent", (first, end))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def overlaps(self, other: "Operand") -> bool:
        """Whether the bytes from first to last of one meet those of the other."""
        if self.place != other.place:
            return False
        (first, end), (start, stop) = self.extent, other.extent
        return first < stop and start < end


@dataclass(frozen=True, slots=True)
class Statement:
    """One call: `out = op(*inputs, **params)`.

    Attributes:
        op: the record.
        params: in the order of the record's names.
        inputs: an input that is the `out` of an earlier statement has its place, offset and
            elements in the same order.
        out: may lie on an input of any statement only if elements lie on their own equals.
        stored: whether anything outside of the kernel reads it; if not, it has no memory.
        shape: what is iterated over.
        size: the number of its elements.
    """

    op: Op
    params: tuple[Hashable, ...]
    inputs: tuple[Operand, ...]
    out: Operand
    stored: bool = True
    shape: Shape = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shape = self.out.shape
        if self.is_reduction:
            shapes = {operand.shape for operand in self.inputs}
            shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "size", math.prod(shape))

    @property
    def is_reduction(self) -> bool:
        return self.op.kind is Kind.REDUCTION

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, self.out)
