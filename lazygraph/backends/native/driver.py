"""The walk over a program's steps: machine code that every thread of a run goes through.

A segment is a table of pointers and an array of steps. Each step is a function of machine code
with arguments of its own; a barrier stands before those that need what other threads wrote.
The walk knows no graph, so one piece of code serves every program, and a program is data.
"""

import ctypes
from enum import IntFlag
from functools import cache
from typing import Any

from llvmlite import ir

from lazygraph.backends.native import contraction
from lazygraph.backends.native.barrier import PROGRAM_TYPE, Crew, barrier
from lazygraph.backends.native.building import Unit, load
from lazygraph.backends.native.contraction import Split, product_type, share
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.symbols import symbols
from lazygraph.backends.native.waiting import I32, I64, POINTER, VOID, extern
from lazygraph.graph.node import Value

# Numbers of 8 bytes. A segment: table, steps, number of steps.
TABLE, STEPS, COUNT = range(3)
SEGMENT_SIZE = 3
# A step: its function, its arguments, its scratch in the arena, how many, and flags.
FUNCTION, ARGUMENTS, SCRATCH, AMOUNT, FLAGS = range(5)
STEP_SIZE = 5
# The first pointers of every table: the arena, and two numbers that tell of an index outside,
# the place of the result that it was for and the index. The others begin behind them.
ARENA, FAULT, FIRST = range(3)
FAULT_SIZE = 2

# void kernel(ptr table, ptr arguments, ptr scratch, i64 amount, i64 thread, i64 threads)
KERNEL_TYPE = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, I64, I64, I64])
# void product(ptr table, ptr arguments, i64 amount, i64 thread, i64 threads, ptr team)
PRODUCT_TYPE = ir.FunctionType(VOID, [POINTER, POINTER, I64, I64, I64, POINTER])
ELEMENTS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}

# The arguments of a product: for each operand its place, offset in bytes, leading dimension,
# stride of the inner stack, stride of the outer stack and whether it is transposed; the sizes.
OPERAND_SIZE = 6
BATCH, ROWS, COLUMNS, INNER = range(3 * OPERAND_SIZE, 3 * OPERAND_SIZE + 4)
PRODUCT_SIZE = 3 * OPERAND_SIZE + 4


class Flag(IntFlag):
    """How a step is taken."""

    AFTER_ALL = 1  # all threads must have come here first
    ALONE = 2  # by the first thread
    PRODUCT = 4  # the function takes the team as well


@cache
def library() -> Library:
    """The walk and the steps that multiply."""
    names = ("walk", "fill", *(f"product_{name}" for name in ELEMENTS))
    return load([Unit("walk over steps", _module, exports=names)], symbols())[0]


@cache
def filler() -> Any:
    """`fill(table, places, arrays, count)`: where the data of arrays lies, into a table."""
    kind = ctypes.PYFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
    )
    return kind(library().addresses["fill"])


# Where a NumPy array, an object of Python's, keeps the address of its data: behind the count of
# references and the type, as NumPy's `PyArrayObject_fields` says in `ndarraytypes.h`.
DATA_OFFSET = object.__basicsize__


def keeps_its_address(array: Value) -> bool:
    """Whether the data's address stands where `fill` looks for it."""
    found = ctypes.c_void_p.from_address(id(array) + DATA_OFFSET).value
    return found == array.ctypes.data


def _module() -> ir.Module:
    module = ir.Module("walk")
    _define_fill(module)
    for name, element in ELEMENTS.items():
        _define_product(module, f"product_{name}", element)
    _define_walk(module)
    return module


def _number(b: ir.IRBuilder, base: ir.Value, index: int) -> ir.Value:
    return b.load(b.gep(base, [I64(index)], source_etype=I64), typ=I64)


def _pointer(b: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    return b.load(b.gep(base, [index], source_etype=POINTER), typ=POINTER)


def _define_fill(module: ir.Module) -> None:
    kind = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, I64])
    function = ir.Function(module, kind, "fill")
    table, places, arrays, count = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with counted_loop(b, count) as i:
        array = _pointer(b, arrays, i)
        place = b.load(b.gep(places, [i], source_etype=I64), typ=I64)
        data = b.gep(array, [I64(DATA_OFFSET)], source_etype=ir.IntType(8))
        b.store(b.load(data, typ=POINTER), b.gep(table, [place], source_etype=POINTER))
    b.ret_void()


