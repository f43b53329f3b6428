"""Indices in machine code: counted from the front, and never outside without being told."""

import math
from contextlib import ExitStack
from dataclasses import dataclass

from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Recipe, Special, bytes_of
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.types import BIT, INT64, ir
from lazygraph.dtypes import DType, int64

_BYTE_NS, _INDEX_NS = 6e-2, 1.0


@dataclass(frozen=True)
class Indices:
    """What indices mean.

    Attributes:
        dtype: of the indices.
        wrap: whether negative ones count from the end.
    """

    dtype: DType
    wrap: bool

    def read(
        self, f: Frame, at: ir.Value, length: ir.Value
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Emit an index: whether it is inside, the position that it means, and itself."""
        index = f.load(at, self.dtype)
        given = index.to(int64).value
        position, inside = given, BIT(1)
        if index.is_signed and self.wrap:
            negative = f.b.icmp_signed("<", given, INT64(0))
            position = f.b.select(negative, f.b.add(given, length), given)
        inside = f.b.icmp_unsigned("<", position, length)
        return inside, position, given

    def tell(self, f: Frame, at: ir.Value, length: ir.Value, place: ir.Value) -> None:
        """Emit that an index that is outside is told, unless one was before.

        Args:
            f: where to emit.
            at: where the index lies.
            length: of the axis that it points into.
            place: of the result in the table.
        """
        inside, _, given = self.read(f, at, length)
        with if_(f.b, f.b.not_(inside), likely=False):
            fault = f.fault
            untold = f.b.icmp_signed("==", f.b.load(fault, typ=INT64), INT64(0))
            with if_(f.b, untold):
                f.b.store(place, fault)
                f.b.store(given, f.at(fault, 8))


def tell_all(
    f: Frame,
    indices: Indices,
    base: ir.Value,
    axes: tuple[tuple[ir.Value, int], ...],
    length: ir.Value,
    place: ir.Value,
) -> None:
    """Emit that the first thread looks at all indices, in order.

    Args:
        f: where to emit.
        indices: what they mean.
        base: the first.
        axes: the length of each axis, and bytes from one to the next along it.
        length: of the axis that they point into.
        place: of the result in the table.
    """
    with ExitStack() as loops:
        loops.enter_context(if_(f.b, f.b.icmp_signed("==", f.thread, INT64(0))))
        for count, stride in axes:
            i = loops.enter_context(counted_loop(f.b, count))
            base = f.at(base, f.times(i, stride))
        indices.tell(f, base, length, place)


def have_elements(operands: tuple[Operand, ...]) -> bool:
    return all(math.prod(x.shape) for x in operands)


def special(
    recipe: Recipe,
    count: int,
    operands: tuple[Operand, ...],
    numbers: tuple[int, int],
    moved: list[Operand],
    indices: int,
) -> Special:
    cost = _INDEX_NS * indices + _BYTE_NS * bytes_of(moved)
    return Special(recipe, count, operands, cost, numbers)
