"""The machine code behind `contraction.emit_product`: made once, for products of all sizes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from llvmlite import ir

from lazygraph.backends.native import openblas
from lazygraph.backends.native.barrier import (
    BARRIER_NAME,
    SCRATCH,
    SCRATCH_BYTES,
    Crew,
    barrier,
)
from lazygraph.backends.native.building import Unit, build
from lazygraph.backends.native.contraction import BLOCK, Split, name, product_type, share
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.threads import runtime
from lazygraph.backends.native.waiting import BYTE, I32, I64, POINTER, VOID, at, extern

# Below this a second thread costs more than it saves: some microseconds of one core.
FLOPS_A_THREAD = 2**18
ELEMENTS = (ir.FloatType(), ir.DoubleType())
_ROW_MAJOR, _PLAIN, _TRANSPOSED = I32(101), I32(111), I32(112)


class _Operand(NamedTuple):
    pointer: ir.Value
    leading: ir.Value
    stride: ir.Value
    transposed: ir.Value


class _Product(NamedTuple):
    """The arguments of the function, and what is emitted from them."""

    element: ir.Type
    crew: Crew
    split: ir.Value
    batch: ir.Value
    rows: ir.Value
    columns: ir.Value
    inner: ir.Value
    left: _Operand
    right: _Operand
    result: _Operand
    beta: ir.Value


@cache
def library() -> Library:
    """The functions that `contraction.emit_product` calls, for both element types."""
    code = build([Unit(_identity(), _module, effort=0)])[0]
    imports = {BARRIER_NAME: runtime().barrier, **openblas.gemm_addresses()}
    return Library(code, [name(element) for element in ELEMENTS], imports)


def _identity() -> str:
    return f"products {BLOCK} {FLOPS_A_THREAD}"


def _module() -> ir.Module:
    module = ir.Module("products")
    for element in ELEMENTS:
        _define(module, element)
    return module


def _define(module: ir.Module, element: ir.Type) -> None:
    function = ir.Function(module, product_type(element), name(element))
    p = _named(element, list(function.args))
    b = ir.IRBuilder(function.append_basic_block("entry"))
    free = b.icmp_signed("==", p.split, I32(Split.AUTO.value))
    parts = b.select(free, _parts(b, p), p.crew.threads)
    by_columns = b.select(
        free,
        b.icmp_signed(">", p.columns, p.rows),
        b.icmp_signed("==", p.split, I32(Split.COLUMNS.value)),
    )
    length = b.select(by_columns, p.columns, p.rows)
    blocks = _most(b, _ceiling(b, length, I64(BLOCK)), I64(1))
    several = b.icmp_signed(">", parts, I64(1))
    alone = b.icmp_signed("==", b.mul(p.batch, blocks), I64(1))
    with b.if_then(b.and_(b.and_(free, several), alone), likely=False):
        _cut_inner(b, p, parts)
        b.ret_void()
    whole = b.or_(
        b.icmp_signed("==", p.split, I32(Split.MATRICES.value)),
        b.and_(free, _balanced(b, p.batch, parts)),
    )
    blocks, block = b.select(whole, I64(1), blocks), b.select(whole, length, I64(BLOCK))
    with b.if_then(b.icmp_signed("<", p.crew.thread, parts)):
        _deal(b, p, parts, by_columns, length, blocks, block)
    b.ret_void()


def _named(element: ir.Type, a: Sequence[ir.Value]) -> _Product:
    left, right = _Operand(a[8], a[9], a[10], a[11]), _Operand(a[12], a[13], a[14], a[15])
    result = _Operand(a[16], a[17], a[18], I32(0))
    crew = Crew(a[0], a[1], a[2])
    return _Product(
        element, crew, a[3], a[4], a[5], a[6], a[7], left, right, result, beta=a[19]
    )


def _parts(b: ir.IRBuilder, p: _Product) -> ir.Value:
    """How many threads the product is worth."""
    flops = b.mul(b.mul(p.batch, p.rows), b.mul(p.columns, p.inner))
    worth = b.sdiv(flops, I64(FLOPS_A_THREAD // 2))
    return _least(b, p.crew.threads, _most(b, worth, I64(1)))


def _balanced(b: ir.IRBuilder, batch: ir.Value, parts: ir.Value) -> ir.Value:
    """Whether whole matrices are dealt out evenly enough."""
    even = b.icmp_signed("==", b.srem(batch, parts), I64(0))
    return b.or_(even, b.icmp_signed(">=", batch, b.mul(parts, I64(8))))


def _deal(
    b: ir.IRBuilder,
    p: _Product,
    parts: ir.Value,
    by_columns: ir.Value,
    length: ir.Value,
    blocks: ir.Value,
    block: ir.Value,
) -> None:
    """This thread's blocks, of one matrix after the other."""
    start, stop = share(b, b.mul(p.batch, blocks), p.crew.thread, parts)
    by_rows = b.not_(by_columns)
    with _range(b, b.sdiv(start, blocks), _ceiling(b, stop, blocks), I64(1)) as matrix:
        before = b.mul(matrix, blocks)
        first = b.mul(_most(b, b.sub(start, before), I64(0)), block)
        last = _least(b, b.mul(_least(b, b.sub(stop, before), blocks), block), length)
        count = b.sub(last, first)
        row = b.select(by_rows, first, I64(0))
        column = b.select(by_columns, first, I64(0))
        _gemm(
            b,
            p,
            b.select(by_rows, count, p.rows),
            b.select(by_columns, count, p.columns),
            p.inner,
            _element(b, p, p.left, matrix, row, I64(0)),
            _element(b, p, p.right, matrix, I64(0), column),
            _element(b, p, p.result, matrix, row, column),
            p.result.leading,
            p.beta,
        )


