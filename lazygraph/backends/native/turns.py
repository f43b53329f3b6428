"""Huge angles brought back to an eighth of a turn, by exact arithmetic on long integers."""

from typing import NamedTuple

from lazygraph.backends.native import types
from lazygraph.backends.native.coefficients import HALF_PI
from lazygraph.backends.native.loops import if_
from lazygraph.backends.native.pairs import Pair, fast_two_sum, product
from lazygraph.backends.native.register import Register, Site, select
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import float64, int64

EASY = 2.0**20  # larger angles need more digits of pi than a few floats hold

_LONG = ir.IntType(320)
_WIDE = ir.IntType(256)
_WORD = 64
_BEFORE = 63  # zero bits in the table before the first digit of 2 / pi
_WORDS = 22  # enough for the largest float64
_NAME = "lazygraph.turn_back"


class Turned(NamedTuple):
    """An angle as a number of quarter turns and a rest, at most an eighth of a turn."""

    quarters: Register
    rest: Pair


def with_huge_ones(x: Register, turned: Turned) -> Turned:
    """The same, with the lanes corrected whose angle is huge: one by one, for they are rare."""
    b = x.site.b
    huge = (abs(x) > EASY) & (abs(x) < float("inf"))
    found = huge.value
    if x.lanes > 1:
        found = types.intrinsic(b, "vector.reduce.or", types.BIT, [huge.value])
    before = b.block
    with if_(b, found, likely=False):
        corrected = _corrected(x, huge, turned)
        inside = b.block
    flat, fixed = (turned.quarters, *turned.rest), (corrected.quarters, *corrected.rest)
    merged = []
    for old, new in zip(flat, fixed, strict=True):
        phi = b.phi(old.value.type)
        phi.add_incoming(old.value, before)
        phi.add_incoming(new.value, inside)
        merged.append(Register(x.site, phi, old.dtype))
    return Turned(merged[0], Pair(merged[1], merged[2]))


def _corrected(x: Register, huge: Register, turned: Turned) -> Turned:
    parts = (turned.quarters, *turned.rest)
    safe = select(huge, x, 2 * EASY)  # a small angle would need digits before the first
    values = [_corrected_lane(safe, i) for i in range(x.lanes)]
    merged = []
    for part, lanes in zip(parts, zip(*values, strict=True), strict=True):
        gathered = _gather(x.site.b, list(lanes), part.value.type)
        merged.append(select(huge, Register(x.site, gathered, part.dtype), part))
    return Turned(merged[0], Pair(merged[1], merged[2]))


def _corrected_lane(x: Register, lane: int) -> list[ir.Value]:
    b = x.site.b
    one = x.value if x.lanes == 1 else b.extract_element(x.value, types.INT32(lane))
    result = b.call(_function(x.site), [one])
    return [b.extract_value(result, i) for i in range(3)]


def _gather(b: ir.IRBuilder, lanes: list[ir.Value], kind: ir.Type) -> ir.Value:
    if len(lanes) == 1:
        return lanes[0]
    vector = ir.Constant(kind, ir.Undefined)
    for i, value in enumerate(lanes):
        vector = b.insert_element(vector, value, types.INT32(i))
    return vector


def _function(site: Site) -> ir.Function:
    """`turn_back(x) -> (quarters, high, low)`, once in a module."""
    module = site.b.module
    if _NAME in module.globals:
        return module.globals[_NAME]
    double = ir.DoubleType()
    kind = ir.FunctionType(ir.LiteralStructType([types.INT64, double, double]), [double])
    function = ir.Function(module, kind, _NAME)
    function.linkage = "internal"
    function.attributes.add("noinline")
    inner = ir.IRBuilder(function.append_basic_block())
    x = Register(Site(inner, site.fused), function.args[0], float64)
    quarters, (high, low) = _turn_back(x, _table(module))
    result: ir.Value = ir.Constant(kind.return_type, ir.Undefined)
    for i, part in enumerate((quarters, high, low)):
        result = inner.insert_value(result, part.value, i)
    inner.ret(result)
    return function


