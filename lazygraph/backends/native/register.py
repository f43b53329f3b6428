"""A machine register that knows its dtype, so that formulas can be written as formulas."""

from dataclasses import dataclass
from typing import Any

from lazygraph.backends.native import types
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import (
    BOOL,
    FLOATING,
    DType,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
)

_SIGNED = {1: int8, 2: int16, 4: int32, 8: int64}
_FLOATS = {4: float32, 8: float64}


@dataclass(frozen=True, slots=True)
class Site:
    """Where instructions go, and what the machine that will run them can do.

    Attributes:
        b: the builder.
        fused: whether the machine multiplies and adds with one rounding. Polynomials then use
            it, so their last bits may differ between kinds of machines.
    """

    b: ir.IRBuilder
    fused: bool


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """Elements of one dtype, side by side: arithmetic on them emits one instruction each.

    The operands of an operator are two registers with the same dtype and number of lanes, or a
    register and a Python number. Integers wrap around; nothing is contracted or reordered.

    Attributes:
        site: where its instructions go.
        value: LLVM's value: a number, or a vector with a number in each lane.
        dtype: tells signed integers from unsigned ones, which LLVM's types do not.
    """

    site: Site
    value: ir.Value
    dtype: DType

    @property
    def lanes(self) -> int:
        return types.lanes_of(self.value)

    @property
    def is_floating(self) -> bool:
        return self.dtype.category == FLOATING

    @property
    def is_signed(self) -> bool:
        return self.dtype.dtype.kind == "i"

    def constant(self, number: Any, dtype: DType | None = None) -> "Register":
        """The number in every lane, of this register's dtype or another."""
        dtype = dtype or self.dtype
        number = dtype.type(number).item()  # wraps no integer and rounds a float once
        return self._of(types.number(types.element_type(dtype), self.lanes, number), dtype)

    def _of(self, value: ir.Value, dtype: DType | None = None) -> "Register":
        return Register(self.site, value, dtype or self.dtype)

    def _other(self, other: Any) -> ir.Value:
        return other.value if isinstance(other, Register) else self.constant(other).value

    def __add__(self, other: Any) -> "Register":
        b = self.site.b
        add = b.fadd if self.is_floating else b.add
        return self._of(add(self.value, self._other(other)))

    def __sub__(self, other: Any) -> "Register":
        b = self.site.b
        subtract = b.fsub if self.is_floating else b.sub
        return self._of(subtract(self.value, self._other(other)))

    def __rsub__(self, other: Any) -> "Register":
        return self.constant(other) - self

    def __mul__(self, other: Any) -> "Register":
        b = self.site.b
        multiply = b.fmul if self.is_floating else b.mul
        return self._of(multiply(self.value, self._other(other)))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Register":
        return self._of(self.site.b.fdiv(self.value, self._other(other)))

    def __rtruediv__(self, other: Any) -> "Register":
        return self.constant(other) / self

    def __neg__(self) -> "Register":
        b = self.site.b
        return self._of(b.fneg(self.value) if self.is_floating else b.neg(self.value))

    def __abs__(self) -> "Register":
        if self.is_floating:
            return self.call("fabs")
        return select(self < 0, -self, self) if self.is_signed else self

    def __and__(self, other: Any) -> "Register":
        return self._of(self.site.b.and_(self.value, self._other(other)))

    def __or__(self, other: Any) -> "Register":
        return self._of(self.site.b.or_(self.value, self._other(other)))

    def __xor__(self, other: Any) -> "Register":
        return self._of(self.site.b.xor(self.value, self._other(other)))

    def __invert__(self) -> "Register":
        return self._of(self.site.b.not_(self.value))

    def __lshift__(self, places: Any) -> "Register":
        """Move bits up by less than the width."""
        return self._of(self.site.b.shl(self.value, self._other(places)))

    def __rshift__(self, places: Any) -> "Register":
        """Move bits down by less than the width; a signed integer keeps its sign."""
        b = self.site.b
        shift = b.ashr if self.is_signed else b.lshr
        return self._of(shift(self.value, self._other(places)))

    def _compare(self, relation: str, other: Any) -> "Register":
        b, value = self.site.b, self._other(other)
        if self.is_floating:
            compare = b.fcmp_unordered if relation == "!=" else b.fcmp_ordered
        else:
            compare = b.icmp_signed if self.is_signed else b.icmp_unsigned
        return self._of(compare(relation, self.value, value), bool_)

    def __lt__(self, other: Any) -> "Register":
        return self._compare("<", other)

    def __le__(self, other: Any) -> "Register":
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> "Register":
        return self._compare(">", other)

    def __ge__(self, other: Any) -> "Register":
        return self._compare(">=", other)

    def equals(self, other: Any) -> "Register":
        """A bit: whether numbers are equal, which NaN is to nothing."""
        return self._compare("==", other)

    def differs(self, other: Any) -> "Register":
        """A bit: whether numbers differ, which NaN does from everything."""
        return self._compare("!=", other)

    def is_nan(self) -> "Register":
        return self.differs(self)

    def call(self, name: str, *others: Any) -> "Register":
        """One of LLVM's functions of numbers of one dtype, as `sqrt` or `floor`."""
        operands = [self.value, *(self._other(other) for other in others)]
        return self._of(types.intrinsic(self.site.b, name, self.value.type, operands))

    @property
    def bits(self) -> "Register":
        """The bits of a float as a signed integer."""
        dtype = _SIGNED[self.dtype.itemsize]
        return self._of(self.site.b.bitcast(self.value, self._type(dtype)), dtype)

    @property
    def as_float(self) -> "Register":
        """The float with these bits."""
        dtype = _FLOATS[self.dtype.itemsize]
        return self._of(self.site.b.bitcast(self.value, self._type(dtype)), dtype)

    def to(self, dtype: DType) -> "Register":
        """The number in another dtype, where a float that becomes an integer must fit."""
        if dtype is self.dtype:
            return self
        if dtype.category == BOOL:
            return self.differs(0)
        kind, value, b = self._type(dtype), self.value, self.site.b
        if self.is_floating and dtype.category == FLOATING:
            resize = b.fpext if dtype is float64 else b.fptrunc
        elif self.is_floating:
            resize = b.fptosi if dtype.dtype.kind == "i" else b.fptoui
        elif dtype.category == FLOATING:
            resize = b.sitofp if self.is_signed else b.uitofp
        elif self.dtype.category != BOOL and dtype.itemsize <= self.dtype.itemsize:
            resize = b.trunc if dtype.itemsize < self.dtype.itemsize else b.bitcast
        else:
            resize = b.sext if self.is_signed else b.zext
        return self._of(resize(value, kind), dtype)

    def _type(self, dtype: DType) -> ir.Type:
        return types.widened(types.element_type(dtype), self.lanes)


