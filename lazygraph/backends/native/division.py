"""Quotients rounded down and what they leave, as NumPy has them."""

from lazygraph.backends.native.register import Register, select, with_sign_of


def floor_divide(a: Register, b: Register) -> Register:
    """`floor(a / b)`; an integer divided by zero gives 0, a float `a / b`."""
    if a.is_floating:
        return _divide_floats(a, b)[0]
    quotient, rest, by_zero = _divide_integers(a, b)
    if a.is_signed:
        quotient = select(_on_the_other_side(rest, b), quotient - 1, quotient)
    return select(by_zero, a.constant(0), quotient)


def remainder(a: Register, b: Register) -> Register:
    """`a - b floor(a / b)`; the remainder of an integer divided by zero is 0, a float's NaN."""
    if a.is_floating:
        return _divide_floats(a, b)[1]
    _, rest, by_zero = _divide_integers(a, b)
    if a.is_signed:
        rest = select(_on_the_other_side(rest, b), rest + b, rest)
    return select(by_zero, a.constant(0), rest)


def _on_the_other_side(rest: Register, divisor: Register) -> Register:
    return rest.differs(0) & ((rest ^ divisor) < 0)


def _divide_integers(a: Register, b: Register) -> tuple[Register, Register, Register]:
    """Quotient cut towards zero, its remainder, and whether the divisor is zero.

    A zero, and the one divisor whose quotient overflows, are replaced by 1, which traps nowhere
    and gives the wrapped quotient `a`.
    """
    by_zero = b.equals(0)
    unsafe = by_zero
    if a.is_signed:
        smallest = -(2 ** (8 * a.dtype.itemsize - 1))
        unsafe = by_zero | (a.equals(smallest) & b.equals(-1))
    divisor = select(unsafe, b.constant(1), b)
    builder = a.site.b
    divide, rest_of = (
        (builder.sdiv, builder.srem) if a.is_signed else (builder.udiv, builder.urem)
    )
    quotient = Register(a.site, divide(a.value, divisor.value), a.dtype)
    rest = Register(a.site, rest_of(a.value, divisor.value), a.dtype)
    return quotient, rest, by_zero


def _divide_floats(a: Register, b: Register) -> tuple[Register, Register]:
    """Quotient and remainder from the exact remainder of the quotient that is cut to 0."""
    exact = Register(a.site, a.site.b.frem(a.value, b.value), a.dtype)
    quotient = (a - exact) / b
    opposite = (b < 0) ^ (exact < 0)
    has_rest = exact.differs(0)
    moved = has_rest & opposite
    rest = select(moved, exact + b, exact)
    quotient = select(moved, quotient - 1, quotient)
    rest = select(has_rest, rest, with_sign_of(a.constant(0), b))

    whole = quotient.call("floor")
    whole = select(quotient - whole > 0.5, whole + 1, whole)
    whole = select(quotient.equals(0), with_sign_of(a.constant(0), a / b), whole)
    by_zero = b.equals(0)
    return select(by_zero, a / b, whole), select(by_zero, exact, rest)
