"""Products of matrices inside a running program, each thread computing its own part.

    result[i] = left[i] @ right[i]      or      result[i] += left[i] @ right[i]

for stacks of matrices stored row by row. Every thread calls OpenBLAS for the part that is its
own; who owns what depends on shapes and thread count only. The sum over the inner axis is cut
into pieces in one case: a single product whose result is too small to deal out. The pieces are
then added in a fixed tree.
"""

from dataclasses import dataclass
from enum import IntEnum

from llvmlite import ir

from lazygraph.backends.native.barrier import Crew
from lazygraph.backends.native.waiting import I32, I64, POINTER, VOID, extern

BLOCK = 16  # rows or columns that a thread takes at least; kernels work on 4 to 16 at once


class Split(IntEnum):
    """How a product is dealt out to the threads of a run.

    Attributes:
        AUTO: by what it costs; below some flops one thread does all.
        MATRICES: each thread takes whole matrices of the stack.
        ROWS: each thread takes blocks of `BLOCK` rows, counted through the whole stack.
        COLUMNS: likewise blocks of columns.
    """

    AUTO = 0
    MATRICES = 1
    ROWS = 2
    COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Matrices:
    """A stack of matrices in memory.

    Attributes:
        pointer: the first element of the first.
        leading: elements from one row to the next as it is stored, at least a row's length.
        stride: elements from one matrix to the next; 0 if all are the same one.
        transposed: whether what is stored is the transpose of what is meant.
    """

    pointer: ir.Value
    leading: ir.Value
    stride: ir.Value
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a product; all but `batch` must be below 2**31.

    Attributes:
        batch: matrices in the stack.
        rows: rows of each result.
        columns: columns of each result.
        inner: length of the axis that is summed over.
    """

    batch: ir.Value
    rows: ir.Value
    columns: ir.Value
    inner: ir.Value


def name(element: ir.Type) -> str:
    """What the function for an element type is called."""
    return f"lazygraph_product_{element}"


def product_type(element: ir.Type) -> ir.FunctionType:
    """Crew, split, sizes; then pointer, leading, stride and transposition of each operand."""
    matrices = [POINTER, I64, I64, I32]
    arguments = [I64, I64, POINTER, I32, *[I64] * 4, *matrices * 2, *matrices[:3], element]
    return ir.FunctionType(VOID, arguments)


def emit_product(
    b: ir.IRBuilder,
    element: ir.Type,
    left: Matrices,
    right: Matrices,
    result: Matrices,
    sizes: Sizes,
    crew: Crew,
    *,
    accumulate: bool = False,
    split: Split = Split.AUTO,
) -> None:
    """Emit `result = left @ right`, or `result += left @ right`.

    All threads of the run must come by. Each writes its own part; a barrier must stand before
    another thread reads it.

    Args:
        b: where to emit.
        element: float or double.
        left: `batch` times rows x inner.
        right: `batch` times inner x columns.
        result: `batch` times rows x columns; overlaps none of the others, is not transposed.
        sizes: all known only when the program runs, so that no size needs code of its own.
        crew: who runs.
        accumulate: whether to add to what is in `result`.
        split: how to deal out. Code that relies on who owns which rows chooses; `share` says
            who does.
    """
    assert not result.transposed
    arguments: list[ir.Value] = [*crew, I32(int(split))]
    arguments += [sizes.batch, sizes.rows, sizes.columns, sizes.inner]
    for x in (left, right):
        arguments += [x.pointer, x.leading, x.stride, I32(int(x.transposed))]
    arguments += [result.pointer, result.leading, result.stride]
    arguments.append(ir.Constant(element, float(accumulate)))
    b.call(extern(b.module, name(element), product_type(element)), arguments)


def share(
    b: ir.IRBuilder, units: ir.Value, thread: ir.Value, threads: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Emit the units that a thread owns: the first, and the first that it does not."""
    start = b.sdiv(b.mul(units, thread), threads)
    stop = b.sdiv(b.mul(units, b.add(thread, I64(1))), threads)
    return start, stop
