"""Many numbers made one, always in the same order.

Element `i` of a block goes to partial result `i % 32`, one after the other; a block's partial
results are then combined as a tree. So the bits depend neither on how wide vectors are nor on
how many of them a round of a loop handles.
"""

from lazygraph.backends.native.reductions import Reduction
from lazygraph.backends.native.register import Register
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.sweeps import Here
from lazygraph.backends.native.types import INT32, INT64, POINTER, element_type, ir, number
from lazygraph.dtypes import DType

PARTIALS = 32
_TOPS = 16  # the partial results of a block that blocks are combined in


def entry_slot(b: ir.IRBuilder, kind: ir.Type, align: int | None = None) -> ir.Value:
    """Memory of the function's own, which LLVM turns into registers where it can."""
    entry = b.function.entry_basic_block
    place = ir.IRBuilder(entry)
    place.position_at_start(entry)
    slot = place.alloca(kind)
    slot.align = align
    slot.type = POINTER  # to anything: the builder would let only whole slots be stored to
    return slot


def neutral_of(reduction: Reduction, dtype: DType, lanes: int) -> ir.Constant:
    """The number that changes nothing, in each lane."""
    value = dtype.type(reduction.neutral(dtype)).item()
    return number(element_type(dtype), lanes, value)


class Accumulator:
    """Takes the vectors of a row, block by block.

    Args:
        k: emits instructions.
        reduction: how two numbers become one.
        dtype: of what is accumulated.
        lanes: of a vector, at most 16.
        used: how many of a block's partial results the row has at all.
        is_alone: whether the row is one block.
    """

    def __init__(
        self,
        k: LlvmScalars,
        reduction: Reduction,
        dtype: DType,
        lanes: int,
        *,
        used: int = PARTIALS,
        is_alone: bool = False,
    ) -> None:
        self.k, self.b, self.dtype = k, k.site.b, dtype
        self.reduction, self.is_alone = reduction, is_alone
        self.neutral = neutral_of(reduction, dtype, lanes)
        self.width = _TOPS // lanes
        self.slots = [entry_slot(self.b, self.neutral.type) for _ in range(-(-used // lanes))]
        self.tops = [entry_slot(self.b, self.neutral.type) for _ in self.slots[: self.width]]

    def _load(self, slot: ir.Value) -> Register:
        value = self.b.load(slot, typ=self.neutral.type)
        return Register(self.k.site, value, self.dtype)

    def _combine(self, a: Register, b: Register) -> Register:
        return self.reduction.combine(self.k, a, b)

    def start(self) -> None:
        for slot in self.tops:
            self.b.store(self.neutral, slot)

    def start_block(self) -> None:
        for slot in self.slots:
            self.b.store(self.neutral, slot)

    def add(self, here: Here, x: Register) -> None:
        value, slot = x.value, self.slots[here.slot % len(self.slots)]
        if not here.part.is_whole:
            value = self.b.select(here.part.mask(self.b), value, self.neutral)
        if not 0 <= here.number < len(self.slots):  # else it is the first in its slot
            value = self._combine(self._load(slot), Register(x.site, value, x.dtype)).value
        self.b.store(value, slot)

    def turn(self, by: int) -> None:
        """Let the slot that comes after so many be the first."""
        by %= len(self.slots)
        if by:
            values = [self._load(slot).value for slot in self.slots]
            for slot, value in zip(self.slots, values[by:] + values[:by], strict=True):
                self.b.store(value, slot)

    def end_block(self, turns: int | ir.Value) -> None:
        """Combine the block's partial results, after so many turns."""
        values = self._turned_back([self._load(slot) for slot in self.slots], turns)
        values = self._pairs(values)
        for slot, value in zip(self.tops, values, strict=True):
            total = value if self.is_alone else self._combine(self._load(slot), value)
            self.b.store(total.value, slot)

    def _pairs(self, values: list[Register]) -> list[Register]:
        """Half as many: each with the one 16 elements behind it, if there is one."""
        width = self.width
        return [
            self._combine(values[i], values[i + width])
            if i + width < len(values)
            else values[i]
            for i in range(len(values))
            if i % (2 * width) < width
        ]

    def _turned_back(self, values: list[Register], turns: int | ir.Value) -> list[Register]:
        count = len(values)
        if isinstance(turns, int):
            by = -turns % count
            return values[by:] + values[:by]
        by = 1
        while by < count:
            bit = self.b.icmp_unsigned("!=", self.b.and_(turns, INT64(by)), INT64(0))
            turned = values[-by:] + values[:-by]
            values = [
                Register(x.site, self.b.select(bit, y.value, x.value), x.dtype)
                for x, y in zip(values, turned, strict=True)
            ]
            by *= 2
        return values

    def total(self) -> Register:
        """The one number that everything came to."""
        values = [self._load(slot) for slot in self.tops]
        while len(values) > 1:
            half = len(values) // 2
            pairs = zip(values[:half], values[half:], strict=True)
            values = [self._combine(first, second) for first, second in pairs]
        (x,) = values
        while (lanes := x.lanes) > 1:
            halves = (range(lanes // 2), range(lanes // 2, lanes))
            x = self._combine(*(self._picked(x, half) for half in halves))
        return x

    def _picked(self, x: Register, lanes: range) -> Register:
        if len(lanes) == 1:
            value = self.b.extract_element(x.value, INT32(lanes.start))
        else:
            mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
            others = ir.Constant(x.value.type, ir.Undefined)
            value = self.b.shuffle_vector(x.value, others, mask)
        return Register(x.site, value, x.dtype)
