"""Vectors read from memory and written to it, at any stride, whole or in part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lazygraph.backends.native import register
from lazygraph.backends.native.loops import if_
from lazygraph.backends.native.register import Register, Site
from lazygraph.backends.native.types import (
    BIT,
    INT32,
    INT64,
    POINTER,
    ir,
    memory_type,
    number,
    widened,
)
from lazygraph.dtypes import BOOL, DType

BYTE = ir.IntType(8)


@dataclass(frozen=True, slots=True)
class Part:
    """The lanes of a vector that stand for elements.

    Attributes:
        lanes: of the vector.
        active: how many of them, from the first on; a number that runs decide has `lanes` as
            its upper bound and is at least 1.
    """

    lanes: int
    active: int | ir.Value

    @property
    def is_whole(self) -> bool:
        return isinstance(self.active, int) and self.active == self.lanes

    def mask(self, b: ir.IRBuilder) -> ir.Value:
        """One bit a lane: whether it stands for an element."""
        if isinstance(self.active, int):
            bits = [lane < self.active for lane in range(self.lanes)]
            return ir.Constant(ir.VectorType(BIT, self.lanes), bits)
        kind = ir.VectorType(INT64, self.lanes)
        first = b.insert_element(ir.Constant(kind, ir.Undefined), self.active, INT32(0))
        zeros = ir.Constant(ir.VectorType(INT32, self.lanes), [0] * self.lanes)
        limit = b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)
        return b.icmp_unsigned("<", ir.Constant(kind, list(range(self.lanes))), limit)


def load_part(
    site: Site, pointer: ir.Value, column: ir.Value, stride: int, dtype: DType, part: Part
) -> Register:
    """Read the elements from a column on; lanes beyond them hold some number."""
    if stride != dtype.itemsize:
        return _gather(site, pointer, column, stride, dtype, part)
    b, element = site.b, memory_type(dtype)
    address = b.gep(pointer, [column], source_etype=element)
    if part.is_whole:
        return register.load(site, address, dtype, part.lanes)
    if isinstance(part.active, int):
        return _load_pieces(site, address, dtype, part)
    kind = widened(element, part.lanes)
    signature = ir.FunctionType(kind, [POINTER, INT32, ir.VectorType(BIT, part.lanes), kind])
    function = _masked(b, "load", element, part.lanes, signature)
    align, others = INT32(dtype.itemsize), ir.Constant(kind, None)
    value = b.call(function, [address, align, part.mask(b), others])
    return _from_memory(site, value, dtype)


def store_part(
    x: Register, pointer: ir.Value, column: ir.Value, stride: int, part: Part
) -> None:
    """Write the elements to columns from one on."""
    dtype = x.dtype
    if stride != dtype.itemsize:
        _scatter(x, pointer, column, stride, part)
        return
    b, element = x.site.b, memory_type(dtype)
    address = b.gep(pointer, [column], source_etype=element)
    if part.is_whole:
        register.store(x, address)
        return
    if isinstance(part.active, int):
        _store_pieces(x, address, part)
        return
    kind = widened(element, part.lanes)
    signature = ir.FunctionType(
        ir.VoidType(), [kind, POINTER, INT32, ir.VectorType(BIT, part.lanes)]
    )
    function = _masked(b, "store", element, part.lanes, signature)
    align = INT32(dtype.itemsize)
    b.call(function, [_to_memory(x, part.lanes), address, align, part.mask(b)])


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    """Start and length of runs that vectors of powers of two fill."""
    start = 0
    while start < count:
        length = 1 << (count - start).bit_length() - 1
        yield start, length
        start += length


def _load_pieces(site: Site, address: ir.Value, dtype: DType, part: Part) -> Register:
    """Several narrow vectors made one: some machines take long for masked ones."""
    b, element, lanes = site.b, memory_type(dtype), part.lanes
    value: ir.Value = ir.Constant(widened(element, lanes), None)
    assert isinstance(part.active, int)
    for start, length in _pieces(part.active):
        place = b.gep(address, [INT64(start)], source_etype=element)
        if length == 1:  # LLVM stumbles over vectors of one lane
            one = b.load(place, align=dtype.itemsize, typ=element)
            value = b.insert_element(value, one, INT32(start))
            continue
        piece = b.load(place, align=dtype.itemsize, typ=ir.VectorType(element, length))
        wide = _picked(b, piece, [min(lane, length) for lane in range(lanes)])
        inside = range(start, start + length)
        order = [lanes + lane - start if lane in inside else lane for lane in range(lanes)]
        value = _picked(b, value, order, wide)
    return _from_memory(site, value, dtype)


def _store_pieces(x: Register, address: ir.Value, part: Part) -> None:
    b, element = x.site.b, memory_type(x.dtype)
    value = _to_memory(x, part.lanes)
    assert isinstance(part.active, int)
    for start, length in _pieces(part.active):
        place = b.gep(address, [INT64(start)], source_etype=element)
        if length == 1:
            one = b.extract_element(value, INT32(start))
            b.store(one, place, align=x.dtype.itemsize)
            continue
        piece = _picked(b, value, list(range(start, start + length)))
        b.store(piece, place, align=x.dtype.itemsize)


def _picked(
    b: ir.IRBuilder, value: ir.Value, lanes: Sequence[int], other: ir.Value | None = None
) -> ir.Value:
    """The named lanes of two vectors, counted through; without another one it is undefined."""
    other = ir.Constant(value.type, ir.Undefined) if other is None else other
    order = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
    return b.shuffle_vector(value, other, order)


def _masked(
    b: ir.IRBuilder, verb: str, element: ir.Type, lanes: int, signature: ir.FunctionType
) -> ir.Function:
    name = f"llvm.masked.{verb}.v{lanes}{element.intrinsic_name}.p0"
    return b.module.globals.get(name) or ir.Function(b.module, signature, name)


def _from_memory(site: Site, value: ir.Value, dtype: DType) -> Register:
    if dtype.category == BOOL:
        zero = number(BYTE, value.type.count, 0)
        value = site.b.icmp_unsigned("!=", value, zero)
    return Register(site, value, dtype)


def _to_memory(x: Register, lanes: int) -> ir.Value:
    if x.dtype.category != BOOL:
        return x.value
    return x.site.b.zext(x.value, widened(BYTE, lanes))


def _address(
    b: ir.IRBuilder, pointer: ir.Value, column: ir.Value, lane: int, stride: int
) -> ir.Value:
    place = b.mul(b.add(column, INT64(lane)), INT64(stride))
    return b.gep(pointer, [place], source_etype=BYTE)


def _gather(
    site: Site, pointer: ir.Value, column: ir.Value, stride: int, dtype: DType, part: Part
) -> Register:
    """One element after the other; lanes that stand for none read the last one that does."""
    b, element = site.b, memory_type(dtype)
    value: ir.Value = ir.Constant(widened(element, part.lanes), None)
    for lane in range(part.lanes):
        if isinstance(part.active, int):
            if lane >= part.active:
                break
            address = _address(b, pointer, column, lane, stride)
        else:
            exists = b.icmp_signed("<", INT64(lane), part.active)
            last = b.sub(part.active, INT64(1))
            at = b.add(column, b.select(exists, INT64(lane), last))
            address = _address(b, pointer, at, 0, stride)
        one = b.load(address, align=dtype.itemsize, typ=element)
        value = b.insert_element(value, one, INT32(lane))
    return _from_memory(site, value, dtype)


def _scatter(x: Register, pointer: ir.Value, column: ir.Value, stride: int, part: Part) -> None:
    b = x.site.b
    value = _to_memory(x, part.lanes)
    for lane in range(part.lanes):
        one = b.extract_element(value, INT32(lane))
        if isinstance(part.active, int):
            if lane < part.active:
                address = _address(b, pointer, column, lane, stride)
                b.store(one, address, align=x.dtype.itemsize)
        else:
            with if_(b, b.icmp_signed("<", INT64(lane), part.active)):
                address = _address(b, pointer, column, lane, stride)
                b.store(one, address, align=x.dtype.itemsize)
