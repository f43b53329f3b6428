"""Elements picked by integers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazygraph.backends.layout import Call
from lazygraph.backends.native.cubes import Cube, cube, lengths
from lazygraph.backends.native.indices import Indices, have_elements, special, tell_all
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Special
from lazygraph.backends.native.register import store
from lazygraph.backends.native.runs import Run, copy_run
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64
from lazygraph.ops.gathering import within_bounds
from lazygraph.ops.scatter import check_bounds


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
                f, self.places.at(f, indices, block, row, j), length
            )
            with if_(f.b, inside, likely=True):
                element = f.load(self.x.at(f, x, block, position, j), self.x.dtype)
                store(element, f.at(out, f.times(unit, self.width * size), f.times(j, size)))


def gather(call: Call, places: Places) -> Special | None:
    """How slices are picked by one array of indices."""
    x, *indices, out = operands = places.operands(call)
    axes, wrap = call.named["axes"], call.named["wrap"]
    if len(indices) > 1 or not have_elements(operands):
        return None
    axis = axes[0]
    seen, flat = cube(x, axis, axis + 1), cube(indices[0], 0, indices[0].ndim)
    if seen is None or flat is None:
        return None
    blocks, length, width = lengths(x, axis, axis + 1)
    recipe = Gather(Indices(flat.dtype, wrap), flat.strides[1], seen, width)
    many = math.prod(indices[0].shape)
    return special(recipe, blocks * many, (x, *indices, out), (many, length), [out], many)


def take_along(call: Call, places: Places) -> Special | None:
    """How one element is picked for each index."""
    x, indices, out = operands = places.operands(call)
    axis = call.named["axis"]
    seen, own = (cube(each, axis, axis + 1) for each in (x, indices))
    if seen is None or own is None or not have_elements(operands):
        return None
    blocks, rows, width = lengths(indices, axis, axis + 1)
    recipe = TakeAlong(call.named["wrap"], seen, own, width)
    numbers = (rows, x.shape[axis])
    return special(recipe, blocks * rows, operands, numbers, [out], math.prod(out.shape))


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
