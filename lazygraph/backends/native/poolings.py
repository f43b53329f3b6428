"""Pooling: what is made of the elements of each window."""

from dataclasses import dataclass

from lazygraph.backends.layout import Call
from lazygraph.backends.native.pooling_planes import Pooling, fields_of, special
from lazygraph.backends.native.recipe import Frame, Special
from lazygraph.backends.native.reductions import lowest
from lazygraph.backends.native.register import Register, select, store
from lazygraph.backends.native.steps import Places
from lazygraph.dtypes import FLOATING
from lazygraph.ops.windows import Windows


@dataclass(frozen=True)
class Fold(Pooling):
    """out = the elements of a window, combined: columns first, then what they gave.

    Attributes:
        is_sum: whether they are added; else the greatest is taken.
    """

    is_sum: bool

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        for x, out in self.each_plane(f):
            for here in self.each_window(f):
                seen = self.elements(f, 0, x, here)
                sums = [
                    self._folded(f, [seen[i, j] for i in here.down], self.rows)
                    for j in here.across
                ]
                total = self._folded(f, sums, self.columns)
                store(total, self.at_window(f, 1, out, here))

    def _folded(self, f: Frame, values: list[Register], windows: Windows) -> Register:
        total, *rest = values
        if not _all_see_two(windows):
            total = self._combine(f, self._identity(f, total.lanes), total)
        for value in rest:
            total = self._combine(f, total, value)
        return total

    def _identity(self, f: Frame, lanes: int) -> Register:
        dtype = self.planes[0].dtype
        return f.constant(0 if self.is_sum else lowest(dtype), dtype, lanes)

    def _combine(self, f: Frame, x: Register, y: Register) -> Register:
        return f.k.add(x, y) if self.is_sum else f.k.maximum(x, y)


def _all_see_two(windows: Windows) -> bool:
    """Whether sums begin with two elements rather than with 0: NumPy spares a pass there."""
    taps = windows.taps
    seen = [tap.windows.stop - tap.windows.start for tap in taps[:2]]
    return len(taps) > 1 and all(n == windows.count for n in seen)


@dataclass(frozen=True)
class Position(Pooling):
    """out = the first place in a window that is not less than the given greatest one."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        dtype, kind = self.planes[0].dtype, self.planes[2].dtype
        for x, y, out in self.each_plane(f):
            for here in self.each_window(f):
                greatest = self.of_window(f, 1, y, here)
                found = f.constant(self.rows.size * self.columns.size - 1, kind, here.lanes)
                for place, element in reversed(self.elements(f, 0, x, here).items()):
                    less = element < greatest
                    if dtype.category == FLOATING:
                        less = less | (greatest.is_nan() & ~element.is_nan())
                    found = select(less, found, found.constant(self.number_of(place)))
                store(found, self.at_window(f, 2, out, here))


@dataclass(frozen=True)
class Pick(Pooling):
    """out = the element at the given place of each window."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        dtype = self.planes[0].dtype
        for x, position, out in self.each_plane(f):
            for here in self.each_window(f):
                chosen = self.of_window(f, 1, position, here)
                value = f.constant(0, dtype, here.lanes)
                for place, element in self.elements(f, 0, x, here).items():
                    value = select(chosen.equals(self.number_of(place)), element, value)
                store(value, self.at_window(f, 2, out, here))


def max_pool(call: Call, places: Places) -> Special | None:
    """How the greatest element of each window is found."""
    return _folded(call, places, is_sum=False)


def sum_pool(call: Call, places: Places) -> Special | None:
    """How the elements of each window are added."""
    return _folded(call, places, is_sum=True)


def _folded(call: Call, places: Places, *, is_sum: bool) -> Special | None:
    fields = fields_of(call, places, 0)
    return fields and special(call, places, Fold(*fields, is_sum))


def position(call: Call, places: Places) -> Special | None:
    """How it is found where the greatest elements stand."""
    fields = fields_of(call, places, 0)
    return fields and special(call, places, Position(*fields))


def pick(call: Call, places: Places) -> Special | None:
    """How elements are picked by their places."""
    fields = fields_of(call, places, 0)
    return fields and special(call, places, Pick(*fields))
