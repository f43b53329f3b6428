"""Windows that slide along an axis: how many there are, and what each of their places sees."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from lazygraph.errors import ShapeError
from lazygraph.graph.spec import Shape, Spec
from lazygraph.ops import infer

Pair = tuple[int, int]
Extent = int | Sequence[int]


class Tap(NamedTuple):
    """One place inside of every window, such as the second from the left.

    Attributes:
        windows: those in which that place lies on the axis and not in the padding.
        elements: the elements that it sees there, one a window.
    """

    windows: slice
    elements: slice


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows along one axis.

    Attributes:
        length: of the axis.
        size: places in a window.
        stride: from the start of a window to that of the next one.
        padding: how far the first window reaches out before the axis.
        count: how many windows there are.
    """

    length: int
    size: int
    stride: int
    padding: int
    count: int

    @property
    def taps(self) -> list[Tap]:
        """One for each place of a window, in order."""
        return [self.tap(place) for place in range(self.size)]

    def tap(self, place: int) -> Tap:
        """What one place of the windows sees."""
        shift = place - self.padding
        first = max(0, -(shift // self.stride))
        stop = max(first, min(self.count, (self.length - 1 - shift) // self.stride + 1))
        start = first * self.stride + shift
        return Tap(
            slice(first, stop),
            slice(start, start + (stop - first - 1) * self.stride + 1, self.stride)
            if stop > first
            else slice(0, 0),
        )

    def extents(self, padded: bool) -> list[int]:
        """The places of each window that lie on the axis, or on it and its padding."""
        margin = self.padding if padded else 0
        starts = [i * self.stride - self.padding for i in range(self.count)]
        return [
            min(start + self.size, self.length + margin) - max(start, -margin)
            for start in starts
        ]


def windows_along(
    length: int, size: int, stride: int, padding: int, ceil_mode: bool = False
) -> Windows:
    """As many windows as fit on an axis with padding on both sides.

    Args:
        length: of the axis.
        size: of a window.
        stride: from window to window.
        padding: on each side.
        ceil_mode: whether a last window may reach out over the padding. It must start before
            the padding behind the axis begins: a window of padding alone has no value.

    Raises:
        ShapeError: not even one fits.

    Example:
        >>> [windows_along(8, 2, 3, 1, ceil_mode=mode).count for mode in (False, True)]
        [3, 3]
    """
    room = length + 2 * padding - size
    if room < 0:
        raise ShapeError(
            f"a window must fit on its axis with the padding; "
            f"got a window of {size} on {length} + 2 * {padding}"
        )
    count = room // stride + 1
    if ceil_mode and room % stride and count * stride < length + padding:
        count += 1
    return Windows(length, size, stride, padding, count)


def windows_over(
    lengths: Shape, size: Pair, stride: Pair, padding: Pair, ceil_mode: bool = False
) -> tuple[Windows, Windows]:
    """The windows along rows and columns of images of the given height and width."""
    rows, columns = (
        windows_along(*numbers, ceil_mode)
        for numbers in zip(lengths, size, stride, padding, strict=True)
    )
    return rows, columns


def pair(name: str, value: Any, least: int) -> Pair:
    """What people write for height and width: one integer for both, or two.

    Raises:
        TypeError: something else.
        ValueError: an integer below `least`.

    Example:
        >>> pair("stride", 2, least=1)
        (2, 2)
    """
    try:
        given = (value, value) if hasattr(value, "__index__") else tuple(value)
        first, second = map(operator.index, given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an integer or two; got {value!r}") from None
    if min(first, second) < least:
        raise ValueError(f"{name} must be at least {least}; got {value!r}")
    return first, second


# The parameters that every record of pooling begins with.
POOL = ("size", "stride", "padding", "ceil_mode")


def pool_params(
    size: Extent, stride: Extent | None, padding: Extent, ceil_mode: bool
) -> tuple[Pair, Pair, Pair, bool]:
    """What people write for the windows of pooling, in the form that records meet.

    Raises:
        ValueError: a size or stride below 1, or a padding that is negative or above half the
            size, which would make windows of padding alone.
    """
    window = pair("size", size, least=1)
    margin = pair("padding", padding, least=0)
    if any(2 * p > n for n, p in zip(window, margin, strict=True)):
        raise ValueError(f"padding must be at most half of the size; got {margin} and {window}")
    step = window if stride is None else pair("stride", stride, least=1)
    return window, step, margin, bool(ceil_mode)


def pool_windows(
    shape: Shape, size: Pair, stride: Pair, padding: Pair, ceil_mode: bool
) -> tuple[Windows, Windows]:
    """The windows over images of a shape, from the parameters of a record."""
    return windows_over(shape[2:], size, stride, padding, ceil_mode)


def pool_spec(x: Spec, **window: Any) -> Spec:
    """The type rule of pooling: one number a window."""
    if len(x.shape) != 4:
        raise ShapeError(
            f"x must have the shape (batch, channels, height, width); got {x.shape}"
        )
    rows, columns = pool_windows(x.shape, **window)
    return infer.numeric(Spec((*x.shape[:2], rows.count, columns.count), x.dtype))


def pieces(shape: Shape, elements: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of the first two axes that make up about so many elements, in order.

    Example:
        >>> list(pieces((2, 3, 5), elements=10))[:2]
        [(slice(0, 1, None), slice(0, 2, None)), (slice(0, 1, None), slice(2, 3, None))]
    """
    outer, inner, *rest = shape
    plane = max(1, prod(rest))
    inner_step = min(max(1, inner), max(1, elements // plane))
    outer_step = max(1, elements // (plane * max(1, inner)))
    for i in range(0, outer, outer_step):
        for j in range(0, inner, inner_step):
            yield (
                slice(i, min(i + outer_step, outer)),
                slice(j, min(j + inner_step, inner)),
            )
