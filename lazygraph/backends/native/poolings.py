"""Pooling: what is made of the elements of each window, and what comes back to them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lazygraph.backends.layout import Call
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame, Recipe, Special, bytes_of, seats
from lazygraph.backends.native.reductions import lowest
from lazygraph.backends.native.register import Register, picked, select, store, woven
from lazygraph.backends.native.runs import Run, add_run, zero_bytes
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir
from lazygraph.backends.native.window_regions import Here, each_window, is_small
from lazygraph.dtypes import FLOATING, DType
from lazygraph.ops.windows import Windows, pool_windows

_BYTE_NS, _PLACE_NS = 6e-2, 0.3
_VECTOR = 64  # bytes
_NEAR = 4  # elements, up to which rows are read whole and sorted out in registers


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


@dataclass(frozen=True)
class Fold(Pooling):
    """out = the elements of a window, combined: columns first, then what they gave.

    Attributes:
        is_sum: whether they are added; else the greatest is taken.
    """

    is_sum: bool

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        for x, out in self.each_plane(f):
            for here in self.each_window(f):
                seen = self.elements(f, 0, x, here)
                sums = [
                    self._folded(f, [seen[i, j] for i in here.down], self.rows)
                    for j in here.across
                ]
                total = self._folded(f, sums, self.columns)
                store(total, self.at_window(f, 1, out, here))

    def _folded(self, f: Frame, values: list[Register], windows: Windows) -> Register:
        total, *rest = values
        if not _all_see_two(windows):
            total = self._combine(f, self._identity(f, total.lanes), total)
        for value in rest:
            total = self._combine(f, total, value)
        return total

    def _identity(self, f: Frame, lanes: int) -> Register:
        dtype = self.planes[0].dtype
        return f.constant(0 if self.is_sum else lowest(dtype), dtype, lanes)

    def _combine(self, f: Frame, x: Register, y: Register) -> Register:
        return f.k.add(x, y) if self.is_sum else f.k.maximum(x, y)


def _all_see_two(windows: Windows) -> bool:
    """Whether sums begin with two elements rather than with 0: NumPy spares a pass there."""
    taps = windows.taps
    seen = [tap.windows.stop - tap.windows.start for tap in taps[:2]]
    return len(taps) > 1 and all(n == windows.count for n in seen)


@dataclass(frozen=True)
class Position(Pooling):
    """out = the first place in a window that is not less than the given greatest one."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        dtype, kind = self.planes[0].dtype, self.planes[2].dtype
        for x, y, out in self.each_plane(f):
            for here in self.each_window(f):
                greatest = self.of_window(f, 1, y, here)
                found = f.constant(self.rows.size * self.columns.size - 1, kind, here.lanes)
                for place, element in reversed(self.elements(f, 0, x, here).items()):
                    less = element < greatest
                    if dtype.category == FLOATING:
                        less = less | (greatest.is_nan() & ~element.is_nan())
                    found = select(less, found, found.constant(self.number_of(place)))
                store(found, self.at_window(f, 2, out, here))


