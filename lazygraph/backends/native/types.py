"""LLVM's types for elements: in memory, in a register, one by one or several side by side."""

from typing import Any

from lazygraph.dtypes import BOOL, FLOATING, DType, float32
from lazygraph.errors import missing_extra

try:
    from llvmlite import ir as ir  # the other modules take it from here
except ImportError:
    raise missing_extra("llvmlite", "native") from None

POINTER = ir.PointerType()
BIT = ir.IntType(1)
INT32, INT64 = ir.IntType(32), ir.IntType(64)


def memory_type(dtype: DType) -> ir.Type:
    """The type of one element in memory, where a bool is a byte that is 0 or 1."""
    if dtype.category == FLOATING:
        return ir.FloatType() if dtype is float32 else ir.DoubleType()
    return ir.IntType(8 * dtype.itemsize)


def element_type(dtype: DType) -> ir.Type:
    """The type of one element in a register, where a bool is one bit."""
    return BIT if dtype.category == BOOL else memory_type(dtype)


def widened(element: ir.Type, lanes: int) -> ir.Type:
    """A vector of `lanes` elements; of one lane, the element itself."""
    return element if lanes == 1 else ir.VectorType(element, lanes)


def lanes_of(value: ir.Value) -> int:
    """How many elements a value holds side by side."""
    return value.type.count if isinstance(value.type, ir.VectorType) else 1


def number(element: ir.Type, lanes: int, value: Any) -> ir.Constant:
    """A constant, the same in every lane."""
    one = ir.Constant(element, value)
    return one if lanes == 1 else ir.Constant(ir.VectorType(element, lanes), [one] * lanes)


def intrinsic(b: ir.IRBuilder, name: str, result: ir.Type, operands: list[ir.Value]) -> Any:
    """Call one of LLVM's own functions, which is named after the type of its first operand."""
    full_name = f"llvm.{name}.{_suffix(operands[0].type)}"
    function = b.module.globals.get(full_name)
    if function is None:
        signature = ir.FunctionType(result, [operand.type for operand in operands])
        function = ir.Function(b.module, signature, full_name)
    return b.call(function, operands)


def _suffix(kind: ir.Type) -> str:
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{kind.element.intrinsic_name}"
    return str(kind.intrinsic_name)
