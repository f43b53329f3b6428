"""Convolution and pooling one window at a time, written apart from what they check."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.lazygraph.exactness import Array

Pair = tuple[int, int]

# Size, stride, padding, ceil mode.
TILES = ((2, 2), (2, 2), (0, 0), False)
GEOMETRIES = [
    TILES,
    ((1, 1), (1, 1), (0, 0), False),
    ((7, 6), (1, 1), (0, 0), False),
    *itertools.product([(3, 2), (2, 5)], [(1, 1), (2, 3)], [(0, 0), (1, 1)], [False, True]),
    ((2, 2), (3, 4), (0, 0), True),
]
Geometry = tuple[Any, Any, Any, bool]


def starts(length: int, size: int, stride: int, padding: int, ceil_mode: bool) -> list[int]:
    """Where windows start, counted from the first element; the padding is before it."""
    end = length + padding
    found = list(range(-padding, end - size + 1, stride))
    behind = found[-1] + stride
    if ceil_mode and found[-1] + size < end and behind < length:
        found.append(behind)
    return found


def windows(
    x: Array, size: Pair, stride: Pair, padding: Pair, ceil_mode: bool = False
) -> Iterator[tuple[int, int, list[Any]]]:
    """Row and column of each window, and its places: in it, and in the image."""
    down, across = (
        starts(*numbers, ceil_mode)
        for numbers in zip(x.shape[2:], size, stride, padding, strict=True)
    )
    for r, top in enumerate(down):
        for q, left in enumerate(across):
            places = [
                (i, j, top + i, left + j)
                for i in range(size[0])
                for j in range(size[1])
                if 0 <= top + i < x.shape[2] and 0 <= left + j < x.shape[3]
            ]
            yield r, q, places


def convolved(x: Array, weight: Array, stride: Pair, padding: Pair) -> Array:
    found = list(windows(x, weight.shape[2:], stride, padding))
    shape = (len(x), len(weight), found[-1][0] + 1, found[-1][1] + 1)
    y = np.zeros(shape, x.dtype)
    for r, q, places in found:
        for i, j, h, w in places:
            y[:, :, r, q] += x[:, :, h, w] @ weight[:, :, i, j].T
    return y


def pooled(
    x: Array,
    pick: Callable[[Array, list[Any]], Array],
    size: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool = False,
) -> Array:
    """What `pick` makes of the elements, shape (batch, channels, n), of each window."""
    found = list(windows(x, size, stride, padding, ceil_mode))
    rows, columns = found[-1][0] + 1, found[-1][1] + 1
    y = [
        pick(np.stack([x[:, :, h, w] for _, _, h, w in places], axis=-1), places)
        for _, _, places in found
    ]
    return np.stack(y, axis=-1).reshape(*x.shape[:2], rows, columns)


def named(geometry: Geometry) -> dict[str, Any]:
    return dict(zip(("size", "stride", "padding", "ceil_mode"), geometry, strict=True))


def loops(x: Array, pick: Callable[..., Array], geometry: Geometry) -> Array:
    return pooled(x, pick, *geometry)


def greatest(elements: Array, places: Any) -> Array:
    found: Array = elements.max(-1)
    return found
