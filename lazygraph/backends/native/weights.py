"""How many instructions an op's rule makes of one element."""

from collections.abc import Hashable
from functools import cache

from lazygraph.backends.native.register import Register
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.types import element_type, ir
from lazygraph.dtypes import DType
from lazygraph.graph.op import Op


@cache
def weight(op: Op, params: tuple[Hashable, ...], dtypes: tuple[DType, ...]) -> int:
    """Count what a POINTWISE op's rule emits, for operands of these dtypes."""
    assert op.emit is not None
    kind = ir.FunctionType(ir.VoidType(), [element_type(dtype) for dtype in dtypes])
    function = ir.Function(ir.Module(), kind, "weighed")
    k = LlvmScalars(ir.IRBuilder(function.append_basic_block()), fused=True)
    operands = [
        Register(k.site, argument, dtype)
        for argument, dtype in zip(function.args, dtypes, strict=True)
    ]
    op.emit(k, *operands, **op.named(params))
    return sum(len(block.instructions) for block in function.blocks)
