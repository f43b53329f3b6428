"""Kernels: statements over one iteration space, made into one function of machine code."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lazygraph.backends.native.functions import Function
from lazygraph.backends.native.growth import Growth
from lazygraph.backends.native.partials import Record, shared_bytes
from lazygraph.backends.native.reductions import REDUCTIONS
from lazygraph.backends.native.spaces import Access, extent_of
from lazygraph.backends.native.staging import Plan, arrange
from lazygraph.backends.native.statements import Statement
from lazygraph.backends.native.tactics import are_on_stack, buffer_bytes
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import DType
from lazygraph.errors import BackendError
from lazygraph.graph.op import Kind, Op

__all__ = ["Kernel", "accepts", "build", "grow", "joins", "knows", "plan", "refusal"]

_VECTOR = 64
_GRAIN = 1024  # elements of a flat space that are not dealt out singly


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel before there is machine code.

    Attributes:
        plan: its values and passes.
        statements: how many calls it stands for.
    """

    plan: Plan
    statements: int

    @property
    def key(self) -> Hashable:
        """Kernels with equal keys have equal machine code."""
        return self.plan.key

    @property
    def count(self) -> int:
        """The argument `count`: rows, or elements if they lie in one row."""
        return self.plan.space.count

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The place and the offset in bytes of each operand that the code knows by number."""
        return tuple(n for x in self.plan.accesses for n in (x.place, x.offset))

    @cached_property
    def record(self) -> Record:
        return Record(self.plan)

    @property
    def needs_finish(self) -> bool:
        """Whether `{name}_finish` is to be called by all threads after a barrier."""
        return bool(self.record.offsets)

    def scratch_bytes(self, threads: int) -> int:
        """The memory that so many threads together work in; its start suits a cache line."""
        shared = shared_bytes(self.record, self.count)
        own = 0 if are_on_stack(self.plan) else buffer_bytes(self.plan)
        return shared + threads * own

    @property
    def elements(self) -> int:
        space = self.plan.space
        return space.columns * math.prod(space.lengths)

    @property
    def flops(self) -> int:
        """Instructions for elements, roughly."""
        rows = self.elements // max(1, self.plan.space.columns)
        passes = (self.elements, rows)
        return sum(value.weight * passes[not Plan.is_made(value)] for value in self.plan.values)

    @property
    def bytes_read(self) -> int:
        return sum(self._extent(v.access) for v in self.plan.values if v.access and not v.op)

    @property
    def bytes_written(self) -> int:
        return sum(self._extent(v.access) for v in self.plan.values if v.access and v.op)

    def build(self, module: ir.Module, name: str, *, fused: bool) -> None:
        """Emit its functions; see `build`."""
        build(module, name, self, fused=fused)

    def _extent(self, access: Access) -> int:
        lengths = (*self.plan.space.lengths, self.plan.space.columns)
        axes = zip(lengths, (*access.rows, access.column), strict=True)
        return math.prod(n for n, stride in axes if stride) * access.dtype.itemsize


def accepts(statement: Statement) -> bool:
    """Whether there is a kernel of this statement alone."""
    return refusal([statement]) is None


def joins(statements: Sequence[Statement], statement: Statement) -> bool:
    """Whether the statement can follow the others in their kernel."""
    return refusal([*statements, statement]) is None


def refusal(statements: Sequence[Statement]) -> str | None:
    """Why there is no kernel of the statements; None if there is one."""
    try:
        grow(statements)
    except BackendError as error:
        return str(error)
    return None


def grow(statements: Sequence[Statement]) -> Growth:
    """Begin a kernel that further statements may join.

    Args:
        statements: in an order in which each comes after what it reads.

    Raises:
        BackendError: there is no kernel of these.
    """
    for statement in statements:
        _check(statement)
    return Growth(statements)


def plan(statements: Sequence[Statement]) -> Kernel:
    """Plan a kernel.

    Args:
        statements: in an order in which each comes after what it reads.

    Returns:
        The kernel; `build` makes its code.

    Raises:
        BackendError: there is none.
    """
    for statement in statements:
        _check(statement)
    return Kernel(arrange(statements), len(statements))


def knows(op: Op, dtypes: Sequence[DType]) -> bool:
    """Whether kernels can compute an op, for operands of these dtypes."""
    if op.kind is Kind.REDUCTION:
        reduction = REDUCTIONS.get(op.name)
        return reduction is not None and reduction.takes(dtypes[0])
    return op.kind is Kind.POINTWISE and op.emit is not None


def _check(statement: Statement) -> None:
    op, dtypes = statement.op, [operand.dtype for operand in statement.inputs]
    if not knows(op, dtypes):
        raise BackendError(
            "an op of a kernel must be pointwise or a known reduction; "
            f"got {op.name} of {', '.join(dtype.name for dtype in dtypes)}"
        )
    if not statement.size:
        raise BackendError("a statement of a kernel must have elements; got none")
    extent_of(statement)


def build(module: ir.Module, name: str, kernel: Kernel, *, fused: bool) -> None:
    """Emit `void name(ptr table, ptr places, ptr scratch, i64 count, i64 thread, i64 threads)`.

    Every thread calls it with its own number; if the kernel `needs_finish`, every thread then
    waits for the others and calls `{name}_finish` with the same arguments.

    Args:
        module: gets the functions.
        name: of the function.
        kernel: what to compute. Kernels with the same `key` may share the function.
        fused: whether the machine has fused multiply-add.
    """
    Function(module, name, kernel.plan, fused=fused).main()
    if kernel.needs_finish:
        Function(module, f"{name}_finish", kernel.plan, fused=fused).finish()
