"""Elements picked by integers, and added back to where they came from."""

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_CHUNK = 16 * 1024  # elements whose addresses are computed at a time
_WIDE = 256  # a row this long is added by a call of its own, faster than element by element


def gather(x: Array, indices: Array, axis: int, out: Array) -> None:
    """The slices of `x` that the indices name.

        out[..., i, ...] = x[..., indices[i], ...]

    Args:
        x: any array with an axis of length n.
        indices: integers in [-n, n), of any shape; negative ones count from the end.
        axis: the axis that they point into, not negative.
        out: of shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty(2)
        >>> gather(np.array([10.0, 20.0, 30.0]), np.array([2, -3]), 0, out)
        >>> out.tolist()
        [30.0, 10.0]
    """
    _check_bounds(indices, axis, x.shape[axis])
    positions = indices.astype(np.intp, copy=False)
    if x.flags.c_contiguous:
        np.take(x, positions, axis=axis, out=out, mode="wrap")
    else:  # take would copy all of x first
        out[...] = x[(slice(None),) * axis + (positions,)]


def scatter_add(indices: Array, upstream: Array, axis: int, out: Array) -> None:
    """The transpose of `gather`: zeros, with each slice of `upstream` added in its place.

        out[..., indices[i], ...] += upstream[..., i, ...]      (i in C order)

    What falls on one place is summed from the first to the last, so the bits depend on the
    values alone.

    Args:
        indices: integers in [-n, n), of any shape; negative ones count from the end.
        upstream: of shape `out.shape[:axis] + indices.shape + out.shape[axis + 1:]`.
        axis: the axis that they point into, not negative.
        out: any array with an axis of length n; what it held is lost.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty(3)
        >>> scatter_add(np.array([2, 0, 2, -1]), np.array([1.0, 2.0, 3.0, 4.0]), 0, out)
        >>> out.tolist()
        [2.0, 0.0, 8.0]
    """
    _check_bounds(indices, axis, out.shape[axis])
    sums = _zeros_in_order(out)
    if upstream.size:
        width = prod(out.shape[axis + 1 :])
        shape = _Cube(prod(out.shape[:axis]), indices.size, width)
        add = _add_rows if width >= _WIDE else _add_elements
        add(indices.reshape(1, -1, 1), _in_order(upstream), shape, out.shape[axis], sums)
    _keep(sums, out)


def gather_along_axis(x: Array, indices: Array, axis: int, out: Array) -> None:
    """One element for each index, at the index's own place on all axes but one.

        out[..., i, ..., j] = x[..., indices[..., i, ..., j], ..., j]

    Args:
        x: any array with an axis of length n.
        indices: integers in [-n, n), of the shape of `x` but for `axis`.
        axis: the axis that they point into, not negative.
        out: of the shape of `indices`.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty((2, 1))
        >>> gather_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), 1, out)
        >>> out.tolist()
        [[2.0], [3.0]]
    """
    _check_bounds(indices, axis, x.shape[axis])
    step = max(1, _CHUNK // max(1, prod(indices.shape[1:])))
    for start in range(0, len(indices), step):
        piece = slice(start, start + step)
        positions = indices[piece].astype(np.intp, copy=False)
        out[piece] = np.take_along_axis(x if axis == 0 else x[piece], positions, axis)


def scatter_add_along_axis(indices: Array, upstream: Array, axis: int, out: Array) -> None:
    """The transpose of `gather_along_axis`: zeros, with each element added in its place.

        out[..., indices[..., i, ..., j], ..., j] += upstream[..., i, ..., j]      (in C order)

    Args:
        indices: integers in [-n, n), of the shape of `out` but for `axis`.
        upstream: of the shape of `indices`.
        axis: the axis that they point into, not negative.
        out: any array with an axis of length n; what it held is lost.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty((2, 2))
        >>> scatter_add_along_axis(np.array([[1], [0]]), np.array([[5.0], [6.0]]), 1, out)
        >>> out.tolist()
        [[0.0, 5.0], [6.0, 0.0]]
    """
    _check_bounds(indices, axis, out.shape[axis])
    sums = _zeros_in_order(out)
    if upstream.size:
        width = prod(indices.shape[axis + 1 :])
        cube = indices.reshape(-1, indices.shape[axis], width)
        _add_elements(cube, _in_order(upstream), _Cube(*cube.shape), out.shape[axis], sums)
    _keep(sums, out)


class _Cube(NamedTuple):
    """An upstream's shape, with the axes before and behind the indices' own taken together."""

    blocks: int
    rows: int
    width: int


def _check_bounds(indices: Array, axis: int, length: int) -> None:
    if indices.size and (int(indices.min()) < -length or int(indices.max()) >= length):
        first = next(i for i in map(int, indices.flat) if not -length <= i < length)
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {length}")


def _add_rows(indices: Array, upstream: Any, shape: _Cube, length: int, sums: Array) -> None:
    positions = _wrapped(indices, length).ravel().tolist()
    start = 0
    for block in sums.reshape(-1, length, shape.width):
        for position in positions:
            row = block[position]
            np.add(row, upstream[start : start + shape.width], out=row)
            start += shape.width


def _add_elements(
    indices: Array, upstream: Any, shape: _Cube, length: int, sums: Array
) -> None:
    """Add element by element; `indices` broadcast to `shape`."""
    columns, done = np.arange(shape.width), 0
    for blocks, rows in _chunks(shape):
        block = np.arange(blocks.start, blocks.stop)[:, np.newaxis, np.newaxis]
        picked = indices[blocks if len(indices) > 1 else slice(None), rows]
        addresses = (block * length + _wrapped(picked, length)) * shape.width + columns
        # `at` has a fast path for flat arrays, which adds in order.
        np.add.at(sums, addresses.reshape(-1), upstream[done : done + addresses.size])
        done += addresses.size


def _chunks(shape: _Cube) -> Iterator[tuple[slice, slice]]:
    """Ranges of blocks and of rows in them, which make up runs of about `_CHUNK` elements."""
    row_step = max(1, min(shape.rows, _CHUNK // shape.width))
    block_step = max(1, _CHUNK // (shape.rows * shape.width))
    for block in range(0, shape.blocks, block_step):
        for row in range(0, shape.rows, row_step):
            yield (
                slice(block, min(block + block_step, shape.blocks)),
                slice(row, min(row + row_step, shape.rows)),
            )


def _wrapped(indices: Array, length: int) -> NDArray[np.intp]:
    positions = indices.astype(np.intp)
    np.add(positions, length, out=positions, where=positions < 0)
    return positions


def _in_order(array: Array) -> Any:
    """The elements in C order, to be sliced: a view, or an iterator where none exists."""
    return array.reshape(-1) if array.flags.c_contiguous else array.flat


def _zeros_in_order(out: Array) -> Array:
    """Zeros to sum into, in C order: the memory of `out` wherever that is possible."""
    if not out.flags.c_contiguous:
        return np.zeros(out.size, out.dtype)
    sums = out.reshape(-1)
    sums.fill(0)
    return sums


def _keep(sums: Array, out: Array) -> None:
    if not out.flags.c_contiguous:
        out[...] = sums.reshape(out.shape)
