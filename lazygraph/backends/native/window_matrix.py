"""The windows of an image as columns of a matrix, a strip of them at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame
from lazygraph.backends.native.runs import Run, add_run, copy_run, zero_bytes
from lazygraph.backends.native.types import INT64, ir
from lazygraph.dtypes import DType
from lazygraph.ops.windows import Windows

_STRIP_BYTES = 192 * 1024  # so that it stays in the cache
_FEWEST_COLUMNS = 96  # of a product, below which BLAS is slow


@dataclass(frozen=True)
class WindowMatrix:
    """A row for each channel and place in a window, a column for each window of a strip.

    Attributes:
        channels: of the image.
        rows: the windows along the height.
        columns: the windows along the width.
        strides: bytes from channel to channel of the image, from row to row and from column to
            column.
        dtype: of the elements.
    """

    channels: int
    rows: Windows
    columns: Windows
    strides: tuple[int, int, int]
    dtype: DType

    @property
    def terms(self) -> int:
        """Rows of the matrix."""
        return self.channels * self.rows.size * self.columns.size

    @property
    def strip(self) -> int:
        """How many rows of windows are in the matrix at once."""
        a_row = self.terms * self.columns.count * self.dtype.itemsize
        fewest = -(-_FEWEST_COLUMNS // self.columns.count)
        return min(self.rows.count, max(_STRIP_BYTES // a_row, fewest))

    @property
    def strips(self) -> int:
        """How many strips make an image."""
        return -(-self.rows.count // self.strip)

    @property
    def leading(self) -> int:
        """Elements from one row of the matrix to the next."""
        if self.is_image:
            return self.strides[0] // self.dtype.itemsize
        return self.strip * self.columns.count

    @property
    def is_image(self) -> bool:
        """Whether windows of one element make the image its own matrix."""
        plain = all(
            (w.size, w.stride, w.padding) == (1, 1, 0) for w in (self.rows, self.columns)
        )
        size = self.dtype.itemsize
        down, across = self.strides[1:]
        even = self.strides[0] % size == 0 and self.strides[0] >= down * self.rows.count
        return plain and across == size and down == size * self.columns.count and even

    @property
    def nbytes(self) -> int:
        """The memory of the matrix, a multiple of a line of the cache."""
        return -(-self.terms * self.strip * self.columns.count * self.dtype.itemsize // 64) * 64

    def strip_of(self, f: Frame, number: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first row of windows of a strip, and how many it has."""
        first = f.times(number, self.strip)
        return first, f.least(INT64(self.strip), f.b.sub(INT64(self.rows.count), first))

    def fill(
        self, f: Frame, image: ir.Value, first: ir.Value, count: ir.Value, to: ir.Value
    ) -> ir.Value:
        """Emit the matrix of some rows of windows; returns where it lies."""
        if self.is_image:
            return f.at(image, f.times(first, self.strides[1]))
        with self._taps(f, image, first, to) as (plane, start, target):
            for j in range(self.columns.size):
                self._fill_rows(f, plane, start, count, target, j)
        return to

    def _fill_rows(
        self,
        f: Frame,
        plane: ir.Value,
        start: ir.Value,
        count: ir.Value,
        target: ir.Value,
        j: int,
    ) -> None:
        size, width = self.dtype.itemsize, self.columns.count
        with counted_loop(f.b, count) as r:
            h = f.b.add(start, f.times(r, self.rows.stride))
            to = f.at(target, j * self.leading * size, f.times(r, width * size))
            if not self.rows.padding:
                self._fill_row(f, plane, h, to, j)
            else:
                self._fill_if_inside(f, plane, h, to, j)

    def _fill_if_inside(
        self, f: Frame, plane: ir.Value, h: ir.Value, to: ir.Value, j: int
    ) -> None:
        inside = f.b.icmp_unsigned("<", h, INT64(self.rows.length))
        with f.b.if_else(inside, likely=True) as (then, otherwise):
            with then:
                self._fill_row(f, plane, h, to, j)
            with otherwise:
                zero_bytes(f, to, self.columns.count * self.dtype.itemsize)

    def _fill_row(self, f: Frame, plane: ir.Value, h: ir.Value, to: ir.Value, j: int) -> None:
        size, seen = self.dtype.itemsize, self.columns.tap(j)
        across = self.strides[2]
        windows, elements = seen.windows, seen.elements
        zero_bytes(f, to, windows.start * size)
        source = f.at(plane, f.times(h, self.strides[1]), elements.start * across)
        inside = f.at(to, windows.start * size)
        step = self.columns.stride * across
        length = windows.stop - windows.start
        copy_run(f, Run(inside, size), Run(source, step), length, self.dtype)
        zero_bytes(f, f.at(to, windows.stop * size), (self.columns.count - windows.stop) * size)

    def add_back(
        self, f: Frame, matrix: ir.Value, first: ir.Value, count: ir.Value, image: ir.Value
    ) -> None:
        """Emit that each element of the matrix is added to the image where it was taken."""
        with self._taps(f, image, first, matrix) as (plane, start, source):
            for j in range(self.columns.size):
                self._add_rows(f, (plane, source), start, count, j)

    @contextmanager
    def _taps(
        self, f: Frame, image: ir.Value, first: ir.Value, matrix: ir.Value
    ) -> Iterator[tuple[ir.Value, ir.Value, ir.Value]]:
        """Emit loops over channels and rows of a window.

        Yields the channel's plane, the row of it where the first window's row lies, and where
        the matrix has what is taken from there.
        """
        nbytes = self.columns.size * self.leading * self.dtype.itemsize
        with (
            counted_loop(f.b, INT64(self.channels)) as channel,
            counted_loop(f.b, INT64(self.rows.size)) as i,
        ):
            row = f.b.add(f.times(channel, self.rows.size), i)
            start = f.b.add(f.times(first, self.rows.stride), i)
            start = f.b.sub(start, INT64(self.rows.padding))
            plane = f.at(image, f.times(channel, self.strides[0]))
            yield plane, start, f.at(matrix, f.times(row, nbytes))

    def _add_rows(
        self,
        f: Frame,
        between: tuple[ir.Value, ir.Value],
        start: ir.Value,
        count: ir.Value,
        j: int,
    ) -> None:
        """One place of the windows after the other: neighbours would wait for each other."""
        plane, source = between
        with counted_loop(f.b, count) as r:
            h = f.b.add(start, f.times(r, self.rows.stride))
            inside = f.b.icmp_unsigned("<", h, INT64(self.rows.length))
            with f.b.if_then(inside, likely=True):
                to = f.at(plane, f.times(h, self.strides[1]))
                self._add_row(f, source, r, to, j)

    def _add_row(self, f: Frame, source: ir.Value, r: ir.Value, to: ir.Value, j: int) -> None:
        size, across = self.dtype.itemsize, self.strides[2]
        windows, elements = self.columns.tap(j)
        first = j * self.leading + windows.start
        taken = f.at(source, first * size, f.times(r, self.columns.count * size))
        target = Run(f.at(to, elements.start * across), self.columns.stride * across)
        add_run(f, target, Run(taken, size), windows.stop - windows.start, self.dtype)
