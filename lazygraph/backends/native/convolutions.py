"""Convolution and its gradients: products with strips of windows that stay in the cache."""

import math
from dataclasses import dataclass
from typing import Any

from lazygraph.backends.layout import Call
from lazygraph.backends.native.barrier import Crew
from lazygraph.backends.native.chunk_sums import (
    add_chunks,
    chunk_length,
    images_of_chunk,
    padded,
)
from lazygraph.backends.native.contraction import Matrices, Sizes, emit_product
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame, Special, bytes_of, seats
from lazygraph.backends.native.runs import zero_bytes
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, POINTER, ir, memory_type
from lazygraph.backends.native.window_matrix import WindowMatrix
from lazygraph.dtypes import FLOATING, DType
from lazygraph.ops.windows import Pair, windows_over

_WIDEST = 64  # places in a row of a window that code is made for one by one
_FLOP = 1.2e-2  # nanoseconds
_BYTE = 6e-2


@dataclass(frozen=True)
class Convolution:
    """Products of a weight with windows, for one strip of one image after the other.

    Attributes:
        matrix: the windows.
        outputs: rows of the weight.
        image: bytes from image to image.
        upstream: bytes from image to image of what has a number for each window, and elements
            from one output to the next.
    """

    matrix: WindowMatrix
    outputs: int
    image: int
    upstream: tuple[int, int]

    @property
    def dtype(self) -> DType:
        return self.matrix.dtype

    def _windows_at(self, f: Frame, base: ir.Value, image: ir.Value, row: ir.Value) -> ir.Value:
        """The numbers of a strip's windows."""
        width = self.matrix.columns.count * self.dtype.itemsize
        return f.at(base, f.times(image, self.upstream[0]), f.times(row, width))

    def _multiply(
        self,
        f: Frame,
        left: Matrices,
        right: Matrices,
        result: Matrices,
        sizes: tuple[Any, Any, Any],
        *,
        accumulate: bool = False,
    ) -> None:
        alone = Crew(INT64(0), INT64(1), ir.Constant(POINTER, None))
        numbers = [INT64(n) if isinstance(n, int) else n for n in (1, *sizes)]
        element = memory_type(self.dtype)
        emit_product(
            f.b, element, left, right, result, Sizes(*numbers), alone, accumulate=accumulate
        )

    def _own_scratch(self, f: Frame) -> ir.Value:
        return f.at(f.scratch, f.times(f.thread, self.matrix.nbytes))


def _matrices(pointer: ir.Value, leading: int, transposed: bool = False) -> Matrices:
    return Matrices(pointer, INT64(leading), INT64(0), transposed)


@dataclass(frozen=True)
class Forward(Convolution):
    """out = weight @ windows; units are strips."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        x, weight, out = f.pointers
        m = self.matrix
        first, stop = f.share(f.count, f.number(0))
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            unit = f.b.add(first, i)
            image = f.b.udiv(unit, INT64(m.strips))
            row, rows = m.strip_of(f, f.b.urem(unit, INT64(m.strips)))
            source = f.at(x, f.times(image, self.image))
            windows = m.fill(f, source, row, rows, self._own_scratch(f))
            self._multiply(
                f,
                _matrices(weight, m.terms),
                _matrices(windows, m.leading),
                _matrices(self._windows_at(f, out, image, row), self.upstream[1]),
                (self.outputs, f.times(rows, m.columns.count), m.terms),
            )


@dataclass(frozen=True)
class ToInput(Convolution):
    """windows = weight.T @ g, which are added to the images; units are images."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        g, weight, out = f.pointers
        m = self.matrix
        first, stop = f.share(f.count, f.number(0))
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            image = f.b.add(first, i)
            target = f.at(out, f.times(image, self.image))
            zero_bytes(f, target, self.image)
            with counted_loop(f.b, INT64(m.strips)) as strip:
                row, rows = m.strip_of(f, strip)
                windows = self._own_scratch(f)
                self._multiply(
                    f,
                    _matrices(weight, m.terms, transposed=True),
                    _matrices(self._windows_at(f, g, image, row), self.upstream[1]),
                    _matrices(windows, m.strip * m.columns.count),
                    (m.terms, f.times(rows, m.columns.count), self.outputs),
                )
                m.add_back(f, windows, row, rows, target)


