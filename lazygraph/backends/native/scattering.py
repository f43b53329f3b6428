"""Elements added where integers say."""

import math
from dataclasses import dataclass

from lazygraph.backends.layout import Call
from lazygraph.backends.native.cubes import Cube, cube, lengths
from lazygraph.backends.native.indices import Indices, have_elements, special, tell_all
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Special
from lazygraph.backends.native.register import store
from lazygraph.backends.native.runs import Run, copy_run, zero_bytes
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir

_LINE = 64


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
                at = self.places.at(f, indices, block, row, j)
                inside, position, _ = kind.read(f, at, length)
                with if_(f.b, inside, likely=True):
                    dtype = self.g.dtype
                    more = f.load(self.g.at(f, g, block, row, j), dtype)
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
            source = Run(self.x.at(f, x, block, row, column), self.x.strides[2])
            to = Run(f.at(base, f.times(row, row_bytes)), size)
            copy_run(f, to, source, count, self.x.dtype)
        with counted_loop(f.b, many) as i:
            at = f.at(indices, f.times(i, self.step))
            inside, position, _ = self.indices.read(f, at, length)
            with if_(f.b, inside, likely=True):
                source = Run(
                    self.values.at(f, values, block, i, column), self.values.strides[2]
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


def scatter_add(call: Call, places: Places) -> Special | None:
    """How slices are added where one array of indices says."""
    x, *indices, values, out = operands = places.operands(call)
    axes, wrap = call.named["axes"], call.named["wrap"]
    if len(indices) > 1 or not have_elements(operands):
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
    return special(recipe, blocks, operands, (many, length), [out, values], many)


def scatter_add_along(call: Call, places: Places) -> Special | None:
    """How one element is added for each index."""
    indices, g, out = operands = places.operands(call)
    axis = call.named["axis"]
    own, added = (cube(each, axis, axis + 1) for each in (indices, g))
    if own is None or added is None or not have_elements(operands):
        return None
    blocks, rows, width = lengths(indices, axis, axis + 1)
    recipe = ScatterAddAlong(call.named["wrap"], own, added, width)
    numbers = (rows, out.shape[axis])
    return special(recipe, blocks, operands, numbers, [out, g], math.prod(indices.shape))
