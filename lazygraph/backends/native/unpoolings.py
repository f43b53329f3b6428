"""What comes back to the elements of each window."""

from dataclasses import dataclass

from lazygraph.backends.layout import Call
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.pooling_planes import Pooling, fields_of, special
from lazygraph.backends.native.recipe import Frame, Special
from lazygraph.backends.native.register import Register, picked, select, store, woven
from lazygraph.backends.native.runs import Run, add_run, zero_bytes
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir
from lazygraph.backends.native.window_regions import Here, each_window
from lazygraph.ops.windows import Windows


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


def put_back(call: Call, places: Places) -> Special | None:
    """How elements come back to their places."""
    fields = fields_of(call, places, -1)
    return fields and special(call, places, PutBack(*fields))


def spread(call: Call, places: Places) -> Special | None:
    """How elements come back to all of their window."""
    fields = fields_of(call, places, -1)
    if fields is None:
        return None
    recipe = Spread(*fields)
    return special(call, places, recipe, recipe.between_bytes)
