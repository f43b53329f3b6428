"""Products of matrices as the walk's functions read them."""

import itertools
import math

from lazygraph.backends.layout import Call, Entry
from lazygraph.backends.native.steps import Places, offset
from lazygraph.graph.node import Value


def product_arguments(call: Call, places: Places) -> tuple[tuple[int, ...], int]:
    """The arguments of a product, and how many outer stacks there are; see `driver`."""
    turned = call.params[0] if call.params else (False, False)
    a, b = (entry.phantom for entry in call.inputs)
    out = call.out.phantom
    stack = out.shape[:-2]
    outer_length, inner_length = _stacks(stack, [a, b, out])
    numbers: list[int] = []
    flags = (*turned, False)  # type: ignore[misc]
    for entry, is_turned in zip((*call.inputs, call.out), flags, strict=True):
        numbers += _operand(entry, places, stack, inner_length)
        numbers.append(int(is_turned))
    inner = a.shape[-2 if turned[0] else -1]  # type: ignore[index]
    numbers += [inner_length, out.shape[-2], out.shape[-1], inner]
    return tuple(numbers), outer_length


def _operand(
    entry: Entry, places: Places, stack: tuple[int, ...], inner_length: int
) -> list[int]:
    x = entry.phantom
    size = x.itemsize
    strides = _stack_strides(x, stack)
    inner, beyond = _two(stack, strides, inner_length)
    leading = max(x.strides[-2] // size, x.shape[-1], 1)
    return [places.place(entry.storage), offset(entry), leading, inner // size, beyond // size]


def _stack_strides(x: Value, stack: tuple[int, ...]) -> list[int]:
    """Bytes from matrix to matrix along each axis of the stack; 0 where it is stretched."""
    own = x.shape[:-2]
    missing = len(stack) - len(own)
    return [0] * missing + [0 if n == 1 else s for n, s in zip(own, x.strides, strict=False)]


def _stacks(stack: tuple[int, ...], operands: list[Value]) -> tuple[int, int]:
    """The lengths of an outer and an inner stack, along each of which all strides are even."""
    cut = cut_of(stack, operands)
    assert cut is not None
    return math.prod(stack[:cut]), math.prod(stack[cut:])


def cut_of(stack: tuple[int, ...], operands: list[Value]) -> int | None:
    """The axis of the stack at which two even parts meet; None if there is none."""
    ways = [_stack_strides(x, stack) for x in operands]
    for cut in range(len(stack) + 1):
        if all(is_even(stack[:cut], w[:cut]) and is_even(stack[cut:], w[cut:]) for w in ways):
            return cut
    return None


def is_even(lengths: tuple[int, ...], strides: list[int]) -> bool:
    """Whether the address moves by one stride along all axes together."""
    known = [(n, s) for n, s in zip(lengths, strides, strict=True) if n != 1]
    return all(s == m * t for (_, s), (m, t) in itertools.pairwise(known))


def _two(stack: tuple[int, ...], strides: list[int], inner_length: int) -> tuple[int, int]:
    """The strides of the inner and of the outer stack."""
    cut = len(stack)
    while math.prod(stack[cut:]) != inner_length:
        cut -= 1
    return even_stride(stack[cut:], strides[cut:]), even_stride(stack[:cut], strides[:cut])


def even_stride(lengths: tuple[int, ...], strides: list[int]) -> int:
    known = [s for n, s in zip(lengths, strides, strict=True) if n != 1]
    return known[-1] if known else 0


def lies_for_blas(x: Value) -> bool:
    """Whether rows have no gaps within, and follow one another."""
    size = x.itemsize
    by_rows = x.shape[-1] == 1 or x.strides[-1] == size
    down = x.strides[-2]
    return by_rows and (x.shape[-2] == 1 or (down % size == 0 and down >= x.shape[-1] * size))
