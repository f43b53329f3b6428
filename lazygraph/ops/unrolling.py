"""Convolution as products of matrices, whose columns are windows copied a piece at a time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from lazygraph.ops.windows import Windows

Array = NDArray[Any]
Piece = tuple[slice, slice]  # of the images, and of rows in them

_SCRATCH = 256 * 1024  # elements of the operands of one product, so that they stay in the cache
# Columns of a product, below which BLAS is slow. Smaller images are taken together; only then
# can the batch that an image comes in decide the last bits of its result.
_FEW = 192


def convolve(x: Array, weight: Array, out: Array, rows: Windows, columns: Windows) -> None:
    """Sum the products of a weight with each window of some images.

        out[b, o, r, q] = sum of x[b, c, h, w] weight[o, c, i, j]
        over c, i, j  with  h = r stride + i - padding  and alike w; x is 0 outside

    Args:
        x: images of shape `(batch, channels, height, width)`.
        weight: of shape `(outputs, channels, rows.size, columns.size)`.
        out: of shape `(batch, outputs, rows.count, columns.count)`, in row-major order.
        rows: the windows along the height.
        columns: the windows along the width.
    """
    outputs = len(weight)
    matrix = _matrix(np.ascontiguousarray(weight), 1)
    product = _Scratch(out.dtype)
    for (images, strip), unrolled in _unrolled(x, rows, columns):
        target = out[images, :, strip]
        if len(target) == 1:
            np.matmul(matrix, unrolled, _matrix(target[0], 1))
        else:
            y = product(outputs, len(target), *target.shape[2:])
            np.matmul(matrix, unrolled, _matrix(y, 1))
            np.copyto(target, y.swapaxes(0, 1))


def convolve_to_weight(x: Array, g: Array, out: Array, rows: Windows, columns: Windows) -> None:
    """The gradient of `convolve` with respect to the weight.

        out[o, c, i, j] = sum of x[b, c, h, w] g[b, o, r, q]  over b, r, q

    Args:
        x: images, as for `convolve`.
        g: of the shape of the result of `convolve`.
        out: of the shape of the weight.
        rows: the windows along the height.
        columns: the windows along the width.
    """
    total = np.zeros((prod(out.shape[1:]), len(out)), out.dtype)
    part = np.empty_like(total)
    for (images, strip), unrolled in _unrolled(x, rows, columns):
        piece = np.ascontiguousarray(g[images])[:, :, strip]
        np.matmul(unrolled, _matrix(piece.swapaxes(0, 1), 1).T, part)
        np.add(total, part, total)
    np.copyto(out, total.T.reshape(out.shape))


def convolve_to_input(
    g: Array, weight: Array, out: Array, rows: Windows, columns: Windows
) -> None:
    """The gradient of `convolve` with respect to the images.

        out[b, c, h, w] = sum of g[b, o, r, q] weight[o, c, i, j]
        over o and all i, j, r, q  with  r stride + i - padding = h  and alike w

    Args:
        g: of the shape of the result of `convolve`.
        weight: as for `convolve`.
        out: of the shape of the images.
        rows: the windows along the height.
        columns: the windows along the width.
    """
    out.fill(0)
    for phase in range(min(rows.stride, rows.size)):
        # The rows of the images whose windows have them in the places phase, phase + stride ...
        first = phase - rows.padding
        skipped = max(0, -(first // rows.stride))
        lines = out[:, :, first + skipped * rows.stride :: rows.stride]
        _add_lines(g, weight[:, :, phase :: rows.stride], lines, skipped, columns)


def _add_lines(g: Array, weight: Array, lines: Array, skipped: int, columns: Windows) -> None:
    """Add their gradient to lines of images; line q is seen by the windows q + skipped - i.

    One product sums over outputs and i. What it leaves to be added are the places in a row.
    """
    outputs, channels, reach, size = weight.shape
    matrix = _matrix(np.ascontiguousarray(weight.transpose(3, 1, 0, 2)), 2)
    scratch, product = _Scratch(g.dtype), _Scratch(g.dtype)
    taps = columns.taps
    for images, strip in _pieces(len(g), lines.shape[2], columns.count, sum(matrix.shape)):
        target = lines[images, :, strip]
        count, _, height, _ = target.shape
        upstream = g[images].swapaxes(0, 1)
        gathered = scratch(outputs, reach, count, height, columns.count)
        for i in range(reach):
            _copy_rows(upstream, gathered[:, i], strip.start + skipped - i)
        y = product(size, channels, count, height, columns.count)
        np.matmul(matrix, _matrix(gathered, 2), _matrix(y, 2))
        for tap, summand in zip(taps, y.swapaxes(1, 2), strict=True):
            place = target[..., tap.elements]
            np.add(place, summand[..., tap.windows], place)


class _Scratch:
    """Memory for arrays that are needed one after the other."""

    def __init__(self, dtype: Any) -> None:
        self._flat: Array = np.empty(0, dtype)

    def __call__(self, *shape: int) -> Array:
        """An array in row-major order, with whatever is in it."""
        size = prod(shape)
        if size > self._flat.size:
            self._flat = np.empty(size, self._flat.dtype)
        return self._flat[:size].reshape(shape)


def _pieces(batch: int, height: int, width: int, terms: int) -> Iterator[Piece]:
    """Some images, or some rows of one, that make up a product of `terms` rows of operands."""
    most = max(_FEW, _SCRATCH // max(1, terms))
    image_step = max(1, _FEW // max(1, height * width))
    row_step = max(1, min(height, most // max(1, width)))
    for i in range(0, batch, image_step):
        for r in range(0, height, row_step):
            yield slice(i, min(i + image_step, batch)), slice(r, min(r + row_step, height))


def _unrolled(x: Array, rows: Windows, columns: Windows) -> Iterator[tuple[Piece, Array]]:
    """The windows of each piece as columns of a matrix, which the next may overwrite."""
    batch, channels = x.shape[:2]
    terms = channels * rows.size * columns.size
    windows = _padded(x, rows, columns) if rows.padding or columns.padding else None
    whole = _windows(x, rows, columns) if windows is None else x
    scratch = _Scratch(x.dtype)
    for images, strip in _pieces(batch, rows.count, columns.count, terms):
        view = whole[images, ..., strip, :] if windows is None else windows(images, strip)
        # (channels, place in a column, place in a row, images, rows, columns)
        view = view.transpose(1, 2, 3, 0, 4, 5)
        if terms == channels and view.shape[3] == 1 and view.flags.c_contiguous:
            matrix = view  # windows of one element: an image is its own matrix
        else:
            matrix = scratch(*view.shape)
            np.copyto(matrix, view)
        yield (images, strip), _matrix(matrix, 3)


def _windows(x: Array, rows: Windows, columns: Windows) -> Array:
    """A view: batch, channels, place in a column and in a row, row and column of windows."""
    shape = (*x.shape[:2], rows.size, columns.size, rows.count, columns.count)
    down, across = x.strides[2:]
    steps = (down, across, down * rows.stride, across * columns.stride)
    return as_strided(x, shape, (*x.strides[:2], *steps), writeable=False)


def _padded(x: Array, rows: Windows, columns: Windows) -> Callable[[slice, slice], Array]:
    """A function that copies a piece between zeros and gives the view of its windows."""
    width = (columns.count - 1) * columns.stride + columns.size
    seen, place = _inside(-columns.padding, width - columns.padding, x.shape[3])
    space: Array = np.zeros((), x.dtype)

    def windows(images: slice, strip: slice) -> Array:
        nonlocal space
        count, channels = x[images].shape[:2]
        strip_rows = replace(rows, count=strip.stop - strip.start)
        height = (strip_rows.count - 1) * rows.stride + rows.size
        shape = (count, channels, height, width)
        if space.shape != shape:
            space = np.zeros(shape, x.dtype)
        first = strip.start * rows.stride - rows.padding
        _copy_rows(x[images, ..., seen], space[..., place], first)
        return _windows(space, strip_rows, columns)

    return windows


def _matrix(x: Array, leading: int) -> Array:
    """The array with so many leading axes, and all behind them, taken together."""
    return x.reshape(prod(x.shape[:leading]), prod(x.shape[leading:]))


def _copy_rows(source: Array, target: Array, first: int) -> None:
    """Copy rows from `first` on, which may be negative; what lies outside is 0."""
    here, there = _inside(first, first + target.shape[-2], source.shape[-2])
    target[..., : there.start, :] = 0
    target[..., there.stop :, :] = 0
    np.copyto(target[..., there, :], source[..., here, :])


def _inside(start: int, stop: int, length: int) -> tuple[slice, slice]:
    """What of a range lies on an axis, as indices of the axis and of the range."""
    low = max(start, 0)
    high = max(low, min(stop, length))
    return slice(low, high), slice(low - start, high - start)