def _define_walk(module: ir.Module) -> None:
    function = ir.Function(module, PROGRAM_TYPE, "walk")
    segment, thread, threads, team = function.args
    crew = Crew(thread, threads, team)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    table, steps = (_pointer(b, segment, I64(i)) for i in (TABLE, STEPS))
    with counted_loop(b, _number(b, segment, COUNT)) as i:
        step = b.gep(steps, [b.mul(i, I64(STEP_SIZE))], source_etype=I64)
        flags = _number(b, step, FLAGS)
        with b.if_then(_has(b, flags, Flag.AFTER_ALL)):
            barrier(b, crew)
        alone = _has(b, flags, Flag.ALONE)
        with b.if_then(b.or_(b.not_(alone), b.icmp_signed("==", thread, I64(0)))):
            _take(b, table, step, flags, Crew(thread, b.select(alone, I64(1), threads), team))
    b.ret_void()


def _has(b: ir.IRBuilder, flags: ir.Value, flag: Flag) -> ir.Value:
    return b.icmp_signed("!=", b.and_(flags, I64(flag.value)), I64(0))


def _take(
    b: ir.IRBuilder, table: ir.Value, step: ir.Value, flags: ir.Value, crew: Crew
) -> None:
    arguments = _pointer(b, step, I64(ARGUMENTS))
    offset = _number(b, step, SCRATCH)
    scratch = b.gep(_pointer(b, table, I64(ARENA)), [offset], source_etype=ir.IntType(8))
    given = [_number(b, step, AMOUNT), crew.thread, crew.threads]

    def function(kind: ir.FunctionType) -> ir.Value:
        at = b.gep(step, [I64(FUNCTION)], source_etype=I64)
        return b.load(at, typ=kind.as_pointer())

    with b.if_else(_has(b, flags, Flag.PRODUCT)) as (product, kernel):
        with product:
            b.call(function(PRODUCT_TYPE), [table, arguments, *given, crew.team])
        with kernel:
            b.call(function(KERNEL_TYPE), [table, arguments, scratch, *given])


def _define_product(module: ir.Module, name: str, element: ir.Type) -> None:
    """Products of a stack of stacks: a thread has its share of the stacks, or of the one."""
    function = ir.Function(module, PRODUCT_TYPE, name)
    table, arguments, amount, thread, threads, team = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    several = b.icmp_signed(">", amount, I64(1))
    start, stop = share(b, amount, thread, threads)
    start = b.select(several, start, I64(0))
    stop = b.select(several, stop, amount)
    crew = Crew(b.select(several, I64(0), thread), b.select(several, I64(1), threads), team)
    with counted_loop(b, b.sub(stop, start)) as i:
        _multiply(b, element, table, arguments, b.add(start, i), crew)
    b.ret_void()


def _multiply(
    b: ir.IRBuilder,
    element: ir.Type,
    table: ir.Value,
    arguments: ir.Value,
    outer: ir.Value,
    crew: Crew,
) -> None:
    values: list[ir.Value] = [*crew, I32(int(Split.AUTO))]
    values += [_number(b, arguments, i) for i in (BATCH, ROWS, COLUMNS, INNER)]
    for first in (0, OPERAND_SIZE, 2 * OPERAND_SIZE):
        place, offset, leading, inner, beyond, transposed = (
            _number(b, arguments, first + i) for i in range(OPERAND_SIZE)
        )
        base = b.gep(_pointer(b, table, place), [offset], source_etype=ir.IntType(8))
        pointer = b.gep(base, [b.mul(outer, beyond)], source_etype=element)
        values += [pointer, leading, inner]
        if first < 2 * OPERAND_SIZE:
            values.append(b.trunc(transposed, I32))
    values.append(ir.Constant(element, 0.0))
    b.call(extern(b.module, contraction.name(element), product_type(element)), values)
