"""What pooling does with the elements of each window, a piece of the images at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazygraph.ops.windows import Tap, Windows, pieces

Array = NDArray[Any]
Both = tuple[Windows, Windows]  # along the height, and along the width

_PIECE = (
    96 * 1024
)  # elements of the images that are worked on at a time: they stay in the cache


def fold(combine: np.ufunc, identity: Any, x: Array, out: Array, windows: Both) -> None:
    """Combine the elements of each window, columns of a window first, then what they gave.

    Args:
        combine: associative, of two operands.
        identity: what `combine` leaves the other operand as it is with.
        x: images of shape `(batch, channels, height, width)`.
        out: of shape `(batch, channels, rows.count, columns.count)`.
        windows: along the height, and along the width.
    """
    rows, columns = windows
    down, across = rows.taps, columns.taps
    for piece in _pieces(x):
        source, target = x[piece], out[piece]
        between = np.empty((*source.shape[:2], rows.count, columns.length), x.dtype)
        _fold_axis(combine, identity, source.swapaxes(2, 3), between.swapaxes(2, 3), down)
        _fold_axis(combine, identity, between, target, across)


def _fold_axis(
    combine: np.ufunc, identity: Any, x: Array, out: Array, taps: Sequence[Tap]
) -> None:
    first, *rest = [(out[..., tap.windows], x[..., tap.elements]) for tap in taps]
    if rest and first[0].shape == rest[0][0].shape == out.shape:
        combine(first[1], rest.pop(0)[1], out=out)  # both see all windows: one pass for two
    else:
        out.fill(identity)
        rest.insert(0, first)
    for place, elements in rest:
        combine(place, elements, out=place)


def spread(g: Array, out: Array, windows: Both) -> None:
    """The transpose of a sum over windows: each element is added to all of its window.

    Args:
        g: of shape `(batch, channels, rows.count, columns.count)`.
        out: images of shape `(batch, channels, height, width)`.
        windows: along the height, and along the width.
    """
    rows, columns = windows
    down, across = rows.taps, columns.taps
    for piece in _pieces(out):
        source, target = g[piece], out[piece]
        between = np.zeros((*source.shape[:3], columns.length), g.dtype)
        for tap in across:
            place = between[..., tap.elements]
            np.add(place, source[..., tap.windows], out=place)
        target.fill(0)
        for tap in down:
            place = target[..., tap.elements, :]
            np.add(place, between[..., tap.windows, :], out=place)


def first_maximum(x: Array, y: Array, out: Array, windows: Both) -> None:
    """Where the first greatest element of each window stands in it, NaN being the greatest.

    Args:
        x: images of shape `(batch, channels, height, width)`.
        y: the greatest element of each window.
        out: unsigned integers of the shape of `y`: the row in the window times its width, and
            the column.
        windows: along the height, and along the width.
    """
    *places, _ = _places(windows)  # where it is in none of the others, it is in the last
    for piece in _pieces(x):
        source, greatest, target = x[piece], y[piece], out[piece]
        has_nan = x.dtype.kind == "f" and bool(np.isnan(greatest.max(initial=0)))
        ahead = np.ones(greatest.shape, bool)  # whether it is none of the places so far
        less = np.empty(greatest.shape, bool)
        target.fill(0)
        for seen, elements in places:
            found, bound, here = source[elements], greatest[seen], less[seen]
            np.less(found, bound, out=here)
            if has_nan:
                np.logical_or(here, np.isnan(bound) & ~np.isnan(found), out=here)
            np.logical_and(ahead[seen], here, out=ahead[seen])
            np.add(target, ahead.view(np.uint8), out=target)


def put_back(g: Array, position: Array, out: Array, windows: Both) -> None:
    """Zeros, with each element added at its position in its window.

    Args:
        g: of shape `(batch, channels, rows.count, columns.count)`.
        position: what `first_maximum` gave.
        out: images of shape `(batch, channels, height, width)`.
        windows: along the height, and along the width.
    """
    bits = np.dtype(f"u{g.itemsize}")
    meet = any(w.size > w.stride for w in windows)
    tiled = all(
        w.size == w.stride and w.size * w.count == w.length and not w.padding for w in windows
    )
    for piece in _pieces(out):
        # The bits times 0 or 1: no infinity or NaN leaves its place.
        source, chosen, target = g.view(bits)[piece], position[piece], out[piece]
        if not tiled:
            target.fill(0)
        for number, (seen, elements) in enumerate(_places(windows)):
            hit = chosen[seen] == number
            if meet:
                share = np.multiply(source[seen], hit).view(g.dtype)
                np.add(target[elements], share, out=target[elements])
            else:
                np.multiply(source[seen], hit, out=target.view(bits)[elements])


def pick(x: Array, position: Array, out: Array, windows: Both) -> None:
    """The transpose of `put_back`: the element at the given position in each window.

    Args:
        x: images of shape `(batch, channels, height, width)`.
        position: what `first_maximum` gave.
        out: of the shape of `position`.
        windows: along the height, and along the width.
    """
    for piece in _pieces(x):
        source, chosen, target = x[piece], position[piece], out[piece]
        for number, (seen, elements) in enumerate(_places(windows)):
            np.copyto(target[seen], source[elements], where=chosen[seen] == number)


Index = tuple[Any, ...]


def _places(windows: Both) -> list[tuple[Index, Index]]:
    """For each place in a window: the windows that have it on the image, and what they see."""
    rows, columns = windows
    return [
        ((..., down.windows, across.windows), (..., down.elements, across.elements))
        for down in rows.taps
        for across in columns.taps
    ]


def _pieces(x: Array) -> Iterator[tuple[slice, slice]]:
    return pieces(x.shape, _PIECE)