@dataclass(frozen=True)
class Pick(Pooling):
    """out = the element at the given place of each window."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        dtype = self.planes[0].dtype
        for x, position, out in self.each_plane(f):
            for here in self.each_window(f):
                chosen = self.of_window(f, 1, position, here)
                value = f.constant(0, dtype, here.lanes)
                for place, element in self.elements(f, 0, x, here).items():
                    value = select(chosen.equals(self.number_of(place)), element, value)
                store(value, self.at_window(f, 2, out, here))


@dataclass(frozen=True)
class PutBack(Pooling):
    """out = zeros, with each element added at its place in its window."""

    @property
    def meet(self) -> bool:
        """Whether windows share elements."""
        return any(w.size > w.stride for w in (self.rows, self.columns))

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        for g, position, out in self.each_plane(f):
            zero_bytes(f, out, self.planes[2].strides[1])
            if self.meet:
                for i in range(self.rows.size):
                    for j in range(self.columns.size):
                        self._add(f, (g, position, out), (i, j))
                continue
            for here in each_window(f, self.rows, self.columns, self.lanes):
                self._put(f, (g, position, out), here)

    @property
    def lanes(self) -> int:
        """More than one only where windows of two columns tile the rows."""
        lanes = super().lanes
        return lanes if self.columns.size == self.columns.stride == 2 else 1

    def _put(self, f: Frame, planes: tuple[ir.Value, ...], here: Here) -> None:
        g, position, out = planes
        for i in here.down:
            shares = [self._share(f, g, position, here, (i, j)) for j in here.across]
            if here.lanes > 1 and len(shares) == 2:
                at = self.at_place(f, 2, out, here, (i, here.across[0]))
                store(woven(*shares), at)
                continue
            for j, share in zip(here.across, shares, strict=True):
                for lane in range(here.lanes):
                    at = self.at_place(f, 2, out, here, (i, j))
                    step = lane * self.columns.stride * self.planes[2].strides[3]
                    store(picked(share, [lane]), f.at(at, step))

    def _share(
        self, f: Frame, g: ir.Value, position: ir.Value, here: Here, place: tuple[int, int]
    ) -> Register:
        chosen = self.of_window(f, 1, position, here)
        value = self.of_window(f, 0, g, here)
        return select(chosen.equals(self.number_of(place)), value, 0)

    def _add(self, f: Frame, planes: tuple[ir.Value, ...], place: tuple[int, int]) -> None:
        g, position, out = planes
        down, across = (w.tap(i).windows for w, i in zip(self._both, place, strict=True))
        with (
            counted_loop(f.b, INT64(down.stop - down.start)) as r,
            counted_loop(f.b, INT64(across.stop - across.start)) as q,
        ):
            row, column = f.b.add(r, INT64(down.start)), f.b.add(q, INT64(across.start))
            here = Here(row, column, 1, place[:1], place[1:])
            at = self.at_place(f, 2, out, here, place)
            share = self._share(f, g, position, here, place)
            store(f.k.add(f.load(at, share.dtype), share), at)

    @property
    def _both(self) -> tuple[Windows, Windows]:
        return self.rows, self.columns


@dataclass(frozen=True)
class Spread(Pooling):
    """out = each element of g, added to all of its window: along rows, then along columns."""

    @property
    def between_bytes(self) -> int:
        """The memory of a plane whose rows are those of windows."""
        size = self.planes[0].dtype.itemsize
        return -(-self.rows.count * self.columns.length * size // 64) * 64

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        between = f.at(f.scratch, f.times(f.thread, self.between_bytes))
        for g, out in self.each_plane(f):
            zero_bytes(f, between, self.between_bytes)
            for windows, elements in self.columns.taps:
                self._across(f, g, between, windows, elements)
            zero_bytes(f, out, self.planes[1].strides[1])
            for windows, elements in self.rows.taps:
                self._down(f, between, out, windows, elements)

    def _across(
        self, f: Frame, g: ir.Value, between: ir.Value, windows: slice, elements: slice
    ) -> None:
        g_planes, size = self.planes[0], self.planes[0].dtype.itemsize
        with counted_loop(f.b, INT64(self.rows.count)) as r:
            row = f.at(between, f.times(r, self.columns.length * size))
            to = Run(f.at(row, elements.start * size), self.columns.stride * size)
            down, across = g_planes.strides[2:]
            source = Run(f.at(g, f.times(r, down), windows.start * across), across)
            add_run(f, to, source, windows.stop - windows.start, g_planes.dtype)

    def _down(
        self, f: Frame, between: ir.Value, out: ir.Value, windows: slice, elements: slice
    ) -> None:
        dtype, width = self.planes[0].dtype, self.columns.length
        nbytes = width * dtype.itemsize
        with counted_loop(f.b, INT64(windows.stop - windows.start)) as r:
            row = f.b.add(f.times(r, self.rows.stride), INT64(elements.start))
            to = Run(f.at(out, f.times(row, nbytes)), dtype.itemsize)
            source = Run(f.at(between, f.times(r, nbytes), windows.start * nbytes), to.step)
            add_run(f, to, source, width, dtype)


def max_pool(call: Call, places: Places) -> Special | None:
    """How the greatest element of each window is found."""
    return _folded(call, places, is_sum=False)


def sum_pool(call: Call, places: Places) -> Special | None:
    """How the elements of each window are added."""
    return _folded(call, places, is_sum=True)


def _folded(call: Call, places: Places, *, is_sum: bool) -> Special | None:
    fields = _fields(call, places, 0)
    return fields and _special(call, places, Fold(*fields, is_sum))


def position(call: Call, places: Places) -> Special | None:
    """How it is found where the greatest elements stand."""
    fields = _fields(call, places, 0)
    return fields and _special(call, places, Position(*fields))


def pick(call: Call, places: Places) -> Special | None:
    """How elements are picked by their places."""
    fields = _fields(call, places, 0)
    return fields and _special(call, places, Pick(*fields))


def put_back(call: Call, places: Places) -> Special | None:
    """How elements come back to their places."""
    fields = _fields(call, places, -1)
    return fields and _special(call, places, PutBack(*fields))


def spread(call: Call, places: Places) -> Special | None:
    """How elements come back to all of their window."""
    fields = _fields(call, places, -1)
    if fields is None:
        return None
    recipe = Spread(*fields)
    return _special(call, places, recipe, recipe.between_bytes)


_Fields = tuple[Windows, Windows, int, tuple[Planes, ...]]


def _operands(call: Call, places: Places) -> tuple[Operand, ...]:
    return tuple(places.operand(entry) for entry in (*call.inputs, call.out))


def _fields(call: Call, places: Places, images: int) -> _Fields | None:
    """The fields of a recipe; None if there is none. `images`: which operand they are."""
    operands = _operands(call, places)
    named: dict[str, Any] = {
        name: value for name, value in call.named.items() if name != "lengths"
    }
    rows, columns = pool_windows(operands[images].shape, **named)
    if any(math.prod(x.shape) == 0 for x in operands) or not is_small(rows, columns):
        return None
    planes = tuple(Planes(x.dtype, x.strides) for x in operands)
    return rows, columns, operands[images].shape[1], planes


def _special(call: Call, places: Places, recipe: Recipe, scratch_bytes: int = 0) -> Special:
    operands = _operands(call, places)
    units = math.prod(operands[0].shape[:2])
    elements = max(math.prod(x.shape) for x in operands)
    cost = _PLACE_NS * elements + _BYTE_NS * bytes_of(operands)
    taken = seats(units)
    return Special(recipe, units, operands, cost, (taken,), taken * scratch_bytes)
