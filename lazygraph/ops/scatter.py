"""Kernels that pick elements by integers, and put or add others where integers say."""

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_CHUNK = 16 * 1024  # elements whose addresses are computed at a time
_WIDE = 256  # a row this long is added by a call of its own, faster than element by element


def gather(x: Array, indices: Array, axis: int, out: Array, wrap: bool = True) -> None:
    """The slices of `x` that the indices name.

        out[..., i, ...] = x[..., indices[i], ...]

    Args:
        x: any array with an axis of length n.
        indices: integers in [-n, n), of any shape; negative ones count from the end.
        axis: the axis that they point into, not negative.
        out: of shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`.
        wrap: whether negative indices are allowed.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty(2)
        >>> gather(np.array([10.0, 20.0, 30.0]), np.array([2, -3]), 0, out)
        >>> out.tolist()
        [30.0, 10.0]
    """
    check_bounds(indices, axis, x.shape[axis], wrap)
    positions = indices.astype(np.intp, copy=False)
    if x.flags.c_contiguous:
        np.take(x, positions, axis=axis, out=out, mode="wrap")
    else:  # take would copy all of x first
        out[...] = x[(slice(None),) * axis + (positions,)]


def accumulate(
    combine: np.ufunc, indices: Array, values: Array, axis: int, out: Array, wrap: bool = True
) -> None:
    """Combine each slice of `values` with the slice of `out` that its index names.

        out[..., indices[i], ...] = combine(out[..., indices[i], ...], values[..., i, ...])

    What falls on one place is combined from the first to the last (i in C order), so the bits
    depend on the values alone.

    Args:
        combine: a function of two numbers, as `np.add`.
        indices: integers in [-n, n), of any shape; negative ones count from the end.
        values: of shape `out.shape[:axis] + indices.shape + out.shape[axis + 1:]`.
        axis: the axis that they point into, not negative.
        out: any array with an axis of length n.
        wrap: whether negative indices are allowed.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.zeros(3)
        >>> accumulate(np.add, np.array([2, 0, 2, -1]), np.array([1.0, 2.0, 3.0, 4.0]), 0, out)
        >>> out.tolist()
        [2.0, 0.0, 8.0]
    """
    check_bounds(indices, axis, out.shape[axis], wrap)
    if values.size:
        flat = out.reshape(-1) if out.flags.c_contiguous else out.flatten()
        width = prod(out.shape[axis + 1 :])
        shape = _Cube(prod(out.shape[:axis]), indices.size, width)
        run = _combine_rows if width >= _WIDE else _combine_elements
        run(combine, indices.reshape(1, -1, 1), _in_order(values), shape, out.shape[axis], flat)
        _keep(flat, out)


def assign(indices: Array, values: Array, axis: int, out: Array, wrap: bool = True) -> None:
    """Put each slice of `values` in the place that its index names; the last one stays there.

        out[..., indices[i], ...] = values[..., i, ...]      (i in C order)

    Args:
        indices: integers in [-n, n), of any shape; negative ones count from the end.
        values: of shape `out.shape[:axis] + indices.shape + out.shape[axis + 1:]`.
        axis: the axis that they point into, not negative.
        out: any array with an axis of length n.
        wrap: whether negative indices are allowed.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.zeros(3)
        >>> assign(np.array([2, 0, -1]), np.array([1.0, 2.0, 3.0]), 0, out)
        >>> out.tolist()
        [2.0, 0.0, 3.0]
    """
    length = out.shape[axis]
    check_bounds(indices, axis, length, wrap)
    # NumPy promises no order for an assignment that names a place twice.
    last = np.full(length, -1)
    np.maximum.at(last, wrapped(indices, length).ravel(), np.arange(indices.size))
    places = np.flatnonzero(last >= 0)
    before, behind = out.shape[:axis], out.shape[axis + 1 :]
    chosen = values.reshape(*before, indices.size, *behind)
    whole: tuple[Any, ...] = (slice(None),) * axis
    out[(*whole, places)] = chosen[(*whole, last[places])]