def select(condition: Register, a: Register, b: Any) -> Register:
    """`a` in the lanes where the bit is set, `b` in the others."""
    chosen = a.site.b.select(condition.value, a.value, a._other(b))
    return Register(a.site, chosen, a.dtype)


def multiply_add(a: Register, b: Register, c: Any) -> Register:
    """`a b + c`, with one rounding where the machine can do that, else with two."""
    return a.call("fma", b, c) if a.site.fused else a * b + c


def with_sign_of(size: Register, sign: Register) -> Register:
    """The size of one float with the sign bit of another."""
    return size.call("copysign", sign)


def given_sign_of(size: Register, sign: Register) -> Register:
    """The same, for a size whose sign bit is not set, or NaN: one instruction less."""
    sign_bit = -(1 << (8 * sign.dtype.itemsize - 1))
    return (size.bits | (sign.bits & sign_bit)).as_float


def splat(x: Register, lanes: int) -> Register:
    """The one element in each lane of a vector."""
    if lanes == x.lanes:
        return x
    b, kind = x.site.b, ir.VectorType(x.value.type, lanes)
    first = b.insert_element(ir.Constant(kind, ir.Undefined), x.value, types.INT32(0))
    everywhere = ir.Constant(ir.VectorType(types.INT32, lanes), [0] * lanes)
    value = b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)
    return Register(x.site, value, x.dtype)


def picked(x: Register, lanes: list[int]) -> Register:
    """Some lanes of a vector, in an order; of one lane, the element itself."""
    if x.lanes == 1:
        return x
    b = x.site.b
    if len(lanes) == 1:
        value = b.extract_element(x.value, types.INT32(lanes[0]))
    else:
        order = ir.Constant(ir.VectorType(types.INT32, len(lanes)), lanes)
        value = b.shuffle_vector(x.value, ir.Constant(x.value.type, ir.Undefined), order)
    return Register(x.site, value, x.dtype)


def woven(x: Register, y: Register) -> Register:
    """The lanes of two vectors in turn."""
    order = [lane // 2 + x.lanes * (lane % 2) for lane in range(2 * x.lanes)]
    lanes = ir.Constant(ir.VectorType(types.INT32, 2 * x.lanes), order)
    return Register(x.site, x.site.b.shuffle_vector(x.value, y.value, lanes), x.dtype)


def load(site: Site, pointer: ir.Value, dtype: DType, lanes: int = 1) -> Register:
    """Read neighbouring elements; the address need only suit one of them."""
    kind = types.widened(types.memory_type(dtype), lanes)
    value = site.b.load(pointer, align=dtype.itemsize, typ=kind)
    if dtype.category == BOOL:
        zero = types.number(types.memory_type(dtype), lanes, 0)
        value = site.b.icmp_unsigned("!=", value, zero)
    return Register(site, value, dtype)


def store(x: Register, pointer: ir.Value) -> None:
    """Write elements next to each other."""
    kind = types.widened(types.memory_type(x.dtype), x.lanes)
    value = x.site.b.zext(x.value, kind) if x.dtype.category == BOOL else x.value
    x.site.b.store(value, pointer, align=x.dtype.itemsize)
