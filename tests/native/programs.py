"""Small programs of machine code, to see what the threads of a run do."""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from llvmlite import ir

from lazygraph.backends.native.barrier import PROGRAM_TYPE, Crew, barrier
from lazygraph.backends.native.building import build, unit
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.waiting import I64

Body = Callable[[ir.IRBuilder, ir.Value, Crew], None]
LINE = 16  # integers that each thread has to itself in the context of `meetings`


class Program:
    """A program, loaded.

    Args:
        body: emits what each thread does, given the builder, the context and the crew.
        imports: the addresses of what it calls.
    """

    def __init__(self, body: Body, imports: Mapping[str, int]) -> None:
        module = ir.Module("program")
        function = ir.Function(module, PROGRAM_TYPE, "program")
        context, thread, threads, team = function.args
        b = ir.IRBuilder(function.append_basic_block("entry"))
        body(b, context, Crew(thread, threads, team))
        b.ret_void()
        self.library = Library(build([unit(module)])[0], ["program"], imports)
        self.address = self.library.addresses["program"]


@contextmanager
def repeated(b: ir.IRBuilder, count: int) -> Iterator[ir.Value]:
    """Emit `for i in range(count)`, for a count of at least 1."""
    entry, body = b.basic_block, b.append_basic_block("body")
    b.branch(body)
    b.position_at_end(body)
    i = b.phi(I64)
    i.add_incoming(I64(0), entry)
    yield i
    following = b.add(i, I64(1))
    i.add_incoming(following, b.basic_block)
    end = b.append_basic_block("end")
    b.cbranch(b.icmp_signed("<", following, I64(count)), body, end)
    b.position_at_end(end)


def integer(b: ir.IRBuilder, context: ir.Value, position: ir.Value) -> ir.Value:
    """The place of an integer in the context."""
    return b.gep(context, [position], source_etype=I64)


def count_visits(b: ir.IRBuilder, context: ir.Value, crew: Crew) -> None:
    """Each thread adds one at the place of its number, and the thread count behind them all."""
    place = integer(b, context, crew.thread)
    b.store(b.add(b.load(place, typ=I64), I64(1)), place)
    b.store(crew.threads, integer(b, context, crew.threads))


def meetings(rounds: int) -> Body:
    """Each thread writes the round, meets the others, and counts what its neighbour lacks."""

    def body(b: ir.IRBuilder, context: ir.Value, crew: Crew) -> None:
        mine = b.mul(crew.thread, I64(LINE))
        other = b.mul(b.srem(b.add(crew.thread, I64(1)), crew.threads), I64(LINE))
        faults = integer(b, context, b.add(mine, I64(1)))
        with repeated(b, rounds) as i:
            b.store(i, integer(b, context, mine))
            barrier(b, crew)
            found = b.load(integer(b, context, other), typ=I64)
            wrong = b.zext(b.icmp_signed("!=", found, i), I64)
            b.store(b.add(b.load(faults, typ=I64), wrong), faults)
            barrier(b, crew)

    return body


def address(array: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> int:
    """Where an array's first element is."""
    return array.ctypes.data


def word(context: int, position: int) -> ctypes.c_int64:
    """An integer of a context, as Python can look at it while a program runs."""
    return ctypes.c_int64.from_address(context + 8 * position)
