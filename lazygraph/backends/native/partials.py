"""Results that need every row: each chunk of rows has its own, which are combined at the end.

How rows are cut into chunks depends on nothing but their number.
"""

from lazygraph.backends.native.accumulators import entry_slot, neutral_of
from lazygraph.backends.native.evaluation import name_of
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.memory import BYTE, Part, store_part
from lazygraph.backends.native.reductions import REDUCTIONS
from lazygraph.backends.native.register import Register, load, store
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.spaces import Access, Extent
from lazygraph.backends.native.staging import Plan
from lazygraph.backends.native.sweeps import BLOCK, Here
from lazygraph.backends.native.types import BIT, INT64, ir, memory_type
from lazygraph.dtypes import DType

_LANES = 16
_CHUNKS = 16  # as many at least, if they have enough rows
_FEWEST_ROWS, _MOST_ROWS = 32, 512
_FLAT_CHUNKS, _MOST_BLOCKS = 64, 64


def chunk_length(count: int, *, is_flat: bool) -> int:
    """How many rows, or elements of a flat space, make a chunk."""
    if is_flat:
        blocks = -(-count // (_FLAT_CHUNKS * BLOCK))
        return BLOCK * max(1, min(_MOST_BLOCKS, blocks))
    return max(_FEWEST_ROWS, min(_MOST_ROWS, -(-count // _CHUNKS)))


def emit_chunk_length(b: ir.IRBuilder, count: ir.Value, *, is_flat: bool) -> ir.Value:
    """The same, computed by the kernel."""

    def bounded(x: ir.Value, low: int, high: int) -> ir.Value:
        x = b.select(b.icmp_signed("<", x, INT64(low)), INT64(low), x)
        return b.select(b.icmp_signed(">", x, INT64(high)), INT64(high), x)

    if is_flat:
        blocks = ceil_divide(b, count, INT64(_FLAT_CHUNKS * BLOCK))
        return b.mul(bounded(blocks, 1, _MOST_BLOCKS), INT64(BLOCK))
    return bounded(ceil_divide(b, count, INT64(_CHUNKS)), _FEWEST_ROWS, _MOST_ROWS)


def shared_bytes(record: "Record", count: int) -> int:
    """The size of the records of all chunks; the first has room even if there is none."""
    if not record.offsets:
        return 0
    length = chunk_length(count, is_flat=record.plan.space.is_flat)
    return record.nbytes * max(1, -(-count // length))


def emit_shared_bytes(b: ir.IRBuilder, record: "Record", count: ir.Value) -> ir.Value:
    """At most as many, computed by the kernel."""
    if not record.offsets:
        return INT64(0)
    length = emit_chunk_length(b, count, is_flat=record.plan.space.is_flat)
    return b.mul(ceil_divide(b, count, length), INT64(record.nbytes))


def ceil_divide(b: ir.IRBuilder, a: ir.Value, by: ir.Value) -> ir.Value:
    return b.udiv(b.add(a, b.sub(by, INT64(1))), by)


def dealt(
    b: ir.IRBuilder, count: ir.Value, thread: ir.Value, threads: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The first of a thread's share and the one behind its last."""
    after = b.add(thread, INT64(1))
    return b.udiv(b.mul(count, thread), threads), b.udiv(b.mul(count, after), threads)


class Record:
    """The layout of one chunk's partial results, and the code that fills it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.offsets: dict[int, int] = {}
        self.dtypes: dict[int, DType] = {}
        self.nbytes = 0
        for i, value in enumerate(plan.values):
            if value.needs_finish:
                dtype = plan.accumulated(i)
                self.offsets[i], self.dtypes[i] = self.nbytes, dtype
                padded = -(-self.columns(i) // _LANES) * _LANES
                self.nbytes += -(-padded * dtype.itemsize // 64) * 64

    def columns(self, value: int) -> int:
        is_row = self.plan.values[value].extent is Extent.COLUMN
        return self.plan.space.columns if is_row else 1


class ColumnPartials:
    """Adds the rows of a chunk, in order.

    Args:
        k: emits instructions.
        record: what there is to add.
        lanes: of a vector.
        in_registers: whether the vectors of a row are few and known by their number.
    """

    def __init__(self, k: LlvmScalars, record: Record, lanes: int, in_registers: bool) -> None:
        self.k, self.b, self.record, self.lanes = k, k.site.b, record, lanes
        self.pointers: dict[int, ir.Value] = {}
        self.slots: dict[tuple[int, int], ir.Value] = {}
        if in_registers:
            for i in record.offsets:
                kind = self._neutral(i, lanes).type
                for index in range(-(-record.columns(i) // lanes)):
                    self.slots[i, index] = entry_slot(self.b, kind)

    def _neutral(self, i: int, lanes: int) -> ir.Constant:
        name = name_of(self.record.plan.values[i])
        return neutral_of(REDUCTIONS[name], self.record.dtypes[i], lanes)

    def _register(self, i: int, value: ir.Value) -> Register:
        return Register(self.k.site, value, self.record.dtypes[i])

    def start(self, chunk: ir.Value) -> None:
        """Begin the chunk whose record lies there."""
        for i, offset in self.record.offsets.items():
            self.pointers[i] = self.b.gep(chunk, [INT64(offset)], source_etype=BYTE)
            if not self.slots:
                self._fill(i)
        for (i, _), slot in self.slots.items():
            self.b.store(self._neutral(i, self.lanes), slot)

    def _fill(self, i: int) -> None:
        neutral = self._register(i, self._neutral(i, _LANES))
        padded = -(-self.record.columns(i) // _LANES) * _LANES
        with counted_loop(self.b, INT64(padded), _LANES) as column:
            store(neutral, self._address(i, column))

    def _address(self, i: int, column: ir.Value) -> ir.Value:
        kind = memory_type(self.record.dtypes[i])
        return self.b.gep(self.pointers[i], [column], source_etype=kind)

    def add(self, value: int, here: Here, x: Register) -> None:
        combine = REDUCTIONS[name_of(self.record.plan.values[value])].combine
        if here.number >= 0:
            slot = self.slots[value, here.number]
            before = self._register(value, self.b.load(slot, typ=x.value.type))
            self.b.store(combine(self.k, before, x).value, slot)
            return
        address = self._address(value, here.column)
        before = load(self.k.site, address, x.dtype, self.lanes)
        store(combine(self.k, before, x), address)

    def end(self) -> None:
        for (i, index), slot in self.slots.items():
            kind = self._neutral(i, self.lanes).type
            value = self._register(i, self.b.load(slot, typ=kind))
            store(value, self._address(i, INT64(index * self.lanes)))


def emit_finish(
    k: LlvmScalars,
    record: Record,
    outs: dict[Access, ir.Value],
    scratch: ir.Value,
    count: ir.Value,
    thread: ir.Value,
    threads: ir.Value,
) -> None:
    """Combine the chunks' results as a tree; each thread does it for its share of columns."""
    b = k.site.b
    length = emit_chunk_length(b, count, is_flat=record.plan.space.is_flat)
    chunks = ceil_divide(b, count, length)
    for i in record.offsets:
        columns = record.columns(i)
        vectors = -(-columns // _LANES)
        share = dealt(b, INT64(vectors), thread, threads)
        start = b.gep(scratch, [INT64(record.offsets[i])], source_etype=BYTE)
        tree = _Tree(k, record, i, start)
        tree.combine(chunks, *share)
        access = record.plan.values[i].access
        if access is not None:
            tree.store(outs[access], access.column, chunks, share, columns)


class _Tree:
    """Combines the records of chunks two by two, in place."""

    def __init__(self, k: LlvmScalars, record: Record, value: int, start: ir.Value) -> None:
        self.k, self.b, self.start = k, k.site.b, start
        self.nbytes, self.dtype = record.nbytes, record.dtypes[value]
        self.value = record.plan.values[value]
        self.reduction = REDUCTIONS[name_of(self.value)]

    def _load(self, chunk: ir.Value, vector: ir.Value) -> tuple[ir.Value, Register]:
        b = self.b
        row = b.mul(chunk, INT64(self.nbytes))
        offset = b.add(row, b.mul(vector, INT64(_LANES * self.dtype.itemsize)))
        address = b.gep(self.start, [offset], source_etype=BYTE)
        return address, load(self.k.site, address, self.dtype, _LANES)

    def combine(self, chunks: ir.Value, first: ir.Value, stop: ir.Value) -> None:
        b = self.b
        zeros = b.ctlz(b.sub(chunks, INT64(1)), BIT(0))
        levels = b.sub(INT64(64), zeros)
        some = b.icmp_signed(">", chunks, INT64(0))
        with counted_loop(b, b.select(some, levels, INT64(0))) as level:
            step = b.shl(INT64(1), level)
            both = b.shl(step, INT64(1))
            pairs = ceil_divide(b, b.sub(chunks, step), both)
            with counted_loop(b, pairs) as pair:
                left = b.mul(pair, both)
                with counted_loop(b, b.sub(stop, first)) as i:
                    vector = b.add(first, i)
                    address, x = self._load(left, vector)
                    _, y = self._load(b.add(left, step), vector)
                    store(self.reduction.combine(self.k, x, y), address)

    def store(
        self,
        out: ir.Value,
        stride: int,
        chunks: ir.Value,
        share: tuple[ir.Value, ir.Value],
        columns: int,
    ) -> None:
        """Write the results; without any chunk, those of no element."""
        b, (first, stop) = self.b, share
        whole = INT64(columns // _LANES)
        last = b.select(b.icmp_signed("<", stop, whole), stop, whole)
        with counted_loop(b, b.sub(last, first)) as i:
            self._store(out, stride, chunks, b.add(first, i), Part(_LANES, _LANES))
        if columns % _LANES:
            mine = b.and_(b.icmp_signed(">", stop, whole), b.icmp_signed("<=", first, whole))
            with if_(b, mine):
                self._store(out, stride, chunks, whole, Part(_LANES, columns % _LANES))

    def _store(
        self, out: ir.Value, stride: int, chunks: ir.Value, vector: ir.Value, part: Part
    ) -> None:
        b = self.b
        _, x = self._load(INT64(0), vector)
        none = neutral_of(self.reduction, self.dtype, _LANES)
        some = b.icmp_signed(">", chunks, INT64(0))
        total = Register(x.site, b.select(some, x.value, none), x.dtype)
        result = self.reduction.finish(self.k, total).to(self.value.dtype)
        column = b.mul(vector, INT64(_LANES))
        store_part(result, out, column, stride or result.dtype.itemsize, part)
