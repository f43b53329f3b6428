"""The values of one row, made pass by pass."""

from collections.abc import Sequence
from typing import Any, Protocol

from lazygraph.backends.native import register
from lazygraph.backends.native.accumulators import PARTIALS, Accumulator
from lazygraph.backends.native.memory import BYTE, Part, load_part, store_part
from lazygraph.backends.native.reductions import REDUCTIONS
from lazygraph.backends.native.register import Register, splat
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.spaces import Access, Extent
from lazygraph.backends.native.staging import Plan, Value
from lazygraph.backends.native.sweeps import BLOCK, Here, Sweep, blocks, looped, unrolled
from lazygraph.backends.native.tactics import is_unrolled, lanes_of, vectors_a_round
from lazygraph.backends.native.types import INT64, ir


class Columns(Protocol):
    """Takes the vectors that are reduced over rows."""

    def add(self, value: int, here: Here, x: Register) -> None: ...


class Evaluation:
    """Emits the passes over one row after another.

    Args:
        plan: of the kernel.
        k: emits instructions.
        bases: the address of each access's first element.
        buffers: where whole rows can be kept, by value.
        columns: takes what is reduced over rows.
    """

    def __init__(
        self,
        plan: Plan,
        k: LlvmScalars,
        bases: dict[Access, ir.Value],
        buffers: dict[int, ir.Value],
        columns: Columns,
    ) -> None:
        self.plan, self.k, self.b = plan, k, k.site.b
        self.bases, self.lanes = bases, lanes_of(plan)
        self.is_unrolled = is_unrolled(plan)
        self.buffers, self.columns = buffers, columns
        self.pointers = dict(bases)
        self.numbers: dict[int, Register] = {}
        self.spread: dict[int, Register] = {}
        self.remembered: dict[tuple[int, int], Register] = {}
        self.found: dict[int, Register] = {}
        self.accumulators: dict[int, Accumulator] = {}
        self.totals: dict[int, Register] = {}

    def start(self) -> None:
        """Read what is the same in all rows."""
        for i, value in enumerate(self.plan.values):
            if value.op is None and value.access is not None and value.access.is_one:
                self.numbers[i] = self._number(value.access)

    def _number(self, access: Access) -> Register:
        return register.load(self.k.site, self.pointers[access], access.dtype)

    def row(self, offsets: dict[Access, ir.Value]) -> None:
        """Everything that is to be done with the row at these offsets."""
        for access, offset in offsets.items():
            self.pointers[access] = self.b.gep(self.bases[access], [offset], source_etype=BYTE)
        for i, value in enumerate(self.plan.values):
            is_load = value.op is None and not value.is_full
            if is_load and value.access is not None and not value.access.is_one:
                self.numbers[i] = self._number(value.access)
        for stage in range(self.plan.last_stage + 2):
            self._make_numbers(stage)
            if stage <= self.plan.last_stage:
                self.run(stage, self.plan.space.columns)

    def _make_numbers(self, stage: int) -> None:
        """What is one number a row and known before a pass."""
        for i, value in enumerate(self.plan.values):
            if value.op is None or Plan.is_made(value) or self.plan.stages[i] != stage:
                continue
            self.numbers[i] = self._apply(value, [self.numbers[x] for x in value.inputs])
            self._store_number(value, self.numbers[i])

    def _store_number(self, value: Value, x: Register) -> None:
        if value.access is not None:
            register.store(x, self.pointers[value.access])

    def run(self, stage: int, count: int | ir.Value) -> None:
        """One pass over so many columns."""
        made = self.plan.made_in(stage)
        self._spread_numbers(stage)
        self.accumulators = {
            i: self._accumulator(i, count)
            for i in made
            if self.plan.values[i].extent in (Extent.ROW, Extent.ALL)
        }
        unroll = vectors_a_round(self.plan, made)
        sweep = Sweep(
            self.lanes, unroll, lambda here: self._vector(stage, made, here), self._turn
        )
        if not self.accumulators:
            self._sweep(INT64(0), count, sweep)
            return
        for accumulator in self.accumulators.values():
            accumulator.start()
        with blocks(self.b, count) as (start, length):
            for accumulator in self.accumulators.values():
                accumulator.start_block()
            self._sweep(start, length, sweep)
            for accumulator in self.accumulators.values():
                accumulator.end_block(self._turns(length))
        for i, accumulator in self.accumulators.items():
            self._finish_row(i, accumulator.total())

    def _sweep(self, start: ir.Value, count: int | ir.Value, sweep: Sweep) -> None:
        if self.is_unrolled:
            unrolled(self.plan.space.columns, sweep)
        else:
            looped(self.b, start, count, sweep)

    def _accumulator(self, i: int, count: int | ir.Value) -> Accumulator:
        reduction = REDUCTIONS[name_of(self.plan.values[i])]
        is_alone = isinstance(count, int) and count <= BLOCK
        used = min(self.plan.space.columns, PARTIALS) if self.is_unrolled else PARTIALS
        dtype = self.plan.accumulated(i)
        return Accumulator(self.k, reduction, dtype, self.lanes, used=used, is_alone=is_alone)

    def _turn(self, by: int) -> None:
        for accumulator in self.accumulators.values():
            accumulator.turn(by)

    def _turns(self, length: int | ir.Value) -> int | ir.Value:
        if self.is_unrolled:
            return 0
        if isinstance(length, int):
            return -(-length // self.lanes)
        rounded = self.b.add(length, INT64(self.lanes - 1))
        return self.b.lshr(rounded, INT64(self.lanes.bit_length() - 1))

    def _finish_row(self, i: int, total: Register) -> None:
        value = self.plan.values[i]
        if value.extent is Extent.ALL:
            self.totals[i] = total
            return
        finish = REDUCTIONS[name_of(value)].finish
        self.numbers[i] = finish(self.k, total).to(value.dtype)
        self._store_number(value, self.numbers[i])

    def _spread_numbers(self, stage: int) -> None:
        """Numbers of the row in each lane, for one pass."""
        for i in sorted(self._numbers_read(self.plan.made_in(stage))):
            self.spread[i] = splat(self.numbers[i], self.lanes)

    def _numbers_read(self, made: Sequence[int]) -> set[int]:
        values, found = self.plan.values, set()
        for i in made:
            for x in values[i].inputs:
                if not values[x].is_full:
                    found.add(x)
                elif x in self.plan.again:
                    found |= {y for y in values[x].inputs if not values[y].is_full}
        return found

    def _vector(self, stage: int, made: Sequence[int], here: Here) -> None:
        """Everything that a pass makes of one vector."""
        self.found = {}
        for i in sorted(self.plan.kept):
            if self.plan.values[i].op is None and self.plan.stages[i] == stage:
                self._keep(i, self._value(i, stage, here), here)
        for i in made:
            value = self.plan.values[i]
            inputs = [self._value(x, stage, here) for x in value.inputs]
            if value.reduces:
                self._reduce(i, inputs, here)
                continue
            self.found[i] = x = self._apply(value, inputs)
            if value.access is not None:
                access = value.access
                store_part(x, self.pointers[access], here.column, access.column, here.part)
            if i in self.plan.kept:
                self._keep(i, x, here)

    def _reduce(self, i: int, inputs: list[Register], here: Here) -> None:
        x = REDUCTIONS[name_of(self.plan.values[i])].element(self.k, *inputs)
        if i in self.accumulators:
            self.accumulators[i].add(here, x)
        else:
            self.columns.add(i, here, x)

    def _value(self, i: int, stage: int, here: Here) -> Register:
        value = self.plan.values[i]
        if not value.is_full:
            return self.spread[i]
        if i not in self.found:
            self.found[i] = self._reached(i, value, stage, here)
        return self.found[i]

    def _reached(self, i: int, value: Value, stage: int, here: Here) -> Register:
        """A value that this pass does not make: read, read back, or made once more."""
        site, is_later = self.k.site, self.plan.stages[i] < stage
        if is_later and here.number >= 0 and (i, here.number) in self.remembered:
            return self.remembered[i, here.number]
        if is_later and i in self.plan.kept:
            whole = Part(self.lanes, self.lanes)
            step = value.dtype.itemsize
            return load_part(site, self.buffers[i], here.column, step, value.dtype, whole)
        if value.op is not None and i in self.plan.again:
            return self._apply(value, [self._value(x, stage, here) for x in value.inputs])
        assert value.access is not None
        access = value.access
        pointer = self.pointers[access]
        return load_part(site, pointer, here.column, access.column, value.dtype, here.part)

    def _keep(self, i: int, x: Register, here: Here) -> None:
        if here.number >= 0:
            self.remembered[i, here.number] = x
        else:
            whole = Part(self.lanes, self.lanes)
            store_part(x, self.buffers[i], here.column, x.dtype.itemsize, whole)

    def _apply(self, value: Value, inputs: list[Register]) -> Register:
        assert value.op is not None
        if value.op.emit is None:  # a reduction over axes of length 1
            reduction = REDUCTIONS[value.op.name]
            element = reduction.element(self.k, *inputs)
            return reduction.finish(self.k, element).to(value.dtype)
        x: Any = value.op.emit(self.k, *inputs, **value.op.named(value.params))
        assert isinstance(x, Register)
        assert x.dtype is value.dtype, value.op
        return x


def name_of(value: Value) -> str:
    assert value.op is not None
    return value.op.name
