"""Generated loops and branches run as often as Python's would."""

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest

from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.types import INT64, ir
from tests.native.compiling import machine_for


def compiled(fill: Callable[[ir.IRBuilder, ir.Value, ir.Value], None]) -> Callable[[int], int]:
    """A function of one integer whose body is to add to the slot that `fill` is given."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(INT64, [INT64]), "under_test")
    b = ir.IRBuilder(function.append_basic_block())
    slot = b.alloca(INT64)
    b.store(INT64(0), slot)
    fill(b, function.args[0], slot)
    b.ret(b.load(slot, typ=INT64))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine_for(None))
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    pointer = call(engine.get_function_address("under_test"))

    def run(n: int) -> int:
        assert engine is not None  # it owns the code
        return int(pointer(n))

    return run


def add(b: ir.IRBuilder, slot: ir.Value, amount: ir.Value) -> None:
    b.store(b.add(b.load(slot, typ=INT64), amount), slot)


@pytest.mark.parametrize("step", [1, 3, 8])
def test_a_counted_loop_counts_as_range_does(step: int) -> None:
    def fill(b: ir.IRBuilder, n: ir.Value, slot: ir.Value) -> None:
        with counted_loop(b, n, step) as i:
            add(b, slot, b.add(b.mul(i, INT64(1000)), INT64(1)))

    run = compiled(fill)
    for n in (-5, 0, 1, 2, 3, 7, 8, 9, 24):
        assert run(n) == sum(1000 * i + 1 for i in range(0, n, step))


def test_loops_and_branches_nest() -> None:
    def fill(b: ir.IRBuilder, n: ir.Value, slot: ir.Value) -> None:
        with counted_loop(b, n) as i, counted_loop(b, i) as j:
            odd = b.trunc(j, ir.IntType(1))
            with if_(b, odd):
                add(b, slot, b.mul(i, j))

    assert compiled(fill)(9) == sum(i * j for i in range(9) for j in range(i) if j % 2)