def _table(module: ir.Module) -> ir.GlobalVariable:
    words = two_over_pi(_WORDS * _WORD - _BEFORE)
    mask = (1 << _WORD) - 1
    shifts = range((_WORDS - 1) * _WORD, -1, -_WORD)
    kind = ir.ArrayType(types.INT64, _WORDS)
    table = ir.GlobalVariable(module, kind, f"{_NAME}.digits")
    table.initializer = ir.Constant(kind, [(words >> shift) & mask for shift in shifts])
    table.linkage = "internal"
    table.global_constant = True
    return table


def two_over_pi(bits: int) -> int:
    """`floor(2^bits 2 / pi)`, with pi by Machin's formula, 16 atan(1/5) - 4 atan(1/239)."""
    one = 1 << bits + _WORD
    pi = 16 * _arctangent_of_inverse(5, one) - 4 * _arctangent_of_inverse(239, one)
    return (one << bits + 1) // pi


def _arctangent_of_inverse(n: int, one: int) -> int:
    term = one // n
    total, k = term, 1
    while term:
        term //= -n * n
        k += 2
        total += term // k
    return total


def _turn_back(x: Register, table: ir.Value) -> Turned:
    """Multiply the whole number M in |x| = M 2^e with those digits of 2 / pi that matter.

    Digits that would give multiples of four quarter turns are left out; of the others, 256
    bits are enough. In the product, two bits are the number of quarter turns and 254 bits
    the rest, which becomes a signed fraction.
    """
    b = x.site.b
    exponent = (abs(x).bits >> 52) - 1075
    mantissa = (x.bits & ((1 << 52) - 1)) | (1 << 52)
    digits = _digits(b, table, (exponent - 2 + _BEFORE).value)
    turns = b.mul(digits, b.zext(mantissa.value, _WIDE))
    rounded = b.lshr(b.add(turns, _WIDE(1 << 253)), _WIDE(254))
    rest = b.sub(turns, b.shl(rounded, _WIDE(254)))
    below = b.icmp_signed("<", rest, _WIDE(0))
    size = b.select(below, b.neg(rest), rest)
    high, low = product(_as_pair(x, size), Pair(*map(x.constant, HALF_PI["float64"])))

    minus = Register(x.site, below, (x < 0).dtype) ^ (x < 0)
    quarters = Register(x.site, b.trunc(rounded, types.INT64), int64)
    quarters = select(x < 0, -quarters, quarters)
    return Turned(quarters, Pair(select(minus, -high, high), select(minus, -low, low)))


def _digits(b: ir.IRBuilder, table: ir.Value, first: ir.Value) -> ir.Value:
    """256 bits of the table, from a bit on that need not begin a word."""
    index, offset = b.lshr(first, types.INT64(6)), b.and_(first, types.INT64(63))
    long: ir.Value = _LONG(0)
    for i in range(5):
        place = b.gep(table, [b.add(index, types.INT64(i))], source_etype=types.INT64)
        word = b.zext(b.load(place, typ=types.INT64), _LONG)
        long = b.or_(b.shl(long, _LONG(_WORD)), word)
    return b.trunc(b.lshr(b.shl(long, b.zext(offset, _LONG)), _LONG(_WORD)), _WIDE)


def _as_pair(x: Register, size: ir.Value) -> Pair:
    """`size / 2^254` to 117 bits, for a long integer that is not 0."""
    b = x.site.b
    zeros = types.intrinsic(b, "ctlz", _WIDE, [size, types.BIT(0)])
    shifted = b.shl(size, zeros)
    top = Register(x.site, b.trunc(b.lshr(shifted, _WIDE(203)), types.INT64), int64)
    below = b.and_(b.lshr(shifted, _WIDE(139)), _WIDE((1 << 64) - 1))
    under = Register(x.site, b.lshr(b.trunc(below, types.INT64), types.INT64(1)), int64)
    exponent = -51 - Register(x.site, b.trunc(zeros, types.INT64), int64)
    scale = ((exponent + 1023) << 52).as_float
    return fast_two_sum(top.to(float64) * scale, under.to(float64) * 2.0**-63 * scale)