@dataclass(frozen=True)
class ToWeight(Convolution):
    """out = sum of g @ windows.T over images; units are chunks of images, then added as a tree.

    The numbers are the seats, the images and those of a chunk.
    """

    @property
    def partial_bytes(self) -> int:
        """The memory of one chunk's sum."""
        return padded(self.outputs * self.matrix.terms * self.dtype.itemsize)

    def _partial(self, f: Frame, chunk: ir.Value) -> ir.Value:
        behind = f.times(f.number(0), self.matrix.nbytes)
        return f.at(f.scratch, behind, f.times(chunk, self.partial_bytes))

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        first, stop = f.share(f.count, f.number(0))
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            chunk = f.b.add(first, i)
            total = self._partial(f, chunk)
            zero_bytes(f, total, self.partial_bytes)
            start, images = images_of_chunk(f, chunk, f.number(1), f.number(2))
            with counted_loop(f.b, images) as image:
                self._add_image(f, f.b.add(start, image), total)

    def _add_image(self, f: Frame, image: ir.Value, total: ir.Value) -> None:
        x, g, _ = f.pointers
        m = self.matrix
        with counted_loop(f.b, INT64(m.strips)) as strip:
            row, rows = m.strip_of(f, strip)
            source = f.at(x, f.times(image, self.image))
            windows = m.fill(f, source, row, rows, self._own_scratch(f))
            self._multiply(
                f,
                _matrices(self._windows_at(f, g, image, row), self.upstream[1]),
                _matrices(windows, m.leading, transposed=True),
                _matrices(total, m.terms),
                (self.outputs, m.terms, f.times(rows, m.columns.count)),
                accumulate=True,
            )

    def finish(self, f: Frame) -> None:
        """Emit the sum of the chunks."""
        nbytes = self.outputs * self.matrix.terms * self.dtype.itemsize
        add_chunks(f, lambda chunk: self._partial(f, chunk), self.dtype, nbytes, f.pointers[2])


def forward(call: Call, places: Places) -> Special | None:
    """How images are convolved."""
    x, weight, out = places.operands(call)
    shape = _shape(x, weight.shape, out, call.named)
    if shape is None or not _is_dense(weight):
        return None
    m = shape[0]
    units = x.shape[0] * m.strips
    return _special(Forward(*shape), units, (x, weight, out), (), units)


def to_input(call: Call, places: Places) -> Special | None:
    """How the gradient comes to the images."""
    g, weight, out = places.operands(call)
    shape = _shape(out, weight.shape, g, call.named)
    if shape is None or not _is_dense(weight):
        return None
    return _special(ToInput(*shape), len_of(out), (g, weight, out), (), len_of(out))


def to_weight(call: Call, places: Places) -> Special | None:
    """How the gradient comes to the weight."""
    x, g, out = places.operands(call)
    shape = _shape(x, out.shape, g, call.named)
    if shape is None:
        return None
    recipe = ToWeight(*shape)
    length = chunk_length(len_of(x))
    chunks = -(-len_of(x) // length)
    numbers = (len_of(x), length)
    more = chunks * recipe.partial_bytes
    return _special(recipe, chunks, (x, g, out), numbers, chunks, more)


def len_of(x: Operand) -> int:
    """How many images there are."""
    return x.shape[0]


def _shape(
    x: Operand, weight: tuple[int, ...], windows: Operand, named: dict[str, Any]
) -> tuple[WindowMatrix, int, int, tuple[int, int]] | None:
    """The fields of a recipe; None if there is none for what is so large or lies so."""
    size = x.dtype.itemsize
    known = x.dtype.category == FLOATING and math.prod((*x.shape, *weight)) > 0
    if not known or weight[3] > _WIDEST or math.prod(windows.shape) == 0:
        return None
    if any(step % size for step in (*x.strides, *windows.strides)):
        return None
    where = named["stride"], named["padding"]
    rows, columns = windows_over(_pair(x.shape), _pair(weight), *where)
    _, between, down, across = windows.strides
    width = columns.count * size
    if across != size or down != width or between < width * rows.count:
        return None
    matrix = WindowMatrix(x.shape[1], rows, columns, x.strides[1:], x.dtype)  # type: ignore[arg-type]
    return matrix, weight[0], x.strides[0], (windows.strides[0], between // size)


def _pair(shape: tuple[int, ...]) -> Pair:
    return shape[2], shape[3]


def _is_dense(x: Operand) -> bool:
    wanted = x.dtype.itemsize
    for n, step in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if n != 1 and step != wanted:
            return False
        wanted *= n
    return True


def _special(
    recipe: Forward | ToInput | ToWeight,
    count: int,
    operands: tuple[Operand, ...],
    numbers: tuple[int, ...],
    units: int,
    more_bytes: int = 0,
) -> Special:
    m = recipe.matrix
    images = operands[0].shape[0]
    products = images * m.rows.count * m.columns.count * m.terms
    taken = seats(units)
    copied = products * m.dtype.itemsize
    return Special(
        recipe,
        count,
        operands,
        2 * _FLOP * products * recipe.outputs + _BYTE * (copied + bytes_of(operands)),
        (taken, *numbers),
        taken * m.nbytes + more_bytes,
    )
