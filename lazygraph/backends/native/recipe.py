"""One call that is no kernel: what its machine code does, and the numbers that it reads."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

from lazygraph.backends.native.driver import FAULT
from lazygraph.backends.native.memory import BYTE
from lazygraph.backends.native.partials import dealt
from lazygraph.backends.native.register import Register, load
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.statements import Operand
from lazygraph.backends.native.types import INT64, POINTER, ir
from lazygraph.dtypes import DType
from lazygraph.settings import available_cores, num_threads

__all__ = ["Finishing", "Frame", "Recipe", "Special", "seats"]

_TYPE = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, POINTER, INT64, INT64, INT64])


class Recipe(Protocol):
    """What is done: a frozen dataclass, whose fields are all that the code depends on."""

    def emit(self, f: "Frame") -> None:
        """Emit what each thread does."""


@runtime_checkable
class Finishing(Recipe, Protocol):
    """A recipe of two parts, between which all threads wait for one another."""

    def finish(self, f: "Frame") -> None:
        """Emit the second part."""


@dataclass(frozen=True)
class Special:
    """A recipe and what it works on; see `steps.Work`.

    Attributes:
        recipe: what is done.
        count: how much there is to deal out to threads.
        operands: the arrays.
        numbers: what else the code is told when it runs.
        nanoseconds: about how long one core takes.
        scratch: bytes that all threads together work in.
    """

    recipe: Recipe
    count: int
    operands: tuple[Operand, ...]
    nanoseconds: float
    numbers: tuple[int, ...] = ()
    scratch: int = 0

    @property
    def key(self) -> Hashable:
        """Works with equal keys have equal machine code."""
        return repr(self.recipe)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The place and the offset of each array, and the other numbers."""
        places = [n for x in self.operands for n in (x.place, x.offset)]
        return (*places, *self.numbers)

    def scratch_bytes(self, threads: int) -> int:
        """The memory that all threads together work in."""
        return self.scratch

    @property
    def needs_finish(self) -> bool:
        """Whether there is a second part."""
        return isinstance(self.recipe, Finishing)

    def build(self, module: ir.Module, name: str, *, fused: bool) -> None:
        """Emit its functions."""
        f = Frame(module, name, len(self.operands), fused)
        self.recipe.emit(f)
        f.b.ret_void()
        if isinstance(self.recipe, Finishing):
            f = Frame(module, f"{name}_finish", len(self.operands), fused)
            self.recipe.finish(f)
            f.b.ret_void()


def seats(units: int) -> int:
    """How many threads get scratch of their own; if there are more, the others do nothing."""
    return max(1, min(units, max(available_cores(), num_threads())))


class Frame:
    """A function under construction.

    Attributes:
        b: where to emit.
        k: what can be emitted for elements.
        pointers: the first element of each operand.
        scratch: of all threads together.
        count: how much there is to deal out.
        thread: the number of this thread.
        threads: how many there are.
    """

    def __init__(self, module: ir.Module, name: str, operands: int, fused: bool) -> None:
        function = ir.Function(module, _TYPE, name)
        self._table, self._arguments, self.scratch, *rest = function.args
        self.count, self.thread, self.threads = rest
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.b.branch(function.append_basic_block("start"))
        self.b.position_at_end(function.blocks[-1])
        self.k = LlvmScalars(self.b, fused=fused)
        self._operands = operands
        self.pointers = [self.pointer(INT64(i)) for i in range(operands)]

    def _argument(self, i: "ir.Value | int") -> ir.Value:
        index = INT64(i) if isinstance(i, int) else i
        at = self.b.gep(self._arguments, [index], source_etype=INT64)
        return self.b.load(at, typ=INT64)

    def _entry(self, place: ir.Value) -> ir.Value:
        at = self.b.gep(self._table, [place], source_etype=POINTER)
        return self.b.load(at, typ=POINTER)

    def pointer(self, operand: ir.Value) -> ir.Value:
        """The first element of an operand whose number is known when code runs."""
        first = self.times(operand, 2)
        offset = self._argument(self.b.add(first, INT64(1)))
        return self.at(self._entry(self._argument(first)), offset)

    def place(self, i: int) -> ir.Value:
        """The place of an operand in the table."""
        return self._argument(2 * i)

    def number(self, i: int, row: "tuple[ir.Value, int] | None" = None) -> ir.Value:
        """One of the numbers that are not operands.

        Args:
            i: which one, or which of the first row.
            row: another row, and how many numbers each has.
        """
        first = 2 * self._operands + i
        if row is None:
            return self._argument(first)
        return self._argument(self.b.add(self.times(*row), INT64(first)))

    @property
    def fault(self) -> ir.Value:
        """Where an index that is outside is told."""
        return self._entry(INT64(FAULT))

    def at(self, pointer: ir.Value, *offsets: "ir.Value | int") -> ir.Value:
        """So many bytes further."""
        b, total = self.b, INT64(0)
        for offset in offsets:
            total = b.add(total, INT64(offset) if isinstance(offset, int) else offset)
        return b.gep(pointer, [total], source_etype=BYTE)

    def times(self, x: ir.Value, factor: int) -> ir.Value:
        """An integer times a constant."""
        return self.b.mul(x, INT64(factor))

    def least(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The lesser one of two integers."""
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def most(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The greater one of two integers."""
        return self.b.select(self.b.icmp_signed(">", x, y), x, y)

    def share(
        self, units: ir.Value, seats: ir.Value | None = None
    ) -> tuple[ir.Value, ir.Value]:
        """The first of this thread's units and the one behind its last.

        Args:
            units: what is dealt out.
            seats: how many threads may have some; all, if it is left out.
        """
        if seats is None:
            return dealt(self.b, units, self.thread, self.threads)
        threads = self.least(self.threads, seats)
        thread = self.least(self.thread, threads)
        first, stop = dealt(self.b, units, thread, threads)
        return first, self.least(stop, units)  # a thread without a seat begins at the end

    def load(self, pointer: ir.Value, dtype: DType, lanes: int = 1) -> Register:
        """Read neighbouring elements."""
        return load(self.k.site, pointer, dtype, lanes)

    def constant(self, value: object, dtype: DType, lanes: int = 1) -> Register:
        """A number in each lane."""
        from_zero = Register(self.k.site, INT64(0), dtype)
        one = from_zero.constant(value, dtype)
        return one if lanes == 1 else Register(self.k.site, _wide(one.value, lanes), dtype)


def _wide(value: ir.Constant, lanes: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(value.type, lanes), [value] * lanes)


def bytes_of(operands: Sequence[Operand]) -> int:
    """What is read and written, if each element is met once."""
    total = 0
    for x in operands:
        size = x.dtype.itemsize
        for n in x.shape:
            size *= n
        total += size
    return total
