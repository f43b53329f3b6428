"""Windows on planes of images, in machine code."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lazygraph.backends.layout import Call
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame, Recipe, Special, bytes_of, seats
from lazygraph.backends.native.register import Register, picked
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir
from lazygraph.backends.native.window_regions import Here, each_window, is_small
from lazygraph.dtypes import DType
from lazygraph.ops.windows import Windows, pool_windows

_BYTE_NS, _PLACE_NS = 6e-2, 0.3
_VECTOR = 64  # bytes
_NEAR = 4  # elements, up to which rows are read whole and sorted out in registers

Fields = tuple[Windows, Windows, int, "tuple[Planes, ...]"]


@dataclass(frozen=True)
class Planes:
    """How an array of images lies.

    Attributes:
        dtype: of the elements.
        strides: bytes along its four axes.
    """

    dtype: DType
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Pooling:
    """Something done plane by plane; units are planes.

    Attributes:
        rows: the windows along the height.
        columns: the windows along the width.
        channels: planes of an image.
        planes: how the operands lie.
    """

    rows: Windows
    columns: Windows
    channels: int
    planes: tuple[Planes, ...]

    def each_plane(self, f: Frame) -> Iterator[list[ir.Value]]:
        """Emit the body for each plane of this thread: where that of each operand begins."""
        first, stop = f.share(f.count, f.number(0))
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            unit = f.b.add(first, i)
            image = f.b.udiv(unit, INT64(self.channels))
            channel = f.b.urem(unit, INT64(self.channels))
            yield [
                f.at(pointer, f.times(image, x.strides[0]), f.times(channel, x.strides[1]))
                for pointer, x in zip(f.pointers, self.planes, strict=True)
            ]

    @property
    def lanes(self) -> int:
        """How many windows are handled side by side; one where elements of a row lie apart."""
        dense = all(x.strides[3] == x.dtype.itemsize for x in self.planes)
        reach = self.columns.stride <= _NEAR and self.columns.size <= _NEAR
        return _VECTOR // self.planes[0].dtype.itemsize if dense and reach else 1

    def each_window(self, f: Frame) -> Iterator[Here]:
        """Emit the body for each window."""
        yield from each_window(f, self.rows, self.columns, self.lanes)

    def at_window(self, f: Frame, operand: int, plane: ir.Value, here: Here) -> ir.Value:
        """Where the numbers of windows lie."""
        down, across = self.planes[operand].strides[2:]
        return f.at(plane, f.times(here.row, down), f.times(here.column, across))

    def of_window(self, f: Frame, operand: int, plane: ir.Value, here: Here) -> Register:
        """The numbers of windows."""
        at = self.at_window(f, operand, plane, here)
        return f.load(at, self.planes[operand].dtype, here.lanes)

    def at_place(
        self, f: Frame, operand: int, plane: ir.Value, here: Here, place: tuple[int, int]
    ) -> ir.Value:
        """An element of the images, at a place in the first window."""
        offsets: list[ir.Value | int] = []
        axes = zip(
            (here.row, here.column),
            (self.rows, self.columns),
            place,
            self.planes[operand].strides[2:],
            strict=True,
        )
        for window, windows, i, stride in axes:
            offsets.append(f.times(window, windows.stride * stride))
            offsets.append((i - windows.padding) * stride)
        return f.at(plane, *offsets)

    def elements(
        self, f: Frame, operand: int, plane: ir.Value, here: Here
    ) -> dict[tuple[int, int], Register]:
        """What windows see at each of their places: a row of all of them is read at once."""
        dtype, stride = self.planes[operand].dtype, self.columns.stride
        found = {}
        for i in here.down:
            if here.lanes == 1:
                for j in here.across:
                    at = self.at_place(f, operand, plane, here, (i, j))
                    found[i, j] = f.load(at, dtype)
                continue
            first, *_, last = (here.across[0], here.across[-1])
            length = (here.lanes - 1) * stride + last - first + 1
            at = self.at_place(f, operand, plane, here, (i, first))
            row = f.load(at, dtype, length)
            for j in here.across:
                lanes = [j - first + lane * stride for lane in range(here.lanes)]
                found[i, j] = picked(row, lanes)
        return found

    def number_of(self, place: tuple[int, int]) -> int:
        """How a place in a window is named."""
        return place[0] * self.columns.size + place[1]


def fields_of(call: Call, places: Places, images: int) -> Fields | None:
    """The fields of a recipe; None if there is none. `images`: which operand they are."""
    operands = places.operands(call)
    named: dict[str, Any] = {
        name: value for name, value in call.named.items() if name != "lengths"
    }
    rows, columns = pool_windows(operands[images].shape, **named)
    if any(math.prod(x.shape) == 0 for x in operands) or not is_small(rows, columns):
        return None
    planes = tuple(Planes(x.dtype, x.strides) for x in operands)
    return rows, columns, operands[images].shape[1], planes


def special(call: Call, places: Places, recipe: Recipe, scratch_bytes: int = 0) -> Special:
    operands = places.operands(call)
    units = math.prod(operands[0].shape[:2])
    elements = max(math.prod(x.shape) for x in operands)
    cost = _PLACE_NS * elements + _BYTE_NS * bytes_of(operands)
    taken = seats(units)
    return Special(recipe, units, operands, cost, (taken,), taken * scratch_bytes)