def gather_along_axis(
    x: Array, indices: Array, axis: int, out: Array, wrap: bool = True
) -> None:
    """One element for each index, at the index's own place on all axes but one.

        out[..., i, ..., j] = x[..., indices[..., i, ..., j], ..., j]

    Args:
        x: any array with an axis of length n.
        indices: integers in [-n, n), of the shape of `x` but for `axis`.
        axis: the axis that they point into, not negative.
        out: of the shape of `indices`.
        wrap: whether negative indices are allowed.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty((2, 1))
        >>> gather_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), 1, out)
        >>> out.tolist()
        [[2.0], [3.0]]
    """
    check_bounds(indices, axis, x.shape[axis], wrap)
    if _is_one_a_row(indices, axis, x):
        np.take(x, _in_rows(indices, x.shape[axis]), out=out, mode="clip")
        return
    step = max(1, _CHUNK // max(1, prod(indices.shape[1:])))
    for start in range(0, len(indices), step):
        piece = slice(start, start + step)
        positions = indices[piece].astype(np.intp, copy=False)
        out[piece] = np.take_along_axis(x if axis == 0 else x[piece], positions, axis)


def scatter_add_along_axis(
    indices: Array, upstream: Array, axis: int, out: Array, wrap: bool = True
) -> None:
    """The transpose of `gather_along_axis`: zeros, with each element added in its place.

        out[..., indices[..., i, ..., j], ..., j] += upstream[..., i, ..., j]      (in C order)

    Args:
        indices: integers in [-n, n), of the shape of `out` but for `axis`.
        upstream: of the shape of `indices`.
        axis: the axis that they point into, not negative.
        out: any array with an axis of length n; what it held is lost.
        wrap: whether negative indices are allowed.

    Raises:
        IndexError: an index is outside; `out` is untouched.

    Example:
        >>> out = np.empty((2, 2))
        >>> scatter_add_along_axis(np.array([[1], [0]]), np.array([[5.0], [6.0]]), 1, out)
        >>> out.tolist()
        [[0.0, 5.0], [6.0, 0.0]]
    """
    check_bounds(indices, axis, out.shape[axis], wrap)
    if _is_one_a_row(indices, axis, out):
        out.fill(0)
        out.reshape(-1)[_in_rows(indices, out.shape[axis])] += upstream
        return
    sums = _zeros_in_order(out)
    if upstream.size:
        width = prod(indices.shape[axis + 1 :])
        cube = indices.reshape(-1, indices.shape[axis], width)
        shape = _Cube(*cube.shape)
        _combine_elements(np.add, cube, _in_order(upstream), shape, out.shape[axis], sums)
    _keep(sums, out)


class _Cube(NamedTuple):
    """An upstream's shape, with the axes before and behind the indices' own taken together."""

    blocks: int
    rows: int
    width: int


def check_bounds(indices: Array, axis: int, length: int, wrap: bool = True) -> None:
    """Raise IndexError for the first index outside, naming it, the axis and its length."""
    lowest = -length if wrap else 0
    if indices.size and (int(indices.min()) < lowest or int(indices.max()) >= length):
        first = next(i for i in map(int, indices.flat) if not lowest <= i < length)
        rule = "" if wrap else ", where none may be negative"
        raise IndexError(
            f"index {first} is out of bounds for axis {axis} with size {length}{rule}"
        )


def _is_one_a_row(indices: Array, axis: int, x: Array) -> bool:
    """Whether there is one index for each row, such as a label, of an array without gaps."""
    return axis == x.ndim - 1 and indices.shape[axis] == 1 and x.flags.c_contiguous


def _in_rows(indices: Array, length: int) -> NDArray[np.intp]:
    """Where the element of each row lies in the memory of all rows."""
    positions = wrapped(indices, length)
    starts = np.arange(0, indices.size * length, length)
    return np.add(positions, starts.reshape(positions.shape), out=positions)


def wrapped(indices: Array, length: int) -> NDArray[np.intp]:
    """Indices counted from the front."""
    positions = np.array(indices, np.intp)
    np.add(positions, length, out=positions, where=positions < 0)
    return positions


def _combine_rows(
    combine: np.ufunc, indices: Array, values: Any, shape: _Cube, length: int, flat: Array
) -> None:
    positions = wrapped(indices, length).ravel().tolist()
    start = 0
    for block in flat.reshape(-1, length, shape.width):
        for position in positions:
            row = block[position]
            combine(row, values[start : start + shape.width], out=row)
            start += shape.width


def _combine_elements(
    combine: np.ufunc, indices: Array, values: Any, shape: _Cube, length: int, flat: Array
) -> None:
    """Combine element by element; `indices` broadcast to `shape`."""
    columns, done = np.arange(shape.width), 0
    for blocks, rows in _chunks(shape):
        block = np.arange(blocks.start, blocks.stop)[:, np.newaxis, np.newaxis]
        picked = indices[blocks if len(indices) > 1 else slice(None), rows]
        addresses = (block * length + wrapped(picked, length)) * shape.width + columns
        # `at` has a fast path for flat arrays, which goes in order.
        combine.at(flat, addresses.reshape(-1), values[done : done + addresses.size])
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
