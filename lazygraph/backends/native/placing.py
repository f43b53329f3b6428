"""Elements copied to places that are known before: into zeros, and behind one another."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from lazygraph.backends.layout import Call
from lazygraph.backends.native.cubes import cube
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame, Special, bytes_of
from lazygraph.backends.native.runs import Run, copy_bytes, copy_run, zero_bytes
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import BIT, INT64, ir
from lazygraph.dtypes import DType

_BYTE_NS = 6e-2
_LONGEST = 8192  # elements of axes that are taken together
_FEW_BLOCKS = 16


class Axis(NamedTuple):
    """One axis of zeros with something placed on it.

    Attributes:
        length: of the axis.
        first: where the first element is placed.
        placed: how many.
        step: from one place to the next.
        stride: bytes from one element to the next where they are taken from.
    """

    length: int
    first: int
    placed: int
    step: int
    stride: int

    @property
    def is_full(self) -> bool:
        """Whether no zero is left."""
        return (self.first, self.placed, self.step) == (0, self.length, 1)


@dataclass(frozen=True)
class Place:
    """Zeros with an array written to a slice; units are blocks of the last two axes.

    The numbers are those of each axis, and whether a block is filled wholly.

    Attributes:
        dtype: of the elements.
        outer: axes before the last two.
        step: from place to place in a row.
        stride: bytes from element to element in a row.
    """

    dtype: DType
    outer: int
    step: int
    stride: int

    def _number(self, f: Frame, axis: int, name: str) -> ir.Value:
        return f.number(len(Axis._fields) * axis + Axis._fields.index(name))

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        g, out = f.pointers
        rows, columns = (self._number(f, self.outer + i, "length") for i in (0, 1))
        block_bytes = f.times(f.b.mul(rows, columns), self.dtype.itemsize)
        first, stop = f.share(f.count)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            unit = f.b.add(first, i)
            to = f.at(out, f.b.mul(unit, block_bytes))
            inside, offset = self._find(f, unit)
            is_full = f.b.icmp_signed(
                "!=", f.number(len(Axis._fields) * (self.outer + 2)), INT64(0)
            )
            with f.b.if_then(f.b.not_(f.b.and_(inside, is_full))):
                zero_bytes(f, to, block_bytes)
            with f.b.if_then(inside):
                self._fill(f, f.at(g, offset), to, columns)

    def _find(self, f: Frame, unit: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Whether a block has anything placed in it, and from how far that is taken."""
        b, inside, offset = f.b, BIT(1), INT64(0)
        for axis in reversed(range(self.outer)):
            length, first, count, step, stride = (
                self._number(f, axis, name) for name in Axis._fields
            )
            index, unit = b.urem(unit, length), b.udiv(unit, length)
            away = b.sub(index, first)
            number = b.sdiv(away, step)
            hit = b.icmp_signed("==", b.mul(number, step), away)
            inside = b.and_(inside, b.and_(hit, b.icmp_unsigned("<", number, count)))
            offset = b.add(offset, b.mul(number, stride))
        return inside, offset

    def _fill(self, f: Frame, source: ir.Value, to: ir.Value, columns: ir.Value) -> None:
        size = self.dtype.itemsize
        down, across = self.outer, self.outer + 1
        start = f.times(self._number(f, across, "first"), size)
        with counted_loop(f.b, self._number(f, down, "placed")) as r:
            row = f.b.mul(r, self._number(f, down, "step"))
            row = f.b.add(row, self._number(f, down, "first"))
            line = f.at(to, f.times(f.b.mul(row, columns), size), start)
            taken = f.at(source, f.b.mul(r, self._number(f, down, "stride")))
            target, run = Run(line, self.step * size), Run(taken, self.stride)
            copy_run(f, target, run, self._number(f, across, "placed"), self.dtype)


@dataclass(frozen=True)
class Concat:
    """Arrays behind one another; units are blocks before the axis.

    The numbers are the bytes of a block of the result, and for each array those of a block, how
    many stand before it, and how far its blocks lie apart.

    Attributes:
        pieces: how many arrays.
        is_one: whether there is one block, which is dealt out as bytes.
    """

    pieces: int
    is_one: bool

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        out = f.pointers[-1]
        with counted_loop(f.b, INT64(self.pieces)) as piece:
            source = f.pointer(piece)
            nbytes, before, apart = (f.number(1 + i, (piece, 3)) for i in range(3))
            to = f.at(out, before)
            if self.is_one:
                first, stop = f.share(nbytes)
                copy_bytes(f, f.at(to, first), f.at(source, first), f.b.sub(stop, first))
            else:
                first, stop = f.share(f.count)
                with counted_loop(f.b, f.b.sub(stop, first)) as i:
                    block = f.b.add(first, i)
                    target = f.at(to, f.b.mul(block, f.number(0)))
                    copy_bytes(f, target, f.at(source, f.b.mul(block, apart)), nbytes)


def place(call: Call, places: Places) -> Special | None:
    """How an array is written into zeros."""
    g, out = operands = places.operands(call)
    if not all(math.prod(x.shape) for x in operands):
        return None
    bounds = call.named["bounds"]
    axes = [
        Axis(n, first, placed, step, 0 if placed == 1 else stride)
        for n, (first, placed, step), stride in zip(out.shape, bounds, g.strides, strict=True)
    ]
    axes = _joined(axes)
    *outer, down, across = [Axis(1, 0, 1, 1, 0), Axis(1, 0, 1, 1, 0), *axes]
    if math.prod(axis.length for axis in outer) < _FEW_BLOCKS:
        outer, down = [*outer, down], Axis(1, 0, 1, 1, 0)
    recipe = Place(g.dtype, len(outer), across.step, across.stride)
    numbers = [n for axis in (*outer, down, across) for n in axis]
    numbers.append(int(down.is_full and across.is_full))
    units = math.prod(axis.length for axis in outer)
    return Special(recipe, units, operands, _BYTE_NS * bytes_of(operands), tuple(numbers))


def _joined(axes: list[Axis]) -> list[Axis]:
    """Axes of which the last ones are taken together, as far as they are as one."""
    if not axes:
        return axes
    *rest, last = axes
    while rest:
        before = rest[-1]
        even = 1 in (before.placed, last.placed) or before.stride == last.length * last.stride
        if not (last.is_full and before.step == 1 and even):
            break
        if before.length * last.length > _LONGEST:
            break
        stride = before.stride if last.placed == 1 and before.placed > 1 else last.stride
        first, count = before.first * last.length, before.placed * last.placed
        last = Axis(before.length * last.length, first, count, 1, stride)
        rest.pop()
    return [*rest, last]


def concat(call: Call, places: Places) -> Special | None:
    """How arrays come behind one another."""
    *pieces, out = operands = places.operands(call)
    axis = call.named["axis"]
    size = out.dtype.itemsize
    if not math.prod(out.shape):
        return None
    pieces = [x for x in pieces if math.prod(x.shape)]
    numbers = [math.prod(out.shape[axis:]) * size]
    before = 0
    for x in pieces:
        seen = cube(x, axis, x.ndim)
        length = math.prod(x.shape[axis:])
        if seen is None or (length > 1 and seen.strides[1] != size):
            return None
        numbers += [length * size, before, seen.strides[0]]
        before += length * size
    blocks = math.prod(out.shape[:axis])
    given = (*pieces, out)
    cost = _BYTE_NS * bytes_of(operands) + 3.0 * len(pieces) * blocks
    return Special(Concat(len(pieces), axis == 0), blocks, given, cost, tuple(numbers))
