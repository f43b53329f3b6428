"""Kernels: statements over one iteration space, made into one function of machine code."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lazygraph.backends.native.evaluation import Evaluation, is_unrolled, row_buffers
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.memory import BYTE
from lazygraph.backends.native.partials import (
    ColumnPartials,
    Record,
    ceil_divide,
    chunk_length,
    dealt,
    emit_chunk_length,
    emit_finish,
)
from lazygraph.backends.native.reductions import REDUCTIONS
from lazygraph.backends.native.register import Register, store
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.spaces import Access, extent_of
from lazygraph.backends.native.staging import Plan, arrange
from lazygraph.backends.native.statements import Statement
from lazygraph.backends.native.types import INT64, POINTER, ir
from lazygraph.errors import BackendError
from lazygraph.graph.op import Kind

__all__ = ["Kernel", "accepts", "build", "joins", "plan", "refusal"]

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
    def places(self) -> tuple[tuple[int, int], ...]:
        """The place and the offset in bytes of each operand that the code knows by number."""
        return tuple((access.place, access.offset) for access in self.plan.accesses)

    @cached_property
    def record(self) -> Record:
        return Record(self.plan)

    @property
    def needs_finish(self) -> bool:
        """Whether `{name}_finish` is to be called by all threads after a barrier."""
        return bool(self.record.offsets)

    @property
    def scratch_bytes(self) -> int:
        """The memory that all threads together work in."""
        if not self.needs_finish:
            return 0
        length = chunk_length(self.count, is_flat=self.plan.space.is_flat)
        return self.record.nbytes * max(1, -(-self.count // length))

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
        plan(statements)
    except BackendError as error:
        return str(error)
    return None


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


def _check(statement: Statement) -> None:
    op = statement.op
    if op.kind is Kind.REDUCTION:
        reduction = REDUCTIONS.get(op.name)
        known = reduction is not None and reduction.takes(statement.inputs[0].dtype)
    else:
        known = op.kind is Kind.POINTWISE and op.emit is not None
    if not known:
        dtypes = ", ".join(operand.dtype.name for operand in statement.inputs)
        raise BackendError(
            "an op of a kernel must be pointwise or a known reduction; "
            f"got {op.name} of {dtypes}"
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
    _Function(module, name, kernel, fused).main()
    if kernel.needs_finish:
        _Function(module, f"{name}_finish", kernel, fused).finish()


class _Function:
    """One function under construction.

    `places` are pairs of i64: the index into the table and the offset in bytes.
    """

    def __init__(self, module: ir.Module, name: str, kernel: Kernel, fused: bool) -> None:
        arguments = [POINTER, POINTER, POINTER, INT64, INT64, INT64]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), name)
        self.table, self.places, self.scratch, self.count, self.thread, self.threads = (
            function.args
        )
        entry = function.append_basic_block("entry")
        self.b = b = ir.IRBuilder(entry)
        b.branch(function.append_basic_block("start"))
        b.position_at_end(function.blocks[-1])
        self.k = LlvmScalars(b, fused=fused)
        self.kernel, self.plan, self.record = kernel, kernel.plan, kernel.record
        self.is_flat = self.plan.space.is_flat
        self.lanes = _lanes(self.plan)
        self.bases = {x: self._base(i) for i, x in enumerate(self.plan.accesses)}

    def _base(self, i: int) -> ir.Value:
        b = self.b
        place, offset = (
            b.load(b.gep(self.places, [INT64(j)], source_etype=INT64), typ=INT64)
            for j in (2 * i, 2 * i + 1)
        )
        start = b.load(b.gep(self.table, [place], source_etype=POINTER), typ=POINTER)
        return b.gep(start, [offset], source_etype=BYTE)

    def main(self) -> None:
        in_registers = is_unrolled(self.plan, self.lanes)
        self.columns = ColumnPartials(self.k, self.record, self.lanes, in_registers)
        self.evaluation = Evaluation(
            self.plan,
            self.k,
            self.bases,
            self.lanes,
            row_buffers(self.b, self.plan, self.lanes),
            self.columns,
        )
        self.evaluation.start()
        if self.kernel.needs_finish:
            self._chunks()
        elif self.is_flat:
            grains = ceil_divide(self.b, self.count, INT64(_GRAIN))
            first, stop = dealt(self.b, grains, self.thread, self.threads)
            self._run(*(self.b.mul(x, INT64(_GRAIN)) for x in (first, stop)))
        else:
            self._run(*dealt(self.b, self.count, self.thread, self.threads))
        self.b.ret_void()

    def finish(self) -> None:
        arguments = (self.scratch, self.count, self.thread, self.threads)
        emit_finish(self.k, self.record, self.bases, *arguments)
        self.b.ret_void()

    def _chunks(self) -> None:
        b = self.b
        length = emit_chunk_length(b, self.count, is_flat=self.is_flat)
        chunks = ceil_divide(b, self.count, length)
        first, stop = dealt(b, chunks, self.thread, self.threads)
        with counted_loop(b, b.sub(stop, first)) as i:
            chunk = b.add(first, i)
            offset = b.mul(chunk, INT64(self.record.nbytes))
            record = b.gep(self.scratch, [offset], source_etype=BYTE)
            self.columns.start(record)
            start = b.mul(chunk, length)
            self._run(start, b.add(start, length))
            self.columns.end()
            for value, total in self.evaluation.totals.items():
                self._store_total(value, record, total)

    def _store_total(self, value: int, record: ir.Value, total: Register) -> None:
        offset = INT64(self.record.offsets[value])
        store(total, self.b.gep(record, [offset], source_etype=BYTE))

    def _run(self, first: ir.Value, stop: ir.Value) -> None:
        """Rows from the first on, or elements if they lie in one row; none beyond the last."""
        b = self.b
        stop = b.select(b.icmp_signed("<", stop, self.count), stop, self.count)
        length = b.sub(stop, first)
        if self.is_flat:
            for access, base in self.bases.items():
                offset = b.mul(first, INT64(access.column))
                self.evaluation.pointers[access] = b.gep(base, [offset], source_etype=BYTE)
            self.evaluation.run(0, length)
            return
        with counted_loop(b, length) as i:
            self.evaluation.row(self._offsets(b.add(first, i)))

    def _offsets(self, row: ir.Value) -> dict[Access, ir.Value]:
        """How far each operand's row lies behind its first one, in bytes."""
        b = self.b
        lengths = self.plan.space.lengths
        indices: list[ir.Value] = []
        for n in reversed(lengths[1:]):
            rest = b.udiv(row, INT64(n))
            indices.insert(0, b.sub(row, b.mul(rest, INT64(n))))
            row = rest
        indices.insert(0, row)
        offsets = {}
        for access in self.bases:
            total: ir.Value = INT64(0)
            for index, stride in zip(indices, access.rows, strict=True):
                total = b.add(total, b.mul(index, INT64(stride))) if stride else total
            if any(access.rows):
                offsets[access] = total
        return offsets


def _lanes(plan: Plan) -> int:
    """As many as make a vector of 64 bytes, but not many more than a short row has columns."""
    is_narrow = any(value.dtype.itemsize == 4 for value in plan.values)
    lanes = _VECTOR // 4 if is_narrow else _VECTOR // 8
    if not plan.space.is_flat:
        while lanes > 4 and plan.space.columns <= lanes // 2:
            lanes //= 2
    return lanes
