"""Windows over a plane, grouped by which of their places lie on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame
from lazygraph.backends.native.runs import pieces
from lazygraph.backends.native.types import INT64, ir
from lazygraph.ops.windows import Windows

_MOST_PLACES = 1000  # that code is made for


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring windows along one axis, which have the same places on it.

    Attributes:
        first: the first window.
        count: how many.
        places: in order.
    """

    first: int
    count: int
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Here:
    """Windows side by side, when code runs.

    Attributes:
        row: which ones along the height.
        column: which is the first along the width.
        lanes: how many.
        down: the rows in each of them that lie on the plane.
        across: likewise the columns.
    """

    row: ir.Value
    column: ir.Value
    lanes: int
    down: tuple[int, ...]
    across: tuple[int, ...]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row by row."""
        return [(i, j) for i in self.down for j in self.across]


def stretches(windows: Windows) -> list[Stretch]:
    """The windows along one axis, grouped."""

    def places(window: int) -> tuple[int, ...]:
        start = window * windows.stride - windows.padding
        return tuple(i for i in range(windows.size) if 0 <= start + i < windows.length)

    groups = [(key, list(group)) for key, group in groupby(range(windows.count), places)]
    return [Stretch(group[0], len(group), key) for key, group in groups]


def is_small(rows: Windows, columns: Windows) -> bool:
    """Whether code for each place of each kind of window is not too much."""
    if rows.size * columns.size > _MOST_PLACES:
        return False
    down, across = (sum(len(s.places) for s in stretches(w)) for w in (rows, columns))
    return down * across <= _MOST_PLACES


def each_window(f: Frame, rows: Windows, columns: Windows, most: int) -> Iterator[Here]:
    """Emit what the loop's body does for each window, once for each kind of window.

    Args:
        f: where to emit.
        rows: the windows along the height.
        columns: the windows along the width.
        most: how many windows are handled side by side.
    """
    for down in stretches(rows):
        with counted_loop(f.b, INT64(down.count)) as r:
            row = f.b.add(r, INT64(down.first))
            for across in stretches(columns):
                for q, lanes in pieces(f, across.count, most):
                    column = f.b.add(q, INT64(across.first))
                    yield Here(row, column, lanes, down.places, across.places)
