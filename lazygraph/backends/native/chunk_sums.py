"""Sums of images, each chunk of which has one of its own, so that bits depend on no thread."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lazygraph.backends.layout import Call
from lazygraph.backends.native.accumulators import entry_slot
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Special, bytes_of
from lazygraph.backends.native.register import Register, picked, store
from lazygraph.backends.native.runs import Run, add_run, copy_bytes, zero_bytes
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT64, ir, memory_type
from lazygraph.dtypes import FLOATING, DType

CHUNKS = 16  # at most
_LINE = 64  # bytes
_BYTE_NS = 6e-2


def chunk_length(images: int) -> int:
    """How many images make a chunk."""
    return -(-images // CHUNKS)


def padded(nbytes: int) -> int:
    """The memory of a chunk's sum: whole lines of the cache."""
    return -(-nbytes // _LINE) * _LINE


def images_of_chunk(
    f: Frame, chunk: ir.Value, images: ir.Value, length: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The first image of a chunk, and how many it has."""
    start = f.b.mul(chunk, length)
    return start, f.b.sub(f.least(f.b.add(start, length), images), start)


def add_chunks(
    f: Frame, partial: Callable[[ir.Value], ir.Value], dtype: DType, nbytes: int, out: ir.Value
) -> None:
    """Emit the sum of all chunks' sums, of which each thread adds its share of lines.

    Args:
        f: where to emit; its count is that of the chunks.
        partial: where the sum of a chunk lies.
        dtype: of the elements.
        nbytes: of the result.
        out: where it goes.
    """
    size = dtype.itemsize
    first, stop = f.share(INT64(padded(nbytes) // _LINE))
    offset = f.times(first, _LINE)
    step = 1
    while step < CHUNKS:
        for left in range(0, CHUNKS - step, 2 * step):
            with if_(f.b, f.b.icmp_signed("<", INT64(left + step), f.count)):
                to, source = (f.at(partial(INT64(i)), offset) for i in (left, left + step))
                with counted_loop(f.b, f.b.sub(stop, first)) as i:
                    line = f.times(i, _LINE)
                    here, there = (Run(f.at(p, line), size) for p in (to, source))
                    add_run(f, here, there, _LINE // size, dtype)
        step *= 2
    end = f.least(f.times(stop, _LINE), INT64(nbytes))
    length = f.most(f.b.sub(end, offset), INT64(0))
    copy_bytes(f, f.at(out, offset), f.at(partial(INT64(0)), offset), length)


@dataclass(frozen=True)
class ChannelSum:
    """out[c] = sum of x[b, c, i] over b and i; units are chunks. Numbers: images, a chunk's.

    Attributes:
        dtype: of the elements.
        channels: how many numbers there are in the end.
        width: elements of a channel.
    """

    dtype: DType
    channels: int
    width: int

    @property
    def nbytes(self) -> int:
        """Of the result."""
        return self.channels * self.dtype.itemsize

    def _partial(self, f: Frame, chunk: ir.Value) -> ir.Value:
        return f.at(f.scratch, f.times(chunk, padded(self.nbytes)))

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        size = self.dtype.itemsize
        first, stop = f.share(f.count)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            chunk = f.b.add(first, i)
            total = self._partial(f, chunk)
            zero_bytes(f, total, padded(self.nbytes))
            start, count = images_of_chunk(f, chunk, f.number(0), f.number(1))
            rows = f.times(count, self.channels)
            with counted_loop(f.b, rows) as row:
                number = f.b.add(f.times(start, self.channels), row)
                source = f.at(f.pointers[0], f.times(number, self.width * size))
                at = f.at(total, f.times(f.b.urem(row, INT64(self.channels)), size))
                store(f.k.add(f.load(at, self.dtype), self._row(f, source)), at)

    def _row(self, f: Frame, source: ir.Value) -> Register:
        """The sum of one channel of one image, by lanes and then of these."""
        size = self.dtype.itemsize
        lanes = 2 * _LINE // size
        whole = self.width - self.width % lanes
        running = entry_slot(f.b, ir.VectorType(memory_type(self.dtype), lanes))
        store(f.constant(0, self.dtype, lanes), running)
        with counted_loop(f.b, INT64(whole), lanes) as i:
            more = f.load(f.at(source, f.times(i, size)), self.dtype, lanes)
            store(f.k.add(f.load(running, self.dtype, lanes), more), running)
        total = f.load(running, self.dtype, lanes)
        while total.lanes > 1:
            half = total.lanes // 2
            low, high = (picked(total, list(range(n, n + half))) for n in (0, half))
            total = f.k.add(low, high)
        for i in range(whole, self.width):
            total = f.k.add(total, f.load(f.at(source, i * size), self.dtype))
        return total

    def finish(self, f: Frame) -> None:
        """Emit the sum of the chunks."""
        add_chunks(
            f, lambda chunk: self._partial(f, chunk), self.dtype, self.nbytes, f.pointers[1]
        )


def channel_sum(call: Call, places: Places) -> Special | None:
    """How numbers are added up over the first axes and the last ones, but not between them."""
    x, out = operands = places.operands(call)
    axes = sorted(call.named["axes"])
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    between = (
        kept and kept[-1] - kept[0] + 1 == len(kept) and kept[0] > 0 and kept[-1] < x.ndim - 1
    )
    if not between or x.dtype.category != FLOATING or not math.prod(x.shape):
        return None
    images, channels = math.prod(x.shape[: kept[0]]), math.prod(out.shape)
    recipe = ChannelSum(x.dtype, channels, math.prod(x.shape[kept[-1] + 1 :]))
    length = chunk_length(images)
    chunks = -(-images // length)
    scratch = chunks * padded(recipe.nbytes)
    cost = _BYTE_NS * bytes_of(operands)
    return Special(recipe, chunks, operands, cost, (images, length), scratch)
