"""Shifts and powers of integers."""

from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.register import Register, select, splat
from lazygraph.backends.native.types import INT64
from lazygraph.dtypes import int64


def left_shift(a: Register, places: Register) -> Register:
    """Bits moved up; 0 once all have left, also for a negative number of places."""
    fits, safe = _within_width(places)
    return select(fits, a << safe, 0)


def right_shift(a: Register, places: Register) -> Register:
    """Bits moved down; once all have left, only the sign is there, which is 0 or -1."""
    fits, safe = _within_width(places)
    width = 8 * a.dtype.itemsize
    return select(fits, a >> safe, a >> (width - 1) if a.is_signed else a.constant(0))


def _within_width(places: Register) -> tuple[Register, Register]:
    fits = places < 8 * places.dtype.itemsize
    if places.is_signed:
        fits = fits & (places >= 0)
    return fits, select(fits, places, 0)


def integer_power(base: Register, exponent: Register) -> Register:
    """The base multiplied with itself, wrapping around: by squares, one bit at a time.

    NumPy refuses a negative exponent, and so must who runs this code: the result is no power.
    """
    b, kind = base.site.b, base.value.type
    with b.goto_entry_block():
        product, square = b.alloca(kind), b.alloca(kind)
    b.store(base.constant(1).value, product)
    b.store(base.value, square)
    with counted_loop(b, INT64(8 * base.dtype.itemsize)) as i:
        place = splat(Register(base.site, i, int64).to(base.dtype), base.lanes)
        so_far = Register(base.site, b.load(product, typ=kind), base.dtype)
        factor = Register(base.site, b.load(square, typ=kind), base.dtype)
        is_set = ((exponent >> place) & 1).differs(0)
        b.store((so_far * select(is_set, factor, 1)).value, product)
        b.store((factor * factor).value, square)
    return Register(base.site, b.load(product, typ=kind), base.dtype)