def _cut_inner(b: ir.IRBuilder, p: _Product, parts: ir.Value) -> None:
    """One small result: each thread sums over a part of the inner axis into its own scratch."""
    pieces = _least(b, parts, _ceiling(b, p.inner, I64(BLOCK)))
    start, stop = share(b, p.inner, p.crew.thread, pieces)
    scratch = at(b, p.crew.team, SCRATCH)
    with b.if_then(b.icmp_signed("<", p.crew.thread, pieces)):
        _gemm(
            b,
            p,
            p.rows,
            p.columns,
            b.sub(stop, start),
            _element(b, p, p.left, I64(0), I64(0), start),
            _element(b, p, p.right, I64(0), start, I64(0)),
            _piece(b, scratch, p.crew.thread),
            p.columns,
            ir.Constant(p.element, 0.0),
        )
    barrier(b, p.crew)
    with b.if_then(b.icmp_signed("==", p.crew.thread, I64(0))):
        _add_pieces(b, p, scratch, pieces)
    barrier(b, p.crew)  # the scratch is free again


def _add_pieces(b: ir.IRBuilder, p: _Product, scratch: ir.Value, pieces: ir.Value) -> None:
    """Neighbours first, then neighbouring pairs, and so on; the sum goes into the result."""
    size = b.mul(p.rows, p.columns)
    with _range(b, I64(1), pieces, lambda gap: b.add(gap, gap)) as gap:
        last = b.sub(pieces, gap)
        with _range(b, I64(0), last, b.add(gap, gap)) as piece:
            to, other = _piece(b, scratch, piece), _piece(b, scratch, b.add(piece, gap))
            with _range(b, I64(0), size, I64(1)) as i:
                _add_into(b, p.element, to, other, i)
    with (
        _range(b, I64(0), p.rows, I64(1)) as row,
        _range(b, I64(0), p.columns, I64(1)) as column,
    ):
        sum_at = b.gep(scratch, [b.add(b.mul(row, p.columns), column)], source_etype=p.element)
        to = _element(b, p, p.result, I64(0), row, column)
        total = b.load(sum_at, typ=p.element)
        plain = b.fcmp_ordered("==", p.beta, ir.Constant(p.element, 0.0))
        # What is in the result may be anything if it is not asked for: it must not be used.
        added = b.fadd(total, b.load(to, typ=p.element))
        b.store(b.select(plain, total, added), to)


def _add_into(
    b: ir.IRBuilder, element: ir.Type, to: ir.Value, other: ir.Value, i: ir.Value
) -> None:
    place = b.gep(to, [i], source_etype=element)
    more = b.load(b.gep(other, [i], source_etype=element), typ=element)
    b.store(b.fadd(b.load(place, typ=element), more), place)


def _piece(b: ir.IRBuilder, scratch: ir.Value, thread: ir.Value) -> ir.Value:
    return b.gep(scratch, [b.mul(thread, I64(SCRATCH_BYTES))], source_etype=BYTE)


def _element(
    b: ir.IRBuilder,
    p: _Product,
    x: _Operand,
    matrix: ir.Value,
    row: ir.Value,
    column: ir.Value,
) -> ir.Value:
    """The place of an element of a matrix, as it is meant."""
    flipped = b.icmp_signed("==", x.transposed, I32(1))
    stored_row, stored_column = b.select(flipped, column, row), b.select(flipped, row, column)
    offset = b.add(b.mul(matrix, x.stride), b.mul(stored_row, x.leading))
    return b.gep(x.pointer, [b.add(offset, stored_column)], source_etype=p.element)


def _gemm(
    b: ir.IRBuilder,
    p: _Product,
    rows: ir.Value,
    columns: ir.Value,
    inner: ir.Value,
    left: ir.Value,
    right: ir.Value,
    result: ir.Value,
    leading: ir.Value,
    beta: ir.Value,
) -> None:
    x, number = POINTER, p.element
    kind = [I32] * 6 + [number, x, I32, x, I32, number, x, I32]
    gemm = extern(b.module, openblas.GEMM[str(number)], ir.FunctionType(VOID, kind))
    plain = [
        b.select(b.icmp_signed("==", side.transposed, I32(1)), _TRANSPOSED, _PLAIN)
        for side in (p.left, p.right)
    ]
    sizes = [b.trunc(size, I32) for size in (rows, columns, inner)]
    a = [left, b.trunc(p.left.leading, I32), right, b.trunc(p.right.leading, I32)]
    one = ir.Constant(number, 1.0)
    b.call(gemm, [_ROW_MAJOR, *plain, *sizes, one, *a, beta, result, b.trunc(leading, I32)])


def _least(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", x, y), x, y)


def _most(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed(">", x, y), x, y)


def _ceiling(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.sdiv(b.add(x, b.sub(y, I64(1))), y)


@contextmanager
def _range(
    b: ir.IRBuilder,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value | Callable[[ir.Value], ir.Value],
) -> Iterator[ir.Value]:
    """Emit `for i in range(start, stop, step)`; `step` may also say what follows `i`."""
    entry = b.basic_block
    head, body, end = (b.append_basic_block(part) for part in ("head", "body", "end"))
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(I64)
    i.add_incoming(start, entry)
    b.cbranch(b.icmp_signed("<", i, stop), body, end)
    b.position_at_end(body)
    yield i
    following = step(i) if callable(step) else b.add(i, step)
    i.add_incoming(following, b.basic_block)
    b.branch(head)
    b.position_at_end(end)
