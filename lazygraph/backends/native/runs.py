"""Runs of elements: copied, filled with zeros, added."""

from collections.abc import Iterator
from dataclasses import dataclass

from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.recipe import Frame
from lazygraph.backends.native.register import store
from lazygraph.backends.native.types import BIT, INT64, POINTER, ir, memory_type
from lazygraph.dtypes import DType

_BYTE = ir.IntType(8)
_VECTOR = 64  # bytes
_UNROLLED = 16  # vectors


@dataclass(frozen=True, slots=True)
class Run:
    """Elements at even distances.

    Attributes:
        pointer: the first.
        step: bytes from one to the next.
    """

    pointer: ir.Value
    step: int


def copy_bytes(f: Frame, to: ir.Value, source: ir.Value, nbytes: ir.Value | int) -> None:
    """Emit a copy of bytes to other memory."""
    if nbytes != 0:
        kinds = [POINTER, POINTER, INT64, BIT]
        name = "llvm.memcpy.p0.p0.i64"
        f.b.call(_intrinsic(f, name, kinds), [to, source, _number(nbytes), BIT(0)])


def zero_bytes(f: Frame, to: ir.Value, nbytes: ir.Value | int) -> None:
    """Emit that bytes become 0."""
    if nbytes != 0:
        function = _intrinsic(f, "llvm.memset.p0.i64", [POINTER, _BYTE, INT64, BIT])
        f.b.call(function, [to, _BYTE(0), _number(nbytes), BIT(0)])


def _number(x: ir.Value | int) -> ir.Value:
    return INT64(x) if isinstance(x, int) else x


def _intrinsic(f: Frame, name: str, kinds: list[ir.Type]) -> ir.Function:
    known = f.b.module.globals.get(name)
    return known or ir.Function(f.b.module, ir.FunctionType(ir.VoidType(), kinds), name)


def copy_run(f: Frame, to: Run, source: Run, count: ir.Value | int, dtype: DType) -> None:
    """Emit `to[i] = source[i]` for i < count."""
    size = dtype.itemsize
    if to.step == source.step == size:
        nbytes = count * size if isinstance(count, int) else f.times(count, size)
        copy_bytes(f, to.pointer, source.pointer, nbytes)
        return
    kind = memory_type(dtype)
    with counted_loop(f.b, _number(count)) as i:
        element = f.b.load(_place(f, source, i), align=size, typ=kind)
        f.b.store(element, _place(f, to, i), align=size)


def add_run(f: Frame, to: Run, source: Run, count: int, dtype: DType) -> None:
    """Emit `to[i] += source[i]` for i < count."""
    if to.step == source.step == dtype.itemsize:
        for first, lanes in pieces(f, count, _VECTOR // dtype.itemsize):
            _add(f, to, source, first, dtype, lanes)
        return
    with counted_loop(f.b, INT64(count)) as i:
        _add(f, to, source, i, dtype, 1)


def _add(f: Frame, to: Run, source: Run, i: ir.Value, dtype: DType, lanes: int) -> None:
    place = _place(f, to, i)
    total = f.k.add(f.load(place, dtype, lanes), f.load(_place(f, source, i), dtype, lanes))
    store(total, place)


def _place(f: Frame, run: Run, i: ir.Value) -> ir.Value:
    return f.at(run.pointer, f.times(i, run.step))


def pieces(f: Frame, count: int, lanes: int) -> Iterator[tuple[ir.Value, int]]:
    """Emit what the loop's body does for vectors that make up a run, the first ones the widest.

    Args:
        f: where to emit.
        count: elements of the run.
        lanes: of the widest vector, a power of 2.

    Yields:
        The first element of each vector, and how many it has.
    """
    done = 0
    if count > _UNROLLED * lanes or lanes == 1:
        done = count - count % lanes
        with counted_loop(f.b, INT64(done), lanes) as i:
            yield i, lanes
    while done < count:
        while lanes > count - done:
            lanes //= 2
        yield INT64(done), lanes
        done += lanes
