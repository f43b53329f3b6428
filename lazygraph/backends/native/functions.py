"""The two functions that a kernel is made of."""

from lazygraph.backends.native.accumulators import entry_slot
from lazygraph.backends.native.evaluation import Evaluation
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.memory import BYTE
from lazygraph.backends.native.partials import (
    ColumnPartials,
    Record,
    ceil_divide,
    dealt,
    emit_chunk_length,
    emit_finish,
    emit_shared_bytes,
)
from lazygraph.backends.native.register import Register, store
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.spaces import Access
from lazygraph.backends.native.staging import Plan
from lazygraph.backends.native.tactics import (
    are_on_stack,
    buffer_bytes,
    buffers_of,
    is_unrolled,
    lanes_of,
)
from lazygraph.backends.native.types import INT64, POINTER, ir

_GRAIN = 1024  # elements of a flat space that are not dealt out singly


class Function:
    """One function under construction.

    `places` are pairs of i64: the index into the table and the offset in bytes. `scratch` holds
    the records of all chunks, and behind them the buffers of each thread.

    Args:
        module: gets the function.
        name: of the function.
        plan: of the kernel.
        fused: whether the machine has fused multiply-add.
    """

    def __init__(self, module: ir.Module, name: str, plan: Plan, *, fused: bool) -> None:
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
        self.plan, self.record = plan, Record(plan)
        self.is_flat = plan.space.is_flat
        self.lanes = lanes_of(plan)
        self.bases = {x: self._base(i) for i, x in enumerate(plan.accesses)}

    def _base(self, i: int) -> ir.Value:
        b = self.b
        place, offset = (
            b.load(b.gep(self.places, [INT64(j)], source_etype=INT64), typ=INT64)
            for j in (2 * i, 2 * i + 1)
        )
        start = b.load(b.gep(self.table, [place], source_etype=POINTER), typ=POINTER)
        return b.gep(start, [offset], source_etype=BYTE)

    def main(self) -> None:
        """Emit what is done before threads have to wait for each other."""
        self.columns = ColumnPartials(self.k, self.record, self.lanes, is_unrolled(self.plan))
        self.evaluation = Evaluation(
            self.plan, self.k, self.bases, self._buffers(), self.columns
        )
        self.evaluation.start()
        if self.record.offsets:
            self._chunks()
        elif self.is_flat:
            grains = ceil_divide(self.b, self.count, INT64(_GRAIN))
            first, stop = dealt(self.b, grains, self.thread, self.threads)
            self._run(*(self.b.mul(x, INT64(_GRAIN)) for x in (first, stop)))
        else:
            self._run(*dealt(self.b, self.count, self.thread, self.threads))
        self.b.ret_void()

    def finish(self) -> None:
        """Emit what is done after that."""
        arguments = (self.scratch, self.count, self.thread, self.threads)
        emit_finish(self.k, self.record, self.bases, *arguments)
        self.b.ret_void()

    def _buffers(self) -> dict[int, ir.Value]:
        """The row of each kept value, on the stack if there is room."""
        b, nbytes = self.b, buffer_bytes(self.plan)
        if are_on_stack(self.plan):
            start = entry_slot(b, ir.ArrayType(BYTE, nbytes), align=64)
        else:
            shared = emit_shared_bytes(b, self.record, self.count)
            own = b.mul(self.thread, INT64(nbytes))
            start = b.gep(self.scratch, [b.add(shared, own)], source_etype=BYTE)
        return {
            i: b.gep(start, [INT64(offset)], source_etype=BYTE)
            for i, offset in buffers_of(self.plan).items()
        }

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
