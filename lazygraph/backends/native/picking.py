"""Elements picked by integers, and added back where integers say."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazygraph.backends.layout import Call
from lazygraph.backends.native.cubes import Cube, cube, lengths
from lazygraph.backends.native.indices import Indices, tell_all
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Special, bytes_of
from lazygraph.backends.native.register import store
from lazygraph.backends.native.runs import Run, copy_run, zero_bytes
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir
from lazygraph.ops.gathering import within_bounds
from lazygraph.ops.scatter import check_bounds

_BYTE_NS, _INDEX_NS = 6e-2, 1.0
_LINE = 64


@dataclass(frozen=True)
class Gather:
    """out[a, i] = x[a, indices[i]]; units are the rows of out. Numbers: indices, rows of x.

    Attributes:
        indices: what they mean.
        step: bytes from one index to the next.
        x: blocks, rows, columns.
        width: columns.
    """

    indices: Indices
    step: int
    x: Cube
    width: int

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        x, indices, out = f.pointers
        many, length = f.number(0), f.number(1)
        tell_all(f, self.indices, indices, ((many, self.step),), length, f.place(2))
        size = self.x.dtype.itemsize
        block, row, column = self.x.strides
        first, stop = f.share(f.count)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            unit = f.b.add(first, i)
            at = f.at(indices, f.times(f.b.urem(unit, many), self.step))
            inside, position, _ = self.indices.read(f, at, length)
            with if_(f.b, inside, likely=True):
                near = f.at(x, f.times(f.b.udiv(unit, many), block))
                source = Run(f.at(near, f.times(position, row)), column)
                to = Run(f.at(out, f.times(unit, self.width * size)), size)
                copy_run(f, to, source, self.width, self.x.dtype)


@dataclass(frozen=True)
class TakeAlong:
    """out[a, i, j] = x[a, indices[a, i, j], j]; units are (a, i). Numbers: i, rows of x.

    Attributes:
        wrap: whether negative indices count from the end.
        x: blocks, rows, columns.
        places: those of the indices.
        width: columns.
    """

    wrap: bool
    x: Cube
    places: Cube
    width: int

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        x, indices, out = f.pointers
        rows, length = f.number(0), f.number(1)
        kind = Indices(self.places.dtype, self.wrap)
        counts = (f.b.udiv(f.count, rows), rows, INT64(self.width))
        axes = tuple(zip(counts, self.places.strides, strict=True))
        tell_all(f, kind, indices, axes, length, f.place(2))
        first, stop = f.share(f.count)
        size = self.x.dtype.itemsize
        with (
            counted_loop(f.b, f.b.sub(stop, first)) as i,
            counted_loop(f.b, INT64(self.width)) as j,
        ):
            unit = f.b.add(first, i)
            block, row = f.b.udiv(unit, rows), f.b.urem(unit, rows)
            inside, position, _ = kind.read(
                f, _at(f, indices, self.places, block, row, j), length
            )
            with if_(f.b, inside, likely=True):
                element = f.load(_at(f, x, self.x, block, position, j), self.x.dtype)
                store(element, f.at(out, f.times(unit, self.width * size), f.times(j, size)))


@dataclass(frozen=True)
class ScatterAddAlong:
    """out = zeros; out[a, indices[a, i, j], j] += g[a, i, j]; units are blocks.

    The numbers are i and the rows of out.

    Attributes:
        wrap: whether negative indices count from the end.
        places: blocks, rows and columns of the indices.
        g: those of what is added.
        width: columns.
    """

    wrap: bool
    places: Cube
    g: Cube
    width: int

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        indices, g, out = f.pointers
        rows, length = f.number(0), f.number(1)
        kind = Indices(self.places.dtype, self.wrap)
        counts = (f.count, rows, INT64(self.width))
        axes = tuple(zip(counts, self.places.strides, strict=True))
        tell_all(f, kind, indices, axes, length, f.place(2))
        row_bytes = self.width * self.g.dtype.itemsize
        block_bytes = f.times(length, row_bytes)
        first, stop = f.share(f.count)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            block = f.b.add(first, i)
            base = f.at(out, f.b.mul(block, block_bytes))
            zero_bytes(f, base, block_bytes)
            with (
                counted_loop(f.b, rows) as row,
                counted_loop(f.b, INT64(self.width)) as j,
            ):
                at = _at(f, indices, self.places, block, row, j)
                inside, position, _ = kind.read(f, at, length)
                with if_(f.b, inside, likely=True):
                    dtype = self.g.dtype
                    more = f.load(_at(f, g, self.g, block, row, j), dtype)
                    to = f.at(base, f.times(position, row_bytes), f.times(j, dtype.itemsize))
                    store(f.k.add(f.load(to, dtype), more), to)


@dataclass(frozen=True)
class ScatterAdd:
    """out = x; out[a, indices[i]] += values[a, i], in order. Numbers: indices, rows of x.

    A thread takes whole blocks, or columns if there is one block: so no two add to one place.

    Attributes:
        indices: what they mean.
        step: bytes from one index to the next.
        x: blocks, rows, columns.
        values: those of what is added.
        width: columns.
        is_one: whether there is one block.
    """

    indices: Indices
    step: int
    x: Cube
    values: Cube
    width: int
    is_one: bool

    @property
    def lanes(self) -> int:
        """Columns that are dealt out together."""
        return _LINE // self.x.dtype.itemsize

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        tell_all(
            f, self.indices, f.pointers[1], ((f.number(0), self.step),), f.number(1), f.place(3)
        )
        if self.is_one:
            first, stop = f.share(INT64(-(-self.width // self.lanes)))
            start = f.times(first, self.lanes)
            end = f.least(f.times(stop, self.lanes), INT64(self.width))
            with if_(f.b, f.b.icmp_signed("<", start, end)):
                self._block(f, INT64(0), start, f.b.sub(end, start))
            return
        first, stop = f.share(f.count)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            self._block(f, f.b.add(first, i), INT64(0), INT64(self.width))

    def _block(self, f: Frame, block: ir.Value, column: ir.Value, count: ir.Value) -> None:
        x, indices, values, out = f.pointers
        many, length = f.number(0), f.number(1)
        size = self.x.dtype.itemsize
        row_bytes = self.width * size
        base = f.at(out, f.b.mul(block, f.times(length, row_bytes)), f.times(column, size))
        with counted_loop(f.b, length) as row:
            source = Run(_at(f, x, self.x, block, row, column), self.x.strides[2])
            to = Run(f.at(base, f.times(row, row_bytes)), size)
            copy_run(f, to, source, count, self.x.dtype)
        with counted_loop(f.b, many) as i:
            at = f.at(indices, f.times(i, self.step))
            inside, position, _ = self.indices.read(f, at, length)
            with if_(f.b, inside, likely=True):
                source = Run(
                    _at(f, values, self.values, block, i, column), self.values.strides[2]
                )
                self._add(f, f.at(base, f.times(position, row_bytes)), source, count)

    def _add(self, f: Frame, to: ir.Value, source: Run, count: ir.Value) -> None:
        dtype, lanes = self.x.dtype, self.lanes
        if source.step != dtype.itemsize:
            lanes = 1
        rest = f.b.urem(count, INT64(lanes))
        with counted_loop(f.b, f.b.sub(count, rest), lanes) as j:
            self._add_one(f, to, source, j, lanes)
        if lanes > 1:
            with counted_loop(f.b, rest) as j:
                self._add_one(f, to, source, f.b.add(f.b.sub(count, rest), j), 1)

    def _add_one(self, f: Frame, to: ir.Value, source: Run, j: ir.Value, lanes: int) -> None:
        dtype = self.x.dtype
        place = f.at(to, f.times(j, dtype.itemsize))
        more = f.load(f.at(source.pointer, f.times(j, source.step)), dtype, lanes)
        store(f.k.add(f.load(place, dtype, lanes), more), place)


def _at(
    f: Frame, base: ir.Value, x: Cube, block: ir.Value, row: ir.Value, column: ir.Value
) -> ir.Value:
    steps = zip((block, row, column), x.strides, strict=True)
    return f.at(base, *[f.times(i, stride) for i, stride in steps if stride])


def gather(call: Call, places: Places) -> Special | None:
    """How slices are picked by one array of indices."""
    x, *indices, out = operands = _operands(call, places)
    axes, wrap = call.named["axes"], call.named["wrap"]
    if len(indices) > 1 or not _have_elements(operands):
        return None
    axis = axes[0]
    seen, flat = cube(x, axis, axis + 1), cube(indices[0], 0, indices[0].ndim)
    if seen is None or flat is None:
        return None
    blocks, length, width = lengths(x, axis, axis + 1)
    recipe = Gather(Indices(flat.dtype, wrap), flat.strides[1], seen, width)
    many = math.prod(indices[0].shape)
    return _special(recipe, blocks * many, (x, *indices, out), (many, length), [out], many)


def scatter_add(call: Call, places: Places) -> Special | None:
    """How slices are added where one array of indices says."""
    x, *indices, values, out = operands = _operands(call, places)
    axes, wrap = call.named["axes"], call.named["wrap"]
    if len(indices) > 1 or not _have_elements(operands):
        return None
    axis, ndim = axes[0], indices[0].ndim
    seen, flat = cube(x, axis, axis + 1), cube(indices[0], 0, ndim)
    added = cube(values, axis, axis + ndim)
    if seen is None or flat is None or added is None:
        return None
    blocks, length, width = lengths(x, axis, axis + 1)
    kind = Indices(flat.dtype, wrap)
    recipe = ScatterAdd(kind, flat.strides[1], seen, added, width, axis == 0)
    many = math.prod(indices[0].shape)
    return _special(recipe, blocks, operands, (many, length), [out, values], many)


def take_along(call: Call, places: Places) -> Special | None:
    """How one element is picked for each index."""
    x, indices, out = operands = _operands(call, places)
    axis = call.named["axis"]
    seen, own = (cube(each, axis, axis + 1) for each in (x, indices))
    if seen is None or own is None or not _have_elements(operands):
        return None
    blocks, rows, width = lengths(indices, axis, axis + 1)
    recipe = TakeAlong(call.named["wrap"], seen, own, width)
    numbers = (rows, x.shape[axis])
    return _special(recipe, blocks * rows, operands, numbers, [out], math.prod(out.shape))


def scatter_add_along(call: Call, places: Places) -> Special | None:
    """How one element is added for each index."""
    indices, g, out = operands = _operands(call, places)
    axis = call.named["axis"]
    own, added = (cube(each, axis, axis + 1) for each in (indices, g))
    if own is None or added is None or not _have_elements(operands):
        return None
    blocks, rows, width = lengths(indices, axis, axis + 1)
    recipe = ScatterAddAlong(call.named["wrap"], own, added, width)
    numbers = (rows, out.shape[axis])
    return _special(recipe, blocks, operands, numbers, [out, g], math.prod(indices.shape))


def refuse(call: Call, index: int) -> None:
    """Raise BoundsError for an index of a call that machine code found outside.

    Args:
        call: one that this module planned.
        index: its 64 bits, as a signed integer.
    """
    named: dict[str, Any] = call.named
    axis = named["axis"] if "axis" in named else named["axes"][0]
    which, into = (0, call.out) if "shape" in named else (1, call.inputs[0])
    dtype = call.inputs[which].phantom.dtype
    given = np.array([index], np.int64).astype(dtype)
    within_bounds(check_bounds)(given, axis, into.phantom.shape[axis], named["wrap"])


def _operands(call: Call, places: Places) -> tuple[Operand, ...]:
    return tuple(places.operand(entry) for entry in (*call.inputs, call.out))


def _have_elements(operands: tuple[Operand, ...]) -> bool:
    return all(math.prod(x.shape) for x in operands)


def _special(
    recipe: Gather | ScatterAdd | TakeAlong | ScatterAddAlong,
    count: int,
    operands: tuple[Operand, ...],
    numbers: tuple[int, int],
    moved: list[Operand],
    indices: int,
) -> Special:
    cost = _INDEX_NS * indices + _BYTE_NS * bytes_of(moved)
    return Special(recipe, count, operands, cost, numbers)
